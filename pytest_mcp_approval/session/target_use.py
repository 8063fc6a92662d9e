"""The target in a pytest session: its settings, opened once, and one test's turn on it.

Works for scenarios and for tests of the user's own, which may run without any scenario: then the
target is what the options or the settings file name, and nothing of it is read before it is asked
for. Knows no verdicts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ..clock import NoClock, WaitClock
from ..config.settings import Settings, SettingsError, read_settings
from ..target import Target, check_launch, open_target, parse_target
from .aftermath import NAME as AFTERMATH
from .discreet_output import be_discreet
from .secrets_of_run import secrets_of, secrets_of_options
from .start import given_options
from .target_health import NAME as VITALS
from .target_health import Vitals
from .worker_input import shared_file

RUN = "mcp-approval-run"
"""The plugin of a run with scenarios."""
_WORTH_A_LINE = 1.0
"""Seconds; a shorter wait is not noticed."""
_SETTINGS: pytest.StashKey[Settings] = pytest.StashKey()


def settings_of(config: pytest.Config) -> Settings:
    """Of this session; without a target where nobody names one. Wrong ones fail the test."""
    run = config.pluginmanager.getplugin(RUN)
    if run is not None:
        settings: Settings = run.settings
        return settings
    if _SETTINGS not in config.stash:
        started_in = config.invocation_params.dir
        try:
            settings = read_settings(given_options(config), config.rootpath, started_in)
            for text in settings.targets:
                parse_target(text)
            if settings.targets:
                check_launch(settings, workers=hasattr(config, "workerinput"))
        except SettingsError as error:
            hidden = secrets_of_options(given_options(config)).hide(str(error))
            pytest.fail(hidden, pytrace=False)
        be_discreet(config, secrets_of(settings))
        config.stash[_SETTINGS] = settings
    return config.stash[_SETTINGS]


@contextlib.contextmanager
def opened_target(config: pytest.Config, settings: Settings) -> Iterator[Target]:
    """The first target; the others are its replicas."""
    run = config.pluginmanager.getplugin(RUN)
    found = run.found if run is not None else None
    if found is not None and found.effects_doubt:
        settings = replace(settings, effects_doubt=found.effects_doubt)
    target = open_target(settings.targets[0], settings)
    if found is not None and found.clock_stuck:
        # If time does not move, nothing that needs it is judged.
        target.clock.close()
        target.clock = NoClock(found.clock_stuck)
    if isinstance(target.clock, WaitClock):
        target.clock.announce = lambda seconds: _announce_wait(config, seconds)
    try:
        yield target
    finally:
        target.close()


def _announce_wait(config: pytest.Config, seconds: float) -> None:
    """One line on the terminal, so that nobody takes a wait for a hang. Workers have none."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    capture = config.pluginmanager.getplugin("capturemanager")
    if reporter is None or seconds < _WORTH_A_LINE:
        return
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
        reporter.ensure_newline()
        reporter.write_line(f"mcp-approval  waits {seconds:.0f} s for the server's time to pass")


@contextlib.contextmanager
def exclusive_use(config: pytest.Config, target: Target) -> Iterator[None]:
    """For one test: a fresh target where that is possible, and nobody else meanwhile."""
    with _lock(config, target), _vitals(config, target).watching(target):
        aftermath = config.pluginmanager.getplugin(AFTERMATH)
        if aftermath is not None:
            aftermath.begin(target)
        if target.can_reset or target.settings.reset:
            target.reset()
        try:
            yield
        finally:
            target.clock.release()


def _vitals(config: pytest.Config, target: Target) -> Vitals:
    found: Vitals | None = config.pluginmanager.getplugin(VITALS)
    if found is None:
        found = Vitals(config, target.settings)
        config.pluginmanager.register(found, VITALS)
    return found


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
