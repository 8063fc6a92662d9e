"""The page that asks, and the client data that a browser collects, in its fixed serialisation
(WebAuthn Level 3, section 5.8.1.1).

Does not know who may use which origin (see `client_rules`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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
    cross_origin: bool | None = False
    """None: the client does not say."""
    top_origin: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def encode(self) -> bytes:
        rest = ""
        if self.top_origin is not None:
            rest = f',"topOrigin":{quote(self.top_origin)}'
        if self.extra:
            import json  # few need it

            for name, value in self.extra.items():
                text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
                rest += f",{quote(name)}:{text}"
        if self.cross_origin is not None:
            rest = f',"crossOrigin":{"true" if self.cross_origin else "false"}{rest}'
        return (
            f'{{"type":{quote(self.type)},"challenge":"{self.challenge}",'
            f'"origin":{quote(self.origin)}{rest}}}'
        ).encode("utf-8", "surrogatepass")


@dataclass(eq=False, repr=False)
class Page:
    """The page that asks: its origin, and how it is framed."""

    origin: str
    cross_origin: bool = False
    top_origin: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Members added to the client data, which relying parties have to tolerate."""
    plain_tail: bytes | None = None
    """The end of the client data, from after the challenge, if nothing in it is special."""


def plain_page(origin: str) -> Page:
    """A page at the top of its tab."""
    tail = f'","origin":{quote(origin)},"crossOrigin":false}}'
    return Page(origin, plain_tail=tail.encode("utf-8", "surrogatepass"))
