"""What a target answers, found where the binding says: success, code, details, token, instants.

Three shapes occur: structured content, JSON in a text, and the data of an error. Knows no rule and
no verdict; anything missing is None.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...support.text import neutralise
from ...wire import Reply
from ..base.outcome import ObservedOutcome, data_of, is_result, object_in, objects_in
from ..base.paths import ABSENT, value_at
from .vocabulary import RATE_LIMITED, TokenCode

SHAPES = ("auto", "structured", "text", "error.data", "error")
TIMES = ("iso", "seconds", "milliseconds")
_TOO_MANY_REQUESTS = 429


@dataclass(frozen=True)
class ConfirmationAnswer:
    """One answer, as far as it could be read."""

    success: bool
    code: str | None = None
    """The document's own word, if the binding can translate the target's; the target's word if that
    can mean several things."""
    body: Any = None
    """The whole object that was read."""
    found: Mapping[str, Any] = field(default_factory=dict)
    """The values at the places that the binding names; absent ones are left out."""
    meanings: frozenset[str] = frozenset()
    """All of the document's codes that it can mean, if the target has one for several."""

    def means(self, *codes: str) -> bool:
        """Whether it can mean one of these codes."""
        return self.code in codes or not self.meanings.isdisjoint(codes)

    def get(self, name: str) -> Any:
        return self.found.get(name)


@dataclass(frozen=True)
class ConfirmationOutcome(ObservedOutcome):
    thing = "operation"

    reply: Reply
    answer: ConfirmationAnswer

    @property
    def succeeded(self) -> bool:
        return self.answer.success

    @property
    def reason(self) -> str | None:
        return self.answer.code

    @property
    def refused(self) -> bool:
        """Refused with a code of section 4.1, and nothing ran."""
        return self.answer.means(*TokenCode) and not self.executed

    def refused_because(self, reason: TokenCode | str) -> bool:
        return self.refused and self.answer.means(reason)

    @property
    def said(self) -> str:
        if self.succeeded:
            return "success"
        return neutralise(self.reason, 60) if self.reason else self.reply.describe()


def is_limit(reply: Reply, answer: ConfirmationAnswer) -> bool:
    """Whether this is a rate limit. If its code has other meanings too, HTTP 429 or a time to wait
    shows it."""
    if reply.status == _TOO_MANY_REQUESTS or answer.code == RATE_LIMITED:
        return True
    return answer.means(RATE_LIMITED) and answer.get("retry_after") is not None


def body_of(reply: Reply, shape: str) -> Any:
    """The object that holds an answer; None if there is none of this shape."""
    if shape == "error":
        return reply.error.raw if reply.error is not None else None
    found: Any = None
    if shape == "structured" and isinstance(reply.result, dict):
        found = reply.result.get("structuredContent")
    elif shape == "text":
        found = next(objects_in(reply.result, structured=False), None)
    elif shape == "auto":
        found = object_in(reply.result)
    if found is None and shape in ("auto", "error.data"):
        found = data_of(reply) or None
    return found if isinstance(found, dict) else None


def read_answer(
    reply: Reply, shape: str, fields: Mapping[str, str], codes: Mapping[str, tuple[str, ...]]
) -> ConfirmationAnswer:
    """`fields` are places by name, `codes` the document's codes by the target's own."""
    body = body_of(reply, shape)
    found = {name: value_at(body, path, ABSENT) for name, path in fields.items()}
    found = {name: value for name, value in found.items() if value is not ABSENT}
    code = found.get("code")
    text = str(code) if isinstance(code, (str, int)) and not isinstance(code, bool) else None
    success = is_result(reply) and found.get("success", True) is not False and text not in codes
    meanings = codes.get(text, ()) if text is not None else ()
    return ConfirmationAnswer(
        success, meanings[0] if len(meanings) == 1 else text, body, found, frozenset(meanings)
    )


@dataclass(frozen=True)
class Instant:
    """An instant as a target wrote it."""

    at: datetime.datetime
    exact: datetime.timedelta
    """How far the target's own instant may be from it: the written one may be rounded."""
    zoned: bool = True


_MILLISECOND = datetime.timedelta(milliseconds=1)
_SECOND = datetime.timedelta(seconds=1)


def read_instant(value: Any, times: str) -> Instant:
    """An instant in the notation that the binding names; `ValueError` for anything else."""
    if times == "iso":
        if not isinstance(value, str):
            raise ValueError(f"got {value!r}, expected ISO 8601 text")
        at = datetime.datetime.fromisoformat(value)
        zoned = at.tzinfo is not None
        at = at if zoned else at.replace(tzinfo=datetime.UTC)
        return Instant(at, _MILLISECOND if "." in value or "," in value else _SECOND, zoned)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"got {value!r}, expected a number of {times} since 1970")
    try:
        seconds = value / 1000 if times == "milliseconds" else value
        at = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    except (OverflowError, OSError, ValueError):
        raise ValueError(f"got {value!r}, expected {times} since 1970") from None
    fine = times == "milliseconds" or isinstance(value, float)
    return Instant(at, _MILLISECOND if fine else _SECOND)
