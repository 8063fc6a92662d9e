"""Servers that use up too much or too little: section 4.8, steps 13 and 14."""

from __future__ import annotations

from typing import ClassVar

from pytest_mcp_approval.families.sep2672.vocabulary import Reason, base64url_decode
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import ApprovalAttempt
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from tests.mutants.meeting import Meeting
from tests.mutants.memory import set_counter
from tests.mutants.registry import mutant

CONSUME = "sep2672/4.8-13-consume-after-verify"
UPDATE = "sep2672/4.8-14-counter-updated"


def moved(step: str, before: str) -> tuple[str, ...]:
    """The steps of section 4.8 with one of them moved."""
    steps = [name for name in ApprovalGate.steps if name != step]
    steps.insert(steps.index(before), step)
    return tuple(steps)


# ---- step 13


@mutant(kills=CONSUME, because=r"after one with a broken signature \(step 10\)[^§]*consumed")
class ConsumesFirst(ApprovalGate):
    """Uses the challenge up as soon as it is found, before it looks at the rest."""

    steps: ClassVar[tuple[str, ...]] = moved("step_13_consume", "step_06_challenge_unexpired")


@mutant(kills=CONSUME, because=r"after one with other arguments \(step 12\)[^§]*consumed")
class ConsumesBeforeTheHash(ApprovalGate):
    """Uses the challenge up between signature and hash."""

    steps: ClassVar[tuple[str, ...]] = moved("step_13_consume", "step_12_argument_hash")


@mutant(kills=CONSUME, because=r"another tool's challenge \(step 7\)[^§]*consumed")
class BurnsOnTheWrongTool(ApprovalGate):
    """Takes a challenge that is used on another tool for stolen, and uses it up."""

    def step_07_challenge_tool(self, attempt: ApprovalAttempt) -> None:
        try:
            super().step_07_challenge_tool(attempt)
        except ApprovalRefusal:
            self.step_13_consume(attempt)
            raise


@mutant(kills=CONSUME, because=r"after \d+ forgeries[^§]*challenge_unknown")
class GivesUpAfterSomeForgeries(ApprovalGate):
    """Drops a challenge after five bad signatures."""

    def step_10_signature(self, attempt: ApprovalAttempt) -> None:
        try:
            super().step_10_signature(attempt)
        except ApprovalRefusal:
            challenge_id = self.challenge_of(attempt).challenge_id
            tries = self.__dict__.setdefault("tries", {})
            tries[challenge_id] = tries.get(challenge_id, 0) + 1
            if tries[challenge_id] == 5:
                self.store._challenges.remove(challenge_id)
            raise


@mutant(kills=CONSUME, because="times at once on one challenge[^§]*of 8 answered with a result")
class ChecksThenSets(ApprovalGate):
    """Looks whether the challenge is used, and marks it a little later."""

    meeting = Meeting()

    def step_13_consume(self, attempt: ApprovalAttempt) -> None:
        challenge_id = self.challenge_of(attempt).challenge_id
        record = self.store.challenge(challenge_id)
        if record is None or record.consumed_at is not None:
            raise ApprovalRefusal(Reason.CHALLENGE_CONSUMED, "challenge: got a used one")
        self.meeting.wait()
        self.store.consume_challenge(challenge_id, self.clock.now())


@mutant(kills=CONSUME, because="one of those that came too late[^§]*challenge_expired")
class TellsLosersSomethingElse(ApprovalGate):
    """Says challenge_expired to whoever comes second in a race."""

    meeting = Meeting()

    def step_13_consume(self, attempt: ApprovalAttempt) -> None:
        self.meeting.wait()  # so that two have passed step 5
        try:
            super().step_13_consume(attempt)
        except ApprovalRefusal as refusal:
            raise ApprovalRefusal(Reason.CHALLENGE_EXPIRED, refusal.message) from refusal


# ---- step 14


@mutant(kills=UPDATE, because="signCount [0-9]+, after an approved call[^§]*tool run")
class NeverUpdatesTheCounter(ApprovalGate):
    """Keeps the counter of the enrolment for ever."""

    def step_14_update_counter(self, attempt: ApprovalAttempt) -> None:
        pass


@mutant(kills=UPDATE, because=r"other arguments \(step 12\) and signCount 1000000[^§]*regression")
class UpdatesBeforeTheHash(ApprovalGate):
    """Keeps the counter before it compares the hash."""

    steps: ClassVar[tuple[str, ...]] = moved("step_14_update_counter", "step_12_argument_hash")


@mutant(
    kills=UPDATE, because=r"a broken signature \(step 10\) and signCount 1000000[^§]*regression"
)
class UpdatesBeforeTheSignature(ApprovalGate):
    """Keeps the counter that the response claims, before the signature is verified."""

    def step_10_signature(self, attempt: ApprovalAttempt) -> None:
        credential = self.credential_of(attempt)
        data = base64url_decode(attempt.evidence["response"]["response"]["authenticatorData"])
        set_counter(self.store, credential.credential_id, int.from_bytes(data[33:37]))
        super().step_10_signature(attempt)

    def step_14_update_counter(self, attempt: ApprovalAttempt) -> None:
        """Done."""


@mutant(kills=UPDATE, because="signCount [0-9]+, after an approved call with 1001[^§]*tool run")
class CountsByItself(ApprovalGate):
    """Adds one to its own counter instead of keeping the asserted one."""

    def step_14_update_counter(self, attempt: ApprovalAttempt) -> None:
        credential = self.credential_of(attempt)
        set_counter(self.store, credential.credential_id, credential.counter + 1)


@mutant(kills=UPDATE, because="signCount 11, after an approved call with 50[^§]*tool run")
class KeepsRegressions(ApprovalGate):
    """Keeps the counter of a call that it refuses for its counter."""

    def step_11_counter(self, attempt: ApprovalAttempt) -> None:
        try:
            super().step_11_counter(attempt)
        except ApprovalRefusal:
            credential_id = self.credential_of(attempt).credential_id
            set_counter(self.store, credential_id, attempt.counter)
            raise
