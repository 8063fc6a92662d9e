"""Confirmation tokens, section 4.1: only what belongs there decides.

A caller may write anything beside a call: what the token is for, when it ends, how often it may be
used, or the document's own words. None of it is looked at when a token is checked.
"""

import contextlib
import datetime

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.base.decoder import member_in
from pytest_mcp_approval.families.base.paths import put_at, value_at
from pytest_mcp_approval.families.confirmation_tokens.kinds import FEW, QUOTA, tokens_of_kind
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    CONFIRMATION_PREFIX,
    CONFIRMATION_REQUIRED,
    QUOTA_PREFIX,
    SUCCESS,
    Event,
    TokenCode,
)

# ---- what a caller says about the token


def _claims(tokens, issued):
    """Everything about a token that a server knows better, as a caller would wish it."""
    adapter = _adapter(tokens, issued)
    later = tokens.target.clock.now() + datetime.timedelta(hours=1)
    claimed = {
        "operation": issued.operation,
        "params": dict(issued.params),
        "original_params": dict(issued.params),
        "params_hash": "0" * 64,
        "adapter_name": adapter,
        "adapter": adapter,
        "tool": tokens.table.tool,
        "issued_at": tokens.target.clock.now().isoformat(),
        "expires_at": later.isoformat(),
        "current_time": issued.expires_at.isoformat() if issued.expiry else "",
        "now": tokens.target.clock.now().isoformat(),
        "timestamp": tokens.target.clock.now().isoformat(),
        "consumed": False,
        "used": False,
        "use_count": 0,
        "max_uses": 1000,
        "type": "confirmation",
        "revoked": False,
        "clock_skew_tolerance_seconds": 300_000,
        "session_id": "",
        "user_id": "",
    }
    taken = {*issued.params, *_own_members(tokens)}
    return {name: value for name, value in claimed.items() if name not in taken}


def _adapter(tokens, issued):
    """The issuing adapter's name, as far as the target tells it."""
    query = tokens.table.introspection.get("status")
    body = tokens.driver.status(issued.token).answer.body if query else None
    return member_in(body, "adapter_name") or tokens.table.tool


def _own_members(tokens):
    """Names that mean something to this target where its parameters are."""
    table = tokens.table
    places = (table.operation_at, table.token_at, table.quota_token_at, table.ttl_at)
    return {place.rpartition(".")[2] for place in places if place}


PLACES = ("arguments", "arguments.token_payload", "arguments.context", "_meta")
"""Besides that of the parameters."""


def _with_claims(tokens, issued, claims, tool=None):
    """The call, with these claims in all of these places at once."""
    call = tokens.driver.binding.call_params(
        issued.operation, issued.params, issued.token, issued.kind, tool=tool
    )
    for place in (tokens.table.params_at, *PLACES):
        already = value_at(call, place)
        kept = already if isinstance(already, dict) else {}
        put_at(call, place, {**{k: v for k, v in claims.items() if k not in kept}, **kept})
    outcome = tokens.driver.observe(lambda: tokens.driver.send(call))
    tokens.need_no_limit(outcome)
    return outcome


@requirement(
    "confirmation_tokens/4.1-every-check",
    "confirmation_tokens/4.1-not-expired",
    needs=[],
)
def test_what_a_caller_says_about_a_token_does_not_count(tokens):
    """A used token, one for other parameters, for another operation, of another adapter, and an
    expired one: each with claims to the contrary, in every place at once."""
    with tokens.several() as several:
        for fault, make, code in _faults(tokens):
            sent = f"a token {fault}, with claims to the contrary"
            with several.one(sent), contextlib.suppress(NotApplicable, NotVerified):
                attempt, claims, tool = make()
                _expect(tokens, _with_claims(tokens, attempt, claims, tool), code, sent)
        if tokens.target.clock.movable:
            issued = tokens.issue()
            claims = _claims(tokens, issued)
            late = tokens.move_beyond(issued)
            sent = f"a token {late} after it expired, with claims to the contrary"
            with several.one(sent):
                tokens.expect_not_run(_with_claims(tokens, issued, claims), sent=sent)
    tokens.honest()


def _expect(tokens, outcome, code, sent):
    tokens.expect_not_run(outcome, sent=sent)
    # A strict server may refuse members that it does not know, in its own words.
    if outcome.refused:
        tokens.expect_refusal(outcome, code, sent=sent)


def _faults(tokens):
    def used():
        issued = tokens.used()
        return issued, _claims(tokens, issued), None

    def other_parameters():
        issued = tokens.issue()
        claims = {**issued.params, **_claims(tokens, issued)}
        return issued.with_params(tokens.changed()), claims, None

    def other_operation():
        issued, other = tokens.issue(), tokens.second_operation()
        attempt = issued.with_operation(other.name).with_params(other.params)
        return attempt, _claims(tokens, issued), None

    def other_adapter():
        tool = tokens.table.other_adapter.get("tool")
        if tool is None:
            raise NotApplicable("no second adapter over the same store is named (other-adapter)")
        issued = tokens.issue()
        return issued, _claims(tokens, issued), tool

    return (
        ("that was used", used, TokenCode.ALREADY_USED),
        ("for other parameters", other_parameters, TokenCode.SCOPE_MISMATCH),
        ("for another operation", other_operation, TokenCode.SCOPE_MISMATCH),
        ("of another adapter", other_adapter, TokenCode.SCOPE_MISMATCH),
    )


# ---- the document's own words

WORDS = (
    *TokenCode,
    CONFIRMATION_REQUIRED,
    *Event,
    *("success", "consumed", "revoked", "expired", "confirmed", "null", "undefined", "true"),
)


@requirement("confirmation_tokens/4.1-codes")
def test_words_of_a_token_do_not_decide_why_it_is_refused(tokens):
    """Tokens that nobody has issued, made of the document's words: each is unknown."""
    tokens.honest()
    issued = tokens.issue()
    with tokens.several() as several:
        for word in WORDS:
            token = f"{CONFIRMATION_PREFIX}{word}_{word}"[:64]
            with several.one(word):
                call = tokens.driver.redeem_params(issued.with_token(token))
                outcome = tokens.driver.seen(tokens.driver.send(call))
                tokens.need_no_limit(outcome)
                sent = f"a token that nobody has issued, {token}"
                tokens.expect_refusal(outcome, TokenCode.INVALID, sent=sent)
    tokens.honest()


@requirement("confirmation_tokens/4.1-codes")
def test_words_of_a_call_do_not_decide_why_it_is_refused(tokens):
    """Members, texts and a client's name that say why: the reason stays what it was."""
    tokens.honest()
    token = QUOTA_PREFIX + "a1b2c3d4e5f6g7h8"
    changed, operation = tokens.changed(), tokens.operation
    texts = [name for name, value in changed.items() if isinstance(value, str)]
    with tokens.several() as several:
        for word in (TokenCode.INVALID, TokenCode.EXPIRED, TokenCode.ALREADY_USED, SUCCESS, token):
            for where, params in {
                "as a member": {**changed, "note": word, "error": {"code": word}, word: word},
                "at the end of a text": {**changed, texts[0]: f"{changed[texts[0]]} {word}"}
                if texts
                else None,
            }.items():
                if params is None:
                    continue
                sent = f"{operation.name} for other parameters, with {word} {where}"
                with several.one(sent):
                    call = tokens.driver.redeem_params(tokens.issue().with_params(params))
                    outcome = tokens.driver.seen(tokens.driver.send(call))
                    tokens.need_no_limit(outcome)
                    _expect(tokens, outcome, TokenCode.SCOPE_MISMATCH, sent)
        sent = f"a used token, by a client called {TokenCode.EXPIRED}"
        with several.one(sent), contextlib.suppress(NotApplicable):
            _by_a_client_called(tokens, TokenCode.EXPIRED, sent)
    tokens.honest()


def _by_a_client_called(tokens, code, sent):
    if tokens.over_a_pipe:
        raise NotApplicable("a pipe has one client")
    issued = tokens.used()
    with tokens.target.new_session(str(code)) as session:
        tokens.expect_refusal(
            tokens.redeem(issued, session=session), TokenCode.ALREADY_USED, sent=sent
        )


# ---- what is there instead of a token

NO_TOKENS = {
    "null": None,
    "an empty text": "",
    "false": False,
    "true": True,
    "0": 0,
    "1": 1,
    "an empty list": [],
    "an empty object": {},
    "a list with null": [None],
    "an object that is always more": {"$gt": ""},
    "an expression that fits all": {"$regex": ".*"},
    "an object that is not": {"$ne": None},
    "the text null": "null",
    "the text undefined": "undefined",
    "the text None": "None",
    "the text true": "true",
    "the prefix alone": CONFIRMATION_PREFIX,
    "a blank": " ",
    "a star": "*",
    "a percent sign": "%",
    "a pattern for all": f"{CONFIRMATION_PREFIX}%",
    "a glob for all": f"{CONFIRMATION_PREFIX}*",
    "a regular expression for all": f"{CONFIRMATION_PREFIX}.*",
    "a quoted condition": "conf_' OR ''='",
    "a name of every object": "__proto__",
    "a method of every object": "constructor",
    "another one": "hasOwnProperty",
    "a huge number": 10**30,
    "a zero byte": f"{CONFIRMATION_PREFIX}\0abc",
}


@requirement("confirmation_tokens/4.1-exists")
@pytest.mark.parametrize("name", [FEW[0], QUOTA])
def test_what_is_no_token_confirms_nothing(tokens, name):
    """While tokens for the very call are alive, and none is used: anything that is true, empty or a
    pattern."""
    with tokens_of_kind(tokens, name) as kind:
        _no_tokens(tokens, kind)
        kind.honest()


def _no_tokens(tokens, kind):
    issued = kind.issue()
    prefix = issued.kind.prefix
    place = tokens.table.quota_token_at if kind.name == QUOTA else tokens.table.token_at
    shapes = {
        **NO_TOKENS,
        "a line for each character": prefix + "_" * (len(issued.token) - len(prefix)),
        "as many question marks": prefix + "?" * (len(issued.token) - len(prefix)),
        "its own pattern for all": f"{prefix}%",
    }
    calls = {}
    for name, shape in shapes.items():
        call = tokens.driver.redeem_params(issued)
        put_at(call, place, shape)
        calls[f"{issued.operation} with {name} in the place of the token"] = call
    tokens.expect_nothing_runs(calls)
