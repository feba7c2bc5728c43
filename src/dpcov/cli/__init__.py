"""The command line: one command is one call. Results go to stdout, talk to stderr."""

from __future__ import annotations

import sys

import click

from dpcov._version import __version__
from dpcov.cli.demo import demo
from dpcov.cli.plan import plan
from dpcov.cli.show import show
from dpcov.errors import BudgetError, DpcovError, EngineError

EXAMPLE = "\b\nExample:\n  dpcov demo"


@click.group(epilog=EXAMPLE, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dpcov")
def cli() -> None:
    """Release the covariance of sensitive rows once, under differential privacy, and use it for ever."""


cli.add_command(demo)
cli.add_command(plan)
cli.add_command(show)


def main(arguments: list[str] | None = None) -> None:
    """Run a command; exit with 0 (ok), 2 (input), 3 (budget), 4 (engine or I/O) or 130 (interrupt)."""
    try:
        code = cli.main(arguments, prog_name="dpcov", standalone_mode=False)
    except click.exceptions.Abort:
        code = 130
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except DpcovError as error:
        click.echo(f"dpcov: {error}", err=True)
        code = 3 if isinstance(error, BudgetError) else 4 if isinstance(error, EngineError) else 2
    sys.exit(code)
