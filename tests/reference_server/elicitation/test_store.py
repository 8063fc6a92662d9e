"""One question, one winner: among threads, over replicas, after a restart."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pytest_mcp_approval.reference_server.elicitation import store as elicitation_store
from pytest_mcp_approval.reference_server.elicitation.refusals import ElicitationRefusal

DATABASES = ["sqlite", "postgresql"]


@pytest.mark.parametrize("kind", ["memory", *DATABASES])
def test_of_many_answers_at_once_one_runs(open_store, desk_on, kind):
    first = desk_on(open_store(kind))
    desks = [first] if kind == "memory" else [first, desk_on(open_store(kind))]
    state = first.ask()
    together = threading.Barrier(8)

    def answer(number: int) -> Any:
        desk = desks[number % len(desks)]
        together.wait(20)
        try:
            return desk.answer(state)
        except ElicitationRefusal as refusal:
            return str(refusal.reason)

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(answer, range(8)))
    assert outcomes.count("request_state_used") == 7
    assert sum(len(desk.effects) for desk in desks) == 1


@pytest.mark.parametrize("kind", DATABASES)
def test_what_is_asked_here_is_answered_there_and_used_up_everywhere(open_store, desk_on, kind):
    here, there = desk_on(open_store(kind)), desk_on(open_store(kind))
    state = here.ask()
    assert there.answer(state)
    assert here.refusal(here.answer, state) == "request_state_used"
    later = desk_on(open_store(kind))
    assert later.refusal(later.answer, state) == "request_state_used"


def test_another_store_has_another_key(open_store, desk_on):
    here, there = desk_on(open_store("memory")), desk_on(open_store("memory"))
    assert there.refusal(there.answer, here.ask()) == "invalid_request_state"


def test_nothing_from_before_a_reset_counts(stored_desk):
    used, unused = stored_desk.ask(), stored_desk.ask()
    stored_desk.answer(used)
    stored_desk.store.reset()
    for state in (used, unused):
        assert stored_desk.refusal(stored_desk.answer, state) == "invalid_request_state"
    assert stored_desk.answer(stored_desk.ask())


def test_what_is_long_over_is_forgotten(stored_desk):
    stored_desk.answer(stored_desk.ask())
    stored_desk.ask({"service": "s"}, "rotate_keys")
    stored_desk.clock.advance(3 * 86_400)
    stored_desk.ask()
    assert stored_desk.store._spent.find() == []
    assert stored_desk.store._pages.find() == []


def test_a_users_pages_are_bounded_and_the_newest_work(stored_desk, monkeypatch):
    monkeypatch.setattr(elicitation_store, "MOST_PAGES", 4)
    monkeypatch.setattr(elicitation_store, "_LOOK_EVERY", 3)
    store, service = stored_desk.store, ({"service": "s"}, "rotate_keys")
    stored_desk.ask(*service, user="bob")
    for _ in range(20):
        stored_desk.clock.advance(1)
        stored_desk.ask(*service)
    pages = store._pages.find({"user": "alice"})
    assert len(pages) <= 4 + 3
    last = stored_desk.gate.expiry()
    assert max(one.expires_at for one in pages) == last, "the newest is among them"
    assert len(store._pages.find({"user": "bob"})) == 1, "another's are not touched"
