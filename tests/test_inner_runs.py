"""What inner runs leave of this process: see `pytest_configure` in conftest.py."""

from __future__ import annotations

import sys
import threading

from _pytest.pytester import SysModulesSnapshot


def test_a_thread_can_import_while_an_inner_run_ends():
    problems: list[str] = []
    done = threading.Event()

    def imports() -> None:
        while not done.is_set():
            try:
                exec("import asyncio, asyncio.base_events", {})
            except Exception as problem:
                problems.append(repr(problem))
                return

    thread = threading.Thread(target=imports)
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        for _ in range(1_000):
            SysModulesSnapshot().restore()
    finally:
        done.set()
        thread.join(30)
        sys.setswitchinterval(usual)
    assert problems == []
