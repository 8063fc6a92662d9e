"""The model of SEP-2672: what it knows of passkeys, enrollments, challenges and evidence.

Has no transitions; those of `exploration_enrollment`, `exploration_challenges` and `exploration`
are built on it, one on the other.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from ...target import Target
from ...wire import Session, StdioTransport
from ..base.exploration import EndOfWalk, Exercised, Model
from .driver import Approval, ListedTool, Passkey
from .expected_calls import Device, Issued, Signed
from .health import honest_approval
from .settings import settings_of

MOST = 6
"""Of each thing in one walk."""
_SECOND = "exploration: the second user"


@dataclass
class OpenRegistration:
    """What was sent to enroll/finish, and was taken."""

    response: Mapping[str, Any]
    device: Device


@dataclass
class Pending:
    """An enrollment that was begun."""

    passkey: Passkey
    user: int
    options: Mapping[str, Any]
    since: datetime.datetime
    certain: bool = True
    """Whether the server must still know it: not after a restart, and it may keep only the latest
    of several (reading)."""

    @property
    def life(self) -> datetime.timedelta:
        """Five minutes, or the options' timeout if that is shorter (reading)."""
        said = self.options.get("timeout")
        given = said / 1000 if isinstance(said, (int, float)) and said > 0 else 300
        return datetime.timedelta(seconds=min(300, given))


class StateModel(Model):
    """Passkeys, challenges and evidence of one or two users, and what can be done with them."""

    family = "sep2672"
    served_rule: ClassVar[str] = "4.8-13-consume-after-verify"

    def __init__(self, target: Target, exercised: Exercised | None = None) -> None:
        super().__init__(target, exercised)
        self.approval = Approval(target)
        self.fresh = target.can_reset or bool(target.settings.reset)
        self.knows_all = self.fresh
        self.devices: list[Device] = []
        self.registrations: list[OpenRegistration] = []
        self.challenges: list[Issued] = []
        self.signed: list[Signed] = []
        self.pending: list[Pending] = []
        self.hashes: dict[bytes, tuple[str, bytes]] = {}
        self.restarted = False
        self.replica: Approval | None = None
        self.copies = 0
        self.fuzzed = 0
        self.spoilt = 0
        """How many steps were about nothing but a refusal: a walk needs few of them."""

    def begin(self) -> None:
        if not self.tools:
            raise EndOfWalk("no gated tool that may be run")

    # ---- what there is

    @property
    def tools(self) -> list[ListedTool]:
        return [one for one in self.approval.tools() if one.gated and one.arguments is not None]

    @property
    def can_enroll(self) -> bool:
        return len(self.devices) < MOST

    @property
    def can_begin(self) -> bool:
        return len(self.pending) < 3 and self.can_enroll

    @property
    def has_pending(self) -> bool:
        return bool(self.pending)

    @property
    def can_ask(self) -> bool:
        return len(self.challenges) < 2 * MOST

    @property
    def has_device(self) -> bool:
        return bool(self.devices)

    @property
    def can_copy(self) -> bool:
        return self.has_device and self.copies < 2

    @property
    def can_sign(self) -> bool:
        return bool(self.devices and self.challenges) and len(self.signed) < 3 * MOST

    @property
    def can_approve(self) -> bool:
        return self.can_ask and len(self.signed) < 3 * MOST

    @property
    def has_signed(self) -> bool:
        return bool(self.signed)

    @property
    def has_unused(self) -> bool:
        return not all(one.issued.consumed for one in self.signed)

    @property
    def has_used(self) -> bool:
        return any(one.issued.consumed for one in self.signed)

    @property
    def has_registration(self) -> bool:
        return bool(self.registrations) and self.may_spoil

    @property
    def can_change_tool(self) -> bool:
        return bool(self.signed) and len(self.tools) > 1

    @property
    def can_restart(self) -> bool:
        return self.target.can_restart and not self.restarted and bool(self.challenges)

    @property
    def can_wait(self) -> bool:
        return self.clock_moves and (self.has_pending or self.has_unused)

    @property
    def can_change_replica(self) -> bool:
        return self.has_signed and self.may_have_replicas

    @cached_property
    def failing(self) -> Mapping[str, Any]:
        """By tool, arguments with which it fails after it was approved."""
        return settings_of(self.target).failing

    @property
    def can_fail(self) -> bool:
        named = any(one.name in self.failing for one in self.tools)
        return named and self.has_device and self.may_spoil

    @property
    def may_fuzz(self) -> bool:
        return self.fuzzed < 6

    @property
    def may_spoil(self) -> bool:
        return self.spoilt < 4

    @property
    def has_second_user(self) -> bool:
        """Whether the server tells a second person from the first."""
        known = self.target.remembered.get(_SECOND)
        if known is None:
            known = self.target.remembered[_SECOND] = self._find_second_user()
        return bool(known)

    @property
    def second_has_signed(self) -> bool:
        return bool(self.signed) and self.has_second_user

    def _find_second_user(self) -> Session | bool:
        headers = self.target.second_user_headers
        if not headers or isinstance(self.target.transport, StdioTransport):
            return False
        session = self.target.new_session("pytest-mcp-approval, second user", headers=headers)
        theirs = self.approval.begin_options(session=session).get("user")
        own = [self.approval.begin_options().get("user") for _ in range(2)]
        return session if own[0] == own[1] != theirs else False

    def session_of(self, user: int) -> Session:
        if user and self.has_second_user:
            found: Session = self.target.remembered[_SECOND]
            return found
        return self.approval.session

    def begin_options(self, user: int = 0) -> dict[str, Any]:
        """Begin an enrollment. A server may keep only the latest of a user (reading)."""
        for one in self.pending:
            if one.user == user:
                one.certain = False
        return self.approval.begin_options(session=self.session_of(user))

    def state(self) -> tuple[Any, ...]:
        return (
            len(self.devices),
            len(self.challenges),
            sum(one.consumed for one in self.challenges),
            sum(self.is_over(one) for one in self.challenges),
            min(4, len(self.signed)),
            self.restarted,
        )

    def is_over(self, issued: Issued) -> bool:
        return self.target.clock.now() >= issued.challenge.expires_at

    def honest(self) -> str:
        return honest_approval(self.target)
