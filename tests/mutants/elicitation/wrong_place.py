"""Servers that also find what they look for where it does not belong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.elicitation.vocabulary import (
    Mode,
)
from pytest_mcp_approval.reference_server.elicitation.gate import KEY, ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import GatedCall
from tests.mutants.elicitation.parts import HANDSHAKE, RAN, in_extension
from tests.mutants.registry import mutant


@mutant(kills="elicitation/model-set-consent", because=RAN)
@in_extension
class AnswersInTheArguments(ElicitationGate):
    """Takes an approval from the arguments too, where a model can write it."""

    def decide(self, call: GatedCall) -> Any:
        for name in ("approval", "confirm", "confirmation", "consent", "approve"):
            if call.arguments.get(name) in (True, "yes", "true"):
                return call.run()
        return super().decide(call)


@mutant(kills="elicitation/first-shot", because=RAN)
@in_extension
class StatesOfOtherToolsCount(ElicitationGate):
    """With an answer in hand it does not look which tool's question the state is of."""

    def check_tool(self, call: GatedCall, state: Any) -> None:
        if KEY not in (call.caller.params.get("inputResponses") or {}):
            super().check_tool(call, state)

    def check_arguments(self, call: GatedCall, state: Any) -> None:
        if state.tool == call.tool.name:
            super().check_arguments(call, state)


@mutant(kills="elicitation/no-capability", because=r"a question \((form|url)\)")
@in_extension
class AnyCapabilityCounts(ElicitationGate):
    """Takes any capability that a client declares for the one to be asked."""

    def modes_of(self, call: GatedCall) -> frozenset[Mode]:
        declared = call.caller.capabilities
        more = declared if isinstance(declared, Mapping) else {}
        return super().modes_of(call) | (frozenset(Mode) if set(more) else frozenset())


@mutant(kills="elicitation/first-shot", because=RAN, protocol=HANDSHAKE, timeout=2.0)
@in_extension
class TakesRetriesInsideCalls(ElicitationGate):
    """In the handshake era it also takes answers in the call, as later revisions do, and there are
    no states to check."""

    def decide(self, call: GatedCall) -> Any:
        params = call.caller.params
        given = params.get("inputResponses") if call.caller.has_handshake else None
        if isinstance(given, Mapping) and given:
            question = self.open_question(call)
            return self.answered(call, question, next(iter(given.values())))
        return super().decide(call)


@mutant(kills="elicitation/state-arguments", because=RAN)
@in_extension
class ComparesWithTheLastQuestion(ElicitationGate):
    """Compares the arguments with those of the last question, and not with those of the state."""

    def check_arguments(self, call: GatedCall, state: Any) -> None:
        if self.__dict__.get("last") != self.bound(call):
            super().check_arguments(call, state)

    def ask(self, call: GatedCall) -> dict[str, Any]:
        self.__dict__["last"] = self.bound(call)
        return super().ask(call)


@mutant(kills="elicitation/missing-answers", because=RAN)
@in_extension
class RemembersAnAnswer(ElicitationGate):
    """Fills in the answer that a user gave last, if there is none."""

    def response_given(self, call: GatedCall) -> Any:
        found = super().response_given(call)
        known: dict[Any, Any] = self.__dict__.setdefault("answers", {})
        key = (call.caller.user, call.tool.name)
        if found is not None:
            known[key] = found
        return known.get(key)


@mutant(kills="elicitation/state-principal", because=RAN)
@in_extension
class TheStateSaysWho(ElicitationGate):
    """Reads from the state who is calling, and so everybody is whom it was made for."""

    def open_state(self, call: GatedCall, given: str) -> Any:
        user = self.check_seal(call, given).user
        return super().open_state(replace(call, caller=replace(call.caller, user=user)), given)
