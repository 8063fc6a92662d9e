"""Confirmation tokens, section 5.2: one token, one run, whatever happens at the same time."""

import pytest

from pytest_mcp_approval.catalogue import Finding, Grade, requirement
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import TokenCode
from pytest_mcp_approval.wire import race

RUNNERS = 8


def _raced(tokens, issued, runners=RUNNERS):
    """What came of this many redemptions at once, and how often the operation ran."""
    call = ("tools/call", tokens.driver.redeem_params(issued))
    raced, runs = tokens.driver.runs_during(lambda: race(tokens.driver.session, [call] * runners))
    return [tokens.driver.binding.read(reply) for reply in raced], runs


def _won(tokens, answers, runs):
    """How many succeeded, and the outcome in words."""
    won = sum(answer.success for answer in answers)
    if tokens.driver.effects is None:
        return won, f"{won} successes"
    return won, f"{won} successes, operation run {'?' if runs is None else runs} times"


@requirement("confirmation_tokens/6.1-replay")
@pytest.mark.parametrize("heat", range(3))
def test_of_many_at_once_no_second_one_runs(tokens, heat):
    """Eight redemptions of one token that reach the server together. Two runs on one token are a
    replay, whether they show in the effects or only in the answers."""
    del heat
    tokens.honest()
    answers, runs = _raced(tokens, tokens.issue())
    won, got = _won(tokens, answers, runs)
    if won > 1 or (runs or 0) > 1:
        raise Finding(
            sent=f"one token {RUNNERS} times at once",
            expected="one success, operation run once",
            got=got,
            grade=Grade.RAN,
        )


@requirement("confirmation_tokens/5.2-single-use")
def test_of_many_at_once_one_runs(tokens):
    """The token is good, so one of the calls is served."""
    tokens.honest()
    answers, runs = _raced(tokens, tokens.issue())
    won, got = _won(tokens, answers, runs)
    tokens.expect(
        won == 1 and runs in (None, 1),
        sent=f"one token {RUNNERS} times at once",
        expected="one success, operation run once",
        got=got,
    )


@requirement("confirmation_tokens/5.2-single-use")
def test_those_who_came_too_late_are_told_so(tokens):
    """The losers of a race: the token is used by now."""
    tokens.honest()
    answers, _ = _raced(tokens, tokens.issue())
    for answer in answers:
        tokens.expect(
            answer.success or answer.means(TokenCode.ALREADY_USED),
            sent=f"one token {RUNNERS} times at once",
            expected=f"{TokenCode.ALREADY_USED} for all but one",
            got=str(answer.code)[:60],
        )


@requirement("confirmation_tokens/5.2-single-use")
def test_tokens_of_their_own_do_not_hinder_each_other(tokens):
    """The positive twin: as many calls at once, each with its own token, all run."""
    tokens.two()
    issued = [tokens.issue() for _ in range(RUNNERS)]
    calls = [("tools/call", tokens.driver.redeem_params(one)) for one in issued]
    raced, runs = tokens.driver.runs_during(lambda: race(tokens.driver.session, calls))
    won = sum(tokens.driver.binding.read(reply).success for reply in raced)
    tokens.expect(
        won == RUNNERS and runs in (None, RUNNERS),
        sent=f"{RUNNERS} tokens at once",
        expected=f"{RUNNERS} successes",
        got=f"{won} successes, operation run {'?' if runs is None else runs} times",
    )


@requirement("confirmation_tokens/5.2-consumed-before-execution")
def test_an_operation_that_crashes_does_not_run_twice(tokens):
    """It has its effect and then fails; trying again with the same token has no more effect."""
    operation = tokens.with_("crashes")
    tokens.need_effects()
    tokens.honest()
    issued = tokens.issue(operation)
    _, runs = tokens.driver.runs_during(
        lambda: [tokens.driver.send(tokens.driver.redeem_params(issued)) for _ in range(3)]
    )
    tokens.expect(
        runs in (0, 1),
        sent=f"{operation.name}, which fails, three times with one token",
        expected="one effect at most",
        got="an unknown number of effects" if runs is None else f"{runs} effects",
    )
    tokens.honest()


@requirement("confirmation_tokens/5.2-consumed-before-execution")
def test_an_operation_that_hangs_does_not_run_twice(tokens):
    """While it is still busy, a client or a gateway sends the same call once more."""
    operation = tokens.with_("slow")
    tokens.honest()
    answers, runs = _raced(tokens, tokens.issue(operation), runners=3)
    won = sum(answer.success for answer in answers)
    tokens.expect(
        won <= 1 and runs in (None, 0, 1),
        sent=f"{operation.name}, which takes its time, three times with one token",
        expected="one run",
        got=f"{won} successes, operation run {'?' if runs is None else runs} times",
    )
    tokens.honest()


@requirement("confirmation_tokens/5.2-consumed-before-execution")
def test_a_retry_of_what_has_run_runs_nothing(tokens):
    """The answer was lost on its way: the same request again."""
    issued = tokens.used()
    tokens.expect_not_run(tokens.redeem(issued), sent="the same call with the same token again")
    tokens.honest()
