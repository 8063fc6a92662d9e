"""The target in a pytest session: opened once, and one test's turn on it.

Works for scenarios and for the user's own tests, which may run without any scenario. Knows no
verdicts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ..catalogue.marking import family_of
from ..clock import NoClock, WaitClock
from ..target import Target, open_target
from .state import RunState, state_of
from .target_health import TargetGoneError
from .worker_input import shared_file

_WORTH_A_LINE = 1.0
"""Seconds; shorter waits are not announced."""


@contextlib.contextmanager
def opened_target(config: pytest.Config) -> Iterator[Target]:
    """The first target; the others are its replicas."""
    state = state_of(config)
    settings, found = state.settings, state.found
    if not settings.targets:
        pytest.skip(
            "no server to test: pytest --mcp-approval-target=<server>, or target = ... in "
            "mcp-approval.toml"
        )
    if found is not None and found.effects_doubt:
        settings = replace(settings, effects_doubt=found.effects_doubt)
    target = open_target(settings.targets[0], settings)
    if found is not None:
        target.gated_tools = frozenset(found.gated)
    if found is not None and found.clock_stuck:
        # If time does not move, checks that need it are not made.
        target.clock.close()
        target.clock = NoClock(found.clock_stuck)
    if isinstance(target.clock, WaitClock):
        target.clock.announce = lambda seconds: _announce_wait(config, seconds)
    try:
        yield target
    finally:
        target.close()


def _announce_wait(config: pytest.Config, seconds: float) -> None:
    """One line on the terminal, so that a wait does not look like a hang. Workers have none."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    capture = config.pluginmanager.getplugin("capturemanager")
    if reporter is None or seconds < _WORTH_A_LINE:
        return
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
        reporter.ensure_newline()
        reporter.write_line(f"mcp-approval  waits {seconds:.0f} s for the server's time to pass")


@contextlib.contextmanager
def exclusive_use(item: pytest.Item, target: Target) -> Iterator[None]:
    """For one test: a fresh target if possible, and nobody else uses it meanwhile."""
    state = state_of(item.config)
    with _lock(item.config, target), _watched(state, item, target):
        state.aftermath.begin(item, target)
        if target.can_reset or target.settings.reset:
            target.reset()
        try:
            yield
        finally:
            target.clock.release()


@contextlib.contextmanager
def _watched(state: RunState, item: pytest.Item, target: Target) -> Iterator[None]:
    try:
        with state.health.watching(target):
            yield
    except TargetGoneError as error:
        if family_of(item) is not None:
            raise
        # In a user's own test, a traceback into our code helps nobody.
        pytest.fail(str(error), pytrace=False)


@contextlib.contextmanager
def _lock(config: pytest.Config, target: Target) -> Iterator[None]:
    """Workers of one run take turns on a server that they share."""
    path = shared_file(config, "lock")
    if path is None or not target.shared:
        yield
        return
    import fcntl

    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)
