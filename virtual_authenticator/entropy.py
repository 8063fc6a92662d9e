"""Where an authenticator's random bytes come from: the system, or a seed that fixes them all.

Knows nothing of keys or credentials. A seeded stream is for tests: whoever knows the seed knows
every key.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any


class Entropy:
    """A source of bytes; with a seed, the same ones in the same order on every run."""

    __slots__ = ("_drawn", "_key")

    def __init__(self, seed: str | bytes | int | None = None) -> None:
        self._key: bytes | None = None
        self._drawn = 0
        if seed is not None:
            text = seed if isinstance(seed, bytes) else f"{type(seed).__name__}:{seed}".encode()
            self._key = hashlib.sha256(b"virtual-authenticator seed\0" + text).digest()

    @property
    def seeded(self) -> bool:
        return self._key is not None

    def bytes(self, length: int) -> bytes:
        if self._key is None:
            return os.urandom(length)
        self._drawn += 1
        return hashlib.shake_256(self._key + self._drawn.to_bytes(8, "big")).digest(length)

    def below(self, limit: int) -> int:
        """A number from 0 up to, not including, `limit`; 128 spare bits leave no visible bias."""
        return int.from_bytes(self.bytes((limit.bit_length() + 7) // 8 + 16), "big") % limit

    def fork(self, purpose: str) -> Entropy:
        """A separate stream for one purpose, which takes nothing from this one."""
        child = Entropy()
        if self._key is not None:
            child._key = hashlib.sha256(self._key + b"\0fork\0" + purpose.encode()).digest()
        return child

    def to_json(self) -> dict[str, Any]:
        return {"key": self._key.hex() if self._key else None, "drawn": self._drawn}

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Entropy:
        entropy = cls()
        entropy._key = bytes.fromhex(state["key"]) if state["key"] else None
        entropy._drawn = int(state["drawn"])
        return entropy
