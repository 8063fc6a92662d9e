"""A pytest plugin for benchmarks: how much of a run was spent waiting for answers.

Calls that wait at the same time are counted once, so that the result is a part of the run.
"""

from __future__ import annotations

import time
from typing import Any

from pytest_mcp_approval.wire import transport

_began = time.perf_counter()
_waits: list[tuple[float, float]] = []
"""From when to when each call waited."""
_conclude = transport.Transport._conclude


def _measured(self: Any, outgoing: Any, reply: Any, *rest: Any, **more: Any) -> Any:
    concluded = _conclude(self, outgoing, reply, *rest, **more)
    now = time.perf_counter()
    _waits.append((now - concluded.seconds, now))
    return concluded


def waits() -> list[tuple[float, float]]:
    """From when to when each call waited so far."""
    return _waits


def together(waits: list[tuple[float, float]]) -> float:
    """The seconds in which at least one call was waiting."""
    total, until = 0.0, float("-inf")
    for start, end in sorted(waits):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def pytest_configure() -> None:
    transport.Transport._conclude = _measured  # type: ignore[method-assign]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    whole = time.perf_counter() - _began
    terminalreporter.write_line(
        f"waited {together(_waits):.3f} s of {whole:.3f} s in {len(_waits)} calls"
    )
