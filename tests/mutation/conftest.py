"""Start on the mutants, and on the tests that run beside the others, as soon as it is known which of them are wanted."""

from __future__ import annotations

import pytest

from tests import beside
from tests.mutation.background import BENCH

PLANTED = "test_planted_bug_is_caught"
BESIDE = pytest.StashKey[beside.Beside]()


def planted(item: pytest.Item) -> bool:
    return getattr(item, "originalname", "") == PLANTED


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put them last: all other tests run beside them."""
    items.sort(key=lambda item: (planted(item), beside.allowed(config) and item.nodeid.startswith(beside.FOLDERS)))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start what was selected. Tests run beside the others only where there are mutants too: in a whole run."""
    names = [item.callspec.params["name"] for item in session.items if planted(item)]  # type: ignore[attr-defined]
    if not names or session.config.option.collectonly:
        return
    submit = BENCH.open()
    if beside.allowed(session.config):
        session.config.stash[BESIDE] = others = beside.Beside(session.items)
        others.start(submit)
    BENCH.start(names)


def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Take the reports of the process where there are any."""
    others = item.config.stash.get(BESIDE, None)
    if others is None or not item.nodeid.startswith(beside.FOLDERS):
        return None
    reports = others.reports(item.nodeid)
    if reports:
        beside.hand_on(item, reports)
    return bool(reports) or None


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop where tests were interrupted."""
    if (others := config.stash.get(BESIDE, None)) is not None:
        others.stop()
    BENCH.stop()
