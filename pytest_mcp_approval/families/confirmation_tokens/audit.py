"""Finds the entries of a target's audit log that are about a token (section 6.4). Knows no rule."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from .vocabulary import PREFIXES

_SHORTEST = 6


def identifier_of(token: str) -> str:
    """A token without its prefix."""
    return next((token.removeprefix(one) for one in PREFIXES if token.startswith(one)), token)


def is_about(entry: Any, token: str) -> bool:
    """Whether an entry names this token: whole, without prefix, its beginning, or a digest."""
    named = entry.get("token_id") if isinstance(entry, dict) else None
    if not isinstance(named, str) or len(named) < _SHORTEST:
        return False
    identifier = identifier_of(token)
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in (token, identifier)]
    named = named.rstrip(".\u2026*")
    return any(whole.startswith(named) for whole in (token, identifier, *digests))


def entries_about(entries: Iterable[Any], token: str, event: str = "") -> list[dict[str, Any]]:
    """Those about this token, and of this event if one is named."""
    return [
        one for one in entries if is_about(one, token) and (not event or one.get("event") == event)
    ]
