"""The model of one-time approvals: their uses, and the world around them.

Other conversations, other people, other replicas, time, restarts, tools that fail after they were
approved. What the families with tokens, states and questions share; knows no specification.
"""

from __future__ import annotations

from typing import Self

from ...catalogue import Grade
from ...wire import Reply
from .exploration import one_of, transition, which
from .replicas import all_at_once
from .token_state import HeldApproval
from .token_uses import UsesModel


class TokenModel(UsesModel):
    """Approvals that run one call once."""

    # ---- somebody else, somewhere else

    @transition("the call is made in another conversation", when="can_go_elsewhere", number=which())
    def call_elsewhere(self, number: int) -> None:
        session = self.target.new_session("pytest-mcp-approval, another conversation")
        self.close_later(session.close)
        self._redeem(self.pick(self.issued[::-1], number), "elsewhere", session, bound=False)

    @transition("another user makes the call", when="can_be_another", number=which())
    def call_as_other(self, number: int) -> None:
        approved: HeldApproval = self.pick(self.issued[::-1], number)
        outcome = self.redeem_as_other(approved)
        self.look_at(outcome)
        self.say(
            f"{self.what} {self.issued.index(approved) + 1} is sent by another user",
            outcome.describe(),
        )
        rule, why = self.must_refuse(approved)
        faults = self.faults_of(approved)
        approved.here_alone = False
        if outcome.executed:
            approved.used = True
        else:
            approved.tried = True
        if not rule and self.rules.of_another:
            rule, why = self.rules.of_another, f"another user's {self.what}"
            faults += 1
        if rule:
            self.expect_nothing_runs(outcome, rule, why, max(2, faults))

    @transition("the call is made at another replica", when="can_change_replica", number=which())
    def call_at_replica(self, number: int) -> None:
        """Replicas need not know each other's approvals: a load balancer may keep a client at one.
        But what was used is used at all of them."""
        approved: HeldApproval = self.pick(self.issued[::-1], number)
        self._redeem(approved, "to another replica", bound=False, at=self._at_replica())

    @transition(
        "an approval is sent to two replicas at once",
        when="can_change_replica",
        number=which(),
        copies=one_of(1, 2, 4),
    )
    def at_once_over_replicas(self, number: int, copies: int) -> None:
        """`copies`: so many times to each of them."""
        approved: HeldApproval = self.pick(self.issued[::-1], number)
        there = self._at_replica()
        rule, _ = self.must_refuse(approved)
        calls = [
            (place.session, ("tools/call", place.honest_params(approved)))
            for place in (self, there)
            for _ in range(copies)
        ]
        seen_there: list[int | None] = []

        def send() -> list[Reply]:
            replies, runs = there.runs_during(lambda: all_at_once(calls))
            seen_there.append(runs)
            return replies

        replies, seen_here = self.runs_during(send)
        served = sum(self.succeeded(approved, reply) for reply in replies)
        # Replicas may show each other's runs, or only their own.
        ran = max(served, seen_here or 0, seen_there[0] or 0)
        place = self.issued.index(approved) + 1
        self.say(
            f"{self.what} {place} is sent to two replicas at once, {copies} times to each",
            f"{served} results, {ran} runs",
        )
        self.checked(self.rules.raced)
        approved.tried, approved.here_alone = True, False
        approved.used = approved.used or ran > 0
        allowed = 0 if rule else 1
        if ran > allowed:
            told = ", ".join(reply.describe() for reply in replies)
            raise self.broken(
                rule or self.rules.raced,
                "replicas pass what is refused" if rule else "one approval runs at two replicas",
                sent=f"{approved.words} {copies} times at each of two replicas at once",
                expected=f"{allowed} runs at most",
                got=f"{ran} runs: {told}",
                grade=Grade.RAN,
                by_chance=not rule,
            )
        for reply in replies:
            self.answered(reply)

    def _at_replica(self) -> Self:
        """The same model at a replica, which lasts as long as this walk."""
        if self._replica is None:
            replica = self.a_replica()
            self._replica = self.take_time(lambda: type(self)(replica, self.exercised))
            self.close_later(self._replica.close)
            self._replica.issued = self.issued
        there: Self = self._replica
        return there

    # ---- time, restarts, withdrawals

    @transition("time passes", when="can_wait", seconds=one_of(1, 30, 119, 301, 3600))
    def wait(self, seconds: int) -> None:
        self.move_clock(seconds)

    @transition("the server is restarted", when="can_restart")
    def restart(self) -> None:
        self.restart_target()
        self.restarted = True
        self.after_restart()
        for one in self.issued:
            one.certain = one.here_alone = False

    @transition("an approval is withdrawn", when="can_revoke", number=which())
    def withdraw(self, number: int) -> None:
        approved: HeldApproval = self.pick(self.issued[::-1], number)
        done = self.revoke(approved)
        approved.revoked = approved.revoked or done
        approved.tried = True
        self.say(f"{self.what} {self.issued.index(approved) + 1} is revoked", "" if done else "no")

    # ---- a back end that fails

    @transition("an approved call fails in its tool", when="can_fail", number=which(3))
    def fail_in_tool(self, number: int) -> None:
        call = self.pick(self.failing_calls(), number)
        with self.honest_steps(
            self.rules.served, "an honest approval is refused", sent="what asks for an approval"
        ):
            approved = self.issue_failing(call)
        self.failed.append(approved)
        self._send_failing(approved)

    @transition("a call that failed in its tool is sent again", when="has_failed", number=which())
    def send_failed_again(self, number: int) -> None:
        self._send_failing(self.pick(self.failed[::-1], number))

    def _send_failing(self, approved: HeldApproval) -> None:
        """It may have had its effect before it failed, so that nobody may run it again."""
        outcome = self.redeem(approved)
        self.look_at(outcome)
        again = "again" if approved.tried else ""
        self.say(f"{approved.words}, which fails, is sent {again}".rstrip(), outcome.describe())
        approved.tried = True
        if not outcome.probed:
            return
        approved.runs += 1 if outcome.runs is None else outcome.runs
        self.checked(self.rules.failed)
        if approved.runs > 1:
            raise self.broken(
                self.rules.failed,
                "what failed runs again",
                sent=f"{approved.words}, which fails in its tool, again with one {self.what}",
                expected="one run at most",
                got=f"{outcome.describe()}; {approved.runs} runs in all",
                grade=Grade.RAN,
            )
