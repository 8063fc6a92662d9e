"""Confirmation tokens, section 6.2: a token in another spelling is another token, anywhere."""

import secrets
from urllib.parse import quote

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.base.exploration import is_internal_error
from pytest_mcp_approval.families.base.look_alikes import LOOK_ALIKES, nearly
from pytest_mcp_approval.families.confirmation_tokens.audit import identifier_of
from pytest_mcp_approval.families.confirmation_tokens.kinds import FEW, tokens_of_kind

SPELLINGS = {
    **LOOK_ALIKES,
    "with two equals signs": lambda token: f"{token}==",
    "with text after a question mark": lambda token: f"{token}?a=b",
    "with text after a comma": lambda token: f"{token},{token}",
    "with another case of its prefix": lambda token: (
        token[: -len(identifier_of(token))].upper() + identifier_of(token)
    ),
    "without its prefix": identifier_of,
    "with its prefix twice": lambda token: token[: -len(identifier_of(token))] + token,
    "with a hyphen put in": lambda token: f"{token[:-9]}-{token[-9:]}",
    "with a line put in": lambda token: f"{token[:-9]}_{token[-9:]}",
    "with a line for a character inside": lambda token: f"{token[:-9]}_{token[-8:]}",
    "with a percent sign for its end": lambda token: f"{token[:-9]}%",
    "with a question mark for its last character": lambda token: f"{token[:-1]}?",
    "with a dot for its last character": lambda token: f"{token[:-1]}.",
    "after a word": lambda token: f"Bearer {token}",
    "with a blank inside": lambda token: f"{token[:9]} {token[9:]}",
    "without its first half": lambda token: (
        token[: -len(identifier_of(token))] + identifier_of(token)[len(identifier_of(token)) // 2 :]
    ),
    "with its identifier backwards": lambda token: (
        token[: -len(identifier_of(token))] + identifier_of(token)[::-1]
    ),
    "with - and _ for + and /": lambda token: quote(
        token[:5] + token[5:].translate(str.maketrans("-_", "+/")), safe="+/"
    ),
}


@requirement("confirmation_tokens/6.2-tamper")
@pytest.mark.parametrize("name", FEW[:1])
def test_a_token_in_another_spelling_runs_nothing(tokens, name):
    """Trimmed, unescaped, cut or normalised, it would be the token itself."""
    with tokens_of_kind(tokens, name) as kind:
        kind.honest()
        issued = kind.issue()
        kind.expect_nothing_runs(
            {
                f"a {name} token {how}": issued.with_token(odd)
                for how, odd in nearly(issued.token, SPELLINGS).items()
            }
        )
        kind.honest()


@requirement("confirmation_tokens/5.3-revocation")
def test_a_revocation_of_something_else_revokes_nothing(tokens):
    """Patterns, other spellings, unknown tokens and no tokens at all: whoever holds a token can
    still use it."""
    tokens.two()
    alive = [tokens.issue() for _ in range(2)]
    token = alive[0].token
    others = {
        **nearly(token, SPELLINGS),
        "a pattern for all": "conf_%",
        "a pattern of its length": "conf_" + "_" * len(identifier_of(token)),
        "a star": "*",
        "an empty text": "",
        "null": None,
        "true": True,
        "an empty list": [],
        "an empty object": {},
        "an object that is not": {"$ne": None},
        "unknown": "conf_" + secrets.token_hex(24),
        "the operation": alive[0].operation,
    }
    # One at a time would cost many; if any of them revoked something, the tokens tell.
    for one in others.values():
        tokens.driver.patiently(
            tokens.driver.binding.introspection_params(tokens.table.introspection["revoke"], one)
        )
    with tokens.several() as several:
        for one in alive:
            with several.one():
                tokens.expect_run(
                    tokens.redeem(one),
                    sent=f"a token, after {len(others)} revocations of something else",
                )


@requirement("confirmation_tokens/6.2-tamper")
def test_a_token_that_was_signed_with_another_key_is_invalid(tokens):
    """Two servers of the same make, with a key each: what one has signed the other refuses."""
    one, two = secrets.token_urlsafe(33), secrets.token_urlsafe(33)
    with tokens.variant("key", one) as first, tokens.variant("key", two) as second:
        second.honest()
        issued = first.issue()
        second.expect_not_run(
            second.redeem(issued), sent="a token that was signed with another key"
        )
        first.expect_run(first.redeem(issued), sent="the same token where it was signed")


@requirement("confirmation_tokens/6.1-replay")
def test_a_signed_token_serves_once_at_two_servers_that_were_given_no_key(tokens):
    """Either each has a key of its own, or they also share what was used. A key that comes with the
    software is everybody's."""
    with tokens.variant("signed", True) as first, tokens.variant("signed", True) as second:
        second.honest()
        issued = first.issue()
        first.need_served(first.redeem(issued))
        second.expect_not_run(
            second.redeem(issued), sent="a signed token that was used at another server"
        )


@requirement("confirmation_tokens/6.3-one-answer-for-unknown")
def test_questions_about_unknown_and_malformed_tokens_get_one_answer(tokens):
    """Introspection does not reveal what a token looks like."""
    if not tokens.table.introspection or not tokens.table.introspection["status"]:
        raise NotApplicable("a token's state cannot be asked for (introspection.status)")
    if not tokens.driver.status(tokens.issue().token).succeeded:
        raise NotVerified("a question about a token that is alive failed")
    _expect_one_answer(tokens, "introspection", tokens.driver.status)


@requirement("confirmation_tokens/6.3-one-answer-for-unknown")
def test_revocations_of_unknown_and_malformed_tokens_get_one_answer(tokens):
    """Nor does a revocation."""
    if not tokens.table.introspection:
        raise NotApplicable("tokens cannot be revoked, as far as the table says (introspection)")
    if not tokens.driver.revoke(tokens.issue().token).succeeded:
        raise NotVerified("the revocation of a token that is alive failed")
    _expect_one_answer(tokens, "revocation", tokens.driver.revoke)


def _expect_one_answer(tokens, what, ask):
    answers = {}
    for name, token in {
        "unknown": "conf_" + secrets.token_hex(24),
        "malformed": "conf_ not a token!",
        "without a prefix": "nothing",
        "too long": "conf_" + "a" * 300,
    }.items():
        outcome = ask(token)
        answer = outcome.answer
        answers[name] = (answer.success, answer.code, answer.get("message"))
        if is_internal_error(outcome.reply):
            tokens.warn(f"{what} of a token that is {name}: {outcome.describe()}")
    tokens.expect(
        len({str(value) for value in answers.values()}) == 1,
        sent=f"{what} of an unknown token, and of malformed ones",
        expected="the same answer to all",
        got="; ".join(f"{name}: {str(value)[:80]}" for name, value in answers.items()),
    )
