"""Confirmation tokens, section 2: what a token looks like, and the quota kind."""

import re

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, requirement
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    CONFIRMATION_PREFIX,
    LONGEST,
    QUOTA_PREFIX,
    SHORTEST,
    TokenCode,
    TokenType,
)
from pytest_mcp_approval.support.text import neutralise

IDENTIFIER = re.compile(r"[A-Za-z0-9_-]{1,64}")
MANY = 3


def _tokens_of_all(tokens):
    """Some tokens of every gated operation that is named, with what was asked for each."""
    return [
        (operation.name, tokens.issue(operation).token)
        for operation in tokens.usual_operations()
        for _ in range(MANY)
    ]


@requirement("confirmation_tokens/2.1-prefix")
def test_a_confirmation_token_begins_with_conf(tokens):
    """The prefix tells what a token is for."""
    for name, token in _tokens_of_all(tokens):
        tokens.expect(
            token.startswith(CONFIRMATION_PREFIX),
            sent=f"{name} without a token",
            expected=f"a token that begins with {CONFIRMATION_PREFIX}",
            got=neutralise(token, 90),
        )


@requirement("confirmation_tokens/2.1-prefix", needs=[])
def test_a_quota_token_begins_with_quota_continue(tokens):
    """The prefix tells what a token is for."""
    operation = tokens.with_("quota")
    token = tokens.driver.paused(operation.name, operation.params).token
    tokens.expect(
        token.startswith(QUOTA_PREFIX),
        sent=f"{operation.name} until it paused",
        expected=f"a token that begins with {QUOTA_PREFIX}",
        got=neutralise(token, 90),
    )


@requirement("confirmation_tokens/2.2-syntax")
def test_a_token_is_short_and_safe_in_a_url(tokens):
    """Both limits hold: that of the identifier and that of the whole token."""
    for name, token in _tokens_of_all(tokens):
        identifier = token.removeprefix(CONFIRMATION_PREFIX)
        tokens.expect(
            IDENTIFIER.fullmatch(identifier) is not None and SHORTEST <= len(token) <= LONGEST,
            sent=f"{name} without a token",
            expected="1 to 64 of A-Z a-z 0-9 _ - after the prefix, 8 to 80 characters in all",
            got=f"{neutralise(token, 90)} ({len(token)} characters)",
        )


@requirement("confirmation_tokens/2.2-syntax", needs=[])
def test_a_quota_token_is_short_and_safe_in_a_url(tokens):
    """The same limits as for all others."""
    _, paused = _paused(tokens)
    identifier = paused.token.removeprefix(QUOTA_PREFIX)
    tokens.expect(
        IDENTIFIER.fullmatch(identifier) is not None and SHORTEST <= len(paused.token) <= LONGEST,
        sent=f"{paused.operation} until it paused",
        expected="1 to 64 of A-Z a-z 0-9 _ - after the prefix, 8 to 80 characters in all",
        got=f"{neutralise(paused.token, 90)} ({len(paused.token)} characters)",
    )


@requirement("confirmation_tokens/2.2-case-sensitive")
@pytest.mark.parametrize("which", ["first letter", "last letter", "all letters"])
def test_a_token_in_another_case_is_another_token(tokens, which):
    """The token works as issued; with the case of a letter swapped it is unknown."""
    tokens.honest()
    issued = tokens.issue()
    letters = [
        place
        for place, character in enumerate(issued.token)
        if character.isalpha() and place >= len(CONFIRMATION_PREFIX)
    ]
    if not letters:
        raise NotApplicable("the token has no letters")
    chosen = {"first letter": letters[:1], "last letter": letters[-1:]}.get(which, letters)
    swapped = "".join(
        character.swapcase() if place in chosen else character
        for place, character in enumerate(issued.token)
    )
    tokens.expect_refusal(
        tokens.redeem(issued.with_token(swapped)),
        TokenCode.INVALID,
        sent=f"a token with the case of its {which} swapped",
    )


# ---- quota tokens


def _paused(tokens):
    operation = tokens.with_("quota")
    return operation, tokens.driver.paused(operation.name, operation.params)


@requirement("confirmation_tokens/2.1-quota")
def test_a_quota_token_resumes_what_paused(tokens):
    """The very call that paused runs, once."""
    _, paused = _paused(tokens)
    tokens.expect_run(tokens.redeem(paused), sent=f"{paused.operation} with its quota token")
    tokens.expect_refusal(
        tokens.redeem(paused),
        TokenCode.ALREADY_USED,
        sent=f"{paused.operation} with its quota token, for the second time",
    )


@requirement("confirmation_tokens/2.1-quota")
def test_a_quota_token_serves_no_other_parameters(tokens):
    """It resumes what paused, and not another run of the same operation."""
    operation, paused = _paused(tokens)
    tokens.expect_refusal(
        tokens.redeem(paused.with_params(tokens.changed(operation))),
        TokenCode.SCOPE_MISMATCH,
        sent=f"{operation.name} with other parameters and a quota token of the pause",
    )
    _, again = _paused(tokens)
    tokens.expect_run(tokens.redeem(again), sent=f"{operation.name} with its quota token")


@requirement("confirmation_tokens/2.1-quota")
def test_a_quota_token_serves_no_other_operation(tokens):
    """Two operations pause; the token of one does not resume the other."""
    operation, paused = _paused(tokens)
    others = [one for one in tokens.table.operations if one.quota and one.name != operation.name]
    if not others:
        raise NotApplicable("only one operation with quota = true is named in operations")
    tokens.driver.paused(others[0].name, others[0].params)
    tokens.expect_refusal(
        tokens.driver.call(others[0].name, others[0].params, paused.token, TokenType.QUOTA),
        TokenCode.SCOPE_MISMATCH,
        sent=f"{others[0].name}, paused, with the quota token of {operation.name}",
    )
    tokens.expect_run(tokens.redeem(paused), sent=f"{operation.name} with its own quota token")


@requirement("confirmation_tokens/2.1-quota")
def test_a_confirmation_token_is_no_quota_token(tokens):
    """A confirmation token does not end a pause."""
    operation, paused = _paused(tokens)
    conf = tokens.issue()
    outcome = tokens.driver.call(operation.name, operation.params, conf.token, TokenType.QUOTA)
    tokens.expect_refusal(
        outcome,
        TokenCode.INVALID,
        TokenCode.SCOPE_MISMATCH,
        sent=f"{operation.name}, paused, with a conf_ token in the place of the quota token",
    )
    tokens.expect_run(tokens.redeem(paused), sent=f"{operation.name} with its quota token")


@requirement("confirmation_tokens/2.1-quota")
def test_a_quota_token_is_no_confirmation_token(tokens):
    """A quota token confirms nothing."""
    _, paused = _paused(tokens)
    tokens.expect_refusal(
        tokens.redeem(tokens.issue().with_token(paused.token)),
        TokenCode.INVALID,
        TokenCode.SCOPE_MISMATCH,
        sent=f"{tokens.operation.name} with a quota token in the place of its own",
    )
    tokens.honest()
