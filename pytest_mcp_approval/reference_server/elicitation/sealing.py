"""States: what the server must know when the answer comes, in the client's hands meanwhile.

A payload that the client may read, and a MAC that only servers over the same store can make. The
text is one of its kind: nothing else decodes to the same. Knows neither which states are used up
nor what is asked.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

_VERSION = "v1"
_LONGEST = 100_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class SealError(ValueError):
    """No state of ours, or no longer what we made."""


@dataclass(frozen=True)
class SealedState:
    """What a state says."""

    id: str
    user: str
    tool: str
    arguments: str
    """Their digest."""
    expires_at: datetime
    """In whole milliseconds."""


class Sealer:
    """Each step is a method of its own."""

    def __init__(self, key: Callable[[], bytes]) -> None:
        self._key = key

    def seal(self, state: SealedState) -> str:
        payload = _encode(self.write(state))
        return f"{_VERSION}.{payload}.{_encode(self.sign(payload))}"

    def open(self, text: str) -> SealedState:
        """The MAC first: nothing that is not ours is parsed."""
        payload, signature = self.split(text)
        self.check_signature(payload, signature)
        return self.read(self.decode(payload))

    def split(self, text: str) -> tuple[str, str]:
        parts = text.split(".") if len(text) <= _LONGEST else []
        if len(parts) != 3 or parts[0] != _VERSION:
            raise SealError("it has not the parts of a state")
        return parts[1], parts[2]

    def sign(self, payload: str) -> bytes:
        signed = f"{_VERSION}.{payload}".encode("utf-8", "surrogatepass")
        return hmac.new(self._key(), signed, hashlib.sha256).digest()

    def check_signature(self, payload: str, signature: str) -> None:
        if not hmac.compare_digest(self.decode(signature), self.sign(payload)):
            raise SealError("its MAC is not ours")

    def decode(self, text: str) -> bytes:
        try:
            data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except ValueError:
            raise SealError("it is no base64url") from None
        if _encode(data) != text:
            raise SealError("it is written in another way than we do")
        return data

    def write(self, state: SealedState) -> bytes:
        members = {
            "id": state.id,
            "user": state.user,
            "tool": state.tool,
            "arguments": state.arguments,
            "expires": (state.expires_at - _EPOCH) // _MILLISECOND,
        }
        return json.dumps(members).encode("ascii")

    def read(self, payload: bytes) -> SealedState:
        members: Any = json.loads(payload)
        expires_at = _EPOCH + members.pop("expires") * _MILLISECOND
        return SealedState(**members, expires_at=expires_at)


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
