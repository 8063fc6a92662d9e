"""Servers that do not think of a second person, or of a second ceremony at the same time."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from tests.mutants.registry import mutant
from tests.mutants.sep2672.parts import challenges


@mutant(
    kills="sep2672/4.8-13-consume-after-verify",
    because="one of two challenges[^§]*challenge_unknown",
)
class KeepsOneChallengeForEachUser(ApprovalGate):
    """Keeps the latest challenge of a user, as one keeps it in a session."""

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        pending = challenges(self).find({"user": user, "consumed_at": None})
        made = super().create_challenge(user, tool, arguments)
        for one in pending:
            challenges(self).remove(one.challenge_id)
        return made
