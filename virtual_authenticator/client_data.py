"""CollectedClientData and its one serialisation (WebAuthn Level 3, section 5.8.1.1).

Knows nothing of who may use which origin (see `client_rules`).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

_ESCAPED = re.compile(r'["\\\x00-\x1f]')


@lru_cache(maxsize=256)
def quote(text: str) -> str:
    """A JSON string as section 5.8.1.2 writes it: only quotes, backslashes and controls escaped."""
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    return f"\\{character}" if character in '"\\' else f"\\u{ord(character):04x}"


@dataclass(slots=True, eq=False, repr=False)
class ClientDataDraft:
    """Client data before it is bytes, so that faults can change a part of it."""

    type: str
    challenge: str
    origin: str
    cross_origin: bool = False
    top_origin: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def encode(self) -> bytes:
        rest = ""
        if self.top_origin is not None:
            rest = f',"topOrigin":{quote(self.top_origin)}'
        for name, value in self.extra.items():
            rest += f",{quote(name)}:{json.dumps(value, ensure_ascii=False, separators=(',', ':'))}"
        cross = "true" if self.cross_origin else "false"
        return (
            f'{{"type":{quote(self.type)},"challenge":"{self.challenge}",'
            f'"origin":{quote(self.origin)},"crossOrigin":{cross}{rest}}}'
        ).encode("utf-8", "surrogatepass")
