"""Runs experiments: only what is not kept yet, in as many processes as wanted, with progress on stderr.

One process has one BLAS thread. A job is one seed at one point; its result is written as soon as it ends, so that an
interrupted command goes on where it stopped. A data set that cannot be had is named once, and everything else goes on.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from experiments.data import MissingDataError
from experiments.frame import Experiment, Lines, Point, find
from experiments.pictures import draw
from experiments.results import RUNS, Store, results_path, write_cost, write_records

SECONDS_BETWEEN_LINES = 5.0
FEW = 5  # runs, after which a guess is made: the first one reads the data
QUEUED_PER_PROCESS = 4  # jobs handed out ahead: few, so that an interruption loses little


@dataclass(frozen=True)
class Settings:
    """Where things are, and how much is wanted."""

    quick: bool
    data: Path | None
    out: Path | None = None
    """Where runs, results and pictures go; by default beside the experiments and into the documentation."""
    jobs: int = 1

    @property
    def runs(self) -> Path:
        return RUNS if self.out is None else self.out / "runs"

    @property
    def size(self) -> str:
        return "quick" if self.quick else "full"

    def picture(self, experiment: Experiment) -> Path:
        folder = Path(__file__).parent.parent / "docs" / "papers" / "images" if self.out is None else self.out / "images"
        return folder / f"{experiment.paper}-{experiment.name}.png"


@dataclass(frozen=True)
class Job:
    """A seed at a point, and the lines that are not there yet."""

    key: str
    point: Point
    lines: Lines
    seed: int
    data: Path | None


Outcome = tuple[dict[str, float], float] | str
"""Numbers and CPU seconds, or what data is missing."""


def run_job(job: Job, run: Callable[..., object] | None = None) -> Outcome:
    """Run one job; in another process the experiment is found by its name."""
    start = time.process_time()
    try:
        found = (run or find(job.key).run)(job.point, job.lines, job.seed, job.data)
    except MissingDataError as reason:
        return str(reason)
    assert isinstance(found, dict)
    return {line: float(found[line]) for line in job.lines}, time.process_time() - start


def run_experiment(experiment: Experiment, settings: Settings) -> None:
    """Run what is missing of an experiment; write its results and its picture."""
    points = experiment.points(settings.quick)
    store = Store(settings.runs, experiment)
    store.load()
    jobs = [
        Job(experiment.key, point, lines, seed, settings.data)
        for point in points
        for seed in range(point.runs)
        if (lines := store.missing(point, seed))
    ]
    progress = Progress(experiment.key, len(jobs))
    absent: dict[str, None] = {}
    for job, outcome in _outcomes(experiment, jobs, settings.jobs):
        if isinstance(outcome, str):
            absent.setdefault(outcome)
        else:
            store.add(job.point, job.seed, *outcome)
        progress.step()
    progress.end()
    for reason in absent:
        print(f"{experiment.key}: {reason}; skipped", file=sys.stderr, flush=True)
    records = store.records(points, experiment.summary)
    if records:
        path = results_path(settings.out, experiment)
        write_records(path, records, points)
        write_cost(path.with_name("cost.csv"), experiment, settings.size, *store.cost(points))
    draw_pictures(experiment, settings)


def draw_pictures(experiment: Experiment, settings: Settings) -> None:
    """Draw what the results hold; where they hold nothing, the picture stays as it was."""
    path = settings.picture(experiment)
    path.parent.mkdir(parents=True, exist_ok=True)
    draw(experiment, results_path(settings.out, experiment), path)
    if experiment.also is not None:
        name, drawn = experiment.also
        try:
            drawn(path.with_name(f"{path.stem}-{name}.png"), settings.data)
        except MissingDataError as reason:
            print(f"{experiment.key}: {reason}; not drawn", file=sys.stderr, flush=True)


def _outcomes(experiment: Experiment, jobs: Sequence[Job], processes: int) -> Iterator[tuple[Job, Outcome]]:
    if processes == 1 or len(jobs) < 2:
        for job in jobs:
            yield job, run_job(job, experiment.run)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        waiting: dict[Future[Outcome], Job] = {}
        left = iter(jobs)
        try:
            while True:
                for ahead in islice(left, processes * QUEUED_PER_PROCESS - len(waiting)):
                    waiting[pool.submit(run_job, ahead)] = ahead
                if not waiting:
                    return
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield waiting.pop(future), future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class Progress:
    """A line on stderr every few seconds."""

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total, self.done = name, total, 0
        self.start = self.last = time.monotonic()

    def step(self) -> None:
        self.done += 1
        now = time.monotonic()
        if now - self.last > SECONDS_BETWEEN_LINES and self.done < self.total:
            self.last = now
            rest = (now - self.start) / self.done * (self.total - self.done)
            told = f", {rest:.0f} s left" if self.done > FEW else ""
            print(f"{self.name}: {self.done} of {self.total} runs{told}", file=sys.stderr, flush=True)

    def end(self) -> None:
        taken = time.monotonic() - self.start
        what = f"{self.total} runs in {taken:.0f} s" if self.total else "nothing left to run"
        print(f"{self.name}: {what}", file=sys.stderr, flush=True)
