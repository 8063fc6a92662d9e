"""The model of SEP-2672: which calls must be served (section 4.8), and the world around them.

`expected_calls` says which checks a call breaks. Knows no Hypothesis.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from virtual_authenticator import WebAuthnError

from ...wire import Reply, StdioTransport, race
from ..base.driver import DriverError
from ..base.exploration import (
    AnyChange,
    EndOfWalk,
    LeftOut,
    is_internal_error,
    one_of,
    transition,
    which,
)
from ..base.fuzzing import fuzzed
from ..base.message_changes import clearly_another
from . import vocabulary as words
from .driver import Approval, ListedTool, confirmed_enrolment
from .expected_calls import (
    Attempt,
    Device,
    Signed,
    changed_arguments,
    client_data_in,
    counter_of,
    expected,
    same_call,
)
from .exploration_challenges import ChallengeModel
from .outcome import ApprovalOutcome
from .vocabulary import Reason


class Sep2672Model(ChallengeModel):
    """Calls with evidence, honest and not, of one or two users."""

    # ---- calls

    @transition("the call is made", when="has_unused", weight=4, number=which())
    def call(self, number: int) -> None:
        unused = [one for one in self.signed[::-1] if not one.issued.consumed]
        self._call(Attempt(self.pick(unused, number)))

    @transition(
        "a used approval is sent again",
        when="has_used",
        rules=("4.8-05-challenge-unconsumed", "8.2.3-exactly-once"),
        weight=2,
        number=which(),
        elsewhere=one_of(False, True),
    )
    def replay(self, number: int, elsewhere: bool) -> None:
        used = [one for one in self.signed if one.issued.consumed]
        self._call(Attempt(self.pick(used, number), elsewhere=elsewhere), "again")

    @transition(
        "the arguments are changed",
        when="has_signed",
        rules=("4.8-12-argument-hash", "8.1.3-rewritten-call"),
        weight=2,
        number=which(),
        change=which(11),
    )
    def change_arguments(self, number: int, change: int) -> None:
        signed: Signed = self.pick(self.signed[::-1], number)
        what, arguments = changed_arguments(signed.issued.tool, change)
        self._call(Attempt(signed, arguments=arguments), f"with {what}")

    @transition(
        "another tool is called",
        when="can_change_tool",
        rules=("4.8-07-challenge-tool",),
        number=which(),
        tool=which(3),
    )
    def change_tool(self, number: int, tool: int) -> None:
        signed: Signed = self.pick(self.signed[::-1], number)
        others = [one for one in self.tools if one.name != signed.issued.tool.name]
        chosen: ListedTool = self.pick(others, tool)
        attempt = Attempt(signed, tool=chosen, arguments=dict(chosen.arguments or {}))
        self._call(attempt, f"on {chosen.name}")

    @transition("the call is made in another conversation", when="has_signed", number=which())
    def call_elsewhere(self, number: int) -> None:
        self._call(Attempt(self.pick(self.signed[::-1], number), elsewhere=True), "elsewhere")

    @transition(
        "another user makes the call",
        when="second_has_signed",
        rules=("4.8-08-credential-enrolled",),
        number=which(),
    )
    def call_as_other(self, number: int) -> None:
        signed: Signed = self.pick(self.signed[::-1], number)
        self._call(Attempt(signed, user=1 - signed.issued.user), "by the other user")

    @transition(
        "the call is made at another replica",
        when="can_change_replica",
        rules=("8.2.3-exactly-once",),
        number=which(),
    )
    def call_at_replica(self, number: int) -> None:
        signed: Signed = self.pick(self.signed[::-1], number)
        if signed.issued.user:
            raise LeftOut
        there = self._at_replica()
        attempt = Attempt(signed, at_replica=True)
        outcome = there.call(attempt.challenge, signed.evidence)
        self.answered(outcome.reply)
        self.say(
            f"evidence {self.signed.index(signed) + 1} is sent to another replica",
            outcome.describe(),
        )
        self.checked("8.2.3-exactly-once")
        self._compare(attempt, outcome)

    def _at_replica(self) -> Approval:
        """A conversation with a replica, which lasts as long as this walk."""
        if self.replica is None:
            replica = self.a_replica()
            self.replica = self.take_time(lambda: Approval(replica))
        return self.replica

    @transition(
        "an approved call fails in its tool, and is sent again",
        when="can_fail",
        rules=("8.2.3-exactly-once",),
        number=which(),
        again=one_of(1, 2),
    )
    def fail_in_tool(self, number: int, again: int) -> None:
        """The challenge was used, whatever came of the tool. A server may refuse such arguments
        before it looks at the approval (reading): then nothing is said."""
        failing = self.failing
        tool: ListedTool = self.pick([one for one in self.tools if one.name in failing], number)
        fitting = [one for one in self.devices if one.eligible(tool, 0) and one.certain]
        if not fitting:
            raise LeftOut
        device: Device = self.pick(fitting, number)
        try:
            challenge = self.approval.challenge(tool.name, failing[tool.name])
            evidence = device.passkey.sign(challenge)
        except (DriverError, WebAuthnError, ValueError, KeyError, TypeError) as error:
            raise EndOfWalk(f"no approval of a call that fails: {error}") from error
        first = self.approval.call(challenge, evidence)
        self.answered(first.reply)
        self.say(f"{tool.name} is approved, and fails in its tool", first.describe())
        if first.executed:
            raise EndOfWalk("arguments that are said to fail do not")
        if first.reason is not None:
            return  # the gate refused it: the device may count again what it has counted before
        device.counter.stored = max(device.counter.stored, counter_of(evidence["response"]))
        self.checked("8.2.3-exactly-once")
        for _ in range(again):
            outcome = self.approval.call(challenge, evidence)
            self.answered(outcome.reply)
            self.say("", outcome.describe())
            if outcome.executed or outcome.reason != Reason.CHALLENGE_CONSUMED:
                raise self.broken(
                    "8.2.3-exactly-once",
                    "a tool that fails gives the approval back",
                    sent=f"tools/call {tool.name} again, after the tool itself had refused it",
                    expected=f"{words.ERROR_CODE} {Reason.CHALLENGE_CONSUMED}",
                    got=outcome.describe(),
                )

    @transition(
        "a gated tool is called without evidence",
        when="may_spoil",
        rules=("4.3-missing-evidence", "4.5-never-executes-unverified"),
        tool=which(3),
    )
    def call_without_evidence(self, tool: int) -> None:
        self.spoilt += 1
        chosen: ListedTool = self.pick(self.tools, tool)
        outcome = self.approval.call_without_evidence(chosen.name, dict(chosen.arguments or {}))
        self.answered(outcome.reply)
        self.say(f"{chosen.name} is called without evidence", outcome.describe())
        self.checked("4.3-missing-evidence", "4.5-never-executes-unverified")
        if outcome.executed or outcome.reason != Reason.MISSING_EVIDENCE:
            raise self.broken(
                "4.5-never-executes-unverified" if outcome.executed else "4.3-missing-evidence",
                "a call without evidence",
                sent=f"tools/call {chosen.name} without evidence",
                expected=f"{words.ERROR_CODE} {Reason.MISSING_EVIDENCE}, tool not run",
                got=outcome.describe(),
            )

    def _call(self, attempt: Attempt, how: str = "") -> None:
        signed, user = attempt.signed, attempt.caller
        session = self.session_of(user)
        if attempt.elsewhere and not isinstance(self.target.transport, StdioTransport):
            session = self.target.new_session(
                "pytest-mcp-approval, another conversation",
                headers=self.target.second_user_headers if user else None,
            )
            self.close_later(session.close)
        outcome = self.approval.call(attempt.challenge, signed.evidence, session=session)
        self.answered(outcome.reply)
        number = self.signed.index(signed) + 1
        self.say(f"evidence {number} is sent {how}".rstrip(), outcome.describe())
        self._compare(attempt, outcome)

    def _compare(self, attempt: Attempt, outcome: ApprovalOutcome) -> None:
        wanted = expected(attempt, self.target.clock.now(), restarted=self.restarted)
        self.checked(*wanted.rules)
        if outcome.executed:
            attempt.signed.used()
        problem = wanted.problem(outcome)
        if problem is not None:
            raise self.broken(
                problem.rule,
                problem.cause,
                sent=f"tools/call {attempt.challenge.tool}, {wanted.words}",
                expected=problem.expected,
                got=outcome.describe(),
                grade=problem.grade,
                warning=problem.warning,
            )

    @transition(
        "the same approval is sent several times at once",
        when="has_signed",
        rules=("8.2.3-exactly-once", "4.8-13-consume-after-verify"),
        number=which(),
        copies=one_of(2, 3, 5),
        changed=one_of(0, 1),
    )
    def at_once(self, number: int, copies: int, changed: int) -> None:
        """`changed`: how many of the calls have other arguments than those that were signed."""
        signed: Signed = self.pick(self.signed[::-1], number)
        attempt = Attempt(signed)
        wanted = expected(attempt, self.target.clock.now(), restarted=self.restarted)
        genuine = self.approval.call_params(attempt.challenge, signed.evidence)
        _, other = changed_arguments(signed.issued.tool, 0)
        calls = [
            ("tools/call", {**genuine, "arguments": other} if place < changed else genuine)
            for place in range(copies)
        ]
        session = self.session_of(attempt.caller)
        replies, runs = self.approval.runs_during(lambda: race(session, calls))
        served = [place for place, one in enumerate(replies) if ApprovalOutcome(one).succeeded]
        ran = len(served) if runs is None else runs
        say = f"evidence {self.signed.index(signed) + 1} is sent {copies} times at once"
        if changed:
            say += f", {changed} of them with other arguments"
        self.say(say, f"{len(served)} results, {ran} runs")
        self.checked("8.2.3-exactly-once")
        allowed = 0 if wanted.must_refuse else 1
        if ran:
            signed.used()
        if ran > allowed or any(place < changed for place in served):
            proof = ", ".join(
                f"call {place + 1}: {ApprovalOutcome(one).said}"
                for place, one in enumerate(replies)
            )
            raise self.broken(
                "8.2.3-exactly-once" if allowed else wanted.rules[0],
                "one approval runs twice at once" if allowed else "a race passes what is refused",
                sent=f"tools/call {attempt.challenge.tool} {copies} times at once, one approval",
                expected=f"at most {allowed} of them run",
                got=f"{ran} runs; {proof}",
                by_chance=bool(allowed),
            )
        for one in replies:
            self.answered(one)

    # ---- the world around

    @transition("time passes", when="can_wait", seconds=one_of(1, 30, 58, 61, 301, 3600))
    def wait(self, seconds: int) -> None:
        self.move_clock(seconds)

    @transition("the server is restarted", when="can_restart", rules=("8.2.3-exactly-once",))
    def restart(self) -> None:
        self.restart_target()
        self.restarted = True
        self.approval = Approval(self.target)
        for device in self.devices:
            device.certain = False
        for issued in self.challenges:
            issued.certain = False
        for pending in self.pending:
            pending.certain = False

    # ---- changed messages

    @transition(
        "a call is sent with a changed message",
        when="has_signed",
        rules=("4.8-02-evidence-well-formed", "8.1.3-rewritten-call", "4.10-code"),
        weight=2,
        number=which(),
        change=AnyChange(),
    )
    def fuzz_call(self, number: int, change: Mapping[str, Any]) -> None:
        signed: Signed = self.pick(self.signed[::-1], number)
        attempt = Attempt(signed)
        params = self.approval.call_params(attempt.challenge, signed.evidence)
        request = fuzzed(self.session_of(attempt.caller), "tools/call", params, change)
        if request is None:
            return
        outcome = self.approval.observe(request.send)
        self.say(f"evidence {self.signed.index(signed) + 1}, {request.words}", outcome.describe())
        wanted = expected(attempt, self.target.clock.now(), restarted=self.restarted)
        unclear = request.ambiguous or request.params is None
        rewritten = not unclear and not same_call(params, request.params)
        self.checked("8.1.3-rewritten-call", "4.10-code")
        if words.META_KEY in request.path:
            self.checked("4.8-02-evidence-well-formed")
        if outcome.executed:
            signed.used()
        if outcome.executed and (rewritten or wanted.must_refuse):
            raise self.broken(
                "8.1.3-rewritten-call" if rewritten else wanted.rules[0],
                "a rewritten call runs",
                sent=request.words,
                expected="an error, tool not run",
                got=outcome.describe(),
            )
        self._check_answer(outcome.reply, request.words, words.META_KEY in request.path)

    def _check_answer(self, reply: Reply, sent: str, in_evidence: bool) -> None:
        if is_internal_error(reply):
            raise self.broken(
                "4.8-02-evidence-well-formed" if in_evidence else "4.10-code",
                "an internal error",
                sent=sent,
                expected="an error that says what is wrong with the message",
                got=reply.describe(),
                warning=not in_evidence,
            )

    @transition(
        "an approval method gets a changed message",
        when="may_fuzz",
        rules=("4.10-code", "4.4.2-response-verified"),
        method=one_of(words.CHALLENGE_CREATE, words.ENROLL_FINISH, words.ENROLL_BEGIN),
        change=AnyChange(),
    )
    def fuzz_method(self, method: str, change: Mapping[str, Any]) -> None:
        self.fuzzed += 1
        params: dict[str, Any] = {"any": {"thing": "at all"}}
        if method == words.CHALLENGE_CREATE:
            tool: ListedTool = self.tools[0]
            params = {"toolName": tool.name, "arguments": dict(tool.arguments or {})}
        elif method == words.ENROLL_FINISH:
            try:
                options = self.begin_options()
                params = {"response": self.approval.register("security-key", options)[2]}
            except DriverError as error:
                raise EndOfWalk(str(error)) from error
        request = fuzzed(self.approval.session, method, params, change)
        if request is None:
            return
        reply = request.send()
        self.approval.forget()
        self.say(request.words, reply.describe())
        if method == words.ENROLL_FINISH and confirmed_enrolment(reply):
            self.knows_all = False  # much of a registration may be odd (readings)
            if not request.ambiguous:
                self._check_client_data(params, request.params, request.words, reply)
        self.checked("4.10-code")
        self._check_answer(reply, request.words, in_evidence=False)

    def _check_client_data(self, honest: Any, sent: Any, told: str, reply: Reply) -> None:
        """A registration that was taken names this ceremony, this challenge and this page."""
        own, theirs = (client_data_in(one) for one in (honest, sent))
        self.checked("4.4.2-response-verified", "4.4.2-challenge-must-match")
        for member in ("type", "challenge", "origin"):
            if own is None or theirs is None:
                return
            here = theirs.get(member)
            # Another spelling of the same may be read as the same.
            if not isinstance(here, str) or clearly_another(own.get(member), here):
                rule = "challenge-must-match" if member == "challenge" else "response-verified"
                raise self.broken(
                    f"4.4.2-{rule}",
                    f"a registration is taken whose client data has another {member}, or none",
                    sent=told,
                    expected=str(Reason.VERIFICATION_FAILED),
                    got=reply.describe(),
                )


MODEL = Sep2672Model
