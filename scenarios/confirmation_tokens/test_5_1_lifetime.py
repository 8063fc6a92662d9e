"""Confirmation tokens, section 5.1: how long tokens live, by level, and that all of them end."""

import datetime

import pytest

from pytest_mcp_approval.catalogue import Finding, NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.base.paths import put_at
from pytest_mcp_approval.families.confirmation_tokens.driver import IssuedToken
from pytest_mcp_approval.families.confirmation_tokens.kinds import SESSION, tokens_of_kind
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    DEFAULT_TOLERANCE,
    DEFAULT_TTL,
    MAXIMUM_TTL,
    QUOTA_LIFE,
    Danger,
    TokenType,
)
from pytest_mcp_approval.wire import RawJson

LIVES = [*DEFAULT_TTL]
A_DAY = 86_400


def _issued(tokens, life):
    """A token of this kind, whatever it takes to get one."""
    if life == QUOTA_LIFE:
        operation = tokens.with_("quota")
        return tokens.driver.paused(operation.name, operation.params)
    return tokens.issue(tokens.of_level(Danger.read(life)))


def _all_issued(tokens, life):
    """The same, and one for every other operation of this level, with all its named parameters."""
    yield _issued(tokens, life)
    if life == QUOTA_LIFE:
        return
    for operation in tokens.usual_operations():
        if operation.danger is Danger.read(life):
            for change in ({}, *operation.other_params):
                yield tokens.issue(operation, {**operation.params, **change})


@requirement("confirmation_tokens/5.1-default-ttl")
@pytest.mark.parametrize("life", LIVES)
def test_a_token_lives_as_long_as_its_level_says(tokens, life):
    """The defaults of the document, or what the user says is configured."""
    expected = tokens.table.ttl[life]
    for issued in _all_issued(tokens, life):
        seconds = tokens.lifetime(issued)
        tokens.expect(
            abs(seconds - expected) <= tokens.slack,
            sent=f"{issued.operation} ({life}), for a token",
            expected=f"expires_at {expected:g} s ahead",
            got=f"{seconds:.0f} s ahead",
        )


def _expect_no_more(tokens, issued, life, sent, *, exact=False):
    """`exact`: the clock stands, so that even fractions of a second are too much."""
    seconds, most = tokens.lifetime(issued), MAXIMUM_TTL[life]
    slack = tokens.margin(issued).total_seconds() if exact else tokens.slack
    tokens.expect(
        seconds <= most + slack,
        sent=sent,
        expected=f"expires_at at most {most} s ahead",
        got=f"{seconds:.1f} s ahead" if exact else f"{seconds:.0f} s ahead",
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


ASKED = {
    "a day": A_DAY,
    "a day as text": str(A_DAY),
    "more than a day, in fractions": A_DAY + 0.5,
    "seconds without number": 1e308,
    "more than doubles hold": RawJson("1e400"),
    "less than nothing": -1,
    "nothing": 0,
    "null": None,
    "true": True,
    "a word": "never",
    "Infinity as text": "Infinity",
    "a duration": "P1D",
    "an object": {"seconds": A_DAY},
}


@requirement(
    "confirmation_tokens/5.1-maximum-ttl", "confirmation_tokens/5.1-default-ttl", needs=["clock"]
)
@pytest.mark.parametrize("life", [Danger.DESTRUCTIVE.word, QUOTA_LIFE, SESSION])
def test_nothing_that_is_asked_for_lives_too_long(tokens, life):
    """Numbers, words and shapes: refused, or a token that ends in time, and says so truly."""
    if not tokens.table.ttl_at:
        raise NotApplicable("a client cannot ask for a lifetime, as far as the table says (ttl-at)")
    with tokens_of_kind(tokens, life) as kind:
        _ask_for_all(tokens, kind, life)


def _ask_for_all(tokens, kind, life):
    usual, operation = kind.issue(), kind.operation.name
    level = kind.operation.danger.word if life == SESSION else life
    most, given = MAXIMUM_TTL[level], {}
    tokens.move_to(tokens.clock.now())  # stops it, so that fractions show
    with tokens.several() as several:
        for name, asked in {**ASKED, "half a second too much": most + 0.5}.items():
            with several.one(name):
                issued = _asking(tokens, kind, asked)
                if issued is not None:
                    given[name] = issued
                    sent = f"{operation} ({life}), asking for {name}"
                    _expect_no_more(tokens, issued, level, sent, exact=tokens.clock.stops)
        with several.one("afterwards"):
            _expect_usual(tokens, usual, kind.issue(), f"{operation} ({life}), after all of that")
        tolerated = DEFAULT_TOLERANCE if tokens.tolerance is None else tokens.tolerance
        late = datetime.timedelta(seconds=most + tolerated + 2 * tokens.slack)
        tokens.move_to(tokens.clock.now() + late)
        with several.one("later"):
            kind.expect_nothing_runs(
                {
                    f"a token that was issued for {name}, {late} later": issued
                    for name, issued in given.items()
                }
            )


def _expect_usual(tokens, usual, issued, sent):
    """The life that a token had before anybody asked for another."""
    before = (usual.expires_at - tokens.clock.now()).total_seconds()
    seconds = tokens.lifetime(issued)
    tokens.expect(
        abs(seconds - before) <= 2 * tokens.slack,
        sent=sent,
        expected=f"expires_at {before:.0f} s ahead, as before",
        got=f"{seconds:.0f} s ahead",
    )


def _asking(tokens, kind, asked):
    """A token of a call that asks for this lifetime; None if the call is refused."""
    named, binding = kind.operation, tokens.driver.binding
    operation = named.name
    call = binding.call_params(operation, named.params)
    put_at(call, tokens.table.ttl_at, asked)
    reply = tokens.driver.patiently(call, kind.session)
    answer = binding.read(reply)
    token = answer.get("quota_token") if named.quota else answer.get("token")
    if not isinstance(token, str):
        return None
    type_ = TokenType.QUOTA if named.quota else TokenType.CONFIRMATION
    try:
        expiry = binding.instant(answer.get("expires_at"))
    except ValueError as error:
        raise Finding(
            sent=f"{operation}, asking for a lifetime",
            expected="expires_at as an instant",
            got=str(error)[:80],
        ) from None
    return IssuedToken(operation, named.params, token, answer, expiry, type_)


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
