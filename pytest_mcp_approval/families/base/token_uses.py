"""The model of one-time approvals: something is issued, and it runs one call once.

How they are used and misused; the world around them is in `token_exploration`. A family says how
one is issued and redeemed, what would be another call, and which rules are about which misuse
(`token_state`); where its document leaves something open, either answer is taken. Knows no
specification.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...catalogue import Grade
from ...wire import Reply, Session, race
from .driver import DriverError
from .exploration import AnyChange, EndOfWalk, is_internal_error, one_of, transition, which
from .fuzzing import fuzzed
from .outcome import ObservedOutcome
from .token_state import ApprovalsModel, HeldApproval


class RacedAnswer(NamedTuple):
    """What came of one of several calls that were sent at once."""

    served: bool
    words: str
    reply: Reply | None = None
    """As it came over the wire, if it did."""


class UsesModel(ApprovalsModel):
    """Approvals that run one call once, and their uses."""

    @transition("a call is approved", when="can_issue", weight=4, number=which(5))
    def approve(self, number: int) -> None:
        place = number % len(self.calls())
        with self.honest_steps(
            self.rules.served, "an honest approval is refused", sent="what asks for an approval"
        ):
            approved = self.issue(self.calls()[place])
        approved.place = place
        self.issued.append(approved)
        self.say(f"{approved.words} is approved", f"{self.what} {len(self.issued)}")

    @transition("the approved call is made", when="has_unused", weight=3, number=which())
    def call(self, number: int) -> None:
        self._redeem(self.pick([one for one in self.issued[::-1] if not one.used], number))

    @transition("a used approval is sent again", when="has_used", weight=2, number=which())
    def replay(self, number: int) -> None:
        used = [one for one in self.issued if one.used]
        self._redeem(self.pick(used, number), "again")

    def _redeem(
        self,
        approved: HeldApproval,
        how: str = "",
        session: Session | None = None,
        *,
        bound: bool = True,
        at: ApprovalsModel | None = None,
    ) -> None:
        """`bound`: the document says that this caller is served. `at`: another server."""
        outcome = (at or self).redeem(approved, session)
        self.look_at(outcome)
        number = self.issued.index(approved) + 1
        self.say(f"{self.what} {number} is sent {how}".rstrip(), outcome.describe())
        rule, why = self.must_refuse(approved)
        if outcome.executed:
            approved.used = True
        approved.here_alone = approved.here_alone and bound
        if rule:
            approved.refusals += 1
            # Another conversation or replica may refuse it for what it is there.
            faults = self.faults_of(approved) + (not bound)
            self.expect_nothing_runs(outcome, rule, why, faults)
            self._expect_no_internal_error(outcome, why)
            return
        if self.counts_runs and outcome.executed and outcome.runs not in (None, 0, 1):
            self.fail(outcome, self.rules.replayed, "one call runs twice", ran=True)
        sure = bound and self.must_serve(approved)
        self.checked(self.rules.served)
        if not bound and not outcome.executed:
            approved.tried = True
        if sure and not outcome.served:
            raise self.broken(
                self.rules.served,
                "an honest call is refused",
                sent=f"{approved.words} with its {self.what}",
                expected="it runs once",
                got=outcome.describe(),
            )

    def expect_nothing_runs(
        self, outcome: ObservedOutcome, rule: str, cause: str, faults: int = 1
    ) -> None:
        """`faults`: how many things are wrong with the call."""
        self.checked(rule)
        if outcome.executed or outcome.succeeded:
            self.fail(outcome, rule, f"{cause} runs", ran=True)
        wanted = self.wanted_words(rule, faults)
        if wanted and not self.says(outcome, wanted):
            raise self.broken(
                rule,
                f"{cause} is refused in other words",
                sent=cause,
                expected=f"{' or '.join(wanted)}, {outcome.thing} not run",
                got=outcome.describe(),
            )

    def fail(self, outcome: ObservedOutcome, rule: str, cause: str, ran: bool = False) -> None:
        raise self.broken(
            rule,
            cause,
            sent=cause.removesuffix(" runs"),
            expected=f"refused, {outcome.thing} not run",
            got=outcome.describe(),
            grade=Grade.RAN if ran else Grade.BROKEN,
        )

    def look_at(self, outcome: ObservedOutcome) -> None:
        """The walk ends if there was no answer; and if a limit was reached, where there are any."""
        reply = self.reply_in(outcome)
        if reply is not None:
            self.answered(reply)

    def reply_in(self, outcome: ObservedOutcome) -> Reply | None:
        """As it came over the wire, if the outcome has it."""
        reply = getattr(outcome, "reply", None)
        return reply if isinstance(reply, Reply) else None

    @transition(
        "the call is changed", when="has_issued", weight=2, number=which(), change=which(11)
    )
    def change(self, number: int, change: int) -> None:
        approved: HeldApproval = self.pick(self.issued[::-1], number)
        ways = self.changed(approved)
        if not ways:
            return
        words, act = self.pick(ways, change)
        self._misuse(approved, words, act, self.rules.changed)

    @transition("a forgery is sent", when="can_forge", number=which(), change=which(11))
    def forge(self, number: int, change: int) -> None:
        self.spoilt += 1
        approved: HeldApproval = self.pick(self.issued[::-1], number)
        words, act = self.pick(self.forged(approved), change)
        self._misuse(approved, words, act, self.rules.forged)

    @transition(
        "the approval of another call is used", when="can_swap", number=which(), call=which(5)
    )
    def swap(self, number: int, call: int) -> None:
        approved: HeldApproval = self.pick(self.issued[::-1], number)
        others = [one for place, one in enumerate(self.calls()) if place != approved.place]
        other = self.pick(others, call)
        words, act = self.swapped(approved, other)
        self._misuse(approved, words, act, self.rules.swapped)

    def _misuse(
        self, approved: HeldApproval, words: str, act: Callable[[], ObservedOutcome], rule: str
    ) -> None:
        try:
            outcome = act()
        except DriverError as error:
            raise EndOfWalk(str(error)) from error
        self.look_at(outcome)
        number = self.issued.index(approved) + 1
        self.say(f"{self.what} {number}: {words}", outcome.describe())
        faults = 1 + self.faults_of(approved)
        approved.tried = True
        if outcome.executed:
            approved.used = True
        self.expect_nothing_runs(outcome, rule, words, faults)
        self._expect_no_internal_error(outcome, words)

    def _expect_no_internal_error(self, outcome: ObservedOutcome, sent: str) -> None:
        """The document may name no answer, so that it is a warning."""
        reply = self.reply_in(outcome)
        self.checked(self.rules.message)
        if reply is not None and is_internal_error(reply):
            raise self.broken(
                self.rules.message,
                "an internal error",
                sent=sent,
                expected="an error that says what is wrong with the message",
                got=reply.describe(),
                warning=True,
            )

    @transition("a call is made without approval", when="may_spoil", number=which(5))
    def call_bare(self, number: int) -> None:
        self.spoilt += 1
        outcome = self.bare(self.pick(self.calls(), number))
        self.look_at(outcome)
        self.say("a call is made without approval", outcome.describe())
        self.expect_nothing_runs(outcome, self.rules.bare, "a call without approval", 2)
        self._expect_no_internal_error(outcome, "a call without approval")

    @transition(
        "the same approval is sent several times at once",
        when="has_issued",
        number=which(),
        copies=one_of(2, 3, 5),
        beside=one_of(0, 1, 2),
    )
    def at_once(self, number: int, copies: int, beside: int) -> None:
        """`beside`: so many other approvals are sent between the copies, once each."""
        first = number % len(self.issued)
        others = [one for place, one in enumerate(self.issued) if place != first][:beside]
        approved = self.issued[first]
        sent = [approved, *others, *[approved] * (copies - 1)]
        good = [one for one in (approved, *others) if not self.must_refuse(one)[0]]
        answers, runs = self.send_together(sent)
        answered = list(zip(sent, answers, strict=True))
        served = [one for one, answer in answered if answer.served]
        ran = len(served) if runs is None else runs
        rule, _ = self.must_refuse(approved)
        self.say(
            f"{self.what} {first + 1} is sent {copies} times at once"
            + (f", with {len(others)} others between" if others else ""),
            f"{len(served)} results, {ran} runs",
        )
        self.checked(self.rules.raced)
        for one in (approved, *others):
            one.tried, one.here_alone = True, False
            # Which of them ran does not always show: then none may be relied on.
            one.used = one.used or one in served
            one.certain = one.certain and (not ran or one in served)
        twice = [one for one in good if served.count(one) > 1]
        passed = [one for one in served if one not in good]
        if max(ran, len(served)) > len(good) or twice or passed:
            proof = ", ".join(
                f"call {place} ({self.what} {self.issued.index(one) + 1}): "
                f"{'a result' if answer.served else answer.words}"
                for place, (one, answer) in enumerate(answered, 1)
            )
            raise self.broken(
                rule or self.rules.raced,
                "a race passes what is refused" if rule else "one approval runs twice at once",
                sent=f"{approved.words} {copies} times at once, with one {self.what}",
                expected=f"at most {len(good)} runs, one for each {self.what} that is good",
                got=f"{ran} runs; {proof}",
                by_chance=not rule,
            )
        for answer in answers:
            if answer.reply is not None:
                self.answered(answer.reply)

    def send_together(self, sent: Sequence[HeldApproval]) -> tuple[list[RacedAnswer], int | None]:
        """Redeem all of these at the same moment; and how often something ran, if that shows."""
        calls = [("tools/call", self.honest_params(one)) for one in sent]
        replies, runs = self.runs_during(lambda: list(race(self.session, calls)))
        answers = [
            RacedAnswer(self.succeeded(one, reply), reply.describe(), reply)
            for one, reply in zip(sent, replies, strict=True)
        ]
        return answers, runs

    @transition(
        "a call is sent with a changed message",
        when="has_issued",
        weight=2,
        number=which(),
        change=AnyChange(),
    )
    def fuzz(self, number: int, change: Mapping[str, Any]) -> None:
        approved: HeldApproval = self.pick(self.issued[::-1], number)
        rule, _ = self.must_refuse(approved)
        try:
            sent = self.send_changed(approved, change)
        except DriverError as error:
            raise EndOfWalk(str(error)) from error
        if sent is None:
            return
        words, outcome, rewritten = sent
        self.say(f"{self.what} {self.issued.index(approved) + 1}, {words}", outcome.describe())
        approved.tried = True
        self.checked(self.rules.changed, self.rules.message)
        if outcome.executed:
            approved.used = True
        if outcome.executed and (rule or rewritten):
            self.fail(outcome, rule or self.rules.changed, "a rewritten call runs", ran=True)
        self._expect_no_internal_error(outcome, words)

    def send_changed(
        self, approved: HeldApproval, change: Mapping[str, Any]
    ) -> tuple[str, ObservedOutcome, bool] | None:
        """Redeem it by a message with this change: the change in words, what came, and whether it
        is clearly another call. None if the change does not fit."""
        params = self.honest_params(approved)
        request = fuzzed(self.session, "tools/call", params, change)
        if request is None:
            return None
        outcome = self.observe(approved, request.send)
        unclear = request.ambiguous or request.params is None
        return request.words, outcome, not unclear and self.is_another(params, request.params)
