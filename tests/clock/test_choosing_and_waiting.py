"""Which clock is taken, and what one that really waits can do."""

from __future__ import annotations

import datetime
import time

import pytest

from pytest_mcp_approval.clock import (
    ClockError,
    NoClock,
    WaitClock,
    choose_clock,
    choosing,
    waiting,
)
from pytest_mcp_approval.config.values import clock as read_clock
from pytest_mcp_approval.config.values import longest_wait


def chosen(wanted, *, starts_a_process=True):
    return choose_clock(
        wanted,
        automatic=lambda: NoClock("by itself"),
        starts_a_process=starts_a_process,
        longest_wait=longest_wait(wanted),
        hook_timeout=1.0,
    )


@pytest.mark.parametrize(
    ("wanted", "kind", "words"),
    [
        ("none", "none", "switched off"),
        ("auto", "none", "by itself"),
        ("hook:touch it", "hook", "touch it"),
        ("wait", "wait", "at most 900 s"),
        ("wait:5", "wait", "at most 5 s"),
    ],
)
def test_what_was_asked_for_is_taken(wanted, kind, words):
    clock = chosen(read_clock(wanted))
    assert clock.kind == kind
    assert words in (clock.note or clock.why_not)


def test_faketime_is_for_processes_only():
    assert (
        "only a server that the suite starts" in chosen("faketime", starts_a_process=False).why_not
    )


def test_without_the_library_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setattr(choosing, "find_library", lambda: None)
    missing = chosen("faketime").why_not
    assert "libfaketime is not installed" in missing
    assert "install" in missing
    assert "hook:" in missing


@pytest.mark.parametrize("wanted", ["", "clock", "hook:", "hook: ", "wait:", "wait:0", "wait:x"])
def test_a_clock_that_is_none_is_told(wanted):
    with pytest.raises(ValueError, match="expected auto, faketime, hook:"):
        read_clock(wanted)


def test_it_waits_until_real_time_has_come():
    clock = WaitClock(10.0)
    aim = clock.now() + datetime.timedelta(seconds=0.1)
    began = time.monotonic()
    clock.move_to(aim)
    assert clock.now() >= aim
    assert time.monotonic() - began < 30


def test_it_does_not_go_back():
    clock = WaitClock(10.0)
    clock.advance(0.01)
    with pytest.raises(ClockError, match="does not go back"):
        clock.advance(-60)
    clock.release()
    clock.advance(-60)


def test_it_says_how_long_it_would_take():
    clock = WaitClock(10.0)
    with pytest.raises(ClockError, match=r"would take 24 h, and 10 s is the limit: .*wait:86401"):
        clock.advance(86400)


def test_it_says_when_it_came_too_late():
    clock = WaitClock(10.0)
    past = clock.now() - datetime.timedelta(seconds=3)
    with pytest.raises(ClockError, match=r"has passed the intended instant, by \d+\.\d s"):
        clock.move_to(past, before=past + datetime.timedelta(seconds=1))


def test_another_machines_clock_gets_a_margin(monkeypatch):
    waited = []
    monkeypatch.setattr(waiting, "wait", waited.append)
    for nearby in (True, False):
        WaitClock(10.0, nearby=nearby).advance(5)
    assert waited[1] - waited[0] > 0.5


def test_a_wait_is_announced_before_it_begins(monkeypatch):
    happened: list[object] = []
    monkeypatch.setattr(waiting, "wait", lambda _: happened.append("waits"))
    clock = WaitClock(10.0)
    clock.announce = lambda seconds: happened.append(round(seconds))
    clock.advance(5)
    assert happened == [5, "waits"]
    with pytest.raises(ClockError):
        clock.advance(86400)
    assert len(happened) == 2, "what is not waited for is not announced"
