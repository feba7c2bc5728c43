"""``python -m experiments``: all papers, one of them, some of its figures; and the papers' claims beside the results."""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from experiments.frame import PAPERS, Experiment, experiments
from experiments.runner import Settings, draw_pictures, run_experiment

EXAMPLES = """examples:
  python -m experiments all --quick --data ../data   all papers, minutes; without --quick hours
  python -m experiments dong2022 figure3             one figure
  python -m experiments pictures                     draw all again from the results, run nothing
  python -m experiments check                        the papers' claims and numbers beside what came out
  python -m experiments pages                        the same, written into docs/papers
  python -m experiments list                         what there is
"""
INTERRUPTED = 130


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m experiments",
        description="The figures and tables of five papers, made again, with this library's own mechanisms beside them.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("what", choices=["all", *PAPERS, "pictures", "check", "pages", "list"], help="a paper, or all")
    made.add_argument("names", nargs="*", help="figures and tables of the paper; all of them by default")
    made.add_argument(
        "--quick", action="store_true", help="few runs at few places: about a quarter of an hour for all on two cores"
    )
    made.add_argument(
        "--data", type=Path, metavar="DIR", help="copies of the data sets; without it public originals are fetched"
    )
    made.add_argument(
        "--out", type=Path, metavar="DIR", help="where runs, results and pictures go; by default into this checkout"
    )
    made.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes; all cores by default")
    made.add_argument("--fresh", action="store_true", help="forget the runs that are kept")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    given = parser()
    options = given.parse_args(arguments)
    settings = Settings(options.quick, options.data, options.out, max(options.jobs, 1))
    if options.data is not None and not options.data.is_dir():
        given.error(f"--data must be a folder, got {options.data}")
    if options.what == "check":
        from experiments.check import check

        check(settings.out)
        return 0
    if options.what == "pages":
        from experiments.pages import write_pages

        write_pages()
        return 0
    wanted = experiments((options.what,) if options.what in PAPERS else PAPERS)
    names = {each.name for each in wanted}
    if options.names and (options.what not in PAPERS or not set(options.names) <= names):
        given.error(f"{options.what} must be followed by none or some of {', '.join(sorted(names))}, got {options.names}")
    wanted = [each for each in wanted if not options.names or each.name in options.names]
    if options.what == "list":
        for each in wanted:
            print(f"{each.key:28} {each.title}")
        return 0
    if options.what == "pictures":
        for each in wanted:
            draw_pictures(each, settings)
        return 0
    if options.fresh:
        for each in wanted:
            (settings.runs / f"{each.paper}-{each.name}.csv").unlink(missing_ok=True)
    return _run(wanted, settings)


def _run(wanted: Sequence[Experiment], settings: Settings) -> int:
    start, failed = time.monotonic(), []
    for each in wanted:
        try:
            run_experiment(each, settings)
        except KeyboardInterrupt:
            print("interrupted: the same command goes on where it stopped", file=sys.stderr)
            return INTERRUPTED
        except Exception:  # a figure that fails must not keep the others from being made
            traceback.print_exc()
            failed.append(each.key)
    print(f"{len(wanted)} figures and tables, {time.monotonic() - start:.0f} s", file=sys.stderr)
    for key in failed:
        print(f"failed: {key}", file=sys.stderr)
    return 1 if failed else 0
