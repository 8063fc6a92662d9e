"""Servers that look wrongly at evidence: section 4.5, and section 4.8, steps 1 to 3."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.vocabulary import WEBAUTHN
from pytest_mcp_approval.reference_server.sep2672.demonstration import Tool
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import (
    ApprovalAttempt,
)
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from pytest_mcp_approval.reference_server.server.answers import InvalidParamsError
from pytest_mcp_approval.reference_server.server.mcp_server import ReferenceServer
from tests.mutants.registry import mutant

# ---- section 4.5


@mutant(
    kills="sep2672/4.5-never-executes-unverified",
    because="a broken signature .*then an honest call[^§]*run 2 times",
)
class ExecutesThenVerifies(Sep2672Extension):
    """Runs the tool, then looks at the evidence and refuses."""

    def call_tool(self, user: str, tool: Tool, arguments: Any, meta: Any) -> dict[str, Any]:
        result = self.execute(tool, arguments)
        if self.is_gated(tool):
            self.gate.verify(user, tool.name, arguments, meta)
        return result


@mutant(
    kills="sep2672/4.5-never-executes-unverified",
    because="tool's name in capitals, evidence: none[^§]*the tool run 2 times",
)
class GatesTheNameAsListed(ReferenceServer):
    """Finds tools by name in any case, but asks for approval under the listed spelling only."""

    async def on_call_tool(self, ctx: Any, params: Any) -> Any:
        name, own = (ctx.params or {}).get("name", ""), self.extension("sep2672")
        if name not in own.tools and str(name).lower() in own.tools:
            tool = replace(own.tools[name.lower()], gate=None)
            arguments = ctx.params.get("arguments", {})
            return await self.answer(own, lambda: own.call_tool("", tool, arguments, None))
        return await super().on_call_tool(ctx, params)


@mutant(
    kills="sep2672/4.5-never-executes-unverified",
    because="after an approved one[^§]*the tool run 2 times",
)
class OpensTheGateForGood(ApprovalGate):
    """Asks a user for an approval of a tool once, and never again."""

    def verify(self, user: str, tool: str, arguments: Any, meta: Any) -> Any:
        approved = self.__dict__.setdefault("approved", set())
        if (user, tool) in approved and words.META_KEY not in (meta or {}):
            return None
        approval = super().verify(user, tool, arguments, meta)
        approved.add((user, tool))
        return approval


# ---- step 1


@mutant(kills="sep2672/4.8-01-evidence-present", because="without _meta[^§]*-32602")
class CallsMissingEvidenceInvalidParams(ApprovalGate):
    """Answers a call without evidence with -32602."""

    def step_01_evidence_present(self, attempt: ApprovalAttempt) -> None:
        try:
            super().step_01_evidence_present(attempt)
        except ApprovalRefusal as refusal:
            raise InvalidParamsError(refusal.message) from refusal


@mutant(kills="sep2672/4.8-01-evidence-present", because="bare key.*[^§]*tool run")
class TakesEvidenceUnderTheBareKey(ApprovalGate):
    """Looks for the evidence under verifiedApproval too."""

    def step_01_evidence_present(self, attempt: ApprovalAttempt) -> None:
        meta = attempt.meta or {}
        if words.CAPABILITY_KEY in meta:
            attempt.meta = {words.META_KEY: meta[words.CAPABILITY_KEY]}
        super().step_01_evidence_present(attempt)


@mutant(kills="sep2672/4.8-01-evidence-present", because="null under the key[^§]*tool run")
class TakesNullForUngated(ApprovalGate):
    """Lets a call pass whose evidence is null."""

    def verify(self, user: str, tool: str, arguments: Any, meta: Any) -> Any:
        if (meta or {}).get(words.META_KEY, ...) is None:
            return None
        return super().verify(user, tool, arguments, meta)


# ---- step 2


@mutant(kills="sep2672/4.8-02-evidence-well-formed", because="without response[^§]*-32602")
class CallsMalformedEvidenceInvalidParams(ApprovalGate):
    """Answers malformed evidence with -32602, as a schema does."""

    def step_02_evidence_well_formed(self, attempt: ApprovalAttempt) -> None:
        try:
            super().step_02_evidence_well_formed(attempt)
        except ApprovalRefusal as refusal:
            raise InvalidParamsError(refusal.message) from refusal


@mutant(kills="sep2672/4.8-02-evidence-well-formed", because="evidence is 'text'[^§]*-32603")
class TripsOverMalformedEvidence(ApprovalGate):
    """Takes the evidence for an object without looking: an internal error."""

    def step_02_evidence_well_formed(self, attempt: ApprovalAttempt) -> None:
        for name in ("method", "challengeId", "response"):
            if attempt.evidence[name] is None:
                super().step_02_evidence_well_formed(attempt)


@mutant(kills="sep2672/4.8-02-evidence-well-formed", because="good evidence in a list[^§]*tool run")
class UnwrapsLists(ApprovalGate):
    """Takes the first element of a list for the evidence."""

    def step_02_evidence_well_formed(self, attempt: ApprovalAttempt) -> None:
        if isinstance(attempt.evidence, list) and attempt.evidence:
            attempt.evidence = attempt.evidence[0]
        super().step_02_evidence_well_formed(attempt)


@mutant(kills="sep2672/4.8-02-evidence-well-formed", because="evidence without method[^§]*tool run")
class AssumesTheMethod(ApprovalGate):
    """Takes webauthn for granted if the method is missing."""

    def step_02_evidence_well_formed(self, attempt: ApprovalAttempt) -> None:
        if isinstance(attempt.evidence, dict):
            attempt.evidence = {"method": WEBAUTHN, **attempt.evidence}
        super().step_02_evidence_well_formed(attempt)


@mutant(kills="sep2672/4.8-02-evidence-well-formed", because=r"challengeId [^§]*challenge_unknown")
class LooksUpAnyChallengeId(ApprovalGate):
    """Makes a text of whatever stands for a challengeId, and looks it up."""

    def step_02_evidence_well_formed(self, attempt: ApprovalAttempt) -> None:
        given = attempt.evidence
        if isinstance(given, dict) and "challengeId" in given:
            attempt.evidence = {**given, "challengeId": str(given["challengeId"])}
        super().step_02_evidence_well_formed(attempt)


@mutant(
    kills="sep2672/4.8-02-evidence-well-formed",
    because="authenticatorData is missing[^§]*-32603",
)
class TripsInsideTheResponse(ApprovalGate):
    """Trips over a response that lacks a member: an internal error instead of a refusal."""

    def step_10_signature(self, attempt: ApprovalAttempt) -> None:
        attempt.evidence["response"]["response"]["authenticatorData"].encode()
        super().step_10_signature(attempt)


# ---- step 3


@mutant(kills="sep2672/4.8-03-method", because="evidence.method 'WebAuthn'[^§]*a result, tool run")
class FoldsTheCaseOfTheMethod(ApprovalGate):
    """Compares the method case-insensitively."""

    def step_03_method(self, attempt: ApprovalAttempt) -> None:
        if attempt.evidence["method"].lower() != WEBAUTHN:
            super().step_03_method(attempt)


@mutant(kills="sep2672/4.8-03-method", because="evidence.method 'totp'[^§]*tool run")
class NeverLooksAtTheMethod(ApprovalGate):
    """Takes every method for webauthn."""

    def step_03_method(self, attempt: ApprovalAttempt) -> None:
        pass


@mutant(kills="sep2672/4.8-03-method", because="evidence.method 'webauthn '[^§]*tool run")
class TrimsTheMethod(ApprovalGate):
    """Trims white space off the method."""

    def step_03_method(self, attempt: ApprovalAttempt) -> None:
        if attempt.evidence["method"].strip() != WEBAUTHN:
            super().step_03_method(attempt)
