"""What the messages of the two-person rule mean, for readers of a report. Judges nothing.

Its input is untrusted: anything may be missing or of another type.
"""

from __future__ import annotations

from pytest_mcp_approval import DecodedMessage, Meaning, member_in, short

from . import vocabulary as words


def decode(message: DecodedMessage) -> Meaning | None:
    request = message.arguments.get(words.REQUEST_ID)
    action = message.arguments.get(words.ACTION)
    if message.method != "tools/call" or (request is None and action is None):
        return None
    what = f"request {short(request)}" if request is not None else str(action)
    state, reason = (member_in(message.result, one) for one in (words.STATE, words.REASON))
    answered = f"{state}{f': {reason}' if reason else ''}" if state else message.answer_in_words
    refused = state == words.State.REFUSED or message.is_error
    return Meaning(f"tools/call {message.tool}: {what}", answered, refused)
