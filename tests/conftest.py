"""For all tests."""

import gc
import os
import sys
from collections.abc import Generator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.long_first import long_first
from tests.warm_python import start_servers_warm, start_workers_cold, start_workers_warm

pytest_plugins = ["pytester"]

# Otherwise inner runs would add themselves to the summary of the CI job.
os.environ.pop("GITHUB_STEP_SUMMARY", None)

# `pytester` gives its tests a new home folder, where a fetched browser would not be found.
os.environ.setdefault("XDG_CACHE_HOME", str(Path.home() / ".cache"))

# Otherwise hundreds of processes and inner runs would each compile the same files.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_configure() -> None:
    """After an inner run pytester empties `sys.modules` and fills it again. A server's thread that
    imports in between loads a module a second time, and both copies are broken."""
    from _pytest.pytester import SysModulesSnapshot

    def restore(snapshot: SysModulesSnapshot) -> None:
        saved: dict[str, ModuleType] = vars(snapshot)["_SysModulesSnapshot__saved"]
        preserved = vars(snapshot)["_SysModulesSnapshot__preserve"] or (lambda _: False)
        for name in set(sys.modules) - set(saved):
            if not preserved(name):
                sys.modules.pop(name, None)
        sys.modules.update((name, one) for name, one in saved.items() if not preserved(name))

    setattr(SysModulesSnapshot, "restore", restore)  # noqa: B010 mypy allows no other way
    start_servers_warm()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """What is loaded until then stays until the end: the garbage collector need not search it, now
    or later. Afterwards it searches less often than by default: inner runs make millions of
    objects, and nearly all of them are dropped without its help."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(10_000)
        gc.enable()


def pytest_collection_finish() -> None:
    """Not earlier: our own workers have been started by then, and what comes is of inner runs."""
    start_workers_warm()


@pytest.fixture
def cold_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of inner runs load what they need by themselves, as those of users do."""
    start_workers_cold(monkeypatch)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        items[:] = long_first(items, [item.nodeid for item in items], workers)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    """In CI a test that was skipped because there is no browser has failed."""
    report = yield
    if report.skipped:
        from tests.browsers import must_run

        must_run(report, call)
    return report
