"""Simulated chains of `ppca`: of which releases, with which parameters, and that they repeat."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import ParameterError, ReleaseError
from dpcov.release.file import parse
from tests.helpers.small import sealed
from tests.release.test_components_files import PURE, ROWS, SERVED, text


class TestConvergence:
    def test_of_other_releases(self) -> None:
        others = [parse(sealed(json.loads(text(name, "replace")))) for name in SERVED if name != "ppca"]
        others += [parse(sealed(json.loads(text("ppca", "replace", 1)))), dpcov.covariance(ROWS, PURE, row_norm=1, seed=0)]
        for release in others:
            with pytest.raises(ReleaseError, match=r"release must be drawn by a Markov chain, got one that was not\. Hint: "):
                dpcov.convergence(release)

    @pytest.mark.parametrize("bad", [0, -1, True, 2.0, "3", None, 10**7 + 1], ids=repr)
    def test_parameters(self, bad: Any) -> None:
        release = parse(sealed(json.loads(text("ppca", "replace"))))
        with pytest.raises(ParameterError, match=r"chains must be an integer from 1 to 10\*\*7, got .*\. Hint: "):
            dpcov.convergence(release, chains=bad)
        if bad is not None:
            with pytest.raises(ParameterError, match=r"sweeps must be an integer from 1 to 10\*\*7, got .*\. Hint: "):
                dpcov.convergence(release, sweeps=bad)

    def test_it_repeats_and_its_chains_differ(self) -> None:
        """F_k(1) = 1; as long as the chain of the release; nothing but the release is needed."""
        release = parse(sealed(json.loads(text("ppca", "add-remove"))))
        found = dpcov.convergence(release, chains=3, seed=4)
        assert found.shape == (3, 8)
        assert np.allclose(found[:, 0], 1.0, rtol=0, atol=1e-12)
        assert np.all((found >= 0) & (found <= 1 + 1e-12))
        assert len({row.tobytes() for row in found}) == 3
        assert np.array_equal(dpcov.convergence(release, chains=1, sweeps=5, seed=5)[0], found[1, :5])
