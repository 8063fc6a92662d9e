"""Servers that do not check what is not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import GatedCall
from pytest_mcp_approval.reference_server.elicitation.sealing import SealedState
from tests.mutants.elicitation.parts import HANDSHAKE, RAN, in_extension
from tests.mutants.elicitation.state import _BindsOtherwise
from tests.mutants.registry import mutant

ARGUMENTS = "elicitation/state-arguments"


@mutant(kills=ARGUMENTS, because=RAN)
@in_extension
class ChecksWhatTheRetryHas(ElicitationGate):
    """Compares the arguments that the retry has with those of the question: one may be missing."""

    def ask(self, call: GatedCall) -> dict[str, Any]:
        asked = super().ask(call)
        kept: dict[str, Any] = self.__dict__.setdefault("kept", {})
        kept[self.sealer.open(asked["requestState"]).id] = dict(call.arguments)
        return asked

    def check_arguments(self, call: GatedCall, state: SealedState) -> None:
        asked = self.__dict__.setdefault("kept", {}).get(state.id, {})
        if any(name not in asked or asked[name] != call.arguments[name] for name in call.arguments):
            super().check_arguments(call, state)


@mutant(kills=ARGUMENTS, because=RAN)
@in_extension
class NullIsAbsent(_BindsOtherwise):
    """Members that are null, false or empty are the same as none."""

    def seen(self, arguments: Mapping[str, Any]) -> Any:
        return {name: value for name, value in arguments.items() if value}


@mutant(kills="elicitation/unknown-action", because=RAN)
@in_extension
class NoActionIsAccept(ElicitationGate):
    """An answer that names no action was accepted."""

    def read_action(self, call: GatedCall, response: Any) -> Any:
        if isinstance(response, Mapping) and "action" not in response:
            response = {**response, "action": "accept"}
        return super().read_action(call, response)


@mutant(kills="elicitation/accept-without-yes", because=RAN)
@in_extension
class NoContentIsConsent(ElicitationGate):
    """An accept whose content is missing has nothing that speaks against it."""

    def approves(self, call: GatedCall, response: Mapping[str, Any]) -> bool:
        return "content" not in response or super().approves(call, response)


@mutant(kills="elicitation/client-error", because=RAN, protocol=HANDSHAKE)
@in_extension
class AnErrorWithoutDataIsConsent(ElicitationGate):
    """An error that says nothing more is no refusal."""

    def unanswered(self, call: GatedCall, question: Any, reply: Any) -> Any:
        if reply.kind == "error" and "data" not in reply.error:
            return self.run_once(call, question)
        return super().unanswered(call, question, reply)
