"""Secrets that came as text: their digests, and comparing them. Knows none."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def same(given: Any, expected: str) -> bool:
    """In constant time; what is no text is never the same."""
    text = given if isinstance(given, str) else ""
    return hmac.compare_digest(text.encode("utf-8", "surrogatepass"), expected.encode())
