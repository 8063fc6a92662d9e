"""Confirmation tokens, section 3: random tokens, bound to a call, in a complete answer."""

import contextlib
import math

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.confirmation_tokens.kinds import (
    QUOTA,
    SESSION,
    tokens_of_kind,
)
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    CONFIRMATION_REQUIRED,
    MINIMUM_HASH_BITS,
    PREFIXES,
    Danger,
    TokenCode,
)
from pytest_mcp_approval.support.text import neutralise
from pytest_mcp_approval.wire.reply import show_json

# ---- section 3.1

SAMPLE = 100
FEW = 24
"""Enough that tokens in no order do not come in order by chance."""
ENOUGH_OF_FEW = 90
"""Bits that so few tokens show at least, if they have 122."""
ENOUGH_BITS = 120
"""A UUID of version 4 is acceptable to the document, and has 122."""


def _identifiers(tokens, count=SAMPLE):
    found = []
    # Asking again may return the same unused token: then each is used.
    used_up = tokens.issue().token == tokens.issue().token
    for _ in range(count):
        token = (tokens.used() if used_up else tokens.issue()).token
        prefix = next((one for one in PREFIXES if token.startswith(one)), "")
        found.append(token.removeprefix(prefix))
    return found


@requirement("confirmation_tokens/3.1-entropy")
def test_tokens_have_room_for_128_random_bits(tokens):
    """What changes from token to token, place by place, must be able to hold 128 bits."""
    found = _identifiers(tokens)
    sent = f"{tokens.operation.name} {SAMPLE} times without a token"
    tokens.expect(
        len(set(found)) == SAMPLE,
        sent=sent,
        expected=f"{SAMPLE} different tokens",
        got=f"{len(set(found))} different ones",
    )
    room = _room(found)
    tokens.expect(
        room >= ENOUGH_BITS,
        sent=sent,
        expected="128 bits that change from token to token",
        got=f"{room:.0f} bits: {neutralise(found[0], 66)}, {neutralise(found[1], 66)}, ...",
    )


def _room(found):
    """Bits, as far as the shortest goes; what stands in two places is counted once."""
    return sum(math.log2(len(set(column))) for column in {*zip(*found, strict=False)})


@requirement("confirmation_tokens/3.1-entropy")
def test_quota_tokens_have_as_much_room(tokens):
    """A few of them: fewer tokens show fewer bits, but far more than a short number has."""
    operation = tokens.with_("quota")
    with tokens.honest_step("the operation with a quota did not pause"):
        first = tokens.driver.paused(operation.name, operation.params)
    call = tokens.driver.binding.call_params(operation.name, operation.params)
    found = [first.token.removeprefix(first.kind.prefix)]
    for _ in range(FEW):
        token = tokens.driver.binding.read(tokens.driver.patiently(call)).get("quota_token")
        found.append(str(token).removeprefix(first.kind.prefix))
    if len(set(found)) < 2:
        raise NotApplicable("asking again returns the same token until it is used")
    tokens.expect(
        len(set(found)) == len(found) and _room(found) >= ENOUGH_OF_FEW,
        sent=f"{operation.name}, paused, {FEW} times",
        expected="128 bits that change from token to token",
        got=f"{_room(found):.0f} bits: {neutralise(found[0], 66)}, {neutralise(found[1], 66)}, ...",
    )


@requirement("confirmation_tokens/3.1-entropy")
def test_tokens_do_not_follow_each_other(tokens):
    """A counter or a clock shows as an order, or as a beginning that tokens share."""
    found = _identifiers(tokens, FEW)
    ordered = found == sorted(found) or found == sorted(found, reverse=True)
    tokens.expect(
        not ordered,
        sent=f"{tokens.operation.name} {FEW} times without a token",
        expected="tokens in no order",
        got=f"each follows the one before: {neutralise(found[0], 66)}, {neutralise(found[1], 66)}",
    )
    fixed = next(
        (
            place
            for place in range(min(map(len, found)))
            if len({one[: place + 1] for one in found}) > 1
        ),
        0,
    )
    if fixed > 8:
        tokens.warn(f"all tokens begin with the same {fixed} characters after the prefix")


# ---- section 3.2: operation


@requirement("confirmation_tokens/3.2-bound-operation")
def test_a_token_serves_no_other_operation(tokens):
    """The token of one operation, presented for another with that one's own parameters."""
    other = tokens.second_operation()
    tokens.honest(other)
    tokens.expect_refusal(
        tokens.redeem(tokens.issue().with_operation(other.name).with_params(other.params)),
        TokenCode.SCOPE_MISMATCH,
        sent=f"{other.name} with a token of {tokens.operation.name}",
    )
    tokens.honest()


@requirement("confirmation_tokens/3.2-bound-operation")
def test_a_token_of_a_lower_level_serves_no_higher_one(tokens):
    """Whatever the levels are, and in both directions."""
    usual = {one.danger: one for one in tokens.usual_operations()}
    if len(usual) < 2:
        raise NotApplicable("operations of only one level are named in operations")
    pairs = [(low, high) for low in usual.values() for high in usual.values() if low != high]
    with tokens.several() as several:
        for low, high in pairs:
            issued = tokens.issue(low)
            with several.one(f"{high.name} with a token of {low.name}"):
                tokens.expect_refusal(
                    tokens.redeem(issued.with_operation(high.name).with_params(high.params)),
                    TokenCode.SCOPE_MISMATCH,
                    sent=f"{high.name} ({high.danger.word}) with a token of {low.name} "
                    f"({low.danger.word})",
                )
    tokens.honest()


# ---- section 3.2: parameters


def _changes(tokens):
    """Every operation with every change of its parameters that the user named."""
    return [
        (operation, change)
        for operation in tokens.usual_operations()
        for change in operation.other_params
    ]


@requirement("confirmation_tokens/3.2-bound-parameters")
def test_a_token_serves_no_other_parameters(tokens):
    """Every change that the user named for every operation, on a fresh token each."""
    tokens.changed()
    with tokens.several() as several:
        for operation, change in _changes(tokens):
            issued = tokens.issue(operation)
            with several.one(f"{operation.name} with {show_json(dict(change))}"):
                tokens.expect_refusal(
                    tokens.redeem(issued.with_params({**operation.params, **change})),
                    TokenCode.SCOPE_MISMATCH,
                    sent=f"{operation.name} with {show_json(dict(change))} and a token for other "
                    "parameters",
                )
    for operation in tokens.usual_operations():
        tokens.honest(operation)


@requirement("confirmation_tokens/3.2-bound-parameters")
def test_a_token_for_other_parameters_does_not_serve_the_usual_ones(tokens):
    """The other way round: what was left out or false at issue is bound too."""
    tokens.changed()
    with tokens.several() as several:
        for operation, change in _changes(tokens):
            issued = tokens.issue(operation, {**operation.params, **change})
            asked = f"{operation.name} with a token that was issued for {show_json(dict(change))}"
            with several.one(asked):
                tokens.expect_refusal(
                    tokens.redeem(issued.with_params(operation.params)),
                    TokenCode.SCOPE_MISMATCH,
                    sent=asked,
                )
    tokens.honest()


def _reversed(value):
    """The same JSON with the members of every object in reverse order."""
    if isinstance(value, dict):
        return {name: _reversed(value[name]) for name in reversed(value)}
    return [_reversed(one) for one in value] if isinstance(value, list) else value


@requirement("confirmation_tokens/3.2-bound-parameters")
def test_the_order_of_members_does_not_matter(tokens):
    """Canonical: the same parameters in another order are the same parameters."""
    fitting = [
        one for one in tokens.usual_operations() if list(one.params) != list(reversed(one.params))
    ]
    if not fitting:
        raise NotApplicable("no operation with two parameters is named in operations")
    for operation in fitting:
        issued = tokens.issue(operation)
        tokens.expect_run(
            tokens.redeem(issued.with_params(_reversed(operation.params))),
            sent=f"{operation.name} with its parameters in reverse order",
        )


@requirement("confirmation_tokens/3.2-bound-parameters")
def test_metadata_does_not_matter(tokens):
    """A request id or a timestamp that was added or has changed does not make another call."""
    fitting = [one for one in tokens.usual_operations() if one.metadata]
    if not fitting:
        raise NotApplicable("no metadata of an operation is named in operations")
    operation = fitting[0]
    for name, value in operation.metadata.items():
        issued = tokens.issue(operation)
        tokens.expect_run(
            tokens.redeem(issued.with_params({**operation.params, name: value})),
            sent=f"{operation.name} with {name!r} added after its token was issued",
        )
        issued = tokens.issue(operation, {**operation.params, name: value})
        tokens.expect_run(
            tokens.redeem(issued.with_params(operation.params)),
            sent=f"{operation.name} without the {name!r} that its token was issued with",
        )


# ---- section 3.2: the hash


def _hash_of(tokens, issued):
    if not tokens.table.introspection["status"]:
        raise NotVerified("needs introspection.status, the query that tells a token's state")
    outcome = tokens.driver.status(issued.token)
    found = tokens.driver.binding.params_hash(outcome.answer)
    if not isinstance(found, str) or not found:
        raise NotVerified("the target does not show its params_hash")
    return found


@requirement("confirmation_tokens/3.2-sha256")
def test_the_parameter_hash_has_256_bits(tokens):
    """Told by its length: hexadecimal has 4 bits a character, base64 6."""
    for name in (Danger.DESTRUCTIVE.word, QUOTA):
        with contextlib.suppress(NotApplicable), tokens_of_kind(tokens, name) as kind:
            _expect_long(tokens, name, _hash_of(tokens, kind.issue()))


def _expect_long(tokens, name, shown):
    found = shown.rpartition(":")[2].rstrip("=")
    hexadecimal = all(character in "0123456789abcdefABCDEF" for character in found)
    bits = len(found) * (4 if hexadecimal else 6)
    tokens.expect(
        bits >= MINIMUM_HASH_BITS,
        sent=f"introspection of a {name} token",
        expected="a params_hash of at least 256 bits",
        got=f"{neutralise(found, 70)} ({bits} bits)",
    )


@requirement("confirmation_tokens/3.2-sha256")
def test_the_parameter_hash_follows_the_parameters(tokens):
    """The same for the same call, another one for another."""
    one, same = (_hash_of(tokens, tokens.issue()) for _ in range(2))
    other = _hash_of(tokens, tokens.issue(params=tokens.changed()))
    tokens.expect(
        one == same != other,
        sent="introspection of two tokens for one call, and one for another",
        expected="the same params_hash twice, then a different one",
        got=f"{neutralise(one, 20)}, {neutralise(same, 20)}, {neutralise(other, 20)}",
    )


# ---- section 3.3


def _is_text(value):
    return isinstance(value, str) and bool(value.strip())


@requirement("confirmation_tokens/3.3-required-response")
def test_the_first_answer_has_everything(tokens):
    """For every named operation: the code and all six details, each of its kind."""
    for operation in tokens.usual_operations():
        reply = tokens.driver.ask(operation.name, operation.params)
        answer = tokens.driver.binding.read(reply)
        sent = f"{operation.name} without a token"
        tokens.expect(
            answer.means(CONFIRMATION_REQUIRED) and answer.found.get("success", False) is False,
            sent=sent,
            expected=f"success false and {CONFIRMATION_REQUIRED}",
            got=reply.describe(),
        )
        wanted = {
            "operation": answer.get("operation") == operation.name,
            "danger_level": answer.get("danger_level") in (operation.danger.word, operation.danger),
            "reasons": _reasons(answer.get("reasons")),
            "confirmation_message": _is_text(answer.get("confirmation_message")),
            "token": _is_text(answer.get("token")),
        }
        for name, holds in wanted.items():
            tokens.expect(
                holds,
                sent=sent,
                expected=f"{tokens.table.fields[name]} that fits the call",
                got=show_json(answer.get(name)) if name in answer.found else "none",
            )


@requirement("confirmation_tokens/3.3-required-response")
def test_every_kind_of_answer_says_when_its_token_expires(tokens):
    """Those for a session and those of a pause too; and levels are told by their words."""
    for name in (QUOTA, SESSION):
        with contextlib.suppress(NotApplicable), tokens_of_kind(tokens, name) as kind:
            issued = kind.issue()
            tokens.expect(
                issued.expiry is not None,
                sent=f"{issued.operation}, for a {name} token",
                expected=f"expires_at as an instant ({tokens.table.times})",
                got=show_json(issued.answer.get("expires_at")),
            )
    level = tokens.issue().answer.get("danger_level")
    if isinstance(level, int) and "danger_level" not in str(tokens.table.own_shape("3.3")):
        tokens.warn(f"danger_level is the number {level}, where section 3.3 shows a word")


def _reasons(value):
    return isinstance(value, list) and len(value) > 0 and all(map(_is_text, value))


@requirement("confirmation_tokens/3.3-required-response")
def test_the_first_answer_says_when_the_token_expires(tokens):
    """As ISO 8601 (or in the way that the binding names), and in the future."""
    operation = tokens.operation
    answer = tokens.driver.binding.read(tokens.driver.ask(operation.name, operation.params))
    value = answer.get("expires_at")
    try:
        instant = tokens.driver.binding.instant(value)
    except ValueError:
        instant = None
    sent = f"{operation.name} without a token"
    tokens.expect(
        instant is not None,
        sent=sent,
        expected=f"expires_at as an instant ({tokens.table.times})",
        got=show_json(value) if "expires_at" in answer.found else "none",
    )
    if not instant.zoned:
        tokens.warn(f"expires_at has no time zone: {neutralise(str(value), 40)}")
    tokens.expect(
        (instant.at - tokens.target.clock.now()).total_seconds() > -tokens.slack,
        sent=sent,
        expected="expires_at in the future",
        got=neutralise(str(value), 40),
    )


@requirement("confirmation_tokens/3.3-required-response")
def test_what_a_person_reads_is_about_the_call(tokens):
    """Another call is another question: the message is not the same for all."""
    messages = {
        operation.name: tokens.issue(operation).answer.get("confirmation_message")
        for operation in tokens.usual_operations()
    }
    if len(messages) < 2:
        raise NotApplicable("only one gated operation is named in operations")
    if len({str(text) for text in messages.values()}) == 1:
        text = neutralise(str(next(iter(messages.values()))), 80)
        tokens.warn(f"all operations ask the same: {text}")


@requirement("confirmation_tokens/3.3-required-response")
def test_the_answer_is_written_as_in_the_document(tokens):
    """If the table says that a server uses its own names, places or instants, that is reported here
    once, and nowhere else: the document shows them without a MUST."""
    tokens.honest()
    told = tokens.table.own_shape("3.3")
    if told:
        tokens.warn(f"not written as section 3.3 shows it: {', '.join(told)}")
