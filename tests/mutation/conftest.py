"""Start on the mutants as soon as it is known which of them are wanted."""

from __future__ import annotations

import pytest

from tests.mutation.background import BENCH


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put them last: all other tests run beside them."""
    items.sort(key=lambda item: getattr(item, "originalname", "") == PLANTED)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the mutants that were selected."""
    names = [item.callspec.params["name"] for item in session.items if getattr(item, "originalname", "") == PLANTED]  # type: ignore[attr-defined]
    if names and not session.config.option.collectonly:
        BENCH.start(names)


def pytest_unconfigure(config: pytest.Config) -> None:  # noqa: ARG001
    """Stop where tests were interrupted."""
    BENCH.stop()


PLANTED = "test_planted_bug_is_caught"
