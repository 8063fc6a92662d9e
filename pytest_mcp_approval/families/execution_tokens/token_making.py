"""Makes tokens from the document alone, good ones and faulty ones.

Shares no code with any verifier, so that a misreading cannot cancel out. Knows no target.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
import json
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from . import vocabulary as words

ENDLESS = datetime.timedelta(minutes=30)
"""The lifetime of a token that is not meant to expire."""

_TEXTS = (words.TOKEN_ID, words.NONCE, words.EXPIRES_AT)

Signing = Callable[[Mapping[str, Any], "Names"], bytes]
"""Makes the bytes to sign from a token's members; faulty ways are in `FAULTY_SIGNING`."""


class Names:
    """What the members are called: the document's names, unless a team uses others."""

    def __init__(self, own: Mapping[str, str] | None = None) -> None:
        self._own = dict(own or {})

    def __getitem__(self, name: str) -> str:
        return self._own.get(name, name)

    def renamed(self, *names: str) -> list[str]:
        """Those of these names that differ here, with the name used instead."""
        return [f"{self[name]} for {name}" for name in names if self[name] != name]


def canonical(token: Mapping[str, Any], names: Names, **writing: Any) -> bytes:
    """The canonical string: separators as in the published vector, no line end. `writing` is for
    `json.dumps`, to write the scope in another way."""
    usual = {"sort_keys": True, "separators": (", ", ": "), "allow_nan": False}
    parts = [
        *(str(token.get(names[name], "")) for name in _TEXTS),
        json.dumps(token[names[words.SCOPE]], **{**usual, **writing}),
    ]
    return ":".join(parts).encode("utf-8", "surrogatepass")


def sign(secret: str, canonical_string: bytes) -> str:
    key = secret.encode("utf-8", "surrogateescape")
    return hmac.new(key, canonical_string, hashlib.sha256).hexdigest()


def make_token(
    secret: str,
    names: Names,
    *,
    content: bytes,
    action: str,
    hosts: list[str],
    now: datetime.datetime,
    lives: datetime.timedelta = ENDLESS,
    more_scope: Mapping[str, Any] | None = None,
    changes: Mapping[str, Any] | None = None,
    signing: Signing = canonical,
) -> dict[str, Any]:
    """A signed token; `more_scope` has further members of its scope, and `changes` replaces members
    before signing (None leaves one out)."""
    token: dict[str, Any] = {
        names[words.TOKEN_ID]: str(uuid.uuid4()),
        names[words.NONCE]: str(uuid.uuid4()),
        names[words.EXPIRES_AT]: written(now + lives),
        names[words.SCOPE]: {
            names[words.ACTION_TYPE]: action,
            names[words.ALLOWED_HOSTS]: hosts,
            names[words.CONTENT_HASH]: hashlib.sha256(content).hexdigest(),
            **(more_scope or {}),
        },
    }
    for name, value in (changes or {}).items():
        token[names[name]] = value
    token = {name: value for name, value in token.items() if value is not None}
    return signed(token, secret, names, signing)


def signed(
    token: Mapping[str, Any], secret: str, names: Names, signing: Signing = canonical
) -> dict[str, Any]:
    """The same token, signed again as it is now."""
    bare = {name: value for name, value in token.items() if name != names[words.SIGNATURE]}
    bare.setdefault(names[words.SCOPE], {})
    signature = sign(secret, signing(bare, names))
    return {**{k: v for k, v in bare.items() if k in token}, names[words.SIGNATURE]: signature}


def written(instant: datetime.datetime) -> str:
    """RFC 3339 in UTC with +00:00, as in the published vector."""
    return instant.astimezone(datetime.UTC).isoformat(timespec="seconds")


def _with_a_line_end(token: Mapping[str, Any], names: Names) -> bytes:
    return canonical(token, names) + b"\n"


def _with_z(token: Mapping[str, Any], names: Names) -> bytes:
    name = names[words.EXPIRES_AT]
    return canonical({**token, name: str(token.get(name, "")).replace("+00:00", "Z")}, names)


def _without_nonce(token: Mapping[str, Any], names: Names) -> bytes:
    return canonical({**token, names[words.NONCE]: ""}, names).replace(b"::", b":", 1)


FAULTY_SIGNING: dict[str, Signing] = {
    "compact JSON": partial(canonical, separators=(",", ":")),
    "members in the order in which they came": partial(canonical, sort_keys=False),
    "letters beyond ASCII as they are": partial(canonical, ensure_ascii=False),
    "a line end after it": _with_a_line_end,
    "Z for +00:00": _with_z,
    "no nonce in it": _without_nonce,
}
"""What implementations get wrong. A verifier that takes one of these has signed another string."""
