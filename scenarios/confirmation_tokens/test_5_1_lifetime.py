"""Confirmation tokens, section 5.1: how long tokens live, by level, and that all of them end."""

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.base.paths import put_at
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    DEFAULT_TTL,
    MAXIMUM_TTL,
    QUOTA_LIFE,
    Danger,
)

LIVES = [*DEFAULT_TTL]
A_DAY = 86_400


def _issued(tokens, life):
    """A token of this kind, whatever it takes to get one."""
    if life == QUOTA_LIFE:
        operation = tokens.with_("quota")
        return tokens.driver.paused(operation.name, operation.params)
    return tokens.issue(tokens.of_level(Danger.read(life)))


@requirement("confirmation_tokens/5.1-default-ttl")
@pytest.mark.parametrize("life", LIVES)
def test_a_token_lives_as_long_as_its_level_says(tokens, life):
    """The defaults of the document, or what the user says is configured."""
    issued = _issued(tokens, life)
    seconds, expected = tokens.lifetime(issued), tokens.table.ttl[life]
    tokens.expect(
        abs(seconds - expected) <= tokens.slack,
        sent=f"{issued.operation} ({life}), for a token",
        expected=f"expires_at {expected:g} s ahead",
        got=f"{seconds:.0f} s ahead",
    )


def _expect_no_more(tokens, issued, life, sent):
    seconds, most = tokens.lifetime(issued), MAXIMUM_TTL[life]
    tokens.expect(
        seconds <= most + tokens.slack,
        sent=sent,
        expected=f"expires_at at most {most} s ahead",
        got=f"{seconds:.0f} s ahead",
    )


@requirement("confirmation_tokens/5.1-maximum-ttl")
@pytest.mark.parametrize("life", LIVES)
def test_no_token_lives_beyond_the_maximum(tokens, life):
    """As the server is configured."""
    issued = _issued(tokens, life)
    _expect_no_more(tokens, issued, life, f"{issued.operation} ({life}), for a token")


@requirement("confirmation_tokens/5.1-maximum-ttl")
@pytest.mark.parametrize("life", [one for one in LIVES if one != QUOTA_LIFE])
def test_asking_for_a_longer_life_does_not_help(tokens, life):
    """A client asks for a day."""
    if not tokens.table.ttl_at:
        raise NotApplicable("a client cannot ask for a lifetime, as far as the table says (ttl-at)")
    operation = tokens.of_level(Danger.read(life))
    call = tokens.driver.binding.call_params(operation.name, operation.params)
    put_at(call, tokens.table.ttl_at, A_DAY)
    reply = tokens.driver.send(call)
    if tokens.driver.binding.read(reply).get("token") is None:
        return  # refused: nothing lives too long
    issued = tokens.driver.issued(operation.name, operation.params, reply)
    _expect_no_more(tokens, issued, life, f"{operation.name} ({life}), asking for a day")


@requirement("confirmation_tokens/5.1-maximum-ttl")
def test_configuring_a_longer_life_does_not_help(tokens):
    """An operator asks for a day: the server does not start, or cuts it down."""
    tokens.honest()
    with tokens.variant("ttl", A_DAY) as other:
        if other.refusal_to_start() is not None:
            return  # it does not start with that
        for operation in other.usual_operations():
            life = operation.danger.word
            sent = f"{operation.name} ({life}), with a lifetime of a day configured"
            _expect_no_more(other, other.issue(operation), life, sent)


@requirement("confirmation_tokens/5.1-no-expiry-refused")
def test_a_token_without_expiry_is_refused(tokens):
    """A record that has none, as a faulty migration might leave it in the store."""
    if not tokens.table.plant:
        raise NotVerified("needs plant, a command or tool that stores a token without expiry")
    with tokens.showing_its_store() as other:
        other.honest()
        operation = other.operation
        issued = other.issue()
        planted = other.driver.binding.plant(operation.name, operation.params)
        other.expect_not_run(
            other.redeem(issued.with_token(planted)), sent="a stored token without expiry"
        )
        other.honest()
