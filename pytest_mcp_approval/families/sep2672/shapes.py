"""Shapes of WebAuthn's JSON that options of SEP-2672 are made of. Knows no rule."""

from __future__ import annotations

import re
from typing import Any

_BASE64URL = re.compile(r"[A-Za-z0-9_-]*")


def is_base64url(value: Any) -> bool:
    """Text as WebAuthn's JSON writes bytes: base64url without padding, at least one byte."""
    return (
        isinstance(value, str)
        and len(value) >= 2
        and len(value) % 4 != 1
        and _BASE64URL.fullmatch(value) is not None
    )


def is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def is_descriptor(entry: Any) -> bool:
    """A PublicKeyCredentialDescriptorJSON; its transports may be left out."""
    return (
        isinstance(entry, dict)
        and entry.get("type") == "public-key"
        and is_base64url(entry.get("id"))
        and is_texts(entry.get("transports", []))
    )
