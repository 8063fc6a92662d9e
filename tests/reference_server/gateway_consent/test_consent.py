"""Decisions: who may use what, for how long, and who stays apart from whom."""

from __future__ import annotations

import datetime
import itertools
import threading

import pytest

from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice
from pytest_mcp_approval.reference_server import SettableClock
from pytest_mcp_approval.reference_server.gateway_consent.consent import (
    ONCE_LIFE,
    ConsentError,
    Decisions,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration import demonstration_apps
from pytest_mcp_approval.reference_server.gateway_consent.open_questions import LIFE, MOST
from pytest_mcp_approval.reference_server.gateway_consent.vault import MemoryVault

START = datetime.datetime(2030, 1, 31, 12, 0, 0, tzinfo=datetime.UTC)
MAIL, SEND, READ = "com.example.mail", "sendEmail", "readInbox"
TICK = datetime.timedelta(microseconds=1)

HOSTILE = (
    "A",
    "A-b",
    "A b",
    "a",
    "\u0410",  # looks like A
    "A\u200b",  # looks like A, too
    "A\n",
    "e\u0301",
    "\u00e9",  # the same to a reader
    "",
    " ",
    "x" * 10_000,
    "x" * 9_999 + "y",
    "<b>A</b>",
    "\u202eA",
    '["A","b"]',
    "consent-A-b",
    "../A",
    "A\x00b",
    "\ud800",  # never passes the door, and does no harm if it did
)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


@pytest.fixture
def decisions(clock: SettableClock) -> Decisions:
    return Decisions(MemoryVault(), clock)


def decide(
    decisions: Decisions,
    choice: Choice,
    caller: str = "A",
    app: str = MAIL,
    tool: str = SEND,
    *,
    remember: bool = True,
) -> None:
    decisions.decide(decisions.ask(caller, app, tool).id, choice, remember=remember)


def test_nothing_is_decided_at_first(decisions: Decisions) -> None:
    assert decisions.granted("A", MAIL, SEND) is None
    assert decisions.export() == {}


@pytest.mark.parametrize(
    ("choice", "granted", "other"),
    [(Choice.TOOL, True, None), (Choice.ALL, True, True), (Choice.DENY, False, None)],
)
def test_a_remembered_choice_stays(
    decisions: Decisions, clock: SettableClock, choice: Choice, granted: bool, other: bool | None
) -> None:
    decide(decisions, choice)
    clock.advance(datetime.timedelta(days=4000))
    for _ in range(2):
        assert decisions.granted("A", MAIL, SEND) is granted
    assert decisions.granted("A", MAIL, READ) is other
    assert decisions.granted("A", "com.x", SEND) is None
    assert decisions.granted("B", MAIL, SEND) is None
    # Another gateway over the same vault, as after a restart.
    assert Decisions(decisions.vault, clock).granted("A", MAIL, SEND) is granted


@pytest.mark.parametrize("choice", list(Choice))
def test_a_choice_that_is_not_remembered_serves_one_call_of_one_tool(
    decisions: Decisions, clock: SettableClock, choice: Choice
) -> None:
    decide(decisions, choice, remember=False)
    assert decisions.granted("A", MAIL, SEND) is (choice is not Choice.DENY)
    assert decisions.granted("A", MAIL, READ) is None
    assert decisions.granted("B", MAIL, SEND) is None
    assert decisions.export() == {}
    assert Decisions(decisions.vault, clock).granted("A", MAIL, SEND) is None
    assert decisions.use_up("A", MAIL, SEND) is (choice is not Choice.DENY)
    assert decisions.use_up("A", MAIL, SEND) is None
    assert decisions.granted("A", MAIL, SEND) is None


def test_a_choice_that_is_not_remembered_ends_after_five_minutes(
    decisions: Decisions, clock: SettableClock
) -> None:
    decide(decisions, Choice.TOOL, remember=False)
    clock.move_to(START + ONCE_LIFE - TICK)
    assert decisions.granted("A", MAIL, SEND) is True
    clock.move_to(START + ONCE_LIFE)
    assert decisions.granted("A", MAIL, SEND) is None
    assert decisions.use_up("A", MAIL, SEND) is None


def test_of_several_calls_one_gets_the_choice_for_one_call(decisions: Decisions) -> None:
    decide(decisions, Choice.TOOL, remember=False)
    together = threading.Barrier(8)
    taken: list[bool | None] = []

    def take() -> None:
        together.wait(10)
        taken.append(decisions.use_up("A", MAIL, SEND))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(map(str, taken)) == ["None"] * 7 + ["True"]


def test_hostile_neighbours_stay_apart(decisions: Decisions) -> None:
    subjects = [
        *((name, MAIL, SEND) for name in HOSTILE),
        *(("A", name, SEND) for name in HOSTILE),
        *(("A", MAIL, name) for name in HOSTILE),
        ("A-b", "com.x", "look"),
        ("A", "b-com.x", "look"),
    ]
    for chosen in subjects:
        decisions.vault.reset()
        decide(decisions, Choice.TOOL, *chosen)
        assert [one for one in subjects if decisions.granted(*one)] == [chosen]


def test_all_tools_of_one_app_are_not_those_of_its_neighbours(decisions: Decisions) -> None:
    pairs = list(itertools.product(HOSTILE, HOSTILE))
    decide(decisions, Choice.ALL, "A-b", "A", "look")
    assert [pair for pair in pairs if decisions.granted(*pair, "anything")] == [("A-b", "A")]


def test_the_newer_decision_counts(decisions: Decisions) -> None:
    late, early = decisions.ask("A", MAIL, READ), decisions.ask("A", MAIL, SEND)
    decisions.decide(early.id, Choice.DENY, remember=True)
    assert decisions.granted("A", MAIL, SEND) is False
    decide(decisions, Choice.ALL, tool="listContacts")
    assert decisions.granted("A", MAIL, SEND) is True
    decisions.decide(late.id, Choice.DENY, remember=True)
    assert decisions.granted("A", MAIL, READ) is False
    assert decisions.granted("A", MAIL, SEND) is True
    mail = demonstration_apps()[MAIL]
    assert decisions.tools_granted(mail, "A") == [SEND, "listContacts", "deleteEmail"]
    assert decisions.tools_granted(mail, "B") == []


def test_the_export_has_the_documents_shape(decisions: Decisions) -> None:
    decide(decisions, Choice.TOOL)
    decide(decisions, Choice.DENY, tool="deleteEmail")
    decide(decisions, Choice.ALL, "B", "com.x", "look")
    at = "2030-01-31T12:00:00Z"
    yes = {"granted": True, "grantedAt": at, "remember": True}
    no = {**yes, "granted": False}
    assert decisions.export() == {
        "A": {MAIL: {"allTools": False, "tools": {SEND: yes, "deleteEmail": no}}},
        "B": {"com.x": {"allTools": True, "tools": {"look": yes}}},
    }


# ---- questions


def test_a_question_is_answered_once(decisions: Decisions) -> None:
    question = decisions.ask("A", MAIL, SEND)
    assert decisions.ask("A", MAIL, SEND) == question
    decisions.decide(question.id, Choice.DENY, remember=True)
    with pytest.raises(ConsentError):
        decisions.decide(question.id, Choice.ALL, remember=True)
    assert decisions.granted("A", MAIL, SEND) is False
    assert decisions.ask("A", MAIL, SEND).id != question.id


def test_a_question_ends_after_ten_minutes(decisions: Decisions, clock: SettableClock) -> None:
    question = decisions.ask("A", MAIL, SEND)
    clock.move_to(START + LIFE - TICK)
    assert decisions.questions.find(question.id) == question
    clock.move_to(START + LIFE)
    assert decisions.questions.find(question.id) is None
    with pytest.raises(ConsentError):
        decisions.decide(question.id, Choice.TOOL, remember=True)


def test_questions_do_not_pile_up(decisions: Decisions) -> None:
    first = decisions.ask("0", MAIL, SEND)
    for number in range(1, MOST + 1):
        last = decisions.ask(str(number), MAIL, SEND)
    assert decisions.questions.find(first.id) is None
    assert decisions.questions.find(last.id) == last


def test_secrets_of_a_question_are_long_and_not_shown(decisions: Decisions) -> None:
    question = decisions.ask("A", MAIL, SEND)
    other = decisions.ask("B", MAIL, SEND)
    secrets = {question.id, question.csrf, question.cookie, other.id, other.csrf, other.cookie}
    assert len(secrets) == 6
    assert min(map(len, secrets)) >= 43
    assert question.csrf not in repr(question)
    assert question.cookie not in repr(question)


def test_reset_forgets_questions_and_choices_for_one_call(decisions: Decisions) -> None:
    question = decisions.ask("A", MAIL, READ)
    decide(decisions, Choice.TOOL, remember=False)
    decisions.reset()
    assert decisions.questions.find(question.id) is None
    assert decisions.granted("A", MAIL, SEND) is None
