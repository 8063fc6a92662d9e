"""What the messages of a gateway mean: who calls which tool, and whether a person is asked."""

from __future__ import annotations

from urllib.parse import urlsplit

from ..base.decoder import DecodedMessage, Meaning, code_in, member_in, short
from . import vocabulary as words
from .vocabulary import Refusal


def decode(message: DecodedMessage) -> Meaning | None:
    if message.method != "tools/call":
        return None
    tool = message.tool
    app, own = (member_in(message.arguments, one) for one in ("app", "tool"))
    if isinstance(app, str) and isinstance(own, str):  # all tools behind one
        tool = f"{tool} {app}:{own}"
    elif words.split_tool_name(tool) is None:
        return None  # a tool of the gateway's own, or of the effects probe
    caller = f", by {message.caller}" if message.caller else ""
    return Meaning(f"tools/call {tool}{caller}", *_answered(message))


def _answered(message: DecodedMessage) -> tuple[str, bool]:
    answer = message.error if message.error is not None else message.result
    code = code_in(answer, Refusal) if message.is_error else None
    if code is Refusal.CONSENT_REQUIRED:
        place = _place(member_in(answer, words.CONSENT_URL))
        return f"not run, {code}: the person is asked{place}", True
    if code is Refusal.AUTHORIZATION_REQUIRED:
        kind = member_in(answer, words.AUTH_TYPE)
        return f"not run, {code}{f' ({kind})' if kind else ''}: the app is to be asked", True
    if code is not None:
        return f"refused: {code}", True
    if message.is_error or message.result is None:
        return message.answer_in_words, message.is_error
    return f"allowed, {message.answer_in_words}", False


def _place(url: object) -> str:
    """The page with the question, by the end of its path, which is the question's id."""
    path = urlsplit(url).path if isinstance(url, str) else ""
    return f" on page {short(path.rstrip('/').rpartition('/')[2])}" if path else ""
