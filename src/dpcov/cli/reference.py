"""The command reference, docs/cli.md, from the help texts: ``python -m dpcov.cli.reference > docs/cli.md``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from dpcov.cli import cli

HEADER = """\
# The command line

One command is one call. Results go to stdout, progress and errors to stderr. Exit codes: 0 ok, 1 nobody reads stdout any more,
2 wrong input, 3 budget, 4 a file or the machine failed, 130 interrupted. A command that fails has spent nothing and leaves no
file, but for two cases: a release that was made and cannot be written goes to stdout, and one that was written stays where only
its summary cannot be printed.

This page is made from the help texts: `python -m dpcov.cli.reference > docs/cli.md`.
"""


def contexts(command: click.Command = cli, parent: click.Context | None = None) -> Iterator[click.Context]:
    """Yield every command in its context, parents first."""
    settings = command.context_settings if parent is None else {}
    context = click.Context(command, parent, "dpcov" if parent is None else command.name, **settings)
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from contexts(command.commands[name], context)


def reference() -> str:
    """Return the page."""
    sections = (f"\n## {context.command_path}\n\n```text\n{context.get_help()}\n```\n" for context in contexts())
    return HEADER + "".join(sections)


if __name__ == "__main__":
    click.echo(reference(), nl=False)
