"""A pytest plugin for benchmarks: the processor seconds of each test, in JUnit's XML.

It counts this process and the children that ended during the test. A child that lives longer (a
browser for many tests) is counted for the test in which it ends, or for none.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest

PROPERTY = "processor_seconds"
_BEGAN: pytest.StashKey[float] = pytest.StashKey()


def spent() -> float:
    now = os.times()
    return now.user + now.system + now.children_user + now.children_system


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    item.stash[_BEGAN] = spent()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    try:
        return (yield)
    finally:
        item.user_properties.append((PROPERTY, round(spent() - item.stash[_BEGAN], 3)))
