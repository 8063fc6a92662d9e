"""What survives a restart, what replicas share, and how time is moved."""

import datetime
import threading

import pytest
from freezegun import freeze_time

from pytest_mcp_approval.reference_server import (
    ApprovalStore,
    FileClock,
    SettableClock,
    SystemClock,
)
from tests.reference_server.ceremony import ALICE, Ceremony
from tests.reference_server.test_enrolment import together
from virtual_authenticator import AlwaysZero, Authenticator

NEW_YEAR = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture
def open_store(database_url):
    opened = []

    def open_once_more():
        opened.append(ApprovalStore(database_url))
        return opened[-1]

    yield open_once_more
    for store in opened:
        store.close()


def test_a_restart_forgets_nothing(open_store):
    before = Ceremony(open_store())
    before.clock.move_to(NEW_YEAR)
    passkey = before.enrol()
    used = before.evidence(passkey, before.challenge())
    approval = before.call(used)
    pending = before.evidence(passkey, before.challenge())
    enrolment = before.register(Authenticator())
    before.store.close()

    after = Ceremony(open_store())
    after.clock.move_to(NEW_YEAR)
    assert after.gate.server_id == before.gate.server_id
    assert after.store.credentials(ALICE)[0].counter == approval.counter
    assert after.refused(used) == "challenge_consumed"
    assert after.call(pending)
    assert after.gate.finish_enrolment(ALICE, enrolment)["success"] is True
    assert len(after.store.credentials(ALICE)) == 2


def test_of_two_replicas_one_runs_the_call(open_store):
    replicas = [Ceremony(open_store()), Ceremony(open_store())]
    passkey = replicas[0].enrol(Authenticator(counter=AlwaysZero()))
    evidence = replicas[1].evidence(passkey, replicas[1].challenge())
    outcomes = together(lambda number: replicas[number % 2].call(evidence), 8)
    assert outcomes == ["accepted"] + 7 * ["challenge_consumed"]


def test_replicas_that_start_together_agree_on_the_server_s_id(open_store):
    found = []
    assert together(lambda _: found.append(open_store().server_id())) == 8 * ["accepted"]
    assert len(set(found)) == 1


def test_a_reset_forgets_all_but_the_server_s_id(store):
    ceremony = Ceremony(store)
    evidence = ceremony.evidence(ceremony.enrol(), ceremony.challenge())
    handle, server_id = store.user_handle(ALICE), store.server_id()
    store.reset()
    assert ceremony.refused(evidence) == "challenge_unknown"
    assert store.credentials(ALICE) == []
    assert store.enrolments(ALICE) == []
    assert store.user_handle(ALICE) != handle
    assert store.server_id() == server_id


def test_a_removed_credential_is_unknown(store):
    ceremony = Ceremony(store)
    evidence = ceremony.evidence(ceremony.enrol(), ceremony.challenge())
    store.remove_credential(store.credentials(ALICE)[0].credential_id)
    store.remove_credential(b"never there")
    assert ceremony.refused(evidence) == "unknown_credential"


@pytest.mark.parametrize(
    ("stored", "shown", "advances"),
    [(0, 0, True), (0, 1, True), (1, 1, False), (1, 0, False), (1, 2, True), (9, 8, False)],
)
def test_the_counter_advances_or_stays(store, stored, shown, advances):
    from dataclasses import replace

    ceremony = Ceremony(store)
    ceremony.enrol()
    record = replace(store.credentials(ALICE)[0], credential_id=b"x", counter=stored)
    assert store.add_credential(record) is True
    assert store.advance_counter(b"x", shown) is advances
    kept = store.credential(b"x")
    assert kept is not None
    assert kept.counter == (shown if advances else stored)
    assert store.advance_counter(b"never there", 5) is False


def test_records_come_back_as_they_went_in(store):
    ceremony = Ceremony(store)
    ceremony.clock.move_to(NEW_YEAR + datetime.timedelta(microseconds=123_456))
    challenge = (ceremony.enrol(), ceremony.challenge())[1]
    record = store.challenge(challenge["challengeId"])
    assert record.expires_at == NEW_YEAR + datetime.timedelta(seconds=60, milliseconds=123)
    assert record.consumed_at is None
    assert record.canonical_arguments == b'{"quantity":10,"symbol":"AAPL"}'
    assert store.credentials(ALICE)[0].created_at == ceremony.clock.now()


# ---- clocks


def test_the_system_s_clock_can_be_frozen_from_outside():
    with freeze_time("2030-01-01T00:00:00Z"):
        assert SystemClock().now() == NEW_YEAR


def test_a_settable_clock_stands_still_and_moves_both_ways():
    clock = SettableClock(NEW_YEAR)
    assert clock.now() == clock.now() == NEW_YEAR
    clock.advance(1.5)
    clock.advance(datetime.timedelta(seconds=-3))
    assert clock.now() == NEW_YEAR - datetime.timedelta(seconds=1.5)
    clock.move_to(NEW_YEAR)
    assert clock.now() == NEW_YEAR


def test_no_step_of_a_settable_clock_is_lost_between_threads():
    clock = SettableClock(NEW_YEAR)
    threads = [
        threading.Thread(target=lambda: [clock.advance(1) for _ in range(500)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert clock.now() == NEW_YEAR + datetime.timedelta(seconds=2000)


def test_an_instant_needs_a_time_zone():
    with pytest.raises(ValueError, match="without a time zone"):
        SettableClock(NEW_YEAR.replace(tzinfo=None))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [(None, 0), ("", 0), ("+61", 61), ("-5.5\n", -5.5), ("2030-01-01T00:01:00Z", 60)],
)
def test_a_file_moves_the_clock(tmp_path, text, seconds):
    path = tmp_path / "clock"
    if text is not None:
        path.write_text(text)
    with freeze_time(NEW_YEAR):
        assert FileClock(path).now() == NEW_YEAR + datetime.timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["soon", "+x", "2030-01-01", "+1e999"])
def test_a_file_that_says_no_time_is_an_error(tmp_path, text):
    (tmp_path / "clock").write_text(text)
    with pytest.raises(ValueError, match=r"got .*expected"):
        FileClock(tmp_path / "clock").now()
