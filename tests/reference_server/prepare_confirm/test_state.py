"""The two states: what they keep, who wins, what a restart leaves."""

from __future__ import annotations

import datetime
import threading

import pytest

from pytest_mcp_approval.reference_server.prepare_confirm.extension import PrepareConfirmExtension
from pytest_mcp_approval.reference_server.prepare_confirm.records import (
    ConfirmationAttempt,
    Project,
    User,
)
from pytest_mcp_approval.reference_server.prepare_confirm.store import (
    MOST_ATTEMPTS,
    PreparationStore,
)
from pytest_mcp_approval.reference_server.server.clock import SettableClock
from pytest_mcp_approval.reference_server.server.effects import RecordedEffects
from pytest_mcp_approval.reference_server.server.extension import (
    Backing,
    Caller,
    ExtensionParts,
)

START = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)


def test_of_many_who_spend_a_token_one_does(state):
    together = threading.Barrier(8)
    won = []

    def spend():
        together.wait(10)
        won.append(state.spend("nonce", START + HOUR))

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(won) == [False] * 7 + [True]
    assert state.is_spent("nonce")


def test_spent_tokens_are_forgotten_when_their_time_has_come(state):
    state.spend("early", START + HOUR)
    state.spend("late", START + 2 * HOUR)
    state.forget_spent(START + HOUR)
    assert (state.is_spent("early"), state.is_spent("late"), state.spent_count()) == (
        False,
        True,
        1,
    )


def test_only_the_newest_attempts_are_kept(state):
    with state.together():
        for number in range(MOST_ATTEMPTS + 5):
            state.add_attempt(ConfirmationAttempt(START, str(number), "done", "mark", "somebody"))
    kept = state.attempts()
    assert len(kept) == MOST_ATTEMPTS
    assert (kept[0].tool, kept[-1].tool) == ("5", str(MOST_ATTEMPTS + 4))
    assert kept[0].at == START


def test_a_change_holds_for_its_version_only(state):
    project = state.projects(["proj-1"])["proj-1"]
    assert not state.close_project("proj-1", project.version + 1)
    assert state.close_project("proj-1", project.version)
    assert not state.close_project("proj-1", project.version), "that version is history"
    assert not state.delete_project("proj-1", project.version)
    user = state.user("john.doe")
    assert not state.delete_user("john.doe", user.version + 1)
    assert state.delete_user("john.doe", user.version)
    assert state.user("john.doe") is None


def test_many_projects_keep_their_order(state):
    ids = [f"p{number:04}" for number in range(1200)]
    state.put_projects(Project(one, "many") for one in ids)
    assert list(state.projects(reversed(ids))) == ids[::-1]
    assert len({one.version for one in state.projects(ids).values()}) == 1200


def test_changes_made_together_hold_after_an_error(state):
    version = state.projects(["proj-1"])["proj-1"].version

    def fails_after_a_change():
        with state.together():
            state.delete_project("proj-1", version)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails_after_a_change()
    assert state.projects(["proj-1"]) == {}


def test_a_reset_is_a_new_beginning(state):
    state.spend("nonce", START + HOUR)
    state.put_user(User("new", "New", "new@example.org"))
    state.delete_project("proj-1", 1)
    state.reset_at(START + HOUR)
    assert state.since() == START + HOUR
    assert state.spent_count() == 0
    assert state.user("new") is None
    assert "proj-1" in state.projects()


def test_a_database_keeps_everything(database_url):
    first = PreparationStore(database_url, START)
    first.spend("nonce", START + HOUR)
    first.delete_project("proj-1", 1)
    first.close()
    second = PreparationStore(database_url, START + HOUR)
    assert second.since() == START
    assert second.is_spent("nonce")
    assert "proj-1" not in second.projects(), "it is not filled a second time"
    second.close()


def test_a_extension_finds_its_state_again_and_makes_none_before_it_is_needed(tmp_path):
    backing = Backing(f"sqlite:///{tmp_path}/s.db")

    def extension():
        return PrepareConfirmExtension(
            ExtensionParts(SettableClock(START), RecordedEffects(), backing)
        )

    first, somebody = extension(), Caller("somebody")
    first.reset()
    assert not (tmp_path / "s.db").exists()
    first.call("create_user", {"username": "x", "name": "X", "email": "x@x"}, somebody)
    assert extension().gate.store.user("x") is not None
    last = extension()
    last.reset()
    assert last.gate.store.user("x") is None
    backing.close()
