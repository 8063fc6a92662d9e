"""The two sides of ADR-006: the arbiter approves with a token, the operator executes on it.

    token = Arbiter(secret, now).approve(content, "deploy", ["api.example.org"])
    Operator(verifier).execute(token, content, "deploy", run=deploy, host="https://api.example.org/")

What runs is what was hashed: `run` gets the very bytes that the verifier has checked.
"""

from __future__ import annotations

import datetime
import hashlib
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from ...families.execution_tokens import vocabulary as words
from .gate import Request, TokenVerifier
from .settings import DEFAULT_TTL, LONGEST_TTL
from .tokens import Token, canonical_string, sign

Done = TypeVar("Done")


class Arbiter:
    """Signs what a person, or a policy, has approved."""

    def __init__(self, secret: bytes, now: Callable[[], datetime.datetime]) -> None:
        self._secret = secret
        self._now = now

    def approve(
        self,
        content: bytes,
        action_type: str,
        allowed_hosts: Iterable[str],
        *,
        ttl: datetime.timedelta = DEFAULT_TTL,
    ) -> Token:
        if not datetime.timedelta(0) < ttl <= LONGEST_TTL:
            raise ValueError(f"ttl: got {ttl}, expected up to {LONGEST_TTL}")
        scope = {
            words.ACTION_TYPE: action_type,
            words.ALLOWED_HOSTS: list(allowed_hosts),
            words.CONTENT_HASH: hashlib.sha256(content).hexdigest(),
        }
        expires_at = (self._now() + ttl).astimezone(datetime.UTC).isoformat()
        token_id, nonce = str(uuid.uuid4()), self.new_nonce()
        signed = self.canonical(token_id, nonce, expires_at, scope)
        return Token(token_id, nonce, expires_at, scope, sign(self._secret, signed))

    def new_nonce(self) -> str:
        return str(uuid.uuid4())

    def canonical(
        self, token_id: str, nonce: str, expires_at: str, scope: Mapping[str, Any]
    ) -> bytes:
        return canonical_string(token_id, nonce, expires_at, scope)


class Operator:
    """Executes what a token allows, once."""

    def __init__(self, verifier: TokenVerifier) -> None:
        self.verifier = verifier

    def execute(
        self,
        token: Any,
        content: bytes,
        action_type: str,
        run: Callable[[bytes], Done],
        host: str | None = None,
    ) -> Done:
        """What `run` returns. The nonce is spent before it begins: there is no second try."""
        self.verifier.verify(token, Request(content, action_type, host))
        return run(content)
