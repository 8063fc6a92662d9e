"""Servers that check one of several kinds, and not the other."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import ApprovalAttempt
from pytest_mcp_approval.reference_server.server.extension import Caller
from tests.mutants.registry import mutant
from tests.mutants.sep2672.parts import WritesArguments

# ---- classes of tools


@mutant(
    kills="sep2672/4.8-07-challenge-tool", because="with an approval for[^§]*argument_hash_mismatch"
)
class ComparesTheClassOfTheTool(ApprovalGate):
    """Looks whether a challenge is for a tool of the same class, and not for which."""

    def step_07_challenge_tool(self, attempt: ApprovalAttempt) -> None:
        issued_for = self.tools[self.challenge_of(attempt).tool]
        if self.class_of(issued_for) is not self.class_of(attempt.tool):
            super().step_07_challenge_tool(attempt)


# ---- eras


@mutant(
    kills="sep2672/4.3-missing-evidence",
    because="without evidence[^§]*a result, tool run",
    protocol="2025-11-25",
)
class GatesCallsWithoutASession(Sep2672Extension):
    """Has its gate where requests of the new era come in: calls in a session pass it by."""

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        if caller.session:
            return self.execute(self.tools[name], arguments)
        return super().call(name, arguments, caller)


# ---- names of members


@mutant(kills="sep2672/4.6-jcs", because="another second half")
class SortsLikeAJavaScriptObject(WritesArguments):
    """Sorts members, and writes those with a number for a name first and by their size, as an
    object of JavaScript holds them."""

    def write(self, arguments: Any) -> bytes:
        if isinstance(arguments, list):
            return b"[" + b",".join(map(self.write, arguments)) + b"]"
        if not isinstance(arguments, dict):
            return super().write(arguments)
        numbers = [name for name in arguments if name.isascii() and name.isdigit()]
        numbers = sorted((one for one in numbers if str(int(one)) == one), key=int)
        others = sorted(arguments.keys() - numbers, key=lambda one: one.encode("utf-16-be"))
        members = (
            words.canonical_arguments(one) + b":" + self.write(arguments[one])
            for one in (*numbers, *others)
        )
        return b"{" + b",".join(members) + b"}"
