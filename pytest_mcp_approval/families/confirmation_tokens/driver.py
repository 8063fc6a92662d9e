"""Speaks confirmation tokens to a target: ask, confirm, revoke; as a client does, or an attacker.

    issued = tokens.issue("delete_repo", {"owner": "acme", "repo": "widgets"})
    assert tokens.redeem(issued).executed
    assert tokens.redeem(issued).refused_because("TOKEN_ALREADY_USED")

The binding knows where things are on the wire. Knows no verdicts: it does what it is told and
reports what came back. A refusal is an outcome; a `DriverError` means that the driver did not get
what it needs itself.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...support.deadline import Deadline
from ...support.text import neutralise
from ...target import Target
from ...wire import Reply, Session, race
from ..base.driver import Driver, DriverError
from . import vocabulary as words
from .binding import ConfirmationBinding, binding_of
from .outcome import ConfirmationAnswer, ConfirmationOutcome, Instant, is_limit
from .vocabulary import TokenType

TOGETHER = 20
"""How many calls are sent at the same moment, where many are needed: as many as any server takes,
and a distant one is not waited for a thousand times."""
_PAUSE_SECONDS = 20.0
"""In which an operation with a quota has to come to a pause."""
LIMIT_REACHED = "the target's rate limit was reached"
_WAITS = 3
_MANY = 40
_PACE = "the pace of confirmation tokens"
_RECOVERY = datetime.timedelta(minutes=5)


@dataclass
class _Pace:
    """How much a target was asked, and when. A restart does not change that: what counts for a rate
    limit may be on the server's disk."""

    calls: int = 0
    latest: datetime.datetime | None = None
    is_ahead: bool = False
    """Whether its clock was moved on, so that limits recover."""


@dataclass(frozen=True)
class IssuedToken:
    """A token, and the call that it was issued for."""

    operation: str
    params: Mapping[str, Any]
    token: str
    answer: ConfirmationAnswer = field(repr=False)
    expiry: Instant | None
    kind: TokenType = TokenType.CONFIRMATION

    @property
    def expires_at(self) -> datetime.datetime:
        if self.expiry is None:
            raise DriverError("the target does not say when its token expires")
        return self.expiry.at

    def with_params(self, params: Mapping[str, Any]) -> IssuedToken:
        """The same token on a call with other parameters."""
        return replace(self, params=params)

    def with_operation(self, operation: str) -> IssuedToken:
        return replace(self, operation=operation)

    def with_token(self, token: Any) -> IssuedToken:
        return replace(self, token=token)


class ConfirmationTokens(Driver):
    """The calls of one target."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.binding: ConfirmationBinding = binding_of(target)
        self.meets_limits = True
        """Whether a rate limit is waited out; a scenario about rate limits says no."""

    # ---- calls

    def send(self, params: Mapping[str, Any], session: Session | None = None) -> Reply:
        """A tools/call, as it is."""
        self._count(1)
        return (session or self.session).call("tools/call", params)

    def send_together(self, calls: Sequence[Mapping[str, Any]]) -> list[Reply]:
        """Several tools/call at the same moment, as they are."""
        self._count(len(calls))
        return race(self.session, [("tools/call", one) for one in calls])

    def patiently(self, params: Mapping[str, Any], session: Session | None = None) -> Reply:
        """The same; a rate limit is waited out, by the target's clock if that can be moved.

        Not for calls with a token: the token would age during the wait.
        """
        for attempt in range(_WAITS):
            reply = self.send(params, session)
            answer = self.binding.read(reply)
            if not is_limit(reply, answer) or not self.meets_limits:
                return reply
            self.wait(answer, attempt)
        return reply

    def wait(self, answer: ConfirmationAnswer, attempt: int = 0) -> None:
        """Let the time pass that a rate limit asks for (a minute, if it does not say)."""
        told = answer.get("retry_after")
        known = isinstance(told, (int, float)) and not isinstance(told, bool) and 0 < told <= 3600
        seconds = float(told) + 1 if known else 60.0
        clock = self.target.clock
        if clock.movable and clock.stops:
            # Longer the second time: a clock that was moved before may have filled that hour too.
            clock.advance(max(seconds, 60.0) * 10**attempt)
        elif seconds <= self.binding.table.patience:
            time.sleep(seconds)
        else:
            raise DriverError(
                f"{LIMIT_REACHED}: a reset between scenarios, a clock, or "
                f"confirmation_tokens.patience={seconds:.0f} would help"
            )

    def begin_afresh(self) -> None:
        """Before a scenario: on a target that keeps everything, let rate limits recover.

        After many calls its clock continues from where earlier scenarios left it, and never goes
        back: the time before is full of their calls.
        """
        target, clock, pace = self.target, self.target.clock, self._pace
        keeps = not (target.can_reset or target.settings.reset)
        many = pace.calls > _MANY
        if not (keeps and clock.movable and clock.stops) or not (many or pace.is_ahead):
            return
        latest = max(pace.latest or clock.now(), clock.now())
        clock.move_to(latest + _RECOVERY if many else latest)
        pace.is_ahead = True
        if many:
            pace.calls = 0

    @property
    def _pace(self) -> _Pace:
        pace: _Pace = self.target.lasting.setdefault(_PACE, _Pace())
        return pace

    def _count(self, calls: int) -> None:
        pace, now = self._pace, self.target.clock.now()
        pace.calls += calls
        pace.latest = max(now, pace.latest or now)

    def observe(self, act: Callable[[], Reply]) -> ConfirmationOutcome:
        """Do something that gives a reply, and look at the effects before and after it."""
        reply, runs = self.runs_during(act)
        return ConfirmationOutcome(
            reply, self.binding.read(reply), runs=runs, probed=self.effects is not None
        )

    def seen(self, reply: Reply) -> ConfirmationOutcome:
        """An answer alone; the effects are not looked at."""
        return ConfirmationOutcome(reply, self.binding.read(reply))

    def call(
        self,
        operation: str,
        params: Mapping[str, Any],
        token: Any = None,
        kind: TokenType = TokenType.CONFIRMATION,
        *,
        session: Session | None = None,
        tool: str | None = None,
    ) -> ConfirmationOutcome:
        """Any call, with a token or without."""
        call = self.binding.call_params(operation, params, token, kind, tool=tool)
        send = self.patiently if token is None else self.send
        outcome = self.observe(lambda: send(call, session))
        limited = is_limit(outcome.reply, outcome.answer)
        if token is not None and limited and self.meets_limits:
            raise DriverError(f"{LIMIT_REACHED}, so the token was not judged")
        return outcome

    def ask(self, operation: str, params: Mapping[str, Any]) -> Reply:
        """A first call, unobserved."""
        return self.patiently(self.binding.call_params(operation, params))

    def issue(
        self,
        operation: str,
        params: Mapping[str, Any] | None = None,
        *,
        session: Session | None = None,
        tool: str | None = None,
    ) -> IssuedToken:
        """A token for this call (with the safe parameters, if none are given)."""
        given = self._safe(operation, params)
        call = self.binding.call_params(operation, given, tool=tool)
        return self.issued(operation, given, self.patiently(call, session))

    def issue_many(
        self, operation: str, params: Mapping[str, Any], count: int, seconds: float
    ) -> list[IssuedToken]:
        """So many tokens for one call, or as many as there are when the time is over."""
        call = self.binding.call_params(operation, params)
        issued: list[IssuedToken] = []
        deadline = Deadline(seconds)
        while len(issued) < count and not deadline.passed:
            for reply in self.send_together([call] * min(TOGETHER, count - len(issued))):
                try:
                    issued.append(self.issued(operation, params, reply))
                except DriverError:
                    if issued and not deadline.left():
                        break
                    # A limit, or more at once than the target takes: this one alone.
                    issued.append(self.issue(operation, params))
        return issued

    def issued(self, operation: str, params: Mapping[str, Any], reply: Reply) -> IssuedToken:
        """The token that a reply holds."""
        answer = self.binding.read(reply)
        token = answer.get("token")
        if not answer.means(words.CONFIRMATION_REQUIRED) or not isinstance(token, str):
            place = self.binding.table.fields["token"]
            raise DriverError(
                f"no token for {operation}: expected {words.CONFIRMATION_REQUIRED} and a token at "
                f"{place}, got {neutralise(answer.code or '', 60) or reply.describe()}",
                reply,
            )
        return IssuedToken(
            operation, params, token, answer, self._instant(answer.get("expires_at"))
        )

    def redeem(
        self, issued: IssuedToken, *, session: Session | None = None, tool: str | None = None
    ) -> ConfirmationOutcome:
        return self.call(
            issued.operation, issued.params, issued.token, issued.kind, session=session, tool=tool
        )

    def redeem_params(self, issued: IssuedToken) -> dict[str, Any]:
        """The params of that call, for races."""
        return self.binding.call_params(issued.operation, issued.params, issued.token, issued.kind)

    def paused(
        self,
        operation: str,
        params: Mapping[str, Any] | None = None,
        *,
        session: Session | None = None,
        tool: str | None = None,
    ) -> IssuedToken:
        """Run an operation with a quota until it pauses; the token of the pause."""
        given, most, runs = self._safe(operation, params), self.binding.table.burst, 0
        deadline = Deadline(_PAUSE_SECONDS)
        while runs < most and not deadline.passed:
            runs += 1
            outcome = self.call(operation, given, session=session, tool=tool)
            token = outcome.answer.get("quota_token")
            if outcome.answer.means(words.QUOTA_PAUSED) and isinstance(token, str):
                expiry = self._instant(outcome.answer.get("expires_at"))
                return IssuedToken(operation, given, token, outcome.answer, expiry, TokenType.QUOTA)
            if not outcome.executed:
                raise DriverError(f"{operation} did not come to a pause: {outcome.describe()}")
        more = f" and {_PAUSE_SECONDS:.0f} s, and more were not tried" if runs < most else ""
        raise DriverError(f"{operation} did not pause in {runs} runs{more}")

    # ---- introspection

    def introspect(
        self, query: str, token: Any, *, session: Session | None = None
    ) -> ConfirmationOutcome:
        call = self.binding.introspection_params(query, token)
        return self.observe(lambda: self.patiently(call, session))

    def revoke(self, token: Any, *, session: Session | None = None) -> ConfirmationOutcome:
        return self.introspect(self.binding.table.introspection["revoke"], token, session=session)

    def status(self, token: Any, *, session: Session | None = None) -> ConfirmationOutcome:
        return self.introspect(self.binding.table.introspection["status"], token, session=session)

    # ---- inside

    def _safe(self, operation: str, params: Mapping[str, Any] | None) -> Mapping[str, Any]:
        if params is not None:
            return params
        for one in self.binding.table.operations:
            if one.name == operation:
                return one.params
        raise DriverError(f"no operation {operation!r} is named in the settings")

    def _instant(self, value: Any) -> Instant | None:
        try:
            return self.binding.instant(value)
        except ValueError:
            return None
