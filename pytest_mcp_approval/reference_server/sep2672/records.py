"""What the gate of SEP-2672 stores, and what a tool's author tells it. Data without behaviour.

Does not know where records are stored or which rule uses them.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...families.sep2672.vocabulary import DEFAULT_CLASS, META_KEY, Annotation, AuthenticatorClass

Describe = Callable[[Mapping[str, Any]], str]
"""Says in a sentence what a call with these arguments would do."""


@dataclass(frozen=True)
class GatedTool:
    """A tool that needs approval: its name, its sentence and its class (None: left out)."""

    name: str
    describe: Describe
    authenticator_class: AuthenticatorClass | None = None

    def __post_init__(self) -> None:
        if not self.name or "\x00" in self.name:
            raise ValueError(f"tool: got the name {self.name!r}, expected text without zero bytes")
        if self.authenticator_class is not None:
            object.__setattr__(
                self, "authenticator_class", AuthenticatorClass(self.authenticator_class)
            )

    @property
    def annotation(self) -> Annotation:
        if self.authenticator_class is None:
            return Annotation(DEFAULT_CLASS)
        return Annotation(self.authenticator_class, class_is_given=True)

    @property
    def listing_meta(self) -> dict[str, Any]:
        """The `_meta` of this tool's listing entry (section 4.2)."""
        return {META_KEY: self.annotation.to_json()}


@dataclass(frozen=True)
class ServerSetting:
    """What the server stores about itself."""

    name: str
    value: str


@dataclass(frozen=True)
class UserHandle:
    """The handle by which authenticators know a user."""

    name: str
    handle: bytes


@dataclass(frozen=True)
class EnrolmentRecord:
    """A registration challenge that was issued (section 4.4.1)."""

    challenge: bytes
    user: str
    expires_at: datetime.datetime
    consumed_at: datetime.datetime | None = None


@dataclass(frozen=True)
class AllowedEnrolment:
    """A registration challenge that an approval, or a code, has allowed."""

    challenge: bytes
    expires_at: datetime.datetime


@dataclass(frozen=True)
class EnrolmentCode:
    """What somebody needs to enrol a key; only its hash is kept."""

    hashed: bytes
    expires_at: datetime.datetime


@dataclass(frozen=True)
class FirstKey:
    """A user has had a first key."""

    user: str
    claimed: bool = True


@dataclass(frozen=True)
class CredentialRecord:
    """An enrolled credential (section 4.4.2)."""

    credential_id: bytes
    user: str
    user_handle: bytes
    public_key: bytes
    """COSE_Key, as it was in the authenticator data."""
    counter: int
    transports: tuple[str, ...]
    backup_eligible: bool
    created_at: datetime.datetime


@dataclass(frozen=True)
class ChallengeRecord:
    """A challenge for one call (section 4.4.3)."""

    challenge_id: str
    user: str
    tool: str
    canonical_arguments: bytes
    server_id: str
    action_hash: bytes
    wire_challenge: bytes
    expires_at: datetime.datetime
    consumed_at: datetime.datetime | None = None


@dataclass(frozen=True)
class ApprovedCall:
    """What a verified call gets: who approved what, by which challenge and credential."""

    user: str
    tool: str
    challenge_id: str
    credential_id: bytes
    counter: int


@dataclass
class ApprovalAttempt:
    """One gated call on its way through the steps of section 4.8."""

    user: str
    tool: GatedTool
    arguments: Any
    meta: Any
    evidence: Any = None
    """Set by step 1."""
    challenge: ChallengeRecord | None = None
    """Set by step 4."""
    credential: CredentialRecord | None = None
    """Set by step 8."""
    counter: int = 0
    """Set by step 10: what the authenticator data says."""
