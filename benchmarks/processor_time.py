"""A pytest plugin for benchmarks: the processor seconds of each test, in JUnit's XML.

It counts this process, the children that have ended, and on Linux those that still run (a browser
for many tests), with their own children. Elsewhere a child is counted for the test in which it
ends. What is spent between two tests is counted for the second.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

PROPERTY = "processor_seconds"
PROCESSES = Path("/proc")


def spent() -> float:
    now = os.times()
    return now.user + now.system + now.children_user + now.children_system + sum(_running())


def _running() -> Iterator[float]:
    """Of each descendant that still runs, with its own children that have ended."""
    if not (PROCESSES / "self/stat").exists() or not _has_children():
        return
    tick = os.sysconf("SC_CLK_TCK")
    children: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for folder in PROCESSES.iterdir():
        if folder.name.isdigit():
            try:
                text = (folder / "stat").read_bytes()
            except OSError:
                continue  # it has just ended
            # proc_pid_stat(5): after the name in brackets the state, the parent, and further on
            # the times of the process and of its children.
            fields = text.rpartition(b")")[2].split()
            times = sum(map(int, fields[11:15])) / tick
            children[int(fields[1])].append((int(folder.name), times))
    left = [os.getpid()]
    while left:
        for process, times in children[left.pop()]:
            left.append(process)
            yield times


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


class ProcessorTime:
    """One for a run, so that a run within a run has its own."""

    before = 0.0

    def pytest_collection_finish(self) -> None:
        self.before = spent()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        try:
            return (yield)
        finally:
            now = spent()
            # Less than nothing where a process ended for which nobody waited.
            item.user_properties.append((PROPERTY, round(max(0.0, now - self.before), 3)))
            self.before = now


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(ProcessorTime())
