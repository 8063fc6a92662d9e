"""A recorded conversation as plain JSON text: bounded, without secrets, ready to travel.

Bytes are kept as text if they are UTF-8, else as base64. The family says in two short lines what a
step means (`families.base.decoder`). Knows no family.
"""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Iterable, Sequence
from typing import Any

from ..families.base.decoder import Meaning, decode
from ..support.exchanges import Excerpt, Exchange
from ..support.recording import Note, Recording
from ..support.secrets import Secrets

KEPT_OF_A_MESSAGE = 16 * 1024
KEPT_IN_ALL = 128 * 1024
"""Bytes of one scenario's messages, if something is wrong."""
KEPT_OF_A_PASS = 32 * 1024
"""Bytes of one scenario's messages, if it passed."""
_KEPT_OF_A_DETAIL = 500
_FINDING = "finding"
_LOOKED = "looked"
"""What the effects probe notes when it was read."""


def conversation_text(
    recording: Recording, secrets: Secrets, *, passed: bool, family: str = ""
) -> str:
    """The steps of a scenario of that family, as the text of a JSON object."""
    happenings = recording.happenings
    entries = [what for _, what in happenings if isinstance(what, Exchange)]
    limit = _fair_limit(entries, KEPT_OF_A_PASS if passed else KEPT_IN_ALL)
    callers: dict[str, str] = {}

    def meaning(exchange: Exchange) -> Meaning:
        return decode(family, exchange, secrets.hide_bytes, callers)

    steps = [
        _exchange(at - recording.began, what, limit, secrets, meaning(what))
        if isinstance(what, Exchange)
        else _noted(at - recording.began, what, secrets)
        for at, what in happenings
    ]
    _say_what_ran(steps)
    told: dict[str, Any] = {"steps": _marked(steps, passed=passed)}
    if recording.left_out:
        first = steps[: recording.gap]
        gap = sum(step["kind"] != _FINDING for step in first)
        told["leftOut"] = {"after": gap, "steps": recording.left_out}
    return json.dumps(told, separators=(",", ":"), default=lambda one: secrets.hide(str(one)))


def _fair_limit(entries: Sequence[Exchange], budget: int) -> int:
    """How much of each message can be kept so that all together keep to the budget: small ones
    whole, large ones cut alike."""
    sizes = sorted(len(part.head) for entry in entries for part in (entry.sent, entry.received))
    left = budget
    for place, size in enumerate(sizes):
        share = left // (len(sizes) - place)
        if size > share:
            return min(share, KEPT_OF_A_MESSAGE)
        left -= size
    return KEPT_OF_A_MESSAGE


def _exchange(
    at: float, entry: Exchange, limit: int, secrets: Secrets, meaning: Meaning
) -> dict[str, Any]:
    step = {
        "kind": "exchange" if entry.outcome is not None else "overheard",
        "at": round(at, 4),
        "seconds": round(entry.seconds, 4),
        "method": secrets.beginning(entry.method, _KEPT_OF_A_DETAIL),
        "asked": meaning.asked,
        "sent": body(entry.sent, limit, secrets),
        "received": body(entry.received, limit, secrets),
    }
    if meaning.answered:
        step |= {"answered": meaning.answered, "refused": meaning.refused}
    optional = {
        "outcome": entry.outcome,
        "detail": secrets.beginning(entry.detail, _KEPT_OF_A_DETAIL),
        "status": entry.status,
        "requestHeaders": secrets.hide_all(entry.request_headers),
        "responseHeaders": secrets.hide_all(entry.response_headers),
    }
    return step | {name: value for name, value in optional.items() if value}


def body(excerpt: Excerpt, limit: int, secrets: Secrets) -> dict[str, Any]:
    """Some bytes: their number, and as many of them as are kept."""
    # Hide secrets before cutting: half a secret would not be found.
    head = secrets.hide_bytes(excerpt.head, cut=not excerpt.complete)
    cut = len(head) > limit or not excerpt.complete
    head = head[:limit]
    kept: dict[str, Any] = {"bytes": excerpt.length}
    try:
        kept["text"] = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if cut and error.start > len(head) - 4:
            # Cut in the middle of a character.
            head = head[: error.start]
            kept["text"] = head.decode("utf-8")
        else:
            kept["base64"] = base64.b64encode(head).decode("ascii")
    if cut:
        kept["more"] = max(0, excerpt.length - len(head))
        kept["sha256"] = excerpt.digest
    return kept


def _noted(at: float, note: Note, secrets: Secrets) -> dict[str, Any]:
    details = {
        name: _plain(value) for name, value in note.details.items() if value not in (None, (), [])
    }
    return {
        "kind": note.lane,
        "at": round(at, 4),
        "what": note.what,
        "details": secrets.hide_all(details),
    }


def _say_what_ran(steps: Iterable[dict[str, Any]]) -> None:
    """Says for each reading of the effects whether something ran since the one before."""
    before: dict[str, Any] | None = None
    for step in steps:
        if step["kind"] != "effects" or step["what"] != _LOOKED:
            continue
        now = step["details"]
        seen = now.get("count", now.get("digest"))
        step["asked"] = f"effects so far: {seen}" if before is None else _ran_between(before, now)
        before = now


def _marked(steps: Sequence[dict[str, Any]], *, passed: bool) -> list[dict[str, Any]]:
    """The steps without the notes of findings: what was not as expected is marked instead."""
    kept: list[dict[str, Any]] = []
    for step in steps:
        if step["kind"] != _FINDING:
            kept.append(step)
        elif not passed:
            place = _last_answer(kept)
            if place is not None:
                kept[place]["offending"] = True
    return kept


def _last_answer(steps: Sequence[dict[str, Any]]) -> int | None:
    """The last exchange that was not just a look at the effects."""
    place = len(steps) - 1
    while place >= 0 and steps[place]["kind"] not in ("exchange", "overheard"):
        by_tool = steps[place]["kind"] == "effects" and "tool" in steps[place]["details"]
        place -= 2 if by_tool else 1
    return place if place >= 0 else None


def _ran_between(before: dict[str, Any], now: dict[str, Any]) -> str:
    if before.get("digest") == now.get("digest"):
        return "nothing ran: the effects are as before"
    counts = before.get("count"), now.get("count")
    if all(isinstance(one, int) for one in counts):
        return f"it ran: the effects went from {counts[0]} to {counts[1]}"
    return "it ran: the effects changed"


def _plain(value: Any) -> Any:
    """A detail as JSON."""
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if value is None or isinstance(value, (str, int, float, dict)):
        return value
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [_plain(one) for one in value]
    # A fault knows its own name; anything else says what it is.
    return str(getattr(value, "name", value))
