"""Tokens: a payload that anyone can read, a | and a signature that only the key's holder can make.

The key is derived from the secret by PBKDF2 once, when it is first needed: that is slow on purpose.
Issued tokens are not stored, so issuing any number takes no memory. Knows neither which tokens were
used nor what their data mean.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from ...families.prepare_confirm.vocabulary import (
    SEPARATOR,
    Payload,
    TwoStepReason,
    read_payload,
    split_token,
)
from .refusals import ConfirmationRefusal

_SALT = b"pytest-mcp-approval prepare_confirm token signature"
_ROUNDS = 100_000
_LONGEST = 4 * 1024 * 1024
"""Characters. Ten thousand ids need less than a tenth of it."""


class Mint:
    """Issues tokens and reads them again. Each check is a method of its own."""

    def __init__(self, secret: str | None) -> None:
        # Stretching adds nothing to 256 random bits; a phrase chosen by a person needs it.
        self._secret = secrets.token_bytes(32) if secret is None else secret.encode()
        self._rounds = _ROUNDS if secret is not None else 1

    @cached_property
    def key(self) -> bytes:
        return hashlib.pbkdf2_hmac("sha256", self._secret, _SALT, self._rounds)

    def nonce(self) -> str:
        return secrets.token_hex(16)

    def issue(
        self, action: str, data: Mapping[str, Any], now: datetime, lifetime: timedelta
    ) -> tuple[str, Payload]:
        """A new token for an action, and what it says."""
        payload = Payload(
            action=action,
            data=data,
            expires_at=(now + lifetime).timestamp(),
            issued_at=now.timestamp(),
            nonce=self.nonce(),
        )
        text = payload.to_text()
        return f"{text}{SEPARATOR}{self.sign(text)}", payload

    def sign(self, payload: str) -> str:
        return hmac.new(self.key, payload.encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    def mark(self, name: str) -> str:
        """Tells names apart, and nobody else can tell which name it is."""
        marked = hmac.new(self.key, b"name" + name.encode("utf-8", "replace"), hashlib.sha256)
        return marked.hexdigest()[:32]

    def open(self, token: str) -> Payload:
        """What a token says, if this server's key signed it."""
        if len(token) > _LONGEST:
            raise ConfirmationRefusal(TwoStepReason.MALFORMED, "malformed token: far too long")
        payload, signature = self.split(token)
        # The signature first: nothing unsigned is parsed.
        self.check_signature(payload, signature)
        return self.read(payload)

    def split(self, token: str) -> tuple[str, str]:
        try:
            return split_token(token)
        except ValueError:
            raise ConfirmationRefusal(
                TwoStepReason.SIGNATURE, "the token has no signature, or is malformed"
            ) from None

    def check_signature(self, payload: str, signature: str) -> None:
        # As bytes: compare_digest accepts only ASCII text, and a client may send anything.
        given = signature.encode("utf-8", "replace")
        if not hmac.compare_digest(given, self.sign(payload).encode()):
            raise ConfirmationRefusal(TwoStepReason.SIGNATURE, "the token's signature is not valid")

    def read(self, payload: str) -> Payload:
        try:
            return read_payload(payload)
        except ValueError as error:
            raise ConfirmationRefusal(
                TwoStepReason.MALFORMED, f"malformed token: {error}"
            ) from None


def fingerprint(token: Any) -> str:
    """Tells tokens apart in logs, which must not contain whole tokens."""
    if not isinstance(token, str) or not token:
        return "none"
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()[:12]
