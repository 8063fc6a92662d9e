"""What the gate of confirmation tokens keeps and declares. Knows no rule and no store."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from ...families.confirmation_tokens.vocabulary import (
    CONFIRMATION_MEMBER,
    GATED_FROM,
    QUOTA_MEMBER,
    Danger,
    Event,
    TokenType,
)

TTL_MEMBER = "confirmation_ttl_seconds"
OWN_MEMBERS = (CONFIRMATION_MEMBER, QUOTA_MEMBER, TTL_MEMBER)
"""The gate's own parameters; an operation does not see them, and no token is bound to them."""
EVERY_PARAMETER: Final[tuple[str, ...]] = ("*",)

Describe = Callable[[Mapping[str, Any]], str]
Run = Callable[[Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True)
class AdapterOperation:
    """One operation of an adapter, and how it is confirmed."""

    name: str
    danger: Danger
    run: Run
    describe: Describe = field(default=lambda _: "Proceed?")
    """The confirmation message of a call with these parameters."""
    reasons: tuple[str, ...] = ()
    critical: tuple[str, ...] = EVERY_PARAMETER
    """The parameters that a token is bound to: all of them, and any that the operation gets later.
    Whoever names some lets the others change between the question and the call."""
    metadata: tuple[str, ...] = ()
    """Of all parameters, those that may change, such as a request id (section 3.2)."""
    max_uses: int = 1
    """Above one, its tokens are session-scoped and can be used that often (section 5.4)."""
    quota: int | None = None
    """How many runs are allowed between two quota pauses."""
    quota_metric: str = "operations"

    def __post_init__(self) -> None:
        if self.metadata and self.critical != EVERY_PARAMETER:
            raise ValueError(f"{self.name}: got critical and metadata, expected one of them")

    @property
    def gated(self) -> bool:
        return self.danger >= GATED_FROM

    def bound(self, params: Mapping[str, Any]) -> list[str]:
        """The names of the parameters that a token for this call is bound to."""
        if self.critical != EVERY_PARAMETER:
            return list(self.critical)
        return [name for name in params if name not in (*OWN_MEMBERS, *self.metadata)]


class TokenState(StrEnum):
    """What a token can still do, apart from the time."""

    ACTIVE = "active"
    USED = "used"
    REVOKED = "revoked"


@dataclass(frozen=True)
class TokenRecord:
    """A token as it is kept: sections 2.3 and 5.4."""

    id: str
    type: TokenType
    operation: str
    params_hash: str
    adapter_name: str
    user: str
    issued_at: datetime.datetime
    expires_at: datetime.datetime | None
    """The gate never writes None; if a store holds it, the token is refused (section 5.1)."""
    session_id: str = ""
    session_scoped: bool = False
    max_uses: int = 1
    use_count: int = 0
    danger_level: str = ""
    revoked_because: str = ""

    @property
    def state(self) -> TokenState:
        if self.revoked_because:
            return TokenState.REVOKED
        return TokenState.USED if self.use_count >= self.max_uses else TokenState.ACTIVE


@dataclass(frozen=True)
class AuditEntry:
    """One line of the audit log (section 6.4)."""

    timestamp: datetime.datetime
    event: Event
    token_id: str
    operation: str
    adapter_name: str
    outcome: str
    failure_reason: str = ""
    session_id: str = ""
    user_id: str = ""


@dataclass(frozen=True)
class Bucket:
    """How much of a rate limit is left, and at what time."""

    key: str
    left: float
    at: datetime.datetime


@dataclass(frozen=True)
class QuotaCount:
    """How many runs a quota has counted."""

    key: str
    used: int


@dataclass(frozen=True)
class AdapterConfiguration:
    """How an adapter was configured when it was last started."""

    adapter_name: str
    fingerprint: str


@dataclass(frozen=True)
class SigningKey:
    """The key behind signed tokens."""

    name: str
    value: bytes


@dataclass(frozen=True)
class OperationCall:
    """One call of an operation, and whose it is."""

    operation: AdapterOperation
    params: Mapping[str, Any]
    user: str
    session: str


@dataclass(frozen=True)
class RedemptionAttempt(OperationCall):
    """One attempt to redeem a token for a call."""

    token: Any
    """As it came: it need not even be text."""
    type: TokenType
