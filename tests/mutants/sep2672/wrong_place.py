"""Servers that read something from a place where it does not belong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.reference_server.sep2672.demonstration import Tool
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import (
    ApprovalAttempt,
    ChallengeRecord,
)
from tests.mutants.registry import mutant
from tests.mutants.sep2672.parts import challenges

# ---- calls


@mutant(
    kills="sep2672/4.8-04-challenge-known", because="unissued challengeId[^§]*a result, tool run"
)
class GoesByTheSignedChallenge(ApprovalGate):
    """Finds a challenge by what was signed, and does not look at challengeId."""

    def challenge_of(self, attempt: ApprovalAttempt) -> ChallengeRecord:
        if attempt.challenge is None:
            try:
                signed = attempt.evidence["response"]["response"]["clientDataJSON"]
                wire = json.loads(words.base64url_decode(signed))["challenge"]
                found = challenges(self).find(
                    {"user": attempt.user, "wire_challenge": words.base64url_decode(wire)}
                )
            except (ValueError, TypeError, LookupError):
                found = []
            attempt.challenge = next(iter(found), None)
        return super().challenge_of(attempt)


# ---- plain tools


@mutant(kills="sep2672/4.2-plain-tools-untouched", because="used up the challenge", warned=True)
class PlainToolsUseUpChallenges(Sep2672Extension):
    """Uses up the challenge of evidence that comes with a tool that needs none."""

    def call_tool(self, user: str, tool: Tool, arguments: Any, meta: Any) -> dict[str, Any]:
        evidence = meta.get(words.META_KEY) if isinstance(meta, Mapping) else None
        if not self.is_gated(tool) and isinstance(evidence, Mapping):
            self.store.consume_challenge(str(evidence.get("challengeId")), self.clock.now())
        return super().call_tool(user, tool, arguments, meta)
