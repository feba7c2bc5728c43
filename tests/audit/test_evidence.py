"""The audit table: each mechanism at ε = ½, 1 and 2, as docs/evidence.md has it, printed by `make audit`."""

from __future__ import annotations

import pytest

from benchmarks.evidence import LINES, line


def test_an_audit_of_few_pairs() -> None:
    """That of the page in small: one line of each kind of promise."""
    for target, name in (("covariance", "laplace"), ("covariance", "coinpress"), ("pca", "mod-sulq")):
        cells, refuted = line(target, name, "1", pairs=15, trials=20)
        assert not refuted
        assert 0 <= float(cells[3]) <= 1


@pytest.mark.audit
@pytest.mark.parametrize(("target", "name", "epsilon"), LINES)
def test_every_mechanism_keeps_its_promise(target: str, name: str, epsilon: str) -> None:
    """Prices are exact; the bound accuses correct code with probability below 5e-7."""
    cells, refuted = line(target, name, epsilon)
    print(" | ".join(cells))
    assert not refuted
