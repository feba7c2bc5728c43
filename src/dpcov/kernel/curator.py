"""The only door: the one object that holds data and noise together.

Each primitive does the same five things in the same order, and nothing else touches rows:
read the exact sum, commit the charge, draw the noise, record one line, answer. (`peel` charges all at once, answers piece by
piece, and records when it is closed.)

A charge is committed before the first random bit is drawn and is never taken back; a read that fails costs nothing.
Privacy of any use of a curator is adaptive composition of what it charged: docs/guarantee.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpcov._version import __version__
from dpcov.errors import ParameterError, shown
from dpcov.kernel.answer import Answer, Spend
from dpcov.kernel.budget import ZCDP, Budget, PureDP
from dpcov.kernel.calibrate import exponential_rate, sparse_vector_epsilon
from dpcov.kernel.drawing import Drawer
from dpcov.kernel.noise.choice import MAX_RATE, Exponential, SparseVector, choose, first_above
from dpcov.kernel.noise.discrete import MIN_SCALE
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.questions.bins import CHOSEN, Bins, Rank
from dpcov.kernel.questions.calibrated import noise_for
from dpcov.kernel.questions.choices import SEARCHED, Bias, Quantile, Radius
from dpcov.kernel.questions.columns import columns_of
from dpcov.kernel.questions.measure import Measure
from dpcov.kernel.questions.moments import Count, SecondMoment, corner_count
from dpcov.kernel.questions.norms import Norms
from dpcov.kernel.questions.spectral import ANSWERED, Diagonal, Spectrum, Values, check_measure
from dpcov.options import Option
from dpcov.release.record import Release


class Curator(Drawer):
    """Answers questions about the rows of a source, each with noise and at a price.

    Parameters
    ----------
    source : Source
        The rows. Nothing but this object reads them.
    grid : Grid
        The public encoding of rows as integers.
    budget : PureDP, ZCDP or ApproxDP
        All that may ever be spent here.
    neighbors : {"replace", "add-remove"}
        Which data sets must look alike.
    bits : Bits
        Randomness.
    """

    def ask_n(self, budget: Budget) -> None:
        """Ask once for the private number of rows (add-remove); `n` is then the answer, at least 1."""
        if self._noisy_n is not None:
            raise ParameterError("n must be asked for once, got a second ask_n. Hint: use curator.n.")
        answer = self.noisy(Count(), budget, noise=noise_for(budget))
        self._noisy_n = max(1, int(answer.integers[0]))

    def take_n(self, moment: Answer) -> None:
        """Take the private number of rows, at least 1, from a centred second moment: its corner is n·a². Costs nothing more."""
        if not self.grid.center or moment.statistic != SecondMoment.name or not any(moment is a for a in self._answers):
            raise ParameterError("moment must be this curator's answer about centred rows, got another. Hint: ask_n(budget).")
        self._noisy_n = corner_count(int(moment.integers[0]), self.grid)

    def noisy(self, statistic: Measure, budget: Budget, *, noise: str, at_least: Fraction | None = None) -> Answer:
        """Answer a statistic with noise.

        Parameters
        ----------
        statistic : Measure
            A sum over rows, or numbers derived from one; it brings its own sensitivity.
        budget : PureDP, ZCDP or ApproxDP
            What this answer costs.
        noise : {"gaussian", "laplace", "wishart", "frobenius"}
            Its kind; it must serve the budget's notion.
        at_least : Fraction, optional
            A least variance (gaussian) or scale (the others), in the units of rows of norm 1. Papers' looser constants enter
            here: they can add noise and never remove any.

        Privacy
        -------
        ``budget``, for the curator's neighbours: the noise's page in docs/mechanisms/.
        """
        check_measure(statistic, self.second_moment(), ANSWERED)
        statistic = statistic.among(self.most_rows) if isinstance(statistic, Values) else statistic
        law = self._calibrate(statistic, budget, noise, at_least)
        self._refuse_beyond(budget)
        self._check_rows()
        exact = self._read(statistic)
        self._charge(budget)
        drawn = self._draw(statistic, law)
        settled = law.settle(exact + drawn)
        about = self._radii(statistic), self._frame(statistic), columns_of(statistic)
        answer = Answer(statistic.name, settled, statistic.unit_bits, law, *about)
        self._record(Spend(statistic.name, law.law, budget), answer)
        return answer

    def spectrum(self, budget: Budget, *, noise: str, radius: float = 1.0) -> Answer:
        """Answer the eigenvalues of the second moment, descending: docs/mechanisms/eigenvectors.md."""
        return self.noisy(Spectrum(self.second_moment(radius), self.d), budget, noise=noise)

    def diagonal(self, basis: NDArray[np.float64], budget: Budget, *, noise: str, radius: float = 1.0) -> Answer:
        """Answer bᵀSb for each column b of a public orthonormal basis: docs/mechanisms/eigenvectors.md."""
        return self.noisy(Diagonal(self.second_moment(radius), basis.shape[-1], basis), budget, noise=noise)

    def choose(self, question: Quantile | Rank, budget: PureDP | ZCDP) -> Answer:
        """Choose one of the public radii of `Norms`, or of the `Bins` of a column, by the exponential mechanism.

        Privacy
        -------
        ``budget``, for the curator's neighbours: docs/mechanisms/rescaled.md, docs/mechanisms/symq.md.
        """
        self._check_choice(question, CHOSEN, budget)
        law = Exponential(min(exponential_rate(budget), MAX_RATE))
        counts = self._counts(question.counted, budget)
        self._charge(budget)
        return self._chosen(question, self._choice(question, counts, law), law, budget)

    def first_above(self, question: Radius | Bias, budget: PureDP | ZCDP, *, query_noise: int = 1) -> Answer:
        """Search the public radii of `Norms` by the sparse vector technique, for the first query above its threshold.

        ``query_noise`` multiplies the noise of the queries: papers that do not use that they are monotone have twice as much.

        Privacy
        -------
        ``budget``, for the curator's neighbours: docs/mechanisms/adaptive.md.
        """
        self._check_choice(question, SEARCHED, budget)
        if type(query_noise) is not int or query_noise < 1:
            raise ParameterError(f"query_noise must be 1 or more, got {shown(query_noise)}. Hint: it can only add noise.")
        scale = 2 * question.step / sparse_vector_epsilon(budget)  # half of ε for the threshold, half for the queries
        law = SparseVector(max(scale, MIN_SCALE), max(query_noise * scale, MIN_SCALE))
        counts = self._counts(question.counted, budget)
        self._charge(budget)
        return self._chosen(question, self._search(question, counts, law), law, budget)

    def release(self, kind: str, mechanism: str, *, postprocess: str, **options: Option) -> Release:
        """Put everything answered so far into one record, and let go of the exact sums."""
        if not all(peel.closed for peel in self._peels):
            raise ParameterError("peels must be closed before the release, got an open one. Hint: peel.close().")
        self.forget()
        return Release(
            kind=kind,
            privacy=self.budget,
            neighbors=self.neighbors,
            n=self.n,
            feature_names=self._source.feature_names,
            row_norm=self.grid.row_norm,
            grid_bits=self.grid.bits,
            center=self.grid.center,
            schema=self._source.schema,
            mechanism=mechanism,
            requested=mechanism,
            options=options,
            postprocess=postprocess,
            answers=tuple(self._answers),
            spent=self.spent,
            seeded=self._bits.seeded,
            dpcov_version=__version__,
        )

    def _counts(self, counted: Norms | Bins, budget: Budget) -> NDArray[np.int64]:
        self._refuse_beyond(budget)
        self._check_rows()
        return self._read(counted)

    def _chosen(self, question: Quantile | Rank | Radius | Bias, index: int, law: NoiseLaw, budget: Budget) -> Answer:
        """Record a choice by what it means, and the public coordinates that it is about."""
        place = np.array(question.record(index), dtype=np.int64)
        answer = Answer(question.name, place, 0, law, frame=self._frame(question.counted))
        self._record(Spend(question.name, law.law, budget), answer)
        return answer

    def _choice(self, question: Quantile | Rank, counts: NDArray[np.int64], law: Exponential) -> int:
        return choose(question.scores(counts), question.weights, law.rate, self._bits)

    def _search(self, question: Radius | Bias, counts: NDArray[np.int64], law: SparseVector) -> int:
        return first_above(question.values(counts), question.threshold, law, self._bits)
