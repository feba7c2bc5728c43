"""The command line: one command is one call. Results go to stdout, talk to stderr."""

from __future__ import annotations

import io
import shutil
import sys
import traceback
from pathlib import Path

import click

from dpcov._version import __version__
from dpcov.cli.audit import audit
from dpcov.cli.compare import compare
from dpcov.cli.completion import completion
from dpcov.cli.correlation import correlation
from dpcov.cli.demo import demo
from dpcov.cli.groups import DidYouMean, nearest_option
from dpcov.cli.interval import interval
from dpcov.cli.ledger import ledger
from dpcov.cli.mean import mean
from dpcov.cli.mechanisms import mechanisms
from dpcov.cli.pca import pca
from dpcov.cli.plan import plan
from dpcov.cli.predict import predict
from dpcov.cli.release import release
from dpcov.cli.report import report
from dpcov.cli.ridge import ridge
from dpcov.cli.sample import sample
from dpcov.cli.schema import schema
from dpcov.cli.show import show
from dpcov.cli.sign import sign
from dpcov.cli.verify import verify
from dpcov.cli.words import speak_shell
from dpcov.errors import BudgetError, DpcovError, EngineError

WIDTH = 100  # of help texts: as wide as results are where stdout is no terminal; a narrow terminal has narrower ones
INTERRUPTED = "interrupted; a release that was written already is whole, and was paid for"
SETTINGS = {"help_option_names": ["-h", "--help"], "terminal_width": WIDTH, "max_content_width": WIDTH}


@click.group(cls=DidYouMean, epilog="\b\nExample:\n  dpcov demo", context_settings=SETTINGS)
@click.version_option(__version__, prog_name="dpcov")
def cli() -> None:
    """Release mean, covariance or principal components of sensitive rows once, privately, and use them as often as you like."""


FIRST = (demo, schema, plan, compare, mechanisms, release, mean, show, sign, verify, ledger, audit)
USES = (report, pca, ridge, predict, correlation, interval, sample)
for command in (*FIRST, *USES, completion):
    cli.add_command(command)
speak_shell(cli)


def main(arguments: list[str] | None = None) -> None:
    """Run a command; exit with 0 (ok), 2 (input), 3 (budget), 4 (engine or I/O), 130 (interrupt), or 1 (closed pipe)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no reason to fail
    try:
        code = cli.main(arguments, prog_name="dpcov", standalone_mode=False, terminal_width=_help_width())
    except click.exceptions.Abort:
        code = _told(INTERRUPTED, 130)
    except getattr(click.exceptions, "NoArgsIsHelpError", ()) as error:
        click.echo(error.format_message(), err=True)
        code = 2
    except click.ClickException as error:
        path = getattr(getattr(error, "ctx", None), "command_path", "dpcov")
        code = _told(f"{_sentence(nearest_option(error))} Hint: {path} --help.", 2)
    except DpcovError as error:
        code = _told(str(error), 3 if isinstance(error, BudgetError) else 4 if isinstance(error, EngineError) else 2)
    except MemoryError:
        code = _told(
            "memory must hold the matrices, and is too small. Hint: use fewer columns; `dpcov release --dry-run` counts them.",
            4,
        )
    except OSError as error:
        code = _told(
            f"a file or pipe must be readable and writable, and failed ({error.strerror}). Hint: check the disk and the pipe.",
            4,
        )
    except Exception as error:
        if _is_interrupt(error):
            sys.exit(_told(INTERRUPTED, 130))
        code = _told(
            f"a bug in dpcov ended the command ({_place(error)}). Hint: report this line; the rest could quote data.", 4
        )
    sys.exit(code)


def _help_width() -> int:
    """Return how wide help texts are: no wider than the terminal."""
    return min(WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else WIDTH


def _is_interrupt(error: BaseException) -> bool:
    """Tell Ctrl-C in the middle of an import, which compiled modules turn into an ImportError, from a bug."""
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, KeyboardInterrupt):
        seen = seen.__cause__ or seen.__context__
    return seen is not None


def _sentence(message: str) -> str:
    return message if message.endswith(("?", ".")) else f"{message}."


def _told(message: str, code: int) -> int:
    """Say one line on stderr."""
    click.echo(f"dpcov: {' '.join(message.split())}", err=True)
    return code


def _place(error: Exception) -> str:
    """Name the error and where it came from; its own text may hold cells."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"
