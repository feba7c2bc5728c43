"""``dpcov completion``: let the shell complete commands, options, mechanisms and files."""

from __future__ import annotations

import click

EXAMPLE = """\b
In ~/.bashrc:                   eval "$(dpcov completion bash)"
In ~/.zshrc, after compinit:    eval "$(dpcov completion zsh)"

\b
Example:
  dpcov completion fish > ~/.config/fish/completions/dpcov.fish"""


@click.command(epilog=EXAMPLE)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that makes SHELL complete commands, options, mechanisms and files."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, "dpcov", "_DPCOV_COMPLETE").source())
