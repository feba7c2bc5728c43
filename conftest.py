"""What holds for all tests: repeatable examples, one thread, no file left in the repository; and which bugs are planted."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).parent
CACHES = {".git", ".venv", ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache", "__pycache__", "results"}
PLANTED = "test_planted_bug_is_caught"


def files(root: Path) -> set[str]:
    """Return every file below a folder, caches left out."""
    found = set()
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in CACHES]
        found |= {str((Path(folder) / name).relative_to(root)) for name in names if not name.startswith(".coverage")}
    return found


settings.register_profile("repeatable", derandomize=True, deadline=None)
ONE_BUG = os.environ.get("HYPOTHESIS_PROFILE") == "planted"  # a few tests against a copy that has a bug: tests/mutation
settings.register_profile(
    "planted",  # an example that fails is enough, the smallest one is not asked for
    parent=settings.get_profile("repeatable"),
    phases=[phase for phase in Phase if phase not in (Phase.shrink, Phase.explain)],
)
settings.load_profile("planted" if ONE_BUG else "repeatable")


@pytest.fixture(scope="session", autouse=not ONE_BUG)  # whose process is told so by its environment, which is faster
def _one_thread() -> Iterator[None]:
    """Small decompositions start threads too, and wait for them on a busy machine."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture(scope="session", autouse=not ONE_BUG)
def _the_repository_is_left_as_it_was() -> Iterator[None]:
    before = files(ROOT)
    yield
    left = sorted(files(ROOT) - before)
    assert not left, f"a test left these behind; tests write into tmp_path: {left}"


def pytest_collection_finish() -> None:
    """Keep what was collected out of every collection of garbage: there are more of these objects than of all others."""
    if not ONE_BUG:
        gc.collect()
        gc.freeze()


def pytest_unconfigure() -> None:
    """Let go of it at the end, where libraries look for what was never freed."""
    if not ONE_BUG:
        gc.unfreeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--plant",
        choices=["all", "changed", "none"],
        default="all",
        help="planted bugs: all (default), those of files that changed since this branch left the main one, or none",
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which bugs are planted, where it is not all of them."""
    if config.getoption("--plant") == "all":
        return None
    from tests.mutation.selection import chosen

    return "planting " + chosen(config.getoption("--plant"))[1]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the planted bugs that are not asked for."""
    planted = [item for item in items if getattr(item, "originalname", "") == PLANTED]
    if config.getoption("--plant") == "all" or not planted:
        return
    from tests.mutation.selection import chosen

    wanted = {f"{PLANTED}[{name}]" for name in chosen(config.getoption("--plant"))[0]}
    left_out = {item.nodeid for item in planted if item.name not in wanted}
    items[:] = [item for item in items if item.nodeid not in left_out]
    config.hook.pytest_deselected(items=[item for item in planted if item.nodeid in left_out])
