"""The only door: the one object that holds data and noise together.

It is composed of three: exact *sums*, an *account* that commits charges, and a *sampler* that turns exact numbers into what
leaves. Each primitive does the same five things in the same order, and nothing else touches rows: read the exact sum, commit
the charge, draw, record, answer. (`peel` charges all at once, answers piece by piece, and records when it is closed.)

A charge is committed before the first random bit is drawn and is never taken back; a read that fails costs nothing.
Privacy of any use of a curator is adaptive composition of what it charged: docs/guarantee.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, shown
from dpcov.kernel.account import Account, numbers_of
from dpcov.kernel.answer import Answer, n_of
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, copied, exact_fraction
from dpcov.kernel.calibrate import bingham_concentration, exponential_rate, sparse_vector_epsilon
from dpcov.kernel.held import Held
from dpcov.kernel.noise.choice import MAX_RATE, Exponential, SparseVector
from dpcov.kernel.noise.discrete import MIN_SCALE
from dpcov.kernel.noise.drawn import MatrixBingham, Uniform
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.noise.sampler import Sampler
from dpcov.kernel.noise.sphere import MAX_CONCENTRATION, decomposed, eigenvalues
from dpcov.kernel.peel import Peel
from dpcov.kernel.public import Public
from dpcov.kernel.questions.along import AlongBasis
from dpcov.kernel.questions.asked import CHOSEN, DERIVED, SEARCHED, SUMMED
from dpcov.kernel.questions.calibrated import calibrated, check_tail, noise_for
from dpcov.kernel.questions.choices import Choice, Search
from dpcov.kernel.questions.directions import DIRECTION_BITS, Directions, Subspace
from dpcov.kernel.questions.measure import Measure, Question
from dpcov.kernel.questions.moments import Count
from dpcov.kernel.questions.overlap import Overlap
from dpcov.kernel.questions.remade import remade
from dpcov.kernel.questions.spectral import Values, to_floats
from dpcov.kernel.questions.weights import weighed_by
from dpcov.kernel.sums import Sums

Asked = TypeVar("Asked", bound=Question)


class Curator(Held):
    """Answers questions about rows, each with noise and at a price.

    Parameters
    ----------
    sums : Sums
        Exact integers for every question. Nothing but this object reads them.
    account : Account
        All that may ever be spent here, and what was.
    sampler : Sampler
        Where exact numbers and noise meet.
    """

    def __init__(self, sums: Sums, account: Account, sampler: Sampler) -> None:
        self._sums, self._account, self._sampler = sums, account, sampler
        self._peels: list[Peel] = []
        self._looks: list[Callable[[Public], None]] = []
        self._looking = False

    @property
    def public(self) -> Public:
        """What is known of the rows before anything is asked."""
        return self._sums.public

    @property
    def so_far(self) -> Public:
        """The same after the answers so far: one of them may have said which weight counts as 1 from now on."""
        known = self.public
        aside, _ = weighed_by(known.encoding.aside, self.answers)
        return known if aside is known.encoding.aside else replace(known, encoding=replace(known.encoding, aside=aside))

    @property
    def budget(self) -> Budget:
        """All that may be spent."""
        return self._account.budget

    @property
    def answers(self) -> tuple[Answer, ...]:
        """Every answer so far, in order."""
        return self._account.answers

    @property
    def seeded(self) -> bool:
        """Whether the noise can be predicted: not private."""
        return self._sampler.seeded

    @property
    def n(self) -> int:
        """The number of rows: public under replace; where it is private as an answer tells it, a count or a centred corner."""
        if not self.public.hides_n:
            rows = self._sums.n
            self._look_again()
            return rows
        told = n_of(self.answers)
        if told is None:
            raise ParameterError(
                "n must be asked for where it is private, got no ask_n(budget) yet. Hint: call ask_n with a part of the budget."
            )
        return told

    def when_n_is_known(self, look: Callable[[Public], None]) -> None:
        """Let public facts be looked at once more after the reading that tells n, of a file under replace; it may refuse.

        That is before anything is charged, or not at all. Under add-remove the facts are those from before: n is private.
        """
        self._looks.append(look)

    def ask_n(self, budget: Budget) -> None:
        """Ask once for the private number of rows, or what they count in all; `n` is then the answer, at least 1."""
        if any(isinstance(answer.question, Count) for answer in self.answers):
            raise ParameterError("n must be asked for only once, got a second ask_n. Hint: read curator.n.")
        self.noisy(Count(), budget, noise=noise_for(budget))

    def prefetch(self, *questions: Question, derive: bool = True) -> None:
        """Read what will be asked: before the first charge, so that a failing read costs nothing.

        ``derive=False`` where no numbers will be derived from the sums.
        """
        made = [self._checked(question, SUMMED) for question in questions]
        self._sums.prefetch(*made, derive=derive is not False)
        self._look_again()

    def noisy(self, question: Measure, budget: Budget, *, noise: str, at_least: Fraction | None = None) -> Answer:
        """Answer a question with noise.

        Parameters
        ----------
        question : Measure
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
        question, budget = self._checked(question, (*SUMMED, *DERIVED)), copied(budget)
        law = self._calibrated(question, budget, noise, at_least)
        self._afford(law, budget)
        exact = self._read(question)
        self._account.charge(budget)
        return self._account.record(Answer(question, (law,), (budget,), self._sampler.noisy(question, law, exact)))

    def choose(self, question: Choice, budget: PureDP | ZCDP, *, at_most: Fraction | None = None) -> Answer:
        """Choose one of public candidates, a radius of `Norms` or a bin of a column, by the exponential mechanism.

        ``at_most`` lowers the rate of the exponential: papers that price a choice as ε-DP alone have a lower one.

        Privacy
        -------
        ``budget``, for the curator's neighbours: docs/mechanisms/rescaled.md, docs/mechanisms/symq.md.
        """
        question, budget = self._checked(question, CHOSEN), _pure_or_zcdp("budget", budget)
        bound = MAX_RATE if at_most is None else exact_fraction("at_most", at_most)
        law = Exponential(min(exponential_rate(budget), MAX_RATE, bound) / question.moved)
        self._afford(law, budget)
        counts = self._read(question)
        self._account.charge(budget)
        return self._account.record(_indexed(question, law, budget, self._sampler.choice(question, law, counts)))

    def first_above(self, question: Search, budget: PureDP | ZCDP, *, query_noise: int = 1) -> Answer:
        """Search public candidates by the sparse vector technique, for the first query above its threshold.

        ``query_noise`` multiplies the noise of the queries: papers that do not use that they are monotone have twice as much.

        Privacy
        -------
        ``budget``, for the curator's neighbours: docs/mechanisms/adaptive.md.
        """
        question, budget = self._checked(question, SEARCHED), _pure_or_zcdp("budget", budget)
        if type(query_noise) is not int or query_noise < 1:
            raise ParameterError(
                f"query_noise must be an integer of at least 1, got {shown(query_noise)}. Hint: it can only add noise."
            )
        scale = 2 * question.step / sparse_vector_epsilon(budget)  # half of ε for the threshold, half for the queries
        law = SparseVector(max(scale, MIN_SCALE), max(query_noise * scale, MIN_SCALE))
        self._afford(law, budget)
        counts = self._read(question)
        self._account.charge(budget)
        return self._account.record(_indexed(question, law, budget, self._sampler.search(question, law, counts)))

    def peel(
        self,
        question: Directions,
        directions: PureDP | ZCDP,
        values: Budget | None = None,
        *,
        noise: str,
        fixed: bool = False,
    ) -> Peel:
        """Open the second moment for directions, drawn one at a time, and their values; all of it is charged here.

        Privacy
        -------
        ``directions`` for all draws together, and ``values`` for all values together: docs/mechanisms/eigenvectors.md.
        """
        question, directions = self._checked(question, (Directions,)), _pure_or_zcdp("directions", directions)
        if type(fixed) is not bool:
            raise ParameterError(f"fixed must be True or False, got {shown(fixed)}. Hint: False is faster.")
        if (values is None) != (question.values is None):
            raise ParameterError(
                "values must be asked for together with their budget, got only one of the two. Hint: peel(..., values=budget)."
            )
        law = None
        charges: tuple[Any, ...] = (directions,)
        if question.values is not None and values is not None:
            values = copied(values)
            law, charges = self._calibrated(question.values, values, noise, None), (directions, values)
            question.values.check_noise(law)
        self._afford(law, *charges)
        exact = to_floats(self._read(question), question.moment)
        spectrum = eigenvalues(exact)
        self._account.charge(*charges)
        later = _no_values if question.values is None or law is None else self._sampler.noisy_later(question.values, law)
        draw = partial(self._sampler.direction, fixed=fixed)
        peel = Peel(question, exact, spectrum, charges, law, self.public.neighbors, draw, later, self._account)
        self._peels.append(peel)
        return peel

    def subspace(self, question: Subspace, budget: PureDP | ZCDP, *, sweeps: int, at_most: Fraction | None = None) -> Answer:
        """Draw directions together, with density ∝ exp(c·tr VᵀSV), by a Markov chain of so many sweeps.

        ``at_most`` lowers the concentration c. Without sweeps the subspace is uniform, and says nothing of the rows.

        Privacy
        -------
        ``budget`` **in the limit of many sweeps only**: docs/mechanisms/ppca.md.
        """
        question, budget = self._checked(question, (Subspace,)), _pure_or_zcdp("budget", budget)
        if type(sweeps) is not int:  # whose truth is asked for again, after the exact sum was read
            raise ParameterError(f"sweeps must be an integer, got {shown(sweeps)}. Hint: 20000 is usual.")
        if sweeps and question.count < 2:
            raise ParameterError(
                f"count must be 2 or more for a Markov chain, got {question.count}. Hint: peel() draws one direction exactly."
            )
        bound = MAX_CONCENTRATION if at_most is None else exact_fraction("at_most", at_most)
        concentration = min(bingham_concentration(budget, self.public.neighbors), MAX_CONCENTRATION, bound)
        law: MatrixBingham | Uniform = Uniform()
        if sweeps:
            law = MatrixBingham(concentration, sweeps)
        self._afford(law, budget)
        exact = to_floats(self._read(question), question.moment)
        basis = decomposed(exact) if sweeps else None  # where it fails, nothing must have been charged
        self._account.charge(budget)
        columns = self._sampler.subspace(exact, basis, question.count, law)
        rows = np.rint(np.ldexp(columns.T, DIRECTION_BITS)).astype(np.int64)
        return self._account.record(Answer(question, (law,), (budget,), rows.reshape(-1)))

    def close(self) -> None:
        """Let go of the rows, and refuse a transcript with a peel that is still open."""
        open_ones = not all(peel.closed for peel in self._peels)
        self.forget()
        if open_ones:
            raise ParameterError("every peel must be closed before the release, got an open one. Hint: call peel.close().")

    def forget(self) -> None:
        """Answer nothing from now on, and drop what is kept: exact sums must not outlive the questions, nor a failed run."""
        self._account.close()
        self._sums.forget()
        for peel in self._peels:
            peel.forget()
        self._peels.clear()
        self._looks.clear()

    def _checked(self, question: Asked, known: tuple[type, ...]) -> Asked:
        """Return a question as it is asked: made anew, as whoever asks may still hold and change theirs.

        What is not proved is refused: another question, or one about other rows than these.
        """
        if self._looking:  # by a rehearsal: what the run's own question was found to afford, and its sum, are still at hand
            raise ParameterError(
                "a question must be asked by the run, got one from its rehearsal. Hint: ask the curator that `ask` is handed."
            )
        public = self.so_far
        made = self._sized(remade(question, public.encoding.aside)) if type(question) in known else None
        if made is not None and made.aside is not None and not made.serves_people:
            raise ParameterError(
                f"unit must be left out for a question about {made.name}, got one. Hint: it is proved for one row each only."
            )
        if made is None or not made.fits(public):
            raise ParameterError(
                "question must be about this curator's rows, got something else. Hint: ask for curator.second_moment()."
            )
        if isinstance(made, AlongBasis | Overlap):
            told = made.basis.answer
            if told is not None and not any(told is answer for answer in self.answers):  # a file could not name it
                raise ParameterError(
                    "basis must come from an answer of this curator, got another one. Hint: GivenBasis takes public numbers."
                )
            _ = made.basis.columns  # refuses others before the exact sum is read: it would stand in the traceback
        return made

    def _read(self, question: Question) -> NDArray[np.int64]:
        """Read the exact sum, before its charge; with a purse, the first complete reading empties it."""
        exact = self._sums.read(question)
        try:
            self._look_again()
            self._account.commit()
        except BaseException:
            del exact  # it would stand in the traceback of the refusal, and nothing has been charged for it
            raise
        return exact

    def _look_again(self) -> None:
        """Show the public facts to who waits for n, once it is known: all that a reading may tell before it is paid for."""
        while self._looks and self.public.knows_n and not self._account.charged:
            self._looking = True
            try:
                self._looks[-1](self.public)
            finally:
                self._looking = False
            self._looks.pop()  # who catches the refusal and asks again is refused again

    def _sized(self, question: Asked) -> Asked:
        """Return numbers from float64 for as many rows as there can be: what they lose depends on it."""
        if isinstance(question, Values):
            return question.among(self.public.most_rows)
        if isinstance(question, Directions) and isinstance(question.values, Values):
            return replace(question, values=question.values.among(self.public.most_rows))
        return question

    def _afford(self, law: NoiseLaw | None, *charges: Budget) -> None:
        """Refuse what is beyond the budget, or what no file could hold, before anything is read."""
        self._account.refuse_beyond(*charges)
        self._account.refuse_uncounted(law)
        self._account.reserve(*numbers_of([] if law is None else [law], charges), charges=charges)

    def _calibrated(self, question: Measure, budget: Budget, noise: str, at_least: Fraction | None) -> NoiseLaw:
        """Set the law from public numbers."""
        floor = None if at_least is None else exact_fraction("at_least", at_least)
        law = calibrated(question, budget, self.public.neighbors, noise, floor)
        if isinstance(self.budget, ApproxDP):
            check_tail([*(law for answer in self.answers for law in answer.laws), law], self.budget)
        return law


def _pure_or_zcdp(name: str, budget: PureDP | ZCDP) -> PureDP | ZCDP:
    if type(budget) not in (PureDP, ZCDP):
        raise ParameterError(f"{name} must be a PureDP or ZCDP, got {shown(budget)}. Hint: pass PureDP(budget.epsilon).")
    return copied(budget)


def _indexed(question: Question, law: NoiseLaw, budget: Budget, index: int) -> Answer:
    return Answer(question, (law,), (budget,), np.array([index], dtype=np.int64))


def _no_values(place: int, exact: int) -> int:  # noqa: ARG001
    raise ParameterError("values must be paid for in advance, got no budget for them. Hint: peel(..., values=budget).")
