"""What the messages of confirmation tokens mean: which operation, which token, and what came of it.

Codes and tokens are found wherever a server puts them; a server's own codes are shown as they are.
"""

from __future__ import annotations

from ..base.decoder import DecodedMessage, Meaning, code_in, member_in, short, values_in
from . import vocabulary as words


def decode(message: DecodedMessage) -> Meaning | None:
    operation = member_in(message.arguments, "operation")
    if message.method != "tools/call" or (operation is None and not _token_in(message.params)):
        return None  # or it is a tool of the effects probe
    return Meaning(_asked(message, operation), *_answered(message))


def _asked(message: DecodedMessage, operation: object) -> str:
    query = member_in(message.arguments, "query") if operation == words.INTROSPECT else None
    what = " ".join(str(one) for one in (operation, query) if one is not None)
    asked = f"tools/call {message.tool}{f': {what}' if what else ''}"
    token = _token_in(message.arguments)
    return f"{asked}, with token {token}" if token else asked


def _token_in(tree: object) -> str:
    """A token begins with its kind, so more of it is shown to tell it from others."""
    found = next((value for _, value in values_in(tree) if words.is_token(value)), "")
    prefix = next((one for one in words.PREFIXES if found.startswith(one)), "")
    return f"{prefix}{short(found.removeprefix(prefix))}" if found else ""


def _answered(message: DecodedMessage) -> tuple[str, bool]:
    answer = message.error if message.error is not None else message.result
    refusal = code_in(answer, words.TokenCode)
    if refusal is not None:
        return f"refused: {refusal}", True
    token = _token_in(answer)
    if token and words.CONFIRMATION_REQUIRED in (value for _, value in values_in(answer)):
        return f"not run, {words.CONFIRMATION_REQUIRED}: token {token}{_expiry(answer)}", False
    for code in (words.QUOTA_PAUSED, words.RATE_LIMITED, words.CONFIRMATION_REQUIRED):
        if code in (value for _, value in values_in(answer)):
            return f"not run, {code}{f': token {token}' if token else ''}", True
    if member_in(answer, "success") is False:
        return f"refused: {member_in(answer, 'code') or message.answer_in_words}", True
    if message.is_error or message.result is None:
        return message.answer_in_words, message.is_error
    return f"done, {message.answer_in_words}", False


def _expiry(answer: object) -> str:
    expires = member_in(answer, "expires_at")
    return f", expires {expires}" if expires is not None else ""
