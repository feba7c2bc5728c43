"""What may be asked of rows, each with its sensitivity and its JSON: a curator answers nothing else."""

from __future__ import annotations

from dpcov.kernel.questions.along import Diagonal, Explained
from dpcov.kernel.questions.bins import Bins, Rank
from dpcov.kernel.questions.choices import Bias, Quantile, Radius
from dpcov.kernel.questions.columns import Block, Squares
from dpcov.kernel.questions.directions import Directions, Subspace
from dpcov.kernel.questions.groups import GroupCounts, GroupedMoment
from dpcov.kernel.questions.measure import Question
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.questions.norms import Norms, Trace
from dpcov.kernel.questions.overlap import Overlap
from dpcov.kernel.questions.solution import Solution
from dpcov.kernel.questions.spectral import Spectrum
from dpcov.kernel.questions.table import ColumnMoments, Histograms, Interval, LevelCounts
from dpcov.kernel.questions.weights import HeavyWeight, SquaredWeights, Weights

SUMMED: tuple[type[Question], ...] = (
    Count,
    Sum,
    SecondMoment,
    GroupedMoment,
    GroupCounts,
    Norms,
    Trace,
    Bins,
    Histograms,
    LevelCounts,
    Weights,
    SquaredWeights,
)
DERIVED: tuple[type[Question], ...] = (Spectrum, Diagonal, Explained, Overlap, Squares, Block, Solution, ColumnMoments)
CHOSEN: tuple[type[Question], ...] = (Quantile, Rank, Interval, HeavyWeight)
SEARCHED: tuple[type[Question], ...] = (Radius, Bias)
DRAWN: tuple[type[Question], ...] = (Directions, Subspace)

ASKED = (*SUMMED, *DERIVED, *CHOSEN, *SEARCHED, *DRAWN)
"""Every question whose sensitivity is proved: sums over rows and numbers derived from them, to which noise is added; choices by
the exponential mechanism, searches by the sparse vector technique, and what is drawn from the second moment."""

BESIDE: tuple[type[Question], ...] = (Count, Weights, SquaredWeights, HeavyWeight)
"""What tells nothing of the features of rows."""

BY_TAG = {question.tag or question.name: question for question in ASKED}
"""How a file calls them."""
