"""What the messages of two-step tools mean: what a preview showed, and what a confirmation did."""

from __future__ import annotations

from ..base.decoder import DecodedMessage, Meaning, member_in
from . import vocabulary as words


def decode(message: DecodedMessage) -> Meaning | None:
    if message.method != "tools/call":
        return None
    token = message.arguments.get(words.TOKEN)
    confirms = message.tool.startswith(words.CONFIRM) or token is not None
    asked = f"tools/call {message.tool}"
    if confirms:
        asked += f", with token {_named(token)}" if token is not None else ", without a token"
    return Meaning(asked, *_answered(message))


def _named(token: object) -> str:
    """By its end: the payloads of two tokens begin alike, their signatures do not."""
    text = str(token)
    return text if len(text) <= 12 else f"…{text[-8:]}"


def _answered(message: DecodedMessage) -> tuple[str, bool]:
    token = member_in(message.result, words.TOKEN)
    if token is not None:
        items = member_in(message.result, words.ITEMS)
        count = len(items) if isinstance(items, list) else 0
        expires = member_in(message.result, words.EXPIRES_AT)
        until = f", expires {expires}" if expires is not None else ""
        things = f"{count} thing{'' if count == 1 else 's'}"
        return f"preview of {things}, token {_named(token)}{until}", False
    success, said = (member_in(message.result, one) for one in (words.SUCCESS, words.MESSAGE))
    if success is False:
        return f"refused: {said or 'no reason given'}", True
    if success is True:
        return f"done: {said}" if said else "done", False
    return message.answer_in_words, message.is_error
