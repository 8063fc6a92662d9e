"""What an approval is bound to, and how a question tells it: every argument, exactly as it came.

Two calls that differ in anything have another digest, and are told differently; the order of
members alone is no difference. Knows no state and no question's shape.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ..server.visible_text import visible

LONGEST_SHOWN = 2000
"""Characters of one value, of the effect, or of a name. Of what is longer the beginning is shown,
and the digest of all of it."""
LONGEST_MESSAGE = 50_000


def canonical(value: Any) -> str:
    """One text for each value. 1 and 1.0 differ, and so do characters that look alike: this is what
    came, and what the tool will get."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(arguments: Mapping[str, Any]) -> str:
    return _sha256(canonical(arguments))


def message(effect: str, arguments: Mapping[str, Any]) -> str:
    """What will happen, and every argument on a line of its own."""
    lines = [_safe(effect)]
    lines += [f"- {shown_name(name)}: {shown(value)}" for name, value in sorted(arguments.items())]
    text = "\n".join(lines)
    if len(text) <= LONGEST_MESSAGE:
        return text
    return f"{text[:LONGEST_MESSAGE]} ... ({_rest(text, LONGEST_MESSAGE, digest(arguments))})"


def shown(value: Any) -> str:
    """As JSON, in which every character can be seen and nothing begs to be clicked."""
    return _safe(json.dumps(value, ensure_ascii=False, sort_keys=True))


def shown_name(name: str) -> str:
    return name if name.isascii() and name.isidentifier() and len(name) < 80 else shown(name)


def _safe(text: str) -> str:
    # Clients make links of addresses. In JSON a slash may be written like this.
    begin = visible(text[:LONGEST_SHOWN]).replace("://", ":\\/\\/")
    if len(text) <= LONGEST_SHOWN:
        return begin
    return f"{begin} ... ({_rest(text, LONGEST_SHOWN, _sha256(text))})"


def _rest(text: str, shown: int, whole: str) -> str:
    return f"{len(text) - shown} more characters; SHA-256 of all: {whole}"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
