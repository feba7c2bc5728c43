"""An audit under way: what was tried so far, and what it refutes. `dpcov.audit.audit_mechanism` starts it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from dpcov.kernel.bits import Bits
from dpcov.kernel.budget import ApproxDP, Budget, PureDP
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.noise.sampler import RandomSampler
from dpcov.kernel.questions.measure import Measure
from dpcov.request import Request
from dpcov.verify import replay
from dpcov.verify.likelihood import log_ratio
from dpcov.verify.lower_bound import Finding, epsilon_lower_bound, promised_epsilon
from dpcov.verify.neighbours import Dice, Kind, Pair, Prices, Row, Search
from dpcov.verify.noise_check import Drawn, check_noise, reused
from dpcov.verify.recording import Kept, Measured, Opened, PrivacyViolationError
from dpcov.verify.replay import Rerun

SLACK = 1e-9
"""Relative: what the price of an answer may be above its charge by the last digits of floats."""

DELTAS = (1e-5, 1e-2, 0.1, 0.3)
"""Where a bound of what is zCDP is looked for."""

MOST_LAWS = 6
"""That are drawn from: of each question the first that was seen."""

FOR_PAIRS, FOR_NOISE = 0.4, 0.2
"""Of a limited time; the rest is for the lower bound."""

LEAST_TRIALS = 8
"""Fewer releases prove nothing, and an event is picked on half of them."""

Report = Callable[[float | None], None]


class Auditing:
    """What was tried of one request so far.

    Attributes
    ----------
    tried, refused : int
        How many pairs were tried, and how many of them were refused alike.
    shares
        Of each question its largest price on any pair, as a share of its charge.
    drawn, findings, trials
        The laws that were drawn from; the bounds from below, and how many releases from each neighbour they rest on.
    """

    def __init__(
        self, asked: Request, budget: Budget, kind: Kind, bits: Bits, seconds: float | None, progress: Report | None
    ) -> None:
        self._asked, self._budget, self._kind, self._bits = asked, budget, kind, bits
        self._seconds, self._progress = seconds, progress
        self._begun = time.monotonic()
        self._broken: list[str] = []
        self._dearest: tuple[float, Pair] | None = None
        self._runs: list[Sequence[Kept]] = []
        self._laws: dict[tuple[str, str], tuple[Measure, NoiseLaw]] = {}
        self.tried = self.refused = self.trials = 0
        self.shares: dict[str, float] = {}
        self.drawn: tuple[Drawn, ...] = ()
        self.findings: tuple[Finding, ...] = ()

    def rehearse(self) -> None:
        """Refuse what the mechanism refuses of any rows: values of options, budgets."""
        dice = Dice(self._bits)
        rows = [self._kind.row(dice) for _ in range(1000)]  # so many that a mechanism which wants some has enough
        self._asked.rehearse(self._asked.source(self._kind.data(rows), None), self._budget)

    def search(self, count: int, chosen: Sequence[Pair]) -> None:
        """Price pairs, until time is up or the same answers led to something else."""

        def go_on(tried: int) -> bool:
            self._report(FOR_PAIRS * tried / count)
            return not self._broken and (tried == 0 or self._in_time(FOR_PAIRS))

        Search(self._kind, self._asked.neighbors, Dice(self._bits), count, chosen).run(self._price, go_on)

    def draw(self, numbers: int, alpha: float) -> None:
        """Draw from the laws that were seen, and compare."""
        laws = list(self._laws.values())[:MOST_LAWS] if numbers and not self._broken else []
        sampler = RandomSampler(self._bits)
        for place, (question, law) in enumerate(laws):
            part = FOR_PAIRS + FOR_NOISE * (place + 1) / len(laws)
            self._report(part)
            in_time = partial(self._in_time, part)
            self.drawn += (check_noise(question, law, sampler, self._bits, alpha / len(laws), numbers, in_time),)

    def look_for_reuse(self, alpha: float) -> None:
        """Look for noise that two numbers of a run share."""
        runs, most = reused(self._runs, alpha)
        if runs > most:
            self._broken.append(f"every number must have noise of its own, got the same noise twice in {runs} runs")

    def bound(self, trials: int, alpha: float) -> None:
        """Release many times from the two neighbours that cost most, and bound ε from below at each δ."""
        if not trials or self._dearest is None or self._broken:
            return
        (first, second), pair = ([], []), self._dearest[1]  # type: tuple[list[float], list[float]], Pair
        while self.trials < trials and self._in_time(1.0):
            self._report(FOR_PAIRS + FOR_NOISE + (1 - FOR_PAIRS - FOR_NOISE) * self.trials / trials)
            one, other = (self._rerun(*tables) for tables in (pair.tables(), pair.tables()[::-1]))
            if one is None or other is None:
                return
            first.append(log_ratio(one.both))
            second.append(-log_ratio(other.both))
            self.trials += 1
        if self.trials < LEAST_TRIALS:
            return
        deltas, scores = self._deltas(), (np.array(first), np.array(second))
        self.findings = tuple(
            Finding(delta, promised_epsilon(self._budget, delta), epsilon_lower_bound(*scores, delta, alpha / len(deltas)))
            for delta in deltas
        )

    def violations(self) -> list[str]:
        """Say why the promise is refuted."""
        dear = [
            f"the {asked} must cost no more than its charge, got {share:.4g} times as much"
            for asked, share in self.shares.items()
            if share > 1 + SLACK
        ]
        wrong = [
            f"noise must follow its law, got {drawn.law} at a distance of {drawn.distance:.4f}, above {drawn.allowed:.4f}"
            for drawn in self.drawn
            if drawn.wrong
        ]
        proved = [
            f"epsilon must be at least {one.proved:.3g} at delta = {one.delta:g}, got a promise of {one.promised:.3g}"
            for one in self.findings
            if one.violated
        ]
        return [*dict.fromkeys(self._broken), *dear, *wrong, *proved]

    def _report(self, fraction: float) -> None:
        if self._progress is not None:
            self._progress(fraction)

    def _in_time(self, part: float) -> bool:
        """Whether less than this part of the time is spent."""
        return self._seconds is None or time.monotonic() - self._begun < part * self._seconds

    def _price(self, pair: Pair) -> Prices:
        """Replay a pair, one way or the other, and price each question."""
        one, other = pair.tables()[:: -1 if self.tried % 2 else 1]
        self.tried += 1
        made = self._rerun(one, other)
        if made is None:
            return {}
        self._runs.append([kept for kept, _ in made.both])
        for kept in self._runs[-1]:
            if isinstance(kept, Measured | Opened):
                self._laws.setdefault((kept.question.name, kept.law.law), (kept.question, kept.law))
        found: Prices = {}
        for step in made.steps:
            found[step.asked] = max(found.get(step.asked, 0.0), float(step.cost) / float(step.allowed))
        for asked, share in found.items():
            self.shares[asked] = max(self.shares.get(asked, 0.0), share)
        amounts = [float(step.charged.amounts()[0]) for step in made.steps]
        costs = [float(step.cost) / float(step.allowed) * amount for step, amount in zip(made.steps, amounts, strict=True)]
        if amounts and (self._dearest is None or sum(costs) / sum(amounts) > self._dearest[0]):
            self._dearest = sum(costs) / sum(amounts), pair
        return found

    def _rerun(self, one: Sequence[Row], other: Sequence[Row]) -> Rerun | None:
        """Record and replay; None where both are refused alike, or where what happens refutes the promise."""
        first, second = (self._asked.source(self._kind.data(rows), None) for rows in (one, other))
        encoding = self._asked.encoding(first)
        settings = {**self._asked.settings(first), "postprocess": self._asked.postprocess}
        given = (encoding, self._budget, self._asked.neighbors, settings, self._bits)
        try:
            return replay.rerun(self._asked.named, first, second, *given)
        except PrivacyViolationError as error:
            self._broken.append(str(error))
        except Exception:  # the same for both, whatever a stranger's mechanism raises: it says nothing about a row
            self.refused += 1
        return None

    def _deltas(self) -> tuple[float, ...]:
        """Return the δ at which a promise of this kind can be refuted."""
        if isinstance(self._budget, PureDP):
            return (0.0,)
        if isinstance(self._budget, ApproxDP):
            least = math.nextafter(float(self._budget.delta), 1)
            return (least, *(delta for delta in DELTAS if delta > least))
        return DELTAS
