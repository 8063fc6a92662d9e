"""Confirmation tokens, section 4.1: each failed check has its code, as the document names it."""

import secrets
from typing import Any

from pytest_mcp_approval.catalogue import Finding, Grade, NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    CONFIRMATION_PREFIX,
    TokenCode,
)
from pytest_mcp_approval.support.text import neutralise


def _unknown(tokens):
    return tokens.issue().with_token(CONFIRMATION_PREFIX + secrets.token_hex(24))


def _for_another_call(tokens):
    try:
        return tokens.issue().with_params(tokens.changed())
    except (NotApplicable, NotVerified):
        other = tokens.second_operation()
        return tokens.issue().with_operation(other.name).with_params(other.params)


def _expired(tokens):
    issued = tokens.issue()
    tokens.move_beyond(issued)
    return issued


FAULTS = {
    TokenCode.INVALID: ("unknown", _unknown),
    TokenCode.ALREADY_USED: ("used", lambda tokens: tokens.used()),
    TokenCode.SCOPE_MISMATCH: ("for another call", _for_another_call),
    TokenCode.EXPIRED: ("expired", _expired),
}


def _told(tokens):
    """The server's own code and message for each fault that can be provoked here."""
    found = {}
    for code, (_, fault) in FAULTS.items():
        try:
            outcome = tokens.redeem(fault(tokens))
        except (NotApplicable, NotVerified):
            continue  # no clock, or only one call: the others are told apart all the same
        if outcome.executed or outcome.succeeded:
            continue  # other rules report that it ran
        own = outcome.answer.get("code")
        if own is None:
            own = outcome.reason
        found[code] = (str(own), str(outcome.answer.get("message")))
    # What has expired may be evicted (section 5.5), and is unknown then.
    if found.get(TokenCode.EXPIRED) == found.get(TokenCode.INVALID):
        found.pop(TokenCode.EXPIRED, None)
    return found


@requirement("confirmation_tokens/4.1-codes")
def test_each_failed_check_has_its_own_code(tokens):
    """A client has to know whether to ask again (expired) or to stop (forged)."""
    tokens.honest()
    told = _told(tokens)
    if len(told) < 2:
        raise NotVerified("needs two faults that are refused: other-params, or a clock")
    by_own: dict[Any, dict[str, Any]] = {}
    for code, (own, message) in told.items():
        by_own.setdefault(own, {})[code] = message
    shared = {own: codes for own, codes in by_own.items() if len(codes) > 1}
    if shared:
        raise Finding(
            sent=f"tokens that are {', '.join(FAULTS[code][0] for code in told)}",
            expected=f"a code for each: {', '.join(told)}",
            got="; ".join(_how_told_apart(tokens, own, codes) for own, codes in shared.items()),
            grade=Grade.OTHER_WORDS,
        )
    renamed = [f"{code} is {neutralise(own, 40)}" for code, (own, _) in told.items() if own != code]
    if renamed:
        tokens.warn(f"codes of its own, where section 4.1 names them: {', '.join(renamed)}")


def _how_told_apart(tokens, own, codes):
    known = f"{neutralise(own, 40)} for {' and '.join(codes)}"
    if len(set(codes.values())) == len(codes):
        messages = "; ".join(neutralise(message, 60) for message in codes.values())
        known += f", this server tells them apart by message: {messages}"
    else:
        known += ", and nothing tells them apart"
    declared = tokens.table.codes.get(own, ())
    if all(code in declared for code in codes):
        return known
    return f"{known} (say so in [confirmation_tokens] codes: then the rest is judged by effect)"
