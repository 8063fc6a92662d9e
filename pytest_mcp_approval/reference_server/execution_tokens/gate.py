"""The verifier: every check that a token must pass before its content may run, in a fixed order.

    verifier = TokenVerifier(secret, nonces, now)
    verifier.verify(token, content, action_type="exec", host="api.example.org")

A check is a method, so that each can be looked at, and broken, alone. The nonce is spent last, when
no other check can refuse, and before anything runs: at most once. Standard library only.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from ...families.execution_tokens.vocabulary import ACTION_TYPE, ALLOWED_HOSTS, ExecutionReason
from .hosts import HostError, is_allowed
from .refusals import ExecutionRefusal
from .store import NonceLog
from .tokens import Token, TokenError, canonical_string, sign


@dataclass(frozen=True)
class Request:
    """What is to be done, besides the token: the bytes, their kind of action, and the host."""

    content: bytes
    action_type: str
    host: str | None = None
    """A URL or a host; None for an action without one, which only a token without hosts allows."""


class TokenVerifier:
    """Returns the token if it is good; otherwise raises an `ExecutionRefusal`."""

    checks: ClassVar[tuple[str, ...]] = (
        "check_signature",
        "check_expiry",
        "check_action",
        "check_host",
        "check_content",
        "spend_nonce",
    )

    def __init__(
        self, secret: bytes, nonces: NonceLog, now: Callable[[], datetime.datetime]
    ) -> None:
        self.secret = secret
        self.nonces = nonces
        self.now = now

    def verify(self, data: Any, request: Request) -> Token:
        """Judge a token, and spend it if it is good."""
        token = self.read(data)
        for name in self.checks:
            getattr(self, name)(token, request)
        return token

    def read(self, data: Any) -> Token:
        """Fields are checked before they are joined: a colon inside one would be ambiguous."""
        try:
            return Token.read(data)
        except TokenError as error:
            raise ExecutionRefusal(ExecutionReason.MALFORMED, str(error)) from None

    def canonical(self, token: Token) -> bytes:
        return canonical_string(token.token_id, token.nonce, token.expires_at, token.scope)

    def check_signature(self, token: Token, _: Request) -> None:
        if not hmac.compare_digest(sign(self.secret, self.canonical(token)), token.signature):
            raise ExecutionRefusal(
                ExecutionReason.SIGNATURE, "signature: got another one than was expected"
            )

    def check_expiry(self, token: Token, _: Request) -> None:
        if self.now() >= token.expiry():
            raise ExecutionRefusal(
                ExecutionReason.EXPIRED, f"expires_at: {token.expires_at} has passed"
            )

    def check_action(self, token: Token, request: Request) -> None:
        if request.action_type != token.scope[ACTION_TYPE]:
            raise ExecutionRefusal(
                ExecutionReason.ACTION, "action_type: got another one than was approved"
            )

    def check_host(self, token: Token, request: Request) -> None:
        """A token for some hosts is for nothing else: only one for no host runs without one."""
        hosts = token.scope[ALLOWED_HOSTS]
        if request.host is None:
            if hosts:
                raise ExecutionRefusal(ExecutionReason.HOST, "host: got none, expected one")
            return
        try:
            allowed = is_allowed(request.host, hosts)
        except HostError as error:
            raise ExecutionRefusal(ExecutionReason.HOST, f"host: {error}") from None
        if not allowed:
            raise ExecutionRefusal(ExecutionReason.HOST, "host: got one that was not approved")

    def check_content(self, token: Token, request: Request) -> None:
        """The hash of the very bytes that will run."""
        if not hmac.compare_digest(hashlib.sha256(request.content).hexdigest(), token.content_hash):
            raise ExecutionRefusal(
                ExecutionReason.CONTENT, "content: got other bytes than were approved"
            )

    def spend_nonce(self, token: Token, _: Request) -> None:
        if not self.nonces.spend(token.nonce, token.expiry(), self.now()):
            raise ExecutionRefusal(ExecutionReason.REPLAYED, "nonce: it is spent")
