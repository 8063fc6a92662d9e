"""A pytest plugin for benchmarks: with `reset = restart`, no server is started ahead."""

from __future__ import annotations

from pytest_mcp_approval.target.started import StartedTarget


def _never(self: StartedTarget) -> bool:  # noqa: ARG001
    return False


def pytest_configure() -> None:
    StartedTarget._can_start_ahead = _never  # type: ignore[method-assign]
