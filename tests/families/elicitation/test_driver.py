"""The driver against the reference server, in both eras: it does what it is told, and tells it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import pytest

from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.elicitation.driver import Elicitation
from pytest_mcp_approval.families.elicitation.form_answers import LEFT_OUT
from pytest_mcp_approval.families.elicitation.outcome import AskedQuestion, ElicitationOutcome
from pytest_mcp_approval.families.elicitation.vocabulary import Mode, capability
from pytest_mcp_approval.target import open_target

ERAS = ["2026-07-28", "2025-11-25"]
ARGUMENTS = {"account": "test-1", "reason": "a test", "keep_backup": True}


@pytest.fixture(params=ERAS)
def driver(request: pytest.FixtureRequest) -> Iterator[Elicitation]:
    settings = Settings(targets=("reference",), protocol=request.param)
    with (
        contextlib.closing(open_target("reference", settings)) as target,
        contextlib.closing(Elicitation(target)) as opened,
    ):
        yield opened


def asked_by(driver: Elicitation, tool: str = "erase_account") -> AskedQuestion:
    asked = driver.call(tool)
    assert isinstance(asked, AskedQuestion)
    return asked


def test_a_question_says_what_it_is(driver):
    asked = asked_by(driver)
    assert "test-1" in asked.message
    assert asked.mode is Mode.FORM
    assert asked.approving is not None
    assert asked.approving.in_words() == "confirm = true"
    assert asked.nothing_ran
    assert asked.declared
    assert asked.describe().startswith("a question (form): Erase the account")


def test_a_yes_runs_it_once(driver):
    outcome = driver.finish(asked_by(driver))
    assert outcome.served_once
    assert outcome.ran


def test_a_no_runs_nothing_and_ends_the_question(driver):
    asked = asked_by(driver)
    assert asked.decline().nothing_ran
    assert asked.accept().nothing_ran
    assert asked_by(driver).cancel().nothing_ran


def test_an_answer_is_sent_as_it_is_given(driver):
    for response in ({}, {"action": "accept"}, {"action": "accept", "content": {"confirm": 1}}):
        outcome = driver.answer(asked_by(driver), response)
        assert outcome.nothing_ran
        assert not outcome.claims


def test_a_client_without_the_capability_is_asked_nothing(driver):
    outcome = driver.without_capability().call("erase_account")
    assert isinstance(outcome, ElicitationOutcome)
    assert outcome.nothing_ran
    assert outcome.question is None


def test_a_client_is_asked_in_the_modes_that_it_declares(driver):
    pages = driver.new_client(capability(Mode.URL))
    assert isinstance(pages.call("erase_account"), ElicitationOutcome)
    assert isinstance(pages.call("rotate_keys"), AskedQuestion)


def test_a_person_approves_on_a_page(driver):
    asked = asked_by(driver, "rotate_keys")
    assert asked.mode is Mode.URL
    assert asked.url.startswith("http://localhost:")
    assert driver.finish(asked).served_once


def test_a_tool_that_asks_nobody_just_answers(driver):
    outcome = driver.call("show_accounts", {})
    assert isinstance(outcome, ElicitationOutcome)
    assert outcome.plain
    assert outcome.nothing_ran


def test_two_questions_are_answered_in_any_order(driver):
    first, second = asked_by(driver), asked_by(driver, "wire_money")
    assert driver.finish(second).served
    assert first.decline().nothing_ran


@pytest.fixture
def sessionless() -> Iterator[Elicitation]:
    with (
        contextlib.closing(open_target("reference", Settings(targets=("reference",)))) as target,
        contextlib.closing(Elicitation(target)) as opened,
    ):
        yield opened


def test_a_retry_can_be_changed_in_every_part(sessionless):
    driver = sessionless
    asked = asked_by(driver)
    other = driver.tool("suspend_account")
    second = driver.new_client(headers=driver.target.second_user_headers)
    for outcome in (
        asked.accept(state=f"{asked.state}x"),
        asked.accept(state=LEFT_OUT),
        asked.accept(arguments={**ARGUMENTS, "account": "test-2"}),
        asked.accept(tool=other),
        asked.accept(client=second),
        asked.accept(responses={"another": asked.response()}),
        asked.accept(responses=LEFT_OUT),
    ):
        assert outcome.nothing_ran, outcome.describe()
    assert driver.finish(asked).served_once
    assert asked.accept().nothing_ran


def test_one_yes_at_the_same_moment_runs_once(sessionless):
    driver = sessionless
    asked = asked_by(driver)
    replies, runs = driver.runs_during(lambda: driver.race(asked, asked.response(), 5))
    assert (len(replies), runs) == (5, 1)


@pytest.fixture
def handshake() -> Iterator[Elicitation]:
    settings = Settings(targets=("reference",), protocol="2025-11-25")
    with (
        contextlib.closing(open_target("reference", settings)) as target,
        contextlib.closing(Elicitation(target)) as opened,
    ):
        yield opened


def test_a_question_can_be_answered_with_an_error(handshake):
    refusal = {"code": -32601, "message": "not here"}
    assert handshake.answer(asked_by(handshake), error=refusal).nothing_ran


def test_an_answer_under_another_id_leaves_the_call_open(handshake):
    asked = asked_by(handshake)
    outcome = handshake.answer_under(asked, asked.pending.id + 1000, asked.response())
    assert outcome.nothing_ran
    assert not asked.pending.over
    assert handshake.finish(asked).served_once


def test_another_session_cannot_answer(handshake):
    asked, other = asked_by(handshake), handshake.new_client()
    outcome = handshake.answer(asked, asked.response(), session=other.session, seconds=0)
    assert outcome.nothing_ran
    assert handshake.finish(asked).served_once


def test_what_is_left_open_is_ended_with_the_driver(handshake):
    asked = asked_by(handshake)
    handshake.close()
    assert asked.pending.over
    assert handshake.opened == []


def test_a_refusal_in_plain_words_is_no_success(sessionless):
    """Compared with what an honest approval was told."""
    driver = sessionless
    served = driver.finish(asked_by(driver))
    assert driver.seen.claims_success(served)
    declined = asked_by(driver).decline()
    assert not declined.claims
    assert not replace(declined, honest=False).succeeded
