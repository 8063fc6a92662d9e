"""The reference with tools that ask several questions in a call, and broken ones of its kind.

`Twice` asks again after the first yes, in both eras; `Beside` asks a second question together with
the first, in the era without sessions. The others have one defect each.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from pytest_mcp_approval.families.elicitation import vocabulary as words
from pytest_mcp_approval.families.elicitation.vocabulary import Action
from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import ElicitationQuestion, GatedCall
from pytest_mcp_approval.reference_server.elicitation.sealing import SealedState
from pytest_mcp_approval.reference_server.server.held_calls import HeldCall, ServerMessage
from tests.mutants.elicitation.parts import in_extension
from tests.mutants.registry import factory_of

_SECOND = "second-"
_REMARK = {
    "method": words.CREATE,
    "params": {
        "message": "Is there anything to note about it?",
        "requestedSchema": {"type": "object", "properties": {"note": {"type": "string"}}},
    },
}


def is_second(id: str) -> bool:
    return id.startswith(_SECOND)


class TwiceGate(ElicitationGate):
    """Asks once more before it runs anything; but not after a page."""

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        if is_second(question.id) or call.tool.form is None:
            return super().run_once(call, question)
        if not self.store.spend(question.id, question.expires_at):
            self.refuse_used(call)
        return self.ask_again(call)

    def ask_again(self, call: GatedCall) -> Any:
        question = ElicitationQuestion(_SECOND + self.new_id(), self.expiry())
        if call.caller.has_handshake:
            return HeldCall(
                then=partial(self.answered_inside, call, question),
                patience=self.settings.waiting,
                question=ServerMessage(words.CREATE, self.params(call, question)),
            )
        sealed = SealedState(
            question.id,
            self.principal(call),
            call.tool.name,
            self.bound(call),
            question.expires_at,
        )
        question.state = self.sealer.seal(sealed)
        return self.input_required(call, question)

    def params(self, call: GatedCall, question: ElicitationQuestion) -> dict[str, Any]:
        params = super().params(call, question)
        if is_second(question.id):
            params[words.MESSAGE] = f"Really? {params[words.MESSAGE]}"
        return params


class CountsAnswersGate(TwiceGate):
    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        seen: set[str] = self.__dict__.setdefault("seen", set())
        if is_second(question.id) or question.id in seen:
            return super(TwiceGate, self).run_once(call, question)
        seen.add(question.id)
        return self.ask_again(call)


class BindsTheFirstOnlyGate(TwiceGate):
    def check_arguments(self, call: GatedCall, state: SealedState) -> None:
        if not is_second(state.id):
            super().check_arguments(call, state)


class RunsAtBothGate(TwiceGate):
    def ask_again(self, call: GatedCall) -> Any:
        call.run()
        return super().ask_again(call)


class TheSecondIsPoliteGate(TwiceGate):
    def answered(self, call: GatedCall, question: ElicitationQuestion, response: Any) -> Any:
        if is_second(question.id) and self.read_action(call, response) is Action.DECLINE:
            return self.run_once(call, question)
        return super().answered(call, question, response)


class TheSecondServesForEverGate(TwiceGate):
    def check_unspent(self, call: GatedCall, state: SealedState) -> None:
        if not is_second(state.id):
            super().check_unspent(call, state)

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        return call.run() if is_second(question.id) else super().run_once(call, question)


class BesideGate(ElicitationGate):
    """Asks for a note together with the approval, and does not insist on it."""

    def input_required(self, call: GatedCall, question: ElicitationQuestion) -> dict[str, Any]:
        asked = super().input_required(call, question)
        if call.tool.form is not None:
            asked[words.INPUT_REQUESTS]["note"] = _REMARK
        return asked


class AnyYesWillDoGate(BesideGate):
    def response_given(self, call: GatedCall) -> Any:
        given = call.caller.params.get(words.INPUT_RESPONSES)
        found = list(given.values()) if isinstance(given, Mapping) else []
        if any(isinstance(one, Mapping) and one.get("action") == "accept" for one in found):
            return {"action": "accept", "content": {"confirm": True}}
        return super().response_given(call)

    def approves(self, call: GatedCall, response: Mapping[str, Any]) -> bool:
        return response.get("content") == {"confirm": True} or super().approves(call, response)


Twice = factory_of(in_extension(TwiceGate))
CountsAnswers = factory_of(in_extension(CountsAnswersGate))
BindsTheFirstOnly = factory_of(in_extension(BindsTheFirstOnlyGate))
RunsAtBoth = factory_of(in_extension(RunsAtBothGate))
TheSecondIsPolite = factory_of(in_extension(TheSecondIsPoliteGate))
TheSecondServesForEver = factory_of(in_extension(TheSecondServesForEverGate))
Beside = factory_of(in_extension(BesideGate))
AnyYesWillDo = factory_of(in_extension(AnyYesWillDoGate))
