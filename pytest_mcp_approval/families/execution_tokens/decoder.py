"""What the messages of execution tokens mean: what is to be executed with which token, and the
answer.

A token is known by its members, under the names of the document, or as the text of such an object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.decoder import DecodedMessage, Meaning, member_in, short, values_in
from . import vocabulary as words


def decode(message: DecodedMessage) -> Meaning | None:
    if message.method != "tools/call":
        return None
    token = _token_in(message.arguments)
    asked = f"tools/call {message.tool}"
    action = member_in(message.arguments, words.ACTION_TYPE)
    if isinstance(action, str):
        asked = f"{asked}: {action}"
    if token is not None:
        asked = f"{asked}, with token {_named(token)}"
    return Meaning(asked, *_answered(message, executes=token is not None))


def _token_in(tree: Any) -> Mapping[str, Any] | None:
    """Signed or not: anything with a scope and an id or a nonce was meant as a token."""
    for _, value in values_in(tree):
        if isinstance(value, Mapping) and words.SCOPE in value:
            named = words.TOKEN_ID in value or words.NONCE in value
            return value if named else None
    return None


def _named(token: Mapping[str, Any]) -> str:
    name = short(token.get(words.TOKEN_ID, "without an id"))
    unsigned = "" if words.SIGNATURE in token else ", unsigned"
    return f"{name} (nonce {short(token.get(words.NONCE, 'missing'))}{unsigned})"


def _answered(message: DecodedMessage, *, executes: bool) -> tuple[str, bool]:
    issued = None if executes else _token_in(message.result)
    if issued is not None:
        return f"token {_named(issued)}, expires {issued.get(words.EXPIRES_AT)}", False
    accepted = member_in(message.result, "accepted")
    if accepted is False:
        return f"refused: {member_in(message.result, 'reason') or 'no reason given'}", True
    if accepted is True:
        return "accepted, executed", False
    return message.answer_in_words, message.is_error
