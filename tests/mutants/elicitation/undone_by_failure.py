"""Approvals that come back when something goes wrong."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import ElicitationQuestion, GatedCall
from pytest_mcp_approval.reference_server.elicitation.refusals import ElicitationRefusal
from tests.mutants.elicitation.parts import HANDSHAKE, RAN, in_extension
from tests.mutants.registry import mutant


@mutant(kills="elicitation/single-use", because="2 runs")
@in_extension
class TriesAgainByItself(ElicitationGate):
    """Runs a tool that failed once more, on the same approval."""

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        result = super().run_once(call, question)
        failed = isinstance(result, dict) and result.get("isError")
        return call.run() if failed else result


@mutant(kills="elicitation/single-use", because=RAN)
@in_extension
class ARefusalGivesItBack(ElicitationGate):
    """A second try is refused, and by that the approval is as before."""

    def next_round(self, call: GatedCall) -> Any:
        try:
            return super().next_round(call)
        except ElicitationRefusal as refusal:
            state = call.caller.params.get("requestState")
            if refusal.reason == "request_state_used":
                self.store._spent.remove(self.sealer.open(state).id)
            raise


@mutant(kills="elicitation/accept-runs-once", because=r"run 2 times", protocol=HANDSHAKE)
@in_extension
class RunsBeforeAndAfterTheMark(ElicitationGate):
    """Tries the tool, marks the approval, and runs it: a try is not taken for a run."""

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        call.run()
        return super().run_once(call, question)
