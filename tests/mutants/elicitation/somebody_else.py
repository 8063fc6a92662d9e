"""Servers that were made for one person."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import ElicitationQuestion, GatedCall
from pytest_mcp_approval.reference_server.elicitation.sealing import SealedState
from pytest_mcp_approval.reference_server.server.held_calls import HeldCall
from tests.mutants.elicitation.parts import HANDSHAKE, RAN, in_extension
from tests.mutants.registry import mutant


@mutant(kills="elicitation/state-principal", because=RAN)
@in_extension
class BindsWhoCameFirst(ElicitationGate):
    """Takes whoever has called first for the user of all."""

    def principal(self, call: GatedCall) -> str:
        found: str = self.__dict__.setdefault("first", call.caller.user)
        return found


@mutant(kills="elicitation/state-principal", because="request_state_used")
@in_extension
class OneQuestionForATool(ElicitationGate):
    """Keeps one open question for each tool: another user's question ends the first one's."""

    def ask(self, call: GatedCall) -> dict[str, Any]:
        asked = super().ask(call)
        open: dict[str, str] = self.__dict__.setdefault("open", {})
        open[call.tool.name] = self.sealer.open(asked["requestState"]).id
        return asked

    def check_user(self, call: GatedCall, state: SealedState) -> None:
        if state.user != self.principal(call):
            self.__dict__.setdefault("open", {})[call.tool.name] = ""
        super().check_user(call, state)

    def check_unspent(self, call: GatedCall, state: SealedState) -> None:
        if self.__dict__.get("open", {}).get(call.tool.name, state.id) != state.id:
            self.refuse_used(call)
        super().check_unspent(call, state)


@mutant(
    kills="elicitation/pending-not-shared",
    because="run with .*test-2",
    protocol=HANDSHAKE,
)
@in_extension
class RemembersOneCall(ElicitationGate):
    """Remembers the call that asked last, and runs that one on whoever's answer."""

    def ask_inside(self, call: GatedCall) -> HeldCall:
        self.__dict__["call"] = call
        return super().ask_inside(call)

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        if call.caller.has_handshake:
            call = self.__dict__["call"]
        return super().run_once(call, question)


@mutant(kills="elicitation/asks-first", because=RAN)
@in_extension
class OneYesForAll(ElicitationGate):
    """What one user has approved, others need not be asked about."""

    def decide(self, call: GatedCall) -> Any:
        asked_by = self.__dict__.setdefault("yes", {}).get((call.tool.name, self.bound(call)))
        if asked_by not in (None, call.caller.user):
            return call.run()
        return super().decide(call)

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        result = super().run_once(call, question)
        self.__dict__.setdefault("yes", {})[call.tool.name, self.bound(call)] = call.caller.user
        return result
