"""What the scenarios of confirmation tokens are written with: honest calls, and expectations.

Raises a `Finding` for anything unexpected, and `NotVerified` for what cannot be checked.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...catalogue import Grade, NotApplicable, NotVerified
from ...support.text import neutralise
from ...target import TargetError, open_target
from ...wire import (
    HANDSHAKE_REVISIONS,
    Era,
    NothingAnsweredError,
    Session,
    StdioTransport,
    UnreachableError,
    WireError,
    open_session,
)
from ..base.scenario import ScenarioView, Warn, finding_of
from ..base.second_user import headers_of_second_user
from . import vocabulary as words
from .driver import ConfirmationTokens, IssuedToken
from .outcome import ConfirmationOutcome, is_limit
from .settings import FAMILY, NamedOperation
from .vocabulary import Danger, TokenCode

_SLOW_CLOCK = datetime.timedelta(seconds=2)
"""How long before an instant to ask, if the clock cannot be stopped."""
_START = 60.0
"""Seconds allowed for another start of the target."""
_OPTIONAL_VARIANTS = {
    "ttl": "lifetimes cannot be configured",
    "signed": "tokens that carry their payload are not offered",
    "key": "tokens that are signed are not offered",
}
"""What a server need not have (sections 5.1 and 6.2)."""


class Confirmations(ScenarioView):
    def __init__(
        self,
        driver: ConfirmationTokens,
        warn: Warn,
        note: Callable[[str], None],
        *,
        tolerance: float | None = None,
    ) -> None:
        super().__init__(driver.target, warn)
        self.driver = driver
        self.table = driver.binding.table
        self.note = note
        """Notes a remark that changes no verdict."""
        self.tolerance = self.table.tolerance if tolerance is None else tolerance
        """The declared one, in seconds; None if none is declared."""

    # ---- operations

    def usual_operations(self) -> list[NamedOperation]:
        return [one for one in self.table.operations if one.usual]

    @property
    def operation(self) -> NamedOperation:
        """The gated operation that most scenarios use: the first one with other parameters."""
        for one in sorted(self.usual_operations(), key=lambda one: not one.other_params):
            return one
        raise NotVerified(f"needs a gated operation: name one in [{FAMILY}] operations")

    def second_operation(self) -> NamedOperation:
        """Another one; with the same parameters, if there is one, so that only the name differs."""
        first = self.operation
        others = [one for one in self.usual_operations() if one.name != first.name]
        if not others:
            raise NotApplicable(f"only one gated operation is named ([{FAMILY}] operations)")
        return next((one for one in others if one.params == first.params), others[0])

    def of_level(self, level: Danger) -> NamedOperation:
        for one in self.usual_operations():
            if one.danger is level:
                return one
        raise NotApplicable(f"no operation of level {level.word} is named ([{FAMILY}] operations)")

    def with_(self, kind: str) -> NamedOperation:
        """The first operation with this flag: quota, crashes, slow."""
        for one in self.table.operations:
            if getattr(one, kind):
                return one
        raise NotApplicable(f"no operation with {kind} = true is named ([{FAMILY}] operations)")

    def changed(self, operation: NamedOperation | None = None) -> Mapping[str, Any]:
        """Other parameters of an operation, as named by the user."""
        chosen = operation or self.operation
        if not chosen.params and not chosen.other_params:
            raise NotApplicable(f"{chosen.name} has no parameters, as far as the table says")
        if not chosen.other_params:
            raise NotVerified(f"needs other-params of {chosen.name} in [{FAMILY}] operations")
        return {**chosen.params, **chosen.other_params[0]}

    # ---- honest steps: if one fails, nothing else can be judged

    def issue(
        self,
        operation: NamedOperation | None = None,
        params: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> IssuedToken:
        """A token for an operation (the usual one) with its safe parameters, or others."""
        chosen = operation or self.operation
        given = chosen.params if params is None else params
        with self.honest_step("an honest call got no token"):
            return self.driver.issue(chosen.name, given, **more)

    def issue_many(self, count: int, seconds: float) -> list[IssuedToken]:
        """So many tokens for the usual operation, or as many as there are in this time."""
        chosen = self.operation
        with self.honest_step("an honest call got no token"):
            return self.driver.issue_many(chosen.name, chosen.params, count, seconds)

    def honest(self, operation: NamedOperation | None = None, **more: Any) -> ConfirmationOutcome:
        """The positive twin: asked, confirmed, run. If it fails, nothing here can be judged."""
        outcome = self.driver.redeem(self.issue(operation, **more), **more)
        self.need_served(outcome)
        return outcome

    def two(self) -> tuple[IssuedToken, IssuedToken]:
        first, second = self.issue(), self.issue()
        if first.token == second.token:
            raise NotApplicable("asking again returns the same token until it is used")
        return first, second

    def used(self) -> IssuedToken:
        """A token that was already used, with success."""
        issued = self.issue()
        outcome = self.driver.redeem(issued)
        if not outcome.executed:
            raise NotVerified(f"the honest call failed, so nothing follows: {outcome.describe()}")
        return issued

    # ---- calls and expectations

    def redeem(self, issued: IssuedToken, **more: Any) -> ConfirmationOutcome:
        return self.driver.redeem(issued, **more)

    def expect_refusal(
        self, outcome: ConfirmationOutcome, *codes: TokenCode | str, sent: str
    ) -> None:
        """Refused with one of these codes, and nothing ran."""
        expected = f"{' or '.join(str(code) for code in codes)}, operation not run"
        if outcome.executed or outcome.succeeded:
            raise finding_of(outcome, sent=sent, expected=expected, grade=Grade.RAN)
        if not outcome.answer.means(*codes):
            remark, grade = " (refused, but with another code)", Grade.OTHER_WORDS
            raise finding_of(outcome, sent=sent, expected=expected, grade=grade, remark=remark)

    def expect_expired(self, outcome: ConfirmationOutcome, *codes: TokenCode, sent: str) -> None:
        """Refused as expired. A server may evict tokens when they expire (section 5.5): then it no
        longer knows them, for which section 4.1 has another code."""
        if outcome.answer.means(TokenCode.EXPIRED, *codes):
            self.expect_refusal(outcome, TokenCode.EXPIRED, *codes, sent=sent)
            return
        self.expect_refusal(outcome, TokenCode.EXPIRED, TokenCode.INVALID, *codes, sent=sent)
        self.warn(f"{sent}: {outcome.describe()}; section 4.1 names {TokenCode.EXPIRED}")

    def expect_run(self, outcome: ConfirmationOutcome, *, sent: str) -> None:
        if not outcome.served_once:
            raise finding_of(outcome, sent=sent, expected="success, operation run once")

    def need_no_limit(self, *outcomes: ConfirmationOutcome) -> None:
        """`NotVerified` if one is a rate limit: then the token was not looked at."""
        if any(is_limit(one.reply, one.answer) for one in outcomes):
            raise NotVerified("the target's rate limit was reached, so the token was not judged")

    def expect_nothing_runs(
        self, calls: Mapping[str, Mapping[str, Any]], session: Session | None = None
    ) -> None:
        """Many calls, by what is sent: none succeeds, and the effects show no run. One look at the
        effects is enough for all, since most servers run none of them."""
        replies, runs = self.driver.runs_during(
            lambda: {sent: self.driver.send(call, session) for sent, call in calls.items()}
        )
        outcomes = {sent: self.driver.seen(reply) for sent, reply in replies.items()}
        with self.several() as several:
            for sent, outcome in outcomes.items():
                with several.one(sent):
                    self.expect_not_run(outcome, sent=sent)
            with several.one("the effects"):
                self.expect(
                    runs == 0 if self.driver.effects is not None else True,
                    sent=f"{len(calls)} calls that are refused: {next(iter(calls), '')}, ...",
                    expected="operation not run",
                    got=f"operation run {'?' if runs is None else runs} times",
                )
            self.need_no_limit(*outcomes.values())

    def redeem_and_look(
        self, issued: IssuedToken, **more: Any
    ) -> tuple[ConfirmationOutcome, tuple[Any, ...]]:
        """Redeem a token; the entries that the effects show more than before, if they show any."""
        call = self.driver.redeem_params(issued)
        reply, seen = self.driver.seen_during(lambda: self.driver.send(call, **more))
        outcome = self.driver.seen(reply)
        self.need_no_limit(outcome)
        if seen is None:
            return outcome, ()
        before, after = seen
        shown = (after.entries or ())[len(before.entries or ()) :]
        return replace(outcome, runs=after.runs_since(before), probed=True), shown

    # ---- time

    def last_instant(self, issued: IssuedToken) -> datetime.datetime:
        """Expiry plus tolerance."""
        return issued.expires_at + datetime.timedelta(seconds=self.allowed_lateness)

    @property
    def allowed_lateness(self) -> float:
        """The tolerance in seconds; if none is declared, the 30 that are allowed."""
        return words.DEFAULT_TOLERANCE if self.tolerance is None else self.tolerance

    def margin(self, issued: IssuedToken) -> datetime.timedelta:
        """How close to an instant can be judged: as exactly as the target writes it and the clock
        can be set."""
        assert issued.expiry is not None
        return issued.expiry.exact if self.clock.stops else max(_SLOW_CLOCK, issued.expiry.exact)

    def move_to(self, instant: datetime.datetime, **more: Any) -> None:
        self.clock.move_to(instant, **more)
        self.driver.forget()  # while a clock really waits, others may have used the target

    def move_inside(self, issued: IssuedToken, limit: datetime.datetime) -> str:
        """Move to just before the limit; returns how long before, in words."""
        margin = self.margin(issued)
        self.move_to(limit - margin, before=limit)
        return in_words(margin)

    def move_beyond(self, issued: IssuedToken, limit: datetime.datetime | None = None) -> str:
        """Move to just beyond the limit (expiry plus tolerance); returns how far, in words."""
        margin = self.margin(issued)
        self.move_to((limit or self.last_instant(issued)) + margin)
        return in_words(margin)

    def lifetime(self, issued: IssuedToken) -> float:
        """Seconds from now to the token's expiry."""
        return (issued.expires_at - self.target.clock.now()).total_seconds()

    @property
    def slack(self) -> float:
        """Seconds by which the target's clock and ours may differ without harm."""
        return 5.0 if self.target.clock.movable else 30.0

    # ---- what a target may lack

    @contextlib.contextmanager
    def variant(self, what: str, value: Any) -> Iterator[Confirmations]:
        """The target, started with one setting changed. Whether it accepts the value shows at the
        first request."""
        other = self.driver.binding.variant(what, value)
        if other is None and what in _OPTIONAL_VARIANTS:
            raise NotApplicable(
                f"{_OPTIONAL_VARIANTS[what]}, as far as the table says ([{FAMILY}] variants.{what})"
            )
        if other is None:
            raise NotVerified(f"needs another start of the target: [{FAMILY}] variants.{what}")
        # Many are started while others run: allow enough time, so that none seems to hang.
        other.settings = replace(other.settings, timeout=max(_START, other.settings.timeout))
        try:
            tolerance = float(value) if what == "tolerance" and _is_number(value) else None
            made = Confirmations(
                ConfirmationTokens(other), self.warn, self.note, tolerance=tolerance
            )
            if what != "tolerance":
                made.tolerance = self.tolerance
            yield made
        finally:
            other.close()

    @contextlib.contextmanager
    def showing_its_store(self) -> Iterator[Confirmations]:
        """The target itself, unless it shows its store only when it is started for that."""
        if not self.driver.binding.can_vary("store"):
            yield self
            return
        with self.variant("store", True) as other:
            yield other

    def refusal_to_start(self) -> str | None:
        """Why this variant does not start, in its own words; None if it serves."""
        try:
            with self.may_not_start():
                self.target.session()
        except (NothingAnsweredError, UnreachableError) as error:
            raise NotVerified(f"whether it starts cannot be told: {error}") from error
        except (TargetError, WireError) as error:
            return neutralise(str(error), 160)
        return None

    @contextlib.contextmanager
    def other_adapter(self) -> Iterator[Callable[[IssuedToken], ConfirmationOutcome]]:
        """Redeems a token at another adapter, which was seen to serve honest calls."""
        named = self.table.other_adapter
        tool = named.get("tool")
        with contextlib.ExitStack() as stack:
            other = self
            if "target" in named:
                settings = replace(self.target.settings, targets=(named["target"],))
                opened = open_target(named["target"], settings)
                stack.callback(opened.close)
                other = Confirmations(ConfirmationTokens(opened), self.warn, self.note)
            other.honest(tool=tool)
            yield lambda issued: other.redeem(issued, tool=tool)

    @property
    def over_a_pipe(self) -> bool:
        return isinstance(self.target.transport, StdioTransport)

    @contextlib.contextmanager
    def another_client(self) -> Iterator[Session]:
        if self.over_a_pipe:
            raise NotApplicable("a pipe has one client")
        with self.target.new_session("pytest-mcp-approval, second client") as session:
            yield session

    @contextlib.contextmanager
    def second_user(self) -> Iterator[Session]:
        """A conversation of another person, whom the server knows by other headers."""
        # The document binds no token to a user.
        headers = headers_of_second_user(self.target, known_to_document=False)
        with self.target.new_session(headers=headers) as session:
            yield session

    @contextlib.contextmanager
    def own_session(self) -> Iterator[Session]:
        """An MCP session that ends afterwards, if the era has sessions; on a pipe, the only one."""
        if self.over_a_pipe:
            yield self.driver.session
            return
        shared = self.driver.session
        known = shared.revision if shared.era is Era.HANDSHAKE else max(HANDSHAKE_REVISIONS)
        try:
            session = open_session(self.target.transport, known, deadline=shared.deadline)
        except WireError as error:
            raise NotApplicable(f"the target has no MCP sessions: {error}") from error
        with session:
            if session.session_id is None:
                raise NotApplicable("the target has no MCP sessions")
            yield session

    def restart(self) -> None:
        self.target.restart()
        self.driver.forget()

    @contextlib.contextmanager
    def spending_limits(self) -> Iterator[None]:
        """For a burst. It uses up limits that later checks need: afterwards a server that is not
        reset anyway is started without its state, if we can."""
        try:
            yield
        finally:
            is_reset = self.target.can_reset or self.target.settings.reset
            if self.target.can_restart and not is_reset:
                self.target.renew()
                self.driver.forget()


def in_words(duration: datetime.timedelta) -> str:
    seconds = duration.total_seconds()
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:g} s"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
