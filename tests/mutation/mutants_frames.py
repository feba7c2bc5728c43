"""Planted bugs in frames, bins, ranks, priors and pairs."""

from __future__ import annotations

from tests.mutation.mutant import Mutant, mutant
