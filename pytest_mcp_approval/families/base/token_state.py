"""One-time approvals as a model sees them: what a family must say about its own, and what is owed.

Has no transitions; those are in `token_exploration`. Knows no specification and no Hypothesis.
"""

from __future__ import annotations

import datetime
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ...target import Target
from ...wire import Reply, Session, StdioTransport
from .exploration import EndOfWalk, Exercised, Model
from .message_changes import clearly_another
from .outcome import ObservedOutcome

MOST = 8
"""Of approvals in one walk."""
CLOSE = datetime.timedelta(seconds=3)
"""An instant so near is neither before nor after."""


@dataclass
class HeldApproval:
    """One approval."""

    thing: Any
    """As the family's driver has it."""
    words: str
    place: int
    """Which of the calls it is for."""
    ends: datetime.datetime | None = None
    """When it is certainly over."""
    good_until: datetime.datetime | None = None
    """Until when it is certainly good, if time decides."""
    used: bool = False
    tried: bool = False
    """Something was refused on it; a document may leave open whether that uses it up."""
    certain: bool = True
    """Whether the server must still know it: it may have been restarted."""
    revoked: bool = False
    refusals: int = 0
    """How often it was refused as it is, for what had become of it."""
    here_alone: bool = True
    """Whether all that became of it happened at this server, one thing after the other."""
    runs: int = 0
    """Of a call that fails in its tool: how often it had its effect all the same."""


class Misuses(NamedTuple):
    """The rules that are broken if something goes wrong: by its kind. "" if it is not checked."""

    served: str
    replayed: str
    expired: str
    changed: str
    forged: str
    raced: str
    restarted: str
    bare: str
    message: str
    revoked: str = ""
    swapped: str = ""
    of_another: str = ""
    """Another user may not use it."""
    failed: str = ""
    """What failed in its tool runs again."""

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(filter(None, self)))


class ApprovalsModel(Model):
    """What a model of one-time approvals knows."""

    rules: ClassVar[Misuses]
    a_refusal_may_use_up: ClassVar[bool] = True
    what: ClassVar[str] = "token"
    counts_runs: ClassVar[bool] = True
    """Whether one call is one run for the effects."""

    def __init__(self, target: Target, exercised: Exercised | None = None) -> None:
        super().__init__(target, exercised)
        self.issued: list[HeldApproval] = []
        self.restarted = False
        self.spoilt = 0
        self.failed: list[HeldApproval] = []
        """Those of calls that fail in their tools."""
        self._replica: Any = None

    @classmethod
    def checkable_rules(cls) -> set[str]:
        return {f"{cls.family}/{rule}" for rule in cls.rules.all}

    # ---- what a family says

    @abstractmethod
    def calls(self) -> Sequence[Any]:
        """The calls that may be approved and run."""

    @abstractmethod
    def issue(self, call: Any, session: Session | None = None) -> HeldApproval:
        """Approve a call; `DriverError` if the server does not let anybody."""

    @abstractmethod
    def redeem(self, approved: HeldApproval, session: Session | None = None) -> ObservedOutcome:
        """Run the approved call."""

    @abstractmethod
    def changed(
        self, approved: HeldApproval
    ) -> Sequence[tuple[str, Callable[[], ObservedOutcome]]]:
        """Other calls with this approval, none of which may run."""

    @abstractmethod
    def forged(self, approved: HeldApproval) -> Sequence[tuple[str, Callable[[], ObservedOutcome]]]:
        """The same call with something that is not this approval."""

    @abstractmethod
    def bare(self, call: Any) -> ObservedOutcome:
        """The call without any approval."""

    @abstractmethod
    def honest_params(self, approved: HeldApproval) -> dict[str, Any]:
        """The params of the tools/call that redeems it."""

    @abstractmethod
    def observe(self, approved: HeldApproval, act: Callable[[], Reply]) -> ObservedOutcome:
        """Do this, and look at the effects."""

    @abstractmethod
    def runs_during(self, act: Callable[[], list[Reply]]) -> tuple[list[Reply], int | None]: ...

    @abstractmethod
    def succeeded(self, approved: HeldApproval, reply: Reply) -> bool: ...

    def failing_calls(self) -> Sequence[Any]:
        """Calls that can be approved, and then fail in their tools."""
        return ()

    def issue_failing(self, call: Any) -> HeldApproval:
        """Approve one of them."""
        return self.issue(call)

    def redeem_as_other(self, approved: HeldApproval) -> ObservedOutcome:
        """Run the approved call as the second user."""
        session = self.target.new_session(
            "pytest-mcp-approval, another user", headers=self.target.second_user_headers
        )
        self.close_later(session.close)
        return self.redeem(approved, session)

    def revoke(self, approved: HeldApproval) -> bool:  # noqa: ARG002
        """Withdraw it; returns whether the server says that it has."""
        return False

    def is_another(self, honest: Any, changed: Any) -> bool:
        """Whether these params are for a call that nobody approved."""
        return clearly_another(honest, changed)

    def after_restart(self) -> None:
        """Make drivers anew."""

    @property
    def session(self) -> Session:
        return self.target.session()

    def swapped(
        self, approved: HeldApproval, other: Any
    ) -> tuple[str, Callable[[], ObservedOutcome]]:
        raise NotImplementedError

    # ---- what there is

    @property
    def can_issue(self) -> bool:
        return len(self.issued) < MOST

    @property
    def has_issued(self) -> bool:
        return bool(self.issued)

    @property
    def has_unused(self) -> bool:
        return not all(one.used for one in self.issued)

    @property
    def has_used(self) -> bool:
        return any(one.used for one in self.issued)

    @property
    def may_spoil(self) -> bool:
        return self.spoilt < 5

    @property
    def can_forge(self) -> bool:
        return self.has_issued and self.may_spoil

    @property
    def can_wait(self) -> bool:
        return self.has_unused and self.clock_moves

    @property
    def can_restart(self) -> bool:
        return self.target.can_restart and not self.restarted and self.has_issued

    @property
    def can_go_elsewhere(self) -> bool:
        return self.has_issued and not isinstance(self.target.transport, StdioTransport)

    @property
    def can_be_another(self) -> bool:
        return self.can_go_elsewhere and bool(self.target.second_user_headers)

    @property
    def can_change_replica(self) -> bool:
        return self.has_issued and self.may_have_replicas

    @property
    def can_fail(self) -> bool:
        return bool(self.rules.failed) and len(self.failed) < 2 and bool(self.failing_calls())

    @property
    def has_failed(self) -> bool:
        return bool(self.failed)

    @property
    def can_revoke(self) -> bool:
        return False

    @property
    def can_swap(self) -> bool:
        return bool(self.rules.swapped) and self.has_issued and len(self.calls()) > 1

    def begin(self) -> None:
        if not self.calls():
            raise EndOfWalk("nothing that may be run is named")

    def state(self) -> tuple[Any, ...]:
        now = self.target.clock.now()
        return (
            len(self.issued),
            sum(one.used for one in self.issued),
            sum(one.ends is not None and now > one.ends for one in self.issued),
            sum(one.tried for one in self.issued),
            sum(one.revoked for one in self.issued),
            self.restarted,
        )

    # ---- what is owed

    def must_refuse(self, approved: HeldApproval) -> tuple[str, str]:
        """The rule for which it must be refused now, and why; empty if it need not be."""
        now = self.target.clock.now()
        if approved.used:
            rule = self.rules.restarted if not approved.certain else self.rules.replayed
            return rule, f"a {self.what} that was used"
        if approved.revoked and self.rules.revoked:
            return self.rules.revoked, f"a {self.what} that was revoked"
        if approved.ends is not None and now > approved.ends + CLOSE and self.rules.expired:
            return self.rules.expired, f"a {self.what} that is over"
        return "", ""

    def faults_of(self, approved: HeldApproval) -> int:
        """How many things are wrong with it by itself; with something left open, more than one."""
        now, until = self.target.clock.now(), approved.good_until
        late = until is not None and now > until - CLOSE
        return approved.used + approved.revoked + late + (not approved.certain)

    def must_serve(self, approved: HeldApproval) -> bool:
        """Whether nothing is left open."""
        now, until = self.target.clock.now(), approved.good_until
        in_time = until is None or now < until - CLOSE
        untouched = not (approved.tried and self.a_refusal_may_use_up)
        return in_time and untouched and approved.certain and not approved.revoked

    def wanted_words(self, rule: str, faults: int) -> tuple[str, ...]:  # noqa: ARG002
        """The words of a refusal for this rule; none if the document leaves them open."""
        return ()

    def says(self, outcome: ObservedOutcome, wanted: tuple[str, ...]) -> bool:
        return outcome.reason in wanted
