"""Confirmation tokens, section 7.2: every token can be revoked, and says nothing by itself."""

import contextlib

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, requirement
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import PREFIXES

# ---- revocation


def _of_kind(tokens, kind, session):
    """A fresh token of this kind."""
    if kind == "quota":
        operation = tokens.with_("quota")
        with tokens.honest_step("the operation with a quota did not pause"):
            return tokens.driver.paused(operation.name, operation.params)
    if kind == "session":
        for operation in tokens.table.operations:
            if operation.gated and operation.max_uses > 1:
                return tokens.issue(operation, session=session)
        raise NotApplicable("no operation with max-uses above 1 is named in operations")
    return tokens.issue(session=session)


@requirement("confirmation_tokens/7.2-revocation")
@pytest.mark.parametrize("kind", ["confirmation", "quota", "session"])
def test_a_token_can_be_revoked(tokens, kind):
    """For any kind: the request succeeds, and the token runs nothing from then on."""
    usual = contextlib.nullcontext(tokens.driver.session)
    with tokens.own_session() if kind == "session" else usual as session:
        served = tokens.redeem(_of_kind(tokens, kind, session), session=session)
        tokens.need_served(served)
        issued = _of_kind(tokens, kind, session)
        outcome = tokens.driver.revoke(issued.token, session=session)
        tokens.expect(
            outcome.succeeded,
            sent=f"the revocation of a {kind} token",
            expected="success",
            got=outcome.describe(),
        )
        tokens.expect_not_run(
            tokens.redeem(issued, session=session), sent=f"a {kind} token that was revoked"
        )


@requirement("confirmation_tokens/7.2-revocation")
def test_a_token_that_carries_its_payload_can_be_revoked(tokens):
    """The store need not have heard of it before: it is found by its signature."""
    if not tokens.table.introspection:
        raise NotApplicable("tokens cannot be revoked, as far as the table says (introspection)")
    with tokens.variant("signed", True) as other:
        other.need_served(other.redeem(other.issue()))
        issued = other.issue()
        outcome = other.driver.revoke(issued.token)
        other.expect(
            outcome.succeeded,
            sent="the revocation of a signed token that was not used yet",
            expected="success",
            got=outcome.describe(),
        )
        other.expect_not_run(other.redeem(issued), sent="a signed token that was revoked")


# ---- where the state is kept

MANY = 8
"""Tokens of each call: a random character is not the same in all of them by chance."""


def _two_calls(tokens):
    """Two calls that differ as far as the table allows: in lifetime, operation or parameters."""
    first = tokens.operation
    others = [one for one in tokens.usual_operations() if one.name != first.name]
    lives = tokens.table.ttl
    others.sort(key=lambda one: lives[one.danger.word] == lives[first.danger.word])
    if others:
        return (first, first.params), (others[0], others[0].params)
    return (first, first.params), (first, tokens.changed())


@requirement("confirmation_tokens/7.2-server-side-state")
def test_a_token_does_not_carry_what_it_stands_for(tokens):
    """Tokens of two calls are alike: nothing in them is common to one call and not to the other."""
    tokens.two()
    calls = _two_calls(tokens)
    issued: list[list[str]] = [[], []]
    for _ in range(MANY):  # in turns, so that a clock in a token is common to both
        for number, (operation, params) in enumerate(calls):
            issued[number].append(_identifier(tokens.issue(operation, params).token))
    lengths = [{len(one) for one in each} for each in issued]
    names = " and ".join(operation.name for operation, _ in calls)
    tokens.expect(
        bool(lengths[0] & lengths[1]),
        sent=f"{MANY} tokens each for {names}",
        expected="tokens as long as each other",
        got=f"identifiers of {sorted(lengths[0])} and of {sorted(lengths[1])} characters",
    )
    places = [[set(characters) for characters in zip(*each, strict=False)] for each in issued]
    telling = [
        number
        for number, (one, other) in enumerate(zip(*places, strict=False), 1)
        if len(one) == len(other) == 1 and one != other
    ]
    tokens.expect(
        not telling,
        sent=f"{MANY} tokens each for {names}",
        expected="tokens that do not go with the call",
        got=f"characters {', '.join(map(str, telling))} of the identifier go with the call",
    )


def _identifier(token):
    return next((token.removeprefix(one) for one in PREFIXES if token.startswith(one)), token)
