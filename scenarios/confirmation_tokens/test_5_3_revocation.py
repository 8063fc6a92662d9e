"""Confirmation tokens, section 5.3: revoked by hand, or by what happens to a session."""

import secrets

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    CONFIRMATION_PREFIX,
    TokenType,
)


def _revoked(tokens):
    issued = tokens.issue()
    outcome = tokens.driver.revoke(issued.token)
    if not outcome.succeeded:
        raise NotVerified(f"an honest revocation failed: {outcome.describe()}")
    return issued


@requirement("confirmation_tokens/5.3-revoked", needs=[])
def test_a_revoked_token_runs_nothing(tokens):
    """Not now, and not when it is tried again."""
    if not tokens.table.introspection:
        raise NotApplicable("tokens cannot be revoked, as far as the table says (introspection)")
    tokens.honest()
    issued = _revoked(tokens)
    for _ in range(2):
        tokens.expect_not_run(tokens.redeem(issued), sent="a token that was revoked")
    tokens.honest()


@requirement("confirmation_tokens/5.3-revocation")
def test_other_tokens_go_on(tokens):
    """Revoking one leaves the others alone, even those for the same call."""
    tokens.two()
    kept = tokens.issue()
    _revoked(tokens)
    tokens.expect_run(tokens.redeem(kept), sent="a token for a call of which another was revoked")


@requirement("confirmation_tokens/5.3-revocation")
def test_revoking_runs_nothing(tokens):
    """It is a question about a token, not its use."""
    issued = tokens.issue()
    outcome = tokens.driver.revoke(issued.token)
    tokens.expect(
        outcome.runs in (None, 0),
        sent="a revocation",
        expected="operation not run",
        got=outcome.describe(),
    )


@requirement("confirmation_tokens/5.3-revocation")
def test_unknown_and_malformed_are_not_told_apart(tokens):
    """A revocation reveals nothing to somebody who guesses."""
    _revoked(tokens)
    answers = {}
    for name, token in {
        "unknown": CONFIRMATION_PREFIX + secrets.token_hex(16),
        "malformed": "conf_ not a token!",
        "without a prefix": "nothing",
    }.items():
        answer = tokens.driver.revoke(token).answer
        answers[name] = (answer.success, answer.code, answer.get("message"))
    told = {str(value) for value in answers.values()}
    tokens.expect(
        len(told) == 1,
        sent="revocations of an unknown and of malformed tokens",
        expected="the same answer to all",
        got="; ".join(f"{name}: {str(value)[:80]}" for name, value in answers.items()),
    )


@requirement("confirmation_tokens/5.3-session-end")
def test_the_end_of_a_session_revokes_its_tokens(tokens):
    """Closed by its client; its tokens are worthless afterwards."""
    with tokens.own_session() as session:
        tokens.honest(session=session)
        issued = _several(tokens, session)
    if tokens.over_a_pipe:
        tokens.restart()  # a pipe's session ends with its process
    _expect_ended(tokens, issued, "whose session has ended")
    tokens.honest()


def _several(tokens, session=None):
    """Tokens of several operations, of a pause, and of another adapter, by what they are."""
    found = {"": tokens.issue(session=session), "the latest ": tokens.issue(session=session)}
    for one in tokens.usual_operations()[1:3]:
        found[f"{one.name}: "] = tokens.issue(one, session=session)
    for one in tokens.table.operations:
        if one.quota:
            with tokens.honest_step("the operation with a quota did not pause"):
                paused = tokens.driver.paused(one.name, one.params, session=session)
            found["quota: "] = paused
            break
    return found


def _expect_ended(tokens, issued, sent, tool=None):
    """None of them runs anything. A quota that may have been given back is used up first."""
    with tokens.several() as several:
        for name, one in issued.items():
            if one.kind is TokenType.QUOTA:
                with tokens.honest_step("the operation with a quota did not pause"):
                    tokens.driver.paused(one.operation, one.params)
            with several.one(f"{name}{sent}"):
                tokens.expect_not_run(tokens.redeem(one, tool=tool), sent=f"{name}a token {sent}")


@requirement("confirmation_tokens/5.3-session-end")
def test_the_end_of_a_session_revokes_its_tokens_at_every_adapter(tokens):
    """Those of a second adapter too."""
    tool = tokens.table.other_adapter.get("tool")
    if tool is None:
        raise NotApplicable("the other adapter is no tool of the same server (other-adapter.tool)")
    with tokens.own_session() as session:
        tokens.honest(session=session, tool=tool)
        issued = {"": tokens.issue(session=session, tool=tool)}
    if tokens.over_a_pipe:
        tokens.restart()
    _expect_ended(tokens, issued, "of another adapter whose session has ended", tool)
    tokens.honest(tool=tool)


@requirement("confirmation_tokens/5.3-session-end")
def test_the_tokens_of_other_sessions_go_on(tokens):
    """The positive twin: the end of another session changes nothing."""
    if tokens.over_a_pipe:
        raise NotApplicable("a pipe has one session")
    issued = tokens.issue()
    with tokens.own_session() as session:
        tokens.honest(session=session)
    tokens.expect_run(tokens.redeem(issued), sent="a token after another session has ended")


@requirement("confirmation_tokens/5.3-session-end")
@pytest.mark.parametrize("number", range(3))
def test_what_else_revokes(tokens, number):
    """Logout, another configuration, a security event: what the target offers."""
    if number >= len(tokens.table.triggers):
        raise NotApplicable("no further operation that revokes tokens is named (triggers)")
    trigger = tokens.table.triggers[number]
    tokens.honest()
    issued = _several(tokens)
    outcome = tokens.driver.call(trigger.name, trigger.params)
    if not outcome.succeeded:
        raise NotVerified(f"{trigger.name} failed: {outcome.describe()}")
    _expect_ended(tokens, issued, f"after a {trigger.why}")
    tokens.honest()
