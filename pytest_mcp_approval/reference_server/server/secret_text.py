"""Digests and comparison of secrets that came as text."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def sha256_challenge(verifier: str) -> str:
    """Commits to a verifier without showing it: S256 of PKCE (RFC 7636, section 4.2)."""
    hashed = hashlib.sha256(verifier.encode("utf-8", "surrogatepass")).digest()
    return base64.urlsafe_b64encode(hashed).decode().rstrip("=")


def same(given: Any, expected: str) -> bool:
    """In constant time; anything but text is never the same."""
    text = given if isinstance(given, str) else ""
    return hmac.compare_digest(text.encode("utf-8", "surrogatepass"), expected.encode())
