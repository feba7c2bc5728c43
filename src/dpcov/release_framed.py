"""What a release of answers in public coordinates must hold: the questions of its mechanism, each paid for, in its order."""

from __future__ import annotations

import math
import re
from typing import ClassVar

from dpcov.errors import ParameterError
from dpcov.kernel.answer import Answer, Spend
from dpcov.kernel.budget import PureDP
from dpcov.kernel.questions.bins import MOST_BINS, Bins, Rank
from dpcov.kernel.questions.choices import LARGEST, Quantile
from dpcov.kernel.questions.measure import Measure
from dpcov.kernel.questions.moments import REPLACE, Count, SecondMoment, Sum
from dpcov.kernel.questions.norms import Trace
from dpcov.kernel.rows.frames import Box, Ellipsoid, of_frame
from dpcov.release.record import Release
from dpcov.release_clipped import CHOSEN, Choice
from dpcov.release_proved import check_proved_covariance, check_proved_mean
from dpcov.strict_json import refuse

FRAMED: dict[str, dict[str, str]] = {
    "mean": {
        "coinpress": r"S{t}|[RS]*RS",
        "clipped": "S",
        "coordinatewise": "S",
        "karwa-vadhan": "BS",
        "symq": r"(QQ){d}",
    },
    "covariance": {"coinpress": r"M|M(MT){u}MT?|M{t}|S{0,8}SM|S{0,8}SM(SMT){u}SMT?"},
}
"""The mechanisms, and the order of their questions: t rounds, u = t − 2 of them between the first and the last, d columns."""

LETTERS = {Sum.name: "S", Quantile.name: "R", Bins.name: "B", Rank.name: "Q", SecondMoment.name: "M", Trace.name: "T"}
SHAPES = {
    ("mean", "coinpress"): ("ball", "ellipsoid"),
    ("mean", "clipped"): ("ball",),
    ("mean", "coordinatewise"): ("box",),
    ("mean", "karwa-vadhan"): ("box",),
    ("mean", "symq"): ("box",),
    ("covariance", "coinpress"): ("ellipsoid",),
}
FINISHED = ("project", "clip", "none")
"""How covariances can be finished; means not by the bounds of a covariance."""


class RankChoice(Choice):
    """A quantile of a column that was chosen: its bin, how many there are, the column, and the rows below."""

    size: ClassVar[int] = 4

    def check(self, answer: Answer, spend: Spend) -> None:
        """Refuse a bin that is none, or more precision than was paid for."""
        if answer.radii or answer.frame is None:
            refuse("consistent", "a quantile that is none")
        place, bins, column, rows = answer.integers.tolist()
        d = len(answer.frame.centre)
        if not 0 <= place < bins <= MOST_BINS // d or not 0 <= column < d or not 0 <= rows <= LARGEST:
            refuse("consistent", "a quantile that is none")
        self.check_paid(answer, spend)


RANKED = RankChoice(Rank.name, CHOSEN.law, 1)


def expected_framed(release: Release) -> list[Measure | Choice]:
    """List what each answer says it is about, and refuse what the mechanism does not ask."""
    _check_options(release)
    _check_order(release)
    return [_expected(answer, release) for answer in release.answers]


def check_proved(release: Release) -> None:
    """Refuse rounds that are not those of the proof that the release claims; sizes and noises of its answers are checked."""
    if _is_proved(release):
        (check_proved_mean if release.kind == "mean" else check_proved_covariance)(release)


def _check_options(release: Release) -> None:
    """Refuse options that the mechanism cannot have had, or has not had together."""
    options = release.options
    if release.postprocess not in (FINISHED if release.kind == "covariance" else ("project", "none")):
        refuse("consistent", "a postprocess that its mechanism does not have")
    ranges = {"beta": (0.0, 1.0), "strength": (0.0, 1.0), "level": (0.0, 0.5), "condition": (1.0, math.inf), "rounds": (1, 100)}
    wanted = {
        ("mean", "coinpress"): {"constants", "beta", "scale", "rounds"},
        ("mean", "symq"): {"level"},
        ("covariance", "coinpress"): {"constants", "beta", "condition", "centring", "rounds"},
    }.get((release.kind, release.mechanism), set())
    if options.get("scale") == "private":
        wanted = wanted | {"strength"}
    numbers = {name: options[name] for name in ranges if name in options}
    inside = all(ranges[name][0] <= value <= ranges[name][1] for name, value in numbers.items() if not isinstance(value, str))
    if set(options) != wanted or not inside or options.get("constants", "practical") not in ("practical", "proved"):
        refuse("consistent", "options that its mechanism does not have")
    if release.center != (options.get("centring") == "mean"):
        refuse("consistent", "a mean that was not asked for, or none where it was")
    fixed = options.get("centring") == "pairs" or _is_proved(release)
    framed = [answer.frame for answer in release.answers if answer.frame is not None]
    if options.get("centring") == "pairs" and any(frame.centre.any() for frame in framed):
        refuse("consistent", "differences of rows that have a mean")
    if _is_proved(release) and release.schema is not None:
        refuse("consistent", "a proof about rows that are cut at bounds")
    if (fixed and release.neighbors != REPLACE) or (
        _is_proved(release) and (release.center or isinstance(release.privacy, PureDP))
    ):
        refuse("consistent", "pairs of rows that may be added, or a proof that is none")


def _check_order(release: Release) -> None:
    """Refuse questions in another order than the mechanism asks them, with the count first where n is private."""
    names = [answer.statistic for answer in release.answers]
    first = [] if release.neighbors == REPLACE else [Count.name]
    letters = "".join(LETTERS.get(name, "?") for name in names[len(first) :])
    rounds = release.options.get("rounds", 1)
    assert isinstance(rounds, int)
    pattern = FRAMED[release.kind][release.mechanism].replace("{t}", f"{{{rounds}}}").replace("{d}", f"{{{release.d}}}")
    pattern = pattern.replace("{u}", f"{{{max(rounds - 2, 0)}}}")
    counted = {"mean": "S", "covariance": "M"}[release.kind]
    asked = "rounds" not in release.options or letters.count(counted) == rounds
    known = ("R" in letters) == (release.options.get("scale") == "private")
    centred = release.kind == "mean" or ("S" in letters) == release.center
    if names[: len(first)] != first or not re.fullmatch(pattern, letters) or not (asked and known and centred):
        refuse("consistent", "other questions than its mechanism asks")
    columns = [
        int(answer.integers[2]) for answer in release.answers if answer.statistic == Rank.name and len(answer.integers) > 2
    ]
    if columns and columns != [column for column in range(release.d) for _ in range(2)]:
        refuse("consistent", "quantiles of other columns")


def _is_proved(release: Release) -> bool:
    return release.options.get("constants") == "proved"


def _expected(answer: Answer, release: Release) -> Measure | Choice:
    """Return the question that an answer belongs to."""
    name, d = answer.statistic, release.d
    if name == Count.name:
        return Count() if answer.frame is None else refuse("consistent", "a count with coordinates")
    if answer.frame is None or answer.frame.centre.shape != (d,):
        refuse("consistent", f"a {name} without coordinates that fit the columns")
    if answer.frame.kind not in SHAPES[release.kind, release.mechanism]:
        refuse("consistent", f"a {name} in coordinates that its mechanism does not use")
    try:
        grid = of_frame(answer.frame)
        if name == Bins.name:
            assert isinstance(grid, Box)
            return Bins(grid, d, len(answer.integers) // d)
    except ParameterError as error:
        refuse("well formed", str(error))
    if name in (Quantile.name, Rank.name):
        return CHOSEN if name == Quantile.name else RANKED
    if name == Sum.name:
        return Sum(grid, d)
    assert isinstance(grid, Ellipsoid)
    return SecondMoment(grid, d) if name == SecondMoment.name else Trace(grid, d)
