"""Servers that forget too soon what was used up."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import ElicitationQuestion, GatedCall
from pytest_mcp_approval.reference_server.elicitation.store import ElicitationStore
from tests.mutants.elicitation.parts import RAN, in_extension
from tests.mutants.registry import mutant

SINGLE_USE = "elicitation/single-use"


@mutant(kills=SINGLE_USE, because=RAN)
@in_extension
class RemembersForAMinute(ElicitationGate):
    """Remembers what was used for a minute, though its state serves for ten."""

    def close(self, question: ElicitationQuestion) -> None:
        self.store.spend(question.id, self.now())

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        if not self.store.spend(question.id, self.now()):
            self.refuse_used(call)
        return call.run()

    def clean_up(self) -> None:
        self.store.forget(self.now() - timedelta(minutes=1))

    def next_round(self, call: GatedCall) -> Any:
        self.clean_up()
        return super().next_round(call)


@mutant(kills=SINGLE_USE, because=RAN)
@in_extension
class ANewQuestionForgets(ElicitationStore):
    """Begins its list of used approvals anew with every second question."""

    def forget(self, before: Any) -> None:
        super().forget(before)
        asked = self.__dict__["asked"] = self.__dict__.get("asked", 0) + 1
        if asked % 2 == 0:
            self._spent.remove_all()


@mutant(kills="elicitation/decline", because="runs the call: .* after decline", warned=True)
@in_extension
class ADeclineEndsNothing(ElicitationGate):
    """A question that was declined can still be accepted."""

    def answered(self, call: GatedCall, question: ElicitationQuestion, response: Any) -> Any:
        if isinstance(response, dict) and response.get("action") == "decline":
            question = ElicitationQuestion(f"declined {question.id}", question.expires_at)
        return super().answered(call, question, response)


@mutant(kills="elicitation/cancel", because="runs the call: .* after cancel", warned=True)
@in_extension
class ACancelEndsNothing(ElicitationGate):
    """A question that was closed can still be accepted."""

    def answered(self, call: GatedCall, question: ElicitationQuestion, response: Any) -> Any:
        if isinstance(response, dict) and response.get("action") == "cancel":
            question = ElicitationQuestion(f"cancelled {question.id}", question.expires_at)
        return super().answered(call, question, response)
