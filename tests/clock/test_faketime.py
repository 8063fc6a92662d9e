"""libfaketime as it is installed here, with real processes: exact, and without side effects."""

from __future__ import annotations

import datetime
import os
import shutil
import subprocess
import sys
import time

import pytest

from pytest_mcp_approval.clock import ClockError, FaketimeClock, choose_clock, find_library
from pytest_mcp_approval.clock import faketime as faketime_module
from pytest_mcp_approval.support.deadline import Deadline
from pytest_mcp_approval.wire import Outgoing, StdioTransport, request_bytes
from tests.clock.asking import HAS_FAKETIME, NEEDS_FAKETIME, NODE, Child, nanoseconds
from tests.wire.hostile import program

pytestmark = pytest.mark.skipif(not HAS_FAKETIME, reason=NEEDS_FAKETIME)
MILLISECOND = datetime.timedelta(milliseconds=1)


@pytest.fixture
def clock():
    library = find_library()
    assert library is not None
    made = FaketimeClock(library)
    yield made
    made.close()


@pytest.fixture
def child(clock):
    children = []

    def start(*command, **environment):
        inherited = {**os.environ, **environment}
        given = (command,) if command else ()
        children.append(Child({**environment, **clock.environment(inherited)}, *given))
        return children[-1]

    yield start
    for one in children:
        one.end()


INSTANTS = [
    datetime.datetime(2030, 6, 1, 12, 0, 0, tzinfo=datetime.UTC),
    datetime.datetime(2031, 3, 30, 1, 59, 59, 999000, tzinfo=datetime.UTC),
    datetime.datetime(2029, 10, 28, 1, 30, 5, 1000, tzinfo=datetime.UTC),
    datetime.datetime(2028, 12, 31, 23, 59, 59, 123456, tzinfo=datetime.UTC),
    datetime.datetime(1999, 1, 1, 0, 0, 7, 997000, tzinfo=datetime.UTC),
]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Europe/Berlin"])
def test_time_stands_exactly_where_it_is_put_in_any_zone(clock, child, zone):
    asked = child(TZ=zone)
    for instant in INSTANTS:
        for near in (instant - MILLISECOND, instant, instant + MILLISECOND):
            clock.move_to(near)
            shown = asked.nanoseconds()
            assert shown // 1000 == nanoseconds(near) // 1000
            assert shown >= nanoseconds(near), "never a moment before: it could still be good"
            assert clock.now() == near


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_a_program_in_another_language_sees_the_same_milliseconds(clock, child):
    asked = child("node", "-e", NODE)
    for instant in INSTANTS:
        clock.move_to(instant)
        assert asked.nanoseconds() // 1_000_000 == nanoseconds(instant) // 1_000_000


def test_released_time_is_real_time_and_goes_on(clock, child):
    asked = child()
    clock.advance(3600)
    assert asked.nanoseconds() > time.time_ns() + 3_500 * 10**9
    clock.release()
    before = time.time_ns()
    first, second = asked.nanoseconds(), asked.nanoseconds()
    # It reads the real time a moment before it adds a shift of zero.
    assert before - 5_000_000 <= first < second <= time.time_ns() + 5_000_000


def test_the_monotonic_clock_goes_on_while_the_calendar_stands(clock, child):
    asked = child()
    clock.move_to(INSTANTS[0])
    assert asked.nanoseconds() == asked.nanoseconds()
    assert asked.monotonic() < asked.monotonic()


WAITS = """
import asyncio, queue, threading, time
begin = time.monotonic()
time.sleep(0.02)
threading.Event().wait(0.02)
asyncio.run(asyncio.sleep(0.02))
try: queue.Queue().get(timeout=0.02)
except queue.Empty: pass
took = time.monotonic() - begin
assert 0.08 <= took, took
print("waited")
"""


def test_a_program_can_sleep_while_its_time_stands_still(clock):
    """Also with a library whose own sleeping is broken (before 0.9.11)."""
    clock.move_to(INSTANTS[0])
    environment = {**os.environ, **clock.environment(os.environ)}
    done = subprocess.run(
        [sys.executable, "-c", WAITS],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "waited\n", "")


def test_a_server_that_sleeps_before_it_answers_answers(clock):
    clock.move_to(INSTANTS[0])
    text = "request = read(); time.sleep(0.01); answer(request, time.time()); wait()"
    # As programs are started: one that is told to leave PYTHONPATH alone is not repaired.
    command = [word for word in program(text) if word not in ("-S", "-E")]
    with StdioTransport(command, clock.environment(os.environ)) as transport:
        transport.start(Deadline(10))
        asked = Outgoing(request_bytes(1, "ping"), 1, "ping")
        reply = transport.exchange(asked, Deadline(20))
    assert reply.result == pytest.approx(INSTANTS[0].timestamp(), abs=1e-3), reply.describe()


def test_what_python_imports_at_its_start_still_is(clock, tmp_path):
    """The repair is such a file itself, and hides no other of its name."""
    (tmp_path / "sitecustomize.py").write_text("import builtins; builtins.theirs = 7")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    environment.update(clock.environment(environment))
    done = subprocess.run(
        [sys.executable, "-c", "import sys; print(theirs, sys.path)"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.startswith("7 "), done.stderr
    assert str(tmp_path) in done.stdout
    assert "faketime_repair" not in done.stdout


def test_two_servers_under_two_clocks_have_two_times(clock, child):
    library = find_library()
    assert library is not None
    other = FaketimeClock(library)
    first, second = child(), Child(other.environment({}))
    try:
        clock.move_to(INSTANTS[0])
        other.move_to(INSTANTS[1])
        assert first.nanoseconds() // 10**9 == nanoseconds(INSTANTS[0]) // 10**9
        assert second.nanoseconds() // 10**9 == nanoseconds(INSTANTS[1]) // 10**9
    finally:
        second.end()
        other.close()


def test_what_was_to_be_preloaded_still_is(clock):
    name = "DYLD_INSERT_LIBRARIES" if sys.platform == "darwin" else "LD_PRELOAD"
    assert clock.environment({name: "/lib/theirs.so"})[name].endswith(":/lib/theirs.so")


def test_an_environment_that_would_win_is_refused(monkeypatch):
    monkeypatch.setenv("FAKETIME", "+1d")
    chosen = choose_clock(
        "faketime", automatic=_none, starts_a_process=True, longest_wait=1, hook_timeout=1
    )
    assert not chosen.movable
    assert "FAKETIME is set" in chosen.why_not


def test_before_1970_there_is_no_time(clock):
    with pytest.raises(ClockError, match="before 1970"):
        clock.move_to(datetime.datetime(1969, 12, 31, tzinfo=datetime.UTC))


def test_the_variable_names_the_library(monkeypatch, tmp_path):
    monkeypatch.setenv(faketime_module.VARIABLE, str(tmp_path / "nowhere.so"))
    assert find_library() is None
    assert "nowhere.so" in faketime_module.why_not_found()
    (tmp_path / "nowhere.so").touch()
    assert find_library() == tmp_path / "nowhere.so"


def _none():
    raise AssertionError("something was asked for")


def test_what_dead_processes_left_in_shared_memory_is_removed(tmp_path, monkeypatch):
    """A later process with the same number would fail on it."""
    monkeypatch.setattr(faketime_module, "_SHARED_MEMORY", tmp_path)
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait(60)
    names = ("sem.faketime_sem_{}", "faketime_shm_{}")
    left = [tmp_path / name.format(ended.pid) for name in names]
    kept = [tmp_path / name.format(os.getpid()) for name in names] + [tmp_path / "faketime_shm_x"]
    for path in [*left, *kept]:
        path.touch()
    FaketimeClock(tmp_path / "libfaketime.so.1").close()
    assert sorted(tmp_path.iterdir()) == sorted(kept)
