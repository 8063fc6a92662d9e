"""What the messages of SEP-2672 mean: which tool, which challenge, approved or refused and why.

The parts of a ceremony (client data, keys, the halves of a challenge) are taken apart in the page,
when somebody opens a step (decoding.js).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.decoder import DecodedMessage, Meaning, short
from . import vocabulary as words


def decode(message: DecodedMessage) -> Meaning | None:
    asked = _asked(message)
    if asked is None:
        return None
    reason = message.data.get("reason")
    if reason is not None:
        return Meaning(asked, f"refused: {reason}", refused=True)
    if message.error is not None or message.result is None:
        return Meaning(asked, message.answer_in_words, message.is_error)
    result = message.result if isinstance(message.result, Mapping) else {}
    return Meaning(asked, _answered(message, result), message.is_error)


def _asked(message: DecodedMessage) -> str | None:
    method = message.method
    if method == words.CHALLENGE_CREATE:
        return f"{method} for {message.params.get('toolName')}"
    if method in words.METHODS:
        return method
    if method != "tools/call":
        return None
    evidence = message.meta.get(words.META_KEY)
    if evidence is None:
        return f"{method} {message.tool}"
    challenge = evidence.get("challengeId") if isinstance(evidence, Mapping) else None
    whose = f" for challenge {short(challenge)}" if challenge is not None else ""
    return f"{method} {message.tool}, with evidence{whose}"


def _answered(message: DecodedMessage, result: Mapping[str, Any]) -> str:
    if message.method == words.ENROLL_BEGIN:
        return "creation options" if "options" in result else message.answer_in_words
    if message.method == words.ENROLL_FINISH:
        return "enrolled" if result.get("success") is True else "not enrolled"
    if message.method == words.CHALLENGE_CREATE:
        challenge = result.get("challengeId")
        return f"challenge {short(challenge)}" if challenge else message.answer_in_words
    if words.META_KEY in message.meta and not message.is_error:
        return f"approved, {message.answer_in_words}"
    return message.answer_in_words
