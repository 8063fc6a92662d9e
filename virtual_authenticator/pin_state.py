"""What survives a power cycle about the PIN and the built-in verification. Knows no protocol."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

PIN_RETRIES = 8
UV_RETRIES = 5
MAXIMUM_PIN_BYTES = 63


@dataclass
class PinState:
    """The PIN, the retries that are left, and the policy (CTAP 2.1, section 6.5.2)."""

    hash: bytes | None = None
    """LEFT(SHA-256(PIN), 16), or None when no PIN is set."""
    length: int = 0
    """In code points, to know whether a raised minimum still allows it."""
    retries: int = PIN_RETRIES
    uv_retries: int = UV_RETRIES
    minimum_length: int = 4
    force_change: bool = False

    def set(self, text: str) -> None:
        """Set a PIN as its owner types it; ValueError if the policy does not allow it."""
        from unicodedata import normalize  # few need it

        new = normalize("NFC", text)  # as platforms do (section 6.5.1)
        if len(new) < self.minimum_length or len(new.encode()) > MAXIMUM_PIN_BYTES:
            raise ValueError(
                f"pin: got {len(new)} characters, expected {self.minimum_length} or more, and "
                f"{MAXIMUM_PIN_BYTES} bytes at most"
            )
        self.hash = sha256(new.encode()).digest()[:16]
        self.length, self.retries, self.force_change = len(new), PIN_RETRIES, False

    def to_json(self) -> dict[str, Any]:
        return {**self.__dict__, "hash": self.hash.hex() if self.hash else None}

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> PinState:
        return cls(**{**state, "hash": bytes.fromhex(state["hash"]) if state["hash"] else None})
