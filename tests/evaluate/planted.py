"""Planted bugs in evaluate."""

from __future__ import annotations

from tests.mutation.form import mutant

PLANTED = {
    "cells outside the bounds are not counted as clipped": mutant(
        ("evaluate/looking.py", "(values < described.lower) | (values > described.upper)", "(values < described.lower)"),
        by="tests/evaluate/test_looking.py::test_counts_are_those_of_the_cells",
    ),
    "what is exact is not called so": mutant(
        ("evaluate/looking.py", '{"private": False, "warning": WARNING, ', "{"),
        by="tests/evaluate/test_looking.py::TestCommand::test_machines_are_told_as_well",
    ),
}
