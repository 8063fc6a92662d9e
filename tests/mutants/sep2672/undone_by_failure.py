"""Servers on which a failure undoes what was done, or more than it should."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.reference_server.sep2672.demonstration import Tool
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import ApprovalAttempt, ApprovedCall
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from tests.mutants.memory import set_counter
from tests.mutants.registry import mutant
from tests.mutants.sep2672.parts import challenges

CONSUME = "sep2672/4.8-13-consume-after-verify"


@mutant(kills="sep2672/8.2.3-exactly-once", because=r"\nerror -32602")
class AFailedToolGivesTheApprovalBack(Sep2672Extension):
    """Makes a challenge good again when the tool itself fails, as a transaction rolls back."""

    def call_tool(self, user: str, tool: Tool, arguments: Any, meta: Any) -> dict[str, Any]:
        if not self.is_gated(tool):
            return super().call_tool(user, tool, arguments, meta)
        approved = self.gate.verify(user, tool.name, arguments, meta)
        try:
            return self.execute(tool, arguments)
        except Exception:
            challenges(self.gate).change(approved.challenge_id, consumed_at=None)
            raise


@mutant(kills="sep2672/4.8-14-counter-updated", because="a result, tool run")
class AFailedToolGivesTheCounterBack(Sep2672Extension):
    """Keeps the counter of a call only if the tool itself does not fail."""

    def call_tool(self, user: str, tool: Tool, arguments: Any, meta: Any) -> dict[str, Any]:
        if not self.is_gated(tool):
            return super().call_tool(user, tool, arguments, meta)
        before = {one.credential_id: one.counter for one in self.store.credentials(user)}
        approved = self.gate.verify(user, tool.name, arguments, meta)
        try:
            return self.execute(tool, arguments)
        except Exception:
            set_counter(self.store, approved.credential_id, before[approved.credential_id])
            raise


@mutant(kills="sep2672/4.4.2-already-enrolled", because="[0-9]+ times")
class CleansUpAfterADuplicate(ApprovalGate):
    """Removes the credential of an enrolment that fails, also if it was there before."""

    def finish_enrolment(self, user: str, response: Any) -> dict[str, Any]:
        try:
            return super().finish_enrolment(user, response)
        except ApprovalRefusal as refusal:
            if refusal.reason is Reason.CREDENTIAL_ALREADY_ENROLLED:
                self.store.remove_credential(words.base64url_decode(response["id"]))
            raise


@mutant(kills=CONSUME, because='"reason":"challenge_consumed"')
class AForgeryEndsTheOthers(ApprovalGate):
    """Takes a bad signature for an attack, and ends whatever else the user has pending."""

    def step_10_signature(self, attempt: ApprovalAttempt) -> None:
        try:
            super().step_10_signature(attempt)
        except ApprovalRefusal:
            own = self.challenge_of(attempt).challenge_id
            for one in challenges(self).find({"user": attempt.user, "consumed_at": None}):
                if one.challenge_id != own:
                    self.store.consume_challenge(one.challenge_id, self.clock.now())
            raise


@mutant(kills=CONSUME, because='"reason":"signature_verification_failed"')
class LocksACredentialAfterForgeries(ApprovalGate):
    """Takes no assertion of a credential any more after three bad ones in a row."""

    def step_10_signature(self, attempt: ApprovalAttempt) -> None:
        bad: dict[bytes, int] = self.__dict__.setdefault("bad", {})
        key = self.credential_of(attempt).credential_id
        if bad.get(key, 0) >= 3:
            raise ApprovalRefusal(Reason.SIGNATURE_VERIFICATION_FAILED, "credential: locked")
        try:
            super().step_10_signature(attempt)
        except ApprovalRefusal:
            bad[key] = bad.get(key, 0) + 1
            raise
        bad[key] = 0


@mutant(
    kills="sep2672/4.8-02-evidence-well-formed",
    because="in evidence.response[^§]*a result, tool run",
)
class PassesWhatItCannotRead(ApprovalGate):
    """Lets a call pass when verification itself breaks down, on a response that lacks a member."""

    def verify(self, user: str, tool: str, arguments: Any, meta: Any) -> ApprovedCall:
        try:
            return super().verify(user, tool, arguments, meta)
        except LookupError:
            return ApprovedCall(user, tool, "", b"", 0)

    def step_10_signature(self, attempt: ApprovalAttempt) -> None:
        inner = attempt.evidence["response"].get("response")
        if isinstance(inner, dict):
            for name in ("clientDataJSON", "authenticatorData", "signature"):
                inner[name]
        super().step_10_signature(attempt)
