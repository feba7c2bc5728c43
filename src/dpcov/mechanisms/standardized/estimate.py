r"""From the noisy second moment in private units to means, deviations, correlations and a covariance: post-processing only.

With H the noisy second moment of rows (a, z), each scaled to norm R where it was longer, the corner is a² times the sum of the
rows' weights. So m = H₀ₓ/H₀₀ is the weighted mean of z/a, and (Hₓₓ − H₀₀mmᵀ)·a²/H₀₀ the weighted covariance of z.

Noise of variance v above the diagonal of H gives the covariance of features i and j, with rows Fᵢ and Fⱼ of the way back, the
variance v·(GᵢᵢGⱼⱼ + Gᵢⱼ²)·(a²/H₀₀)², G = F(1 + mmᵀ)Fᵀ: what is off-centre pays for the mean.

Missing cells are z = 0, the centre. With o the share of cells that are there, means and covariances of different columns are
divided by o of each, variances by o once, as cells of one column are there together: missing cells of different columns are
taken to be independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError
from dpcov.kernel.answer import Answer
from dpcov.kernel.noise.laws import Spread
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.table import ColumnMoments, Interval, LevelCounts
from dpcov.kernel.rows.columns import Columns
from dpcov.kernel.rows.standard import Standard, Units
from dpcov.linalg import from_spectrum
from dpcov.mechanisms.base import RAW
from dpcov.mechanisms.shared.moment import from_noisy_moment
from dpcov.mechanisms.standardized import by_group
from dpcov.mechanisms.standardized.columns import LevelColumn, NumericColumn, is_laplace, level_columns, read_columns
from dpcov.mechanisms.standardized.constants import of_constants
from dpcov.mechanisms.standardized.means import Means, asked_apart, asked_variances, averaged, mean_of
from dpcov.mechanisms.standardized.units import Lift, lift_of, share_covariance, with_variances
from dpcov.release.estimate import Estimate, InMatrix, NoisyCoordinates, PrivateUnits, Weighing, error_of_spread
from dpcov.release.record import Option, Transcript
from dpcov.spectra import POSTPROCESS

Floats = NDArray[np.float64]

LEAST_CORNER = 0.2  # of a²: the weights of rows are above it unless the noise is as large as the matrix
LEFT_OVER = 0.25  # of the variance of the noise: what denoising the spectrum leaves of it
AGREE = 2.0  # standard errors: two answers about a variance that are nearer to each other are averaged
APART = {True: 7.0, False: 4.0}
"""Standard errors of Laplace and of normal noise: of two shares that are farther from each other the one that knows no weights
is taken. With Laplace noise four would be exceeded by chance, once in 290 levels, and the outlier be taken."""
FAR = 6.0  # times its noise: a variance that was asked apart is believed where clipping took from the moment
TAILS = 1.5  # times the noise of a variance that was asked apart: Laplace noise has longer tails than its deviation says
LEAST_SHARE = 1e-6  # of a level, as a divisor
OF_WEIGHTS = (0.005, 0.2)
"""What the smaller weights of long rows may take from a level's share, in deviations, and from a variance, in parts: about as
much as they took on tables with skewed columns. It is part of the standard errors, unless an answer about the column itself is
more certain."""
FARTHEST = (1e-6, 1e9)  # radii of rows in private units, in a file that is not forged,
LEAST_CONSTANT = 1e-3  # and the constant in front of them, in parts of the radius: floats stay ordinary


def estimate(transcript: Transcript, postprocess: str, **options: Option) -> Estimate:
    """Return mean, covariance, and what is known in private units; by the bounds, where rows were too few for these."""
    if not transcript.encoding.constant:
        raise ReleaseError("release must be of centred rows for this mechanism, got rows about 0. Hint: another version?")
    if transcript.find(SecondMoment) is None and transcript.encoding.columns is not None:
        return of_constants(transcript, transcript.encoding.columns)
    moment = transcript.take(SecondMoment)
    assert isinstance(moment.question, SecondMoment)
    rows = moment.question.grid
    if not isinstance(rows, Standard):
        return from_noisy_moment(transcript, postprocess, **options)
    reading = _Reading.of(transcript, moment, rows)
    n = by_group.rows_counted(transcript, moment, rows)
    found = reading.estimate(postprocess, moment.matrix / n, moment.spread.scaled(1 / n))
    if postprocess == RAW or transcript.part is None or transcript.part.level is None:
        return found
    drawn = by_group.drawn_to_all(transcript.part, rows)
    return by_group.of_group(found, reading.estimate(postprocess, drawn.moment, drawn.noise), drawn)


@dataclass(frozen=True, eq=False)
class _Reading:
    """What the answers say of the columns, and the noisy moment in their units, divided by n.

    ``numeric`` are the columns of numbers by their feature, ``seen`` the share of cells that are there by column, and ``gone``
    the relative standard error of that share.
    """

    transcript: Transcript
    moment: Answer
    rows: Standard
    lift: Lift
    numeric: dict[int, NumericColumn]
    levels: list[LevelColumn]
    seen: Floats
    gone: Floats

    @classmethod
    def of(cls, transcript: Transcript, moment: Answer, rows: Standard) -> _Reading:
        encoding, n, units = transcript.encoding, by_group.rows_asked(transcript), rows.units
        if encoding.schema is None:
            raise ReleaseError("release must be of a table with a schema, got one without. Hint: another version?")
        if not FARTHEST[0] <= rows.row_norm <= FARTHEST[1] or not rows.corner >= LEAST_CONSTANT * rows.row_norm:
            raise ReleaseError("release must have a constant in front of its rows, got rows without it. Hint: another version?")
        columns: Columns = units.columns
        found = read_columns(transcript.every(ColumnMoments, Interval), columns, encoding.schema, n)
        groups = [np.array(one.groups, dtype=np.intp) for one in units.levels]
        levels = level_columns(encoding.schema, columns, transcript.find(LevelCounts), n, groups)
        if transcript.part is not None and transcript.part.level is not None:
            found, levels = by_group.of_group_alone(found, levels)
        lift = lift_of(units, levels, encoding.d)
        seen, gone = np.ones(int(lift.column.max()) + 1), np.zeros(int(lift.column.max()) + 1)
        both: list[NumericColumn | LevelColumn] = [*found, *levels]
        for (number, _), one in zip((*columns.numeric, *columns.levels), both, strict=True):
            seen[number], gone[number] = one.seen, one.seen_noise / one.seen
        numeric = {columns.features[number]: one for (number, _), one in zip(columns.numeric, found, strict=True)}
        return cls(transcript, moment, rows, lift, numeric, levels, seen, gone)

    def estimate(self, postprocess: str, noisy: Floats, spread: Spread) -> Estimate:
        """Compute everything from a moment of a row: cells between −1 and 1 at their bounds, levels 0 or 1; at last encoded."""
        reach = self._reach()
        lift, own, seen = self.lift, self.seen[self.lift.owner], self.seen[self.lift.column]
        soft = self._centred(POSTPROCESS[postprocess](noisy, 1.0, spread))
        raw = self._centred(noisy)
        back = lift.matrix / own  # of means and covariances over all rows, missing cells among them
        variance = spread.off_diagonal_variance * self.rows.row_norm**4 * soft.weight**2
        moved = back @ soft.mean
        products = back @ back.T + np.outer(moved, moved)
        squares = products.diagonal()
        noise = variance * (np.outer(squares, squares) + products**2)
        mean_noise = math.sqrt(variance) / self.rows.corner * np.sqrt(np.einsum("ij,ij->i", back, back) + 2 * moved**2)
        away = moved * self.rows.corner
        mean_noise = np.hypot(mean_noise, self.gone[lift.column] * away)  # a noisy share of cells divides this distance, too
        lost = min(max(1 - by_group.mean_weight(self.transcript, 1 / soft.weight), 0.0), by_group.most_lost(self.transcript))
        means = self._means(lift.centre + away, mean_noise, lost)
        mean, mean_noise = means.values, means.errors
        exact, found = back @ raw.covariance @ back.T, back @ soft.covariance @ back.T
        gaps = by_group.off_centre(self.transcript, seen, away)
        variances, for_deviation, error, of_noise, of_both, parts = self._variances(
            exact.diagonal() * seen - gaps, found.diagonal() * seen - gaps, np.sqrt(noise.diagonal()) * seen, mean
        )
        with np.errstate(all="ignore"):
            scale = 1 / np.sqrt(np.outer(variances, variances))
            scale = np.where(scale < 1e100, scale, 0.0)  # what never varies has no correlations
        correlation, raw_correlation, of_correlation = self._correlations(found, exact, noise, scale, mean)
        covariance = self._pinned(soft, own, mean)
        once = np.where(lift.column[:, None] == lift.column, seen, 1.0)  # cells of one column are there together
        noise = np.maximum(noise * once**2, of_correlation**2 * np.outer(variances, variances))
        exact, noise = exact * once, noise + (exact * once * self._of_shares(1.0)) ** 2
        np.fill_diagonal(noise, np.maximum(noise.diagonal(), error**2))
        np.fill_diagonal(exact, exact.diagonal() - gaps)
        self._within_columns(exact, noise, mean, mean_noise)
        widths = np.sqrt(for_deviation)
        encoded = lift.matrix * reach[:, None]
        ranges = self._ranges(reach)
        of_mean = math.sqrt(variance) / self.rows.corner
        of_features = _symmetric(lift.matrix @ covariance @ lift.matrix.T)
        of_features = with_variances(of_features, np.where(lift.is_level, of_features.diagonal(), for_deviation))
        return Estimate(
            mean=mean * reach,
            covariance=of_features * np.outer(reach, reach),
            radius=self.transcript.encoding.row_norm,
            noise=NoisyCoordinates(encoded / own, math.sqrt(2 * variance)),
            seen=InMatrix(
                raw.covariance,
                Spread(2 * variance, variance, spread.wishart),
                encoded / own,
                raw.mean * self.rows.corner,
                of_mean,
            ),
            expected_error=float(np.linalg.norm(np.sqrt(noise) * np.outer(reach, reach))),
            units=PrivateUnits(
                back=encoded,
                forward=lift.forward / reach[:, None],
                centre=lift.centre * reach,
                mean=raw.mean * self.rows.corner,
                raw_mean=mean * reach,
                raw_covariance=raw.covariance,
                mean_variance=of_mean**2,
                weight_error=math.sqrt(2 * variance) / self.rows.corner**2,
                law=self.moment.law,
                owner=lift.owner,
                column=lift.column,
                covariance=covariance,
                variance=variance,
                left=variance,
                raw=exact * np.outer(reach, reach),
                noise=noise * np.outer(reach, reach) ** 2,
                deviation=widths * reach,
                deviation_error=(np.sqrt(for_deviation + error) - widths) * reach,
                variance_noise=of_noise / variances,
                mean_error=mean_noise * reach,
                mean_noise=means.of_noise * reach,
                reported_noise=of_both * reach**2,
                divisor=variances * reach**2,
                weighing=Weighing(
                    self.rows.row_norm,
                    self.rows.corner,
                    by_group.mean_weight(self.transcript, 1 / raw.weight),
                    spread.off_diagonal_variance * self.rows.row_norm**4,
                    *parts,
                    *means.parts,
                    *asked_apart(self.numeric, reach),
                    *asked_variances(self.numeric, reach),
                ),
                correlation=correlation,
                raw_correlation=raw_correlation,
                correlation_error=of_correlation,
                low=ranges[0],
                high=ranges[1],
                reach=reach,
                seen=seen,
                seen_error=seen * self.gone[lift.column],
            ),
        )

    def _reach(self) -> Floats:
        """Return what one unit of a feature is when it is encoded."""
        return np.where(self.lift.is_level, 1 / self.transcript.encoding.units, self.lift.reach)

    def _ranges(self, reach: Floats) -> tuple[Floats, Floats]:
        low, high = np.where(self.lift.is_level, 0.0, -1.0) * reach, reach.copy()
        columns = self.rows.units.columns
        for (number, _), one in zip(columns.numeric, self.rows.units.numeric, strict=True):
            low[columns.features[number]], high[columns.features[number]] = one.low, one.high
        return low, high

    def _centred(self, lifted: Floats) -> _Centred:
        """Return the weighted mean of z/a and covariance of z from a second moment in units of R²."""
        square, corner = self.rows.row_norm**2, self.rows.corner**2
        weight = max(float(lifted[0, 0]) * square, LEAST_CORNER * corner)
        mean = lifted[0, 1:] * square / weight
        covariance = (lifted[1:, 1:] * square - weight * np.outer(mean, mean)) * (corner / weight)
        return _Centred(mean, covariance, corner / weight)

    def _means(self, mean: Floats, noise: Floats, lost: float) -> Means:
        """Return means inside the bounds, shares that sum to 1 at most; those of columns that were asked apart averaged in."""
        mean, noise, alone = mean.copy(), noise.copy(), noise.copy()
        weighted, within = np.ones(len(mean)), np.ones(len(mean))
        laplace = is_laplace(self.transcript.find(ColumnMoments, LevelCounts))
        for feature, column in self.numeric.items():
            if column.constant:
                mean[feature], noise[feature] = column.mean, 2 * column.half
                alone[feature], weighted[feature] = noise[feature], 0.0
            elif column.asked:
                deviation = float(np.linalg.norm(self.lift.matrix[feature]))
                found = mean_of(column, (float(mean[feature]), float(noise[feature])), deviation, lost, laplace=laplace)
                mean[feature], noise[feature], alone[feature] = found.value, found.error, found.of_noise
                weighted[feature], within[feature] = found.weighted, found.within
            mean[feature] = min(max(mean[feature], -1.0), 1.0)
        for (number, count), levels in zip(self.rows.units.columns.levels, self.levels, strict=True):
            own = self.rows.units.columns.own(number)
            of_count = 1 / (1 + (levels.noise / np.maximum(noise[own], 1e-300)) ** 2)  # the weight of shares that were counted
            counted = levels.parts * levels.shares[levels.groups]
            far = np.abs(counted - mean[own]) > APART[laplace] * np.hypot(levels.noise, noise[own])
            of_count = np.where(far & ~levels.pooled, 1.0, of_count)  # long rows have small weights
            shares = np.maximum((1 - of_count) * mean[own] + of_count * counted, 0.0)
            total = float(shares.sum())
            all_levels = len(levels.shares) == levels.groups.max() + 1  # no cell is none of them
            mean[own] = shares / (total if all_levels or total > 1 else 1.0) if total > 0 else 1 / count
            of_weights = np.minimum(OF_WEIGHTS[0] * np.sqrt(mean[own] * (1 - mean[own])), levels.noise)
            both = np.where(of_count == 1, levels.noise, np.hypot(np.sqrt(1 - of_count) * noise[own], of_weights))
            counted_alone = np.where(of_count == 1, levels.noise, np.sqrt(1 - of_count) * noise[own])
            alone[own] = np.where(levels.pooled, levels.noise, counted_alone)
            weighted[own] = 1 - of_count
            noise[own] = np.where(levels.pooled, levels.noise, both)
        return Means(mean, noise, alone, (weighted, within))

    def _variances(
        self, raw: Floats, soft: Floats, noise: Floats, mean: Floats
    ) -> tuple[Floats, Floats, Floats, Floats, Floats, tuple[Floats, Floats]]:
        """Return variances to divide covariances by, those that are reported, three standard errors, and parts of the moment.

        Errors of the reported ones, of noise alone for the first, and for the reported ones without what weights may take.
        Parts are of what both are made of: the second moment has 1 where nothing that was asked apart is averaged in.
        What small weights of long rows take from a variance they take from its covariances, too.
        """
        p = np.clip(mean, LEAST_SHARE, 1 - LEAST_SHARE)
        for_correlation = np.where(self.lift.is_level, p * (1 - p), 0.0)
        reported, error, of_noise, alone = for_correlation.copy(), noise.copy(), noise.copy(), noise.copy()
        divided, told = (np.where(self.lift.is_level, 0.0, 1.0) for _ in range(2))
        for feature, column in self.numeric.items():
            first, first_noise = column.variance, TAILS * column.noise
            if column.constant:
                for_correlation[feature] = reported[feature] = first
                error[feature] = alone[feature] = first
                divided[feature] = told[feature] = 0.0
                continue
            own, own_noise = float(raw[feature]), float(noise[feature]) + 1e-300
            value = max(own, float(soft[feature]), own_noise)
            for_correlation[feature] = reported[feature] = value
            if first_noise == math.inf:
                continue  # of a group only the moment was asked
            if abs(first - own) <= AGREE * math.hypot(own_noise, first_noise):
                average, of_both = averaged((own, own_noise), (first, first_noise))
                for_correlation[feature] = reported[feature] = max(average, 0.5 * of_both)
                of_noise[feature] = alone[feature] = of_both
                divided[feature] = told[feature] = (first_noise / math.hypot(own_noise, first_noise)) ** 2
                error[feature] = math.hypot(of_both, min(OF_WEIGHTS[1] * average, first_noise))
            elif first > own and first > FAR * column.noise:
                reported[feature], error[feature] = first, first_noise
                alone[feature], told[feature] = math.hypot(first_noise, first - own), 0.0
            else:
                error[feature] = alone[feature] = math.hypot(own_noise, first - own)
        for found in (error, alone):  # all answers about a variance are divided by the same noisy share of cells
            np.hypot(found, reported * self.gone[self.lift.column], out=found)
        return for_correlation, reported, error, of_noise, alone, (divided, told)

    def _correlations(
        self, soft: Floats, raw: Floats, noise: Floats, scale: Floats, mean: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return correlations, each shrunk by its own noise; the raw ones, and their standard errors.

        The correlation of levels is √(p/(1 − p)) times a shift of conditional means: entries of one pair of columns are taken
        to be draws with variance ω²hᵢhⱼ, h = p/(1 − p), or 1 for numbers, whose pairs share one ω². It is found by their
        squares, less the noise.
        """
        lift = self.lift
        level, column = lift.is_level, lift.column
        of_noise = np.maximum(noise * scale**2, 1e-30)
        p = np.clip(mean, LEAST_SHARE, 1 - LEAST_SHARE)
        size = np.where(level, p / (1 - np.minimum(p, 0.5)), 1.0)
        sizes = np.outer(size, size)
        known = lift.matrix.any(axis=1)
        apart = (column[:, None] != column) & np.outer(known, known)
        weights = np.where(apart, sizes / of_noise**2, 0.0)
        weights /= max(float(weights.max()), 1e-300)
        kind = np.where(level, column + 1, 0)
        kinds, place = np.unique(kind, return_inverse=True)
        by_kind = np.zeros((len(column), len(kinds)))
        by_kind[np.arange(len(column)), place] = 1.0
        found = by_kind.T @ (weights * ((raw * scale) ** 2 - of_noise)) @ by_kind
        expected = by_kind.T @ (weights * sizes) @ by_kind
        signal = np.maximum(found / np.maximum(expected, 1e-200), 0.0)[np.ix_(place, place)] * sizes
        values = np.clip(soft * scale * (signal / np.maximum(signal + LEFT_OVER * of_noise, 1e-300)), -1.0, 1.0)
        values = np.where(apart, values, 0.0)
        exact = np.where(apart, np.clip(raw * scale, -1.0, 1.0), 0.0)
        odds = np.sqrt(p / (1 - p))
        same = (column[:, None] == column) & level
        inside = np.clip(-np.outer(odds, odds), -1.0, 1.0)
        for matrix in (values, exact):
            matrix[same] = inside[same]
            np.fill_diagonal(matrix, 1.0)
        pooled = self._pooled()
        unknown = np.where(np.logical_or.outer(pooled, pooled), signal, 0.0)  # of rare levels only what they share was asked
        of_shares = np.where(apart, exact * self._of_shares(0.5), 0.0)  # half of it is that of the deviations
        return _symmetric(values), _symmetric(exact), np.sqrt(of_noise + unknown + of_shares**2)

    def _of_shares(self, numbers: float) -> Floats:
        """Return the relative standard error that noisy shares of cells that are there give to entries between columns.

        They are divided by both shares; of one column by one. ``numbers`` is the power that is left of it for those.
        """
        gone = self.gone[self.lift.column] * np.where(self.lift.is_level, 1.0, numbers)
        within = self.lift.column[:, None] == self.lift.column
        return np.where(within, gone, np.hypot.outer(gone, gone))

    def _within_columns(self, covariance: Floats, noise: Floats, mean: Floats, mean_noise: Floats) -> None:
        """Put in what follows from shares: covariances p − p² and −pq of levels of one column, with the noise of these."""
        columns = self.rows.units.columns
        for number, _ in columns.levels:
            own = columns.own(number)
            p, error = mean[own], mean_noise[own]
            covariance[own, own] = np.diag(p) - np.outer(p, p)
            noise[own, own] = np.outer(error**2, p**2) + np.outer(p**2, error**2)
            np.fill_diagonal(noise[own, own], error_of_spread(p, error) ** 2)

    def _pooled(self) -> NDArray[np.bool_]:
        """Return which features are levels that share a coordinate with others."""
        pooled = np.zeros(len(self.lift.column), dtype=np.bool_)
        for (number, _), column in zip(self.rows.units.columns.levels, self.levels, strict=True):
            pooled[self.rows.units.columns.own(number)] = column.pooled
        return pooled

    def _pinned(self, soft: _Centred, own: Floats, mean: Floats) -> Floats:
        """Return the covariance of z between cells that are there, with the blocks of levels known from their shares."""
        within = self.lift.owner[:, None] == self.lift.owner
        found = soft.covariance / np.where(within, np.sqrt(np.outer(own, own)), np.outer(own, own))
        found -= np.diag(by_group.off_centre(self.transcript, own, soft.mean * self.rows.corner / own))
        units: Units = self.rows.units
        place = sum(one.deviation > 0 for one in units.numeric)
        for (number, _), one in zip(units.columns.levels, units.levels, strict=True):
            if one.size:
                block = slice(place, place + one.size)
                found[block, block] = share_covariance(one, mean[units.columns.own(number)])
                place += one.size
        values, vectors = np.linalg.eigh(_symmetric(found))
        return from_spectrum(np.maximum(values, 0.0), vectors)


@dataclass(frozen=True, eq=False)
class _Centred:
    """The weighted mean of z/a, the covariance of z, and a²/H₀₀."""

    mean: Floats
    covariance: Floats
    weight: float


def _symmetric(matrix: Floats) -> Floats:
    return np.asarray((matrix + matrix.T) / 2)
