r"""Mean and covariance of a table, measured in each column's own units, where correlations live.

Rows encoded by public bounds have one norm, and the noise is as large for every coordinate: a column whose spread is a tenth of
its bounds has correlations ten times as noisy as the others. So a centre and a spread for each column are bought first, which
is cheap; rows are measured in these units, with a private radius; and each estimate is shrunk by its own noise.

Clipped rows are scaled *as a whole*, the constant in front included: a row that is too long is a row of smaller weight, and
means, covariances and correlations are those of a weighted sample. No scale need be bought back. With groups each has a moment
of its own in these units, at the price of one (`by_group.py`).

Proof    docs/mechanisms/standardized.md, with figures for the constants

==============  ================================================================================================
code            mathematics
==============  ================================================================================================
``columns``     centre, variance and range of each column of numbers, −1 and 1 at its bounds: steps 1 and 2
``levels``      shares of the levels of each column of categories: step 3
``units``       rows z in private units: step 4
``radius``      :math:`r`, about M rows have ‖z‖ > r: step 5
``corner``      :math:`a`, the constant in front of z; rows (a, z) are scaled to norm R, R² = r² + a²
``moment``      :math:`H`, noisy second moment of these rows: step 6; of each group :math:`H_g`
==============  ================================================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpcov.errors import ParameterError
from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.calibrated import FROBENIUS, GAUSSIAN, WISHART, calibrated, noise_for
from dpcov.kernel.questions.choices import Quantile
from dpcov.kernel.questions.groups import GroupedMoment
from dpcov.kernel.questions.measure import Measure
from dpcov.kernel.questions.moments import REPLACE, SecondMoment
from dpcov.kernel.questions.norms import Norms
from dpcov.kernel.questions.table import Histograms, Interval, LevelCounts
from dpcov.kernel.rows.columns import Columns
from dpcov.kernel.rows.standard import Standard, Units
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.shared.additive import Moment, ask_additive, predicted_errors, wanted_moment
from dpcov.mechanisms.shared.clipping import check_rereadable, chosen_radius
from dpcov.mechanisms.shared.shares import by_way_of_rho, check_room
from dpcov.mechanisms.standardized.columns import (
    NumericColumn,
    drowned,
    grouped,
    histograms_of,
    level_columns,
    moments_on,
    rows_outside,
    share_outside,
    unknown,
    weight_for,
    with_moments,
    with_range,
)
from dpcov.mechanisms.standardized.estimate import estimate
from dpcov.mechanisms.standardized.units import expected_square, units_of

FOR_COUNT = Fraction(1, 50)  # of the budget, for n under add-remove
LEAST_LEFT = Fraction(1, 4)  # of the budget, for the second moment: more is left on every path
WANTED_NOISE = 0.003  # of a mean square between −1 and 1: what the share of the moments aims at,
MOMENT_SHARES = (0.02, 0.12)  # within these limits
TOO_NOISY = 0.1  # a noisier mean square says nothing of a spread: rows are measured by their bounds
RANGE_OUTSIDE = (0.01, 0.03)  # parts of the rows outside a range: the first if a tenth of the budget buys it, else the second
MOST_OUTSIDE_RANGES = 2 / 7  # of the rows: a range that leaves more outside says little of a column
RANGE_SHARES = (0.01, 0.1, 0.25)
WITHIN_NOISE = 0.012  # of a mean square within a range: what their share aims at, as variances are larger there,
WITHIN_SHARES = (0.04, 0.08)  # within these limits
FOR_LEVELS = Fraction(1, 25)
STILL_TOO_NOISY = 0.15  # a noisier mean square within a range, or share of a level, is not asked for
POOLED = 0.5  # of the noise of a level's covariances: rarer levels make one group
CORNER = 0.1  # a², in parts of r²: means against correlations (docs/mechanisms/standardized.md)
OUTSIDE = 10.0  # rows outside the radius, in norms of the noise,
LEAST_OUTSIDE = {PureDP: 100.0, ZCDP: 30.0}  # over ε, or √ρ, at least,
MOST_OUTSIDE = 0.4  # of the rows, at most
RADIUS_SHARES = (0.01, 0.2)
PER_OCTAVE, OCTAVES = 8, 7  # radii: 2^{−k/8} of four times the root of the expected square, down to 2⁻⁷
FARTHEST = 4.0


def ask(curator: Face, budget: Budget) -> None:
    """Release mean and covariance of a table in private units of its columns: for correlations and regressions.

    Privacy
    -------
    ``budget`` (PureDP, ZCDP, or ApproxDP by way of ρ): moments of columns, intervals of some, moments of these again, counts
    of levels, a radius, one second moment, and under add-remove one count. Later shares depend on earlier answers; their sum
    is the budget on every path. With too few rows for the first question: a radius and one second moment by the bounds. By
    group the last question is that of the moment of each group; where no column varies, of their sizes.

    Utility
    -------
    No bound is proved; figures are in docs/mechanisms/standardized.md.
    """
    check_table(curator)
    whole = by_way_of_rho(budget)
    check_room(whole)
    plan = Plan(curator, whole)
    check_rereadable(curator, "private units")
    if not plan.is_affordable():
        _by_bounds(curator, budget)
        return
    plan.prefetch()
    if curator.hides_n:
        curator.ask_n(plan.take(FOR_COUNT))
    share = plan.moments_share()
    if share is None:
        _by_bounds(curator, budget if plan.left == 1 else whole.share(plan.left))
        return
    numeric = plan.ask_columns(share)
    levels = plan.ask_levels()
    groups = grouped(plan.columns, levels, curator.n, plan.least_share())
    found = level_columns(plan.schema, plan.columns, levels, curator.n, groups)
    units = units_of(plan.columns, numeric, found)
    if units is not None:
        plan.ask_moment(units)
    elif curator.groups:
        curator.noisy(curator.group_counts(), whole.share(plan.left), noise=noise_for(whole))


def check_table(curator: Face) -> None:
    """Refuse rows that are no table, or not centred."""
    if curator.encoding.columns is None or not curator.encoding.constant:
        raise ParameterError("center must be True for mechanism 'standardized', got False. Hint: leave it out.")


@dataclass
class Plan:
    """One release on its way: what is left of the budget, and what was answered so far."""

    curator: Face
    budget: PureDP | ZCDP

    def __post_init__(self) -> None:
        encoding = self.curator.encoding
        assert encoding.columns is not None
        assert encoding.schema is not None
        self.columns: Columns = encoding.columns
        self.schema = encoding.schema
        self.left = Fraction(1)
        self.histograms: Histograms | None = histograms_of(self.columns) if self.columns.numeric else None
        self.levels: LevelCounts | None = LevelCounts(self.columns) if self.columns.levels else None

    def is_affordable(self) -> bool:
        """Whether the second moment can have noise on every path: single columns need far less, and nothing is charged yet."""
        least = self.budget.share(LEAST_LEFT)
        return bool(predicted_errors(wanted_moment(self.curator), least, self.curator.neighbors))

    def prefetch(self) -> None:
        """Read all that is asked of single columns in one pass, before anything is charged."""
        self.curator.prefetch(*(one for one in (self.histograms, self.levels) if one is not None), derive=False)

    def take(self, share: Fraction) -> PureDP | ZCDP:
        """Return a share of the budget, which is then gone."""
        self.left -= share
        return self.budget.share(share)

    def noise(self, question: Measure, share: float) -> float:
        """Return the standard deviation that noise at a share of the budget gives to a mean over rows."""
        law = calibrated(question, self.budget, self.curator.neighbors, noise_for(self.budget))
        deviation = math.sqrt(law.spread().diagonal_variance) * 2.0**-question.unit_bits / self.curator.n
        return deviation / (share if isinstance(self.budget, PureDP) else math.sqrt(share))

    def moments_share(self) -> Fraction | None:
        """Return the share for the moments of columns; None where they would be noise, or levels where there are no numbers."""
        if self.histograms is None:
            assert self.levels is not None
            return Fraction(0) if self.noise(self.levels, float(FOR_LEVELS)) <= STILL_TOO_NOISY else None
        question = self._every_moment()
        assert question is not None
        share = self._share_for(question, WANTED_NOISE, MOMENT_SHARES)
        return None if self.noise(question, float(share)) > TOO_NOISY else share

    def ask_columns(self, share: Fraction) -> list[NumericColumn]:
        """Ask for the moments of columns, and for ranges of those that drown."""
        if self.histograms is None:
            return []
        n, columns = self.curator.n, unknown(self.histograms, self.schema)
        columns = with_moments(columns, self._noisy(self._moments(columns, range(len(columns))), share), n)
        narrow = drowned(columns, self.budget)
        if not narrow:
            return columns
        some, more = (share_outside(self.budget, len(narrow), part * n) for part in RANGE_OUTSIDE)
        least, usual, most = RANGE_SHARES
        for_ranges = _share(max(least, min(some, max(usual, min(more, most)))))
        rows = rows_outside(self.budget, len(narrow), for_ranges)
        if rows > MOST_OUTSIDE_RANGES * n:
            return columns
        again = []
        for place in narrow:
            chosen = self.curator.choose(Interval(self.histograms, place, rows), self.take(for_ranges / len(narrow)))
            before, columns = columns[place], with_range(columns, chosen, n)
            if columns[place] is not before and not columns[place].constant:
                again.append(place)
        if again:
            question = self._moments(columns, again)
            within = self._share_for(question, WITHIN_NOISE, WITHIN_SHARES)
            if self.noise(question, float(within)) < STILL_TOO_NOISY:
                columns = with_moments(columns, self._noisy(question, within), n)
        return columns

    def ask_levels(self) -> Answer | None:
        """Ask for the shares of levels, unless they would be noise."""
        if self.levels is None or self.noise(self.levels, float(FOR_LEVELS)) > STILL_TOO_NOISY:
            return None
        return self._noisy(self.levels, FOR_LEVELS)

    def least_share(self) -> float:
        """Return the share below which a level's covariances would be noise."""
        d = min(self.curator.encoding.d, 100)
        entry = math.sqrt(self._entry_variance(d, float(self.left)))
        return POOLED * entry * (len(self.columns.numeric) + 3 * len(self.columns.levels)) / self.curator.n

    def ask_moment(self, units: Units) -> None:
        """Ask for a radius, and with all that is left for the second moment."""
        n, width, groups = self.curator.n, units.size + 1, self.curator.groups
        error = math.sqrt(self._entry_variance(width, 1.0) * width * (width + 1) * max(groups, 1))  # in all blocks together
        pure = isinstance(self.budget, PureDP)
        amount = float(self.budget.epsilon) if isinstance(self.budget, PureDP) else math.sqrt(self.budget.rho)
        rows = max(1, round(min(max(OUTSIDE * error, LEAST_OUTSIDE[type(self.budget)] / amount), MOST_OUTSIDE * n)))
        wanted = 20 / (rows * amount) if pure else 50 / (rows * amount) ** 2
        farthest = FARTHEST * math.sqrt(max(expected_square(units), 1.0))
        bits = self.curator.encoding.bits
        norms = Norms(Standard(units, 0.0, farthest, bits), units.size, PER_OCTAVE, OCTAVES)
        share = _share(min(max(wanted, RADIUS_SHARES[0]), RADIUS_SHARES[1]))
        radius = farthest * chosen_radius(self.curator.choose(Quantile(norms, rows), self.take(share)))
        corner = math.sqrt(CORNER) * radius
        clipped = Standard(units, corner, math.hypot(radius, corner), bits)
        moment = GroupedMoment(clipped, width, groups) if groups else SecondMoment(clipped, width)
        self.curator.noisy(moment, self.budget.share(self.left), noise=self._matrix_noise(moment))

    def _share_for(self, question: Measure, noise: float, limits: tuple[float, float]) -> Fraction:
        """Return the share at which a mean over rows has this noise, within limits."""
        ratio = self.noise(question, 1.0) / noise
        return _share(min(max(ratio if isinstance(self.budget, PureDP) else ratio**2, limits[0]), limits[1]))

    def _matrix_noise(self, moment: Moment) -> str:
        if isinstance(self.budget, ZCDP):
            return GAUSSIAN
        errors = predicted_errors(moment, self.budget.share(self.left), self.curator.neighbors)
        rounded = {kind: errors[kind] for kind in (WISHART, FROBENIUS) if kind in errors}
        return min(rounded or errors, key=errors.__getitem__)  # at tiny budgets none but exact noise is left

    def _entry_variance(self, d: int, share: float) -> float:
        """Return the variance of the noise of an entry above the diagonal, of rows of norm 1."""
        replace = self.curator.neighbors == REPLACE
        if isinstance(self.budget, PureDP):
            return (math.sqrt((2 if replace else 0.5) * (d + 1)) / (share * float(self.budget.epsilon))) ** 2
        return (0.5 if replace else 0.25) / (share * float(self.budget.rho))

    def _every_moment(self) -> Measure | None:
        """Return the question of the moments of all columns of numbers, between their bounds."""
        return (
            None
            if self.histograms is None
            else self._moments(unknown(self.histograms, self.schema), range(len(self.columns.numeric)))
        )

    def _moments(self, columns: list[NumericColumn], chosen: range | list[int]) -> Measure:
        assert self.histograms is not None
        weight = weight_for(self.budget, self.curator.neighbors)
        return moments_on(self.histograms, columns, chosen, weight)

    def _noisy(self, question: Measure, share: Fraction) -> Answer:
        return self.curator.noisy(question, self.take(share), noise=noise_for(self.budget))


def _by_bounds(curator: Face, budget: Budget) -> None:
    """Ask for the second moment of rows encoded by their bounds, with the noise that has the smallest error."""
    errors = predicted_errors(wanted_moment(curator), budget, curator.neighbors)
    if not errors:
        raise ParameterError(f"budget must be larger, got {budget!r}, too little for any noise. Hint: spend more.")
    half = predicted_errors(wanted_moment(curator), budget.share(Fraction(1, 2)), curator.neighbors)  # a radius takes less
    best = min([kind for kind in errors if kind in half] or errors, key=errors.__getitem__)
    ask_additive(curator, best, budget, clip="private")


def _share(wanted: float) -> Fraction:
    return Fraction(math.ceil(wanted * 2**20), 2**20)


STANDARDIZED = Mechanism(
    target="covariance",
    name="standardized",
    serves=(PureDP, ZCDP, ApproxDP),
    ask=ask,
    estimate=estimate,
    postprocess=("shrink", "none"),
    centring="homogeneous",
    bound="schema",
    groups=True,
)
