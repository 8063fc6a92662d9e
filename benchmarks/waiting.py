"""A pytest plugin for benchmarks: how long a run waited for answers, all told."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.wire import transport

_waited = 0.0
_calls = 0
_conclude = transport.Transport._conclude


def _measured(self: Any, outgoing: Any, reply: Any, *rest: Any, **more: Any) -> Any:
    global _waited, _calls  # noqa: PLW0603  # one process, one sum
    concluded = _conclude(self, outgoing, reply, *rest, **more)
    _waited += concluded.seconds
    _calls += 1
    return concluded


def pytest_configure() -> None:
    transport.Transport._conclude = _measured  # type: ignore[method-assign]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.write_line(f"waited {_waited:.3f} s in {_calls} calls")
