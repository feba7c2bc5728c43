"""What a kernel does where the machine's arithmetic fails: an error of its own, and nothing of the data in it."""

from __future__ import annotations

from fractions import Fraction
from typing import NoReturn

import numpy as np
import pytest

from dpcov.errors import EngineError
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.solution import Solution
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import pack


def test_a_system_without_a_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    """What LAPACK says of a matrix stays inside: the matrix is exact."""

    def fails(matrix: object) -> NoReturn:
        raise np.linalg.LinAlgError(f"this is {matrix}")

    moment = SecondMoment(Grid(1.0), 3)
    question = Solution(moment, 5, 0, Fraction(1, 100))
    exact = pack(np.eye(3, dtype=np.int64) << 32)
    assert question.of_moment(exact).shape == (2,)
    monkeypatch.setattr(np.linalg, "cholesky", fails)
    with pytest.raises(EngineError) as failed:
        question.of_moment(exact)
    assert (
        str(failed.value)
        == "a positive definite matrix must have a Cholesky factor, and had none. Hint: install another numpy (BLAS)."
    )
    assert failed.value.__suppress_context__
