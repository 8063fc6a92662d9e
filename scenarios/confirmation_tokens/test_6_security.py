"""Confirmation tokens, sections 6.1 to 6.3: replay, tampering, and what is given away."""

import base64
import binascii
import contextlib
import re
import secrets
import statistics

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.confirmation_tokens.driver import ConfirmationTokens
from pytest_mcp_approval.families.confirmation_tokens.kinds import QUOTA, KindOfToken
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    CONFIRMATION_PREFIX,
    LONGEST,
    PREFIXES,
    TokenCode,
)
from pytest_mcp_approval.support.text import neutralise

# ---- section 6.1


@requirement("confirmation_tokens/6.1-replay")
def test_a_replay_by_another_client_runs_nothing(tokens):
    """Another client sends what it has overheard."""
    issued = tokens.used()
    with tokens.another_client() as session:
        tokens.expect_not_run(
            tokens.redeem(issued, session=session), sent="a used token, of another client"
        )
        tokens.honest(session=session)


@requirement("confirmation_tokens/6.1-replay", needs=["restart"])
def test_a_replay_after_a_restart_runs_nothing(tokens):
    """The server may have forgotten the token, or keep it as used; it must not take it for new."""
    issued = tokens.used()
    tokens.restart()
    tokens.expect_not_run(tokens.redeem(issued), sent="a used token, after a restart")
    tokens.honest()


@requirement("confirmation_tokens/6.1-replay", needs=[])
def test_a_replay_at_a_replica_runs_nothing(tokens):
    """Two processes serve the same users: what was used at one, the other must not accept."""
    issued = tokens.used()
    other = tokens.target.replica()
    if other is None:
        raise NotApplicable("no second replica of the target is named (another target)")
    try:
        there = ConfirmationTokens(other)
        fresh = there.issue(tokens.operation.name, tokens.operation.params)
        if not there.redeem(fresh).succeeded:
            raise NotVerified("the replica refuses honest calls")
        tokens.expect_not_run(there.redeem(issued), sent="a used token, at a replica")
    finally:
        other.close()


# ---- section 6.2

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def _neighbour(character):
    """Another character that differs in as few bits as possible: a field changes a little."""
    place = _ALPHABET.find(character)
    return _ALPHABET[place ^ 1] if place >= 0 else "A"


def _changed_everywhere(tokens):
    """Each character of a token changed alone: nothing runs, and each one is unknown."""
    issued = tokens.issue()
    token = issued.token
    changed = [
        token[:place] + _neighbour(character) + token[place + 1 :]
        for place, character in enumerate(token)
    ]
    call = tokens.driver.redeem_params
    replies, runs = tokens.driver.runs_during(
        lambda: [tokens.driver.send(call(issued.with_token(one))) for one in changed]
    )
    with tokens.several() as several:
        for place, reply in enumerate(replies):
            outcome = tokens.driver.seen(reply)
            tokens.need_no_limit(outcome)
            with several.one(f"character {place + 1}"):
                tokens.expect_refusal(
                    outcome,
                    TokenCode.INVALID,
                    sent=f"a token of {len(token)} characters with character {place + 1} changed",
                )
    tokens.expect(
        not runs and (runs == 0 or tokens.driver.effects is None),
        sent="a token with one character changed",
        expected="operation not run",
        got=f"operation run {'?' if runs is None else runs} times",
    )
    tokens.honest()


@requirement("confirmation_tokens/6.2-tamper")
def test_a_changed_token_is_invalid(tokens):
    """Any character of it, one at a time."""
    tokens.honest()
    _changed_everywhere(tokens)


@requirement("confirmation_tokens/6.2-tamper")
def test_a_changed_signed_token_is_invalid(tokens):
    """Where tokens carry their payload: every field of it is signed."""
    with tokens.variant("signed", True) as other:
        other.honest()
        _changed_everywhere(other)
        issued = other.issue()
        call, token = other.driver.redeem_params, issued.token
        other.expect_nothing_runs(
            {
                f"a signed token without its last {less} characters": call(
                    issued.with_token(token[:-less])
                )
                for less in (1, 2, 3, 4, 8, 12, 16, 20)
            }
            | {
                f"a signed token with {more!r} at its end": call(issued.with_token(token + more))
                for more in ("A", "AA", "AAA", "AAAA", "A" * 8)
                if len(token + more) <= LONGEST
            }
        )


@requirement("confirmation_tokens/6.2-tamper")
def test_tokens_cannot_be_put_together(tokens):
    """The first half of one token and the second half of another."""
    tokens.honest()
    one, other = tokens.issue(), tokens.issue()
    half = len(one.token) // 2
    tokens.expect_refusal(
        tokens.redeem(one.with_token(one.token[:half] + other.token[half:])),
        TokenCode.INVALID,
        sent="a token put together from the halves of two",
    )


def _spellings(key):
    """A key as text, and as what it may be written in."""
    raw = key.encode()
    coded = {base64.b64encode(raw), base64.urlsafe_b64encode(raw)}
    hexadecimal = raw.hex()
    return {key, hexadecimal, hexadecimal.upper(), *(one.decode().rstrip("=") for one in coded)}


def _answers(tokens):
    """What a client can see that was made with the key: every kind of answer, by what was sent."""
    driver = tokens.driver
    yield "tools/list", driver.session.call("tools/list")
    issued = tokens.issue()
    yield "a call without a token", driver.ask(issued.operation, issued.params)
    attempts = {
        "a token for other parameters": issued.with_params(tokens.changed()),
        "a changed token": issued.with_token(issued.token[:-1] + _neighbour(issued.token[-1])),
        "half a token": issued.with_token(issued.token[: len(issued.token) // 2]),
        "an unknown token": issued.with_token(CONFIRMATION_PREFIX + secrets.token_hex(24)),
        "a token": issued,
        "a used token": issued,
    }
    for sent, attempt in attempts.items():
        yield sent, tokens.redeem(attempt).reply
    if tokens.table.introspection:
        fresh = tokens.issue()
        if tokens.table.introspection["status"]:
            yield "introspection of a token", driver.status(fresh.token).reply
        yield "a revocation", driver.revoke(fresh.token).reply
        yield "a revoked token", tokens.redeem(fresh).reply
    with contextlib.suppress(NotApplicable):
        quota = KindOfToken(tokens, QUOTA, tokens.with_("quota"))
        paused = quota.issue()
        yield "a pause", driver.ask(paused.operation, paused.params)
        yield "half a quota token", quota.redeem(paused.with_token(paused.token[:-9])).reply
        yield "a quota token", quota.redeem(paused).reply
    if tokens.target.clock.movable:
        fresh = tokens.issue()
        tokens.move_beyond(fresh)
        yield "an expired token", tokens.redeem(fresh).reply


@requirement("confirmation_tokens/6.2-key-hidden")
def test_no_answer_holds_the_signing_key(tokens):
    """The target is started with a key of ours, and asked everything that a client can ask."""
    if not tokens.driver.binding.can_vary("key") and tokens.driver.binding.can_vary("signed"):
        raise NotVerified("needs a start with a signing key of the suite's: variants.key")
    key = secrets.token_urlsafe(33)
    with tokens.variant("key", key) as other:
        other.honest()
        for sent, reply in _answers(other):
            said = reply.raw.decode("utf-8", "replace")
            found = [one for one in _spellings(key) if one in said]
            other.expect(
                not found,
                sent=sent,
                expected="an answer without the signing key",
                got="an answer that holds the key that tokens are signed with",
            )


# ---- section 6.3: what a token gives away


def _readings(token):
    """The identifier, and what it may decode to."""
    identifier = next((token.removeprefix(one) for one in PREFIXES if token.startswith(one)), token)
    found = [identifier.encode("utf-8", "replace")]
    padded = identifier + "=" * (-len(identifier) % 4)
    with contextlib.suppress(ValueError, binascii.Error):
        found.append(base64.b64decode(padded, altchars=b"-_", validate=True))
    with contextlib.suppress(ValueError):
        found.append(bytes.fromhex(identifier))
    return found


@requirement("confirmation_tokens/6.3-no-internals")
def test_a_token_tells_nothing(tokens):
    """Read as it is, as base64 and as hexadecimal, it has no text of the call or the system."""
    for operation in tokens.usual_operations():
        token = tokens.issue(operation).token
        telling = {operation.name, *_texts(operation.params)}
        for number, reading in enumerate(_readings(token)):
            text = reading.decode("latin-1")
            # The identifier itself may be readable; what it decodes to should not be.
            run = re.search(r"[ -~]{16,}", text) if number else None
            told = [one for one in telling if one in text] or ([run[0]] if run else [])
            tokens.expect(
                not told,
                sent=f"{operation.name} without a token",
                expected="a token that says nothing",
                got=f"a token that says {neutralise(', '.join(told), 60)}",
            )


# ---- section 6.3: what a refusal gives away


def _texts(value):
    """The texts among parameter values that are long enough to be recognised."""
    if isinstance(value, dict):
        return {text for one in value.values() for text in _texts(one)}
    if isinstance(value, list):
        return {text for one in value for text in _texts(one)}
    return {value} if isinstance(value, str) and len(value) >= 5 else set()


@requirement("confirmation_tokens/6.3-no-parameter-values")
@pytest.mark.parametrize(
    "fault",
    [
        *("other parameters", "other operation", "used", "unknown", "expired", "revoked"),
        *("other adapter", "quota token for other parameters", "used quota token"),
    ],
)
def test_a_refusal_shows_no_parameter_values(tokens, fault):
    """Neither those that the token was issued for nor those of the call that was refused."""
    if "quota" in fault:
        kind = KindOfToken(tokens, QUOTA, tokens.with_("quota"))
        issued = kind.used() if "used" in fault else kind.issue()
        kind.issue()  # it is paused again
    else:
        issued = tokens.used() if fault == "used" else tokens.issue()
    values = _texts(dict(issued.params))
    attempt = issued
    if fault == "other parameters":
        attempt = issued.with_params(tokens.changed())
    elif fault == "quota token for other parameters":
        attempt = issued.with_params(tokens.changed(tokens.with_("quota")))
    elif fault == "other operation":
        second = tokens.second_operation()
        attempt = issued.with_operation(second.name).with_params(second.params)
    elif fault == "unknown":
        attempt = issued.with_token(CONFIRMATION_PREFIX + secrets.token_hex(16))
    elif fault == "expired":
        tokens.move_beyond(issued)
    elif fault == "revoked":
        if not tokens.table.introspection:
            raise NotApplicable("tokens cannot be revoked, as far as the table says")
        tokens.driver.revoke(issued.token)
    elif fault == "other adapter" and not tokens.table.other_adapter.get("tool"):
        raise NotApplicable("no second adapter over the same store is named (other-adapter)")
    values |= _texts(dict(attempt.params))
    values -= {text for text in values if text in (issued.operation, attempt.operation)}
    if not values:
        raise NotVerified("needs parameters with texts of 5 characters or more in operations")
    tool = tokens.table.other_adapter.get("tool") if fault == "other adapter" else None
    outcome = tokens.redeem(attempt, tool=tool)
    said = outcome.reply.raw.decode("utf-8", "replace")
    shown = sorted(text for text in values if text in said)
    tokens.expect(
        not shown,
        sent=f"a call that is refused ({fault})",
        expected="a refusal without parameter values",
        got=f"a refusal with {neutralise(', '.join(shown), 80)}: {outcome.describe()}",
    )
    tokens.honest()


# ---- section 6.3: one answer

MALFORMED = {
    "with characters that no token has": "conf_!!! not/a+token =",
    "without a prefix": "a1b2c3d4e5f6a7b8a1b2c3d4e5f6a7b8",
    "with another prefix": "token_a1b2c3d4e5f6a7b8a1b2c3d4e5f6a7b8",
    "with nothing but a prefix": "conf_",
    "too long": "conf_" + "a" * 300,
    "beyond ASCII": "conf_\u00e9\u4e2d\U0001f511",
    "with a quote": "conf_a' OR '1'='1",
    "of a path": "conf_../../etc/passwd",
}


def _without(token, value):
    """A message without an echo of what was sent."""
    return str(value).replace(token, "<token>") if token else str(value)


@requirement("confirmation_tokens/6.3-one-answer-for-unknown")
@pytest.mark.parametrize("shape", MALFORMED)
def test_unknown_and_malformed_get_one_answer(tokens, shape):
    """Guessing does not reveal what a token looks like."""
    tokens.honest()
    issued = tokens.issue()
    unknown = CONFIRMATION_PREFIX + secrets.token_hex(24)
    answers = []
    for token in (unknown, MALFORMED[shape]):
        outcome = tokens.redeem(issued.with_token(token))
        tokens.expect_not_run(outcome, sent=f"a token {shape}")
        message = _without(token, outcome.answer.get("message"))
        answers.append((outcome.reason, message, outcome))
    (code, message, _), (other_code, other_message, malformed) = answers
    tokens.expect(
        code == other_code and message == other_message,
        sent=f"an unknown token, then one {shape}",
        expected=f"the same twice: {neutralise(f'{code} {message}', 80)}",
        got=neutralise(f"{other_code or malformed.said} {other_message}", 120),
    )


ROUNDS = 12
GROSS = 0.025
"""Seconds by which two kinds of refusals may differ: less shows nothing on a busy machine."""


@requirement("confirmation_tokens/6.3-one-answer-for-unknown")
def test_unknown_and_malformed_quota_tokens_get_one_answer(tokens):
    """Where a token ends a pause, too."""
    kind = KindOfToken(tokens, QUOTA, tokens.with_("quota"))
    kind.honest()
    issued, said = kind.issue(), {}
    for name, token in {
        "unknown": issued.kind.prefix + secrets.token_hex(24),
        "malformed": f"{issued.kind.prefix}!!! not/a+token =",
        "without a prefix": "nothing",
        "too long": issued.kind.prefix + "a" * 300,
    }.items():
        outcome = kind.redeem(issued.with_token(token))
        tokens.expect_not_run(outcome, sent=f"a quota token that is {name}")
        said[name] = f"{outcome.reason} {_without(token, outcome.answer.get('message'))}"
    tokens.expect(
        len(set(said.values())) == 1,
        sent="an unknown quota token, then malformed ones",
        expected="the same answer to all",
        got="; ".join(f"{name}: {neutralise(text, 80)}" for name, text in said.items()),
    )


@requirement("confirmation_tokens/6.3-one-answer-for-unknown")
def test_the_time_that_it_takes_is_looked_at(tokens):
    """Only a gross difference counts. A smaller one is reported: timing says something about a
    server only if nothing else runs."""
    tokens.honest()
    issued = tokens.issue()
    seconds: dict[str, list[float]] = {"unknown": [], "malformed": []}
    for _ in range(ROUNDS):
        for kind, token in {
            "unknown": CONFIRMATION_PREFIX + secrets.token_hex(24),
            "malformed": "conf_!!! not/a+token =",
        }.items():
            call = tokens.driver.redeem_params(issued.with_token(token))
            seconds[kind].append(tokens.driver.send(call).seconds)
    unknown, malformed = (statistics.median(seconds[kind]) for kind in seconds)
    spread = statistics.median(
        abs(one - statistics.median(each)) for each in seconds.values() for one in each
    )
    apart = abs(unknown - malformed)
    verdict = "apart" if apart > 4 * spread + 1e-4 else "not to be told apart"
    tokens.note(
        f"refusals take {unknown * 1000:.2f} ms for an unknown token and "
        f"{malformed * 1000:.2f} ms for a malformed one (median of {ROUNDS}, spread "
        f"{spread * 1000:.2f} ms): {verdict}"
    )
    tokens.expect(
        apart <= GROSS + 4 * spread,
        sent=f"{ROUNDS} unknown tokens, and as many malformed ones in turn",
        expected="refusals that take about as long to answer",
        got=f"{unknown * 1000:.0f} ms for an unknown token, {malformed * 1000:.0f} ms for a "
        f"malformed one (medians; spread {spread * 1000:.1f} ms)",
    )
