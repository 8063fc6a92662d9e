"""For all tests."""

import gc
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["pytester"]

# Inner runs would add themselves to the summary of the job that runs these tests.
os.environ.pop("GITHUB_STEP_SUMMARY", None)

# `pytester` gives its tests a home of their own, in which nobody ever fetched a browser.
os.environ.setdefault("XDG_CACHE_HOME", str(Path.home() / ".cache"))

# Hundreds of processes and inner runs would each compile the same files, whoever asks for that.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_collection_finish() -> None:
    """What is loaded by now stays to the end: nobody needs to look through it for garbage again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    """In CI a test that was skipped for want of a browser has failed."""
    report = yield
    if report.skipped:
        from tests.browsers import must_run

        must_run(report, call)
    return report
