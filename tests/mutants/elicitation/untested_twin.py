"""Servers whose second tool, form, mode or era was never tried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.reference_server.elicitation.forms import QuestionForm
from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import ElicitationQuestion, GatedCall
from pytest_mcp_approval.reference_server.elicitation.sealing import SealedState
from tests.mutants.elicitation.parts import HANDSHAKE, RAN, in_extension
from tests.mutants.registry import mutant


@mutant(kills="elicitation/decline", because=RAN)
@in_extension
class AFormWithoutMembersIsANotice(ElicitationGate):
    """A form without members is a notice: whatever is done with it, the call goes on."""

    def answered(self, call: GatedCall, question: ElicitationQuestion, response: Any) -> Any:
        if call.tool.form is not None and not call.tool.form.member:
            return self.run_once(call, question)
        return super().answered(call, question, response)


@mutant(kills="elicitation/cancel", because=RAN, protocol=HANDSHAKE)
@in_extension
class ChoicesCannotBeClosed(ElicitationGate):
    """Reads the choice of a form that was closed, since it has one."""

    def answered(self, call: GatedCall, question: ElicitationQuestion, response: Any) -> Any:
        form = call.tool.form
        if form is not None and form.member == "decision" and isinstance(response, dict):
            response = {**response, "action": "accept"}
        return super().answered(call, question, response)


@mutant(kills="elicitation/accept-without-yes", because=RAN)
@in_extension
class AnyChoiceApproves(QuestionForm):
    """Looks at boxes; a choice was made, and that is enough."""

    def approves(self, content: Mapping[str, Any]) -> bool:
        return self.member == "decision" or super().approves(content)


@mutant(kills="elicitation/single-use", because=RAN)
@in_extension
class ChoicesServeTwice(ElicitationGate):
    """Marks as used what a box approved, and not what a choice did."""

    def check_unspent(self, call: GatedCall, state: SealedState) -> None:
        if call.tool.name != "wire_money":
            super().check_unspent(call, state)

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        return call.run() if call.tool.name == "wire_money" else super().run_once(call, question)


@mutant(kills="elicitation/single-use", because=RAN)
@in_extension
class PagesServeTwice(ElicitationGate):
    """An approval on a page serves as often as its state is sent."""

    def check_unspent(self, call: GatedCall, state: SealedState) -> None:
        if call.tool.form is not None:
            super().check_unspent(call, state)

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        return call.run() if call.tool.form is None else super().run_once(call, question)


@mutant(kills="elicitation/state-arguments", because=RAN)
@in_extension
class PagesBindNothing(ElicitationGate):
    """Checks the arguments of calls that a form approved, and not of those on pages."""

    def check_arguments(self, call: GatedCall, state: SealedState) -> None:
        if call.tool.form is not None:
            super().check_arguments(call, state)


@mutant(kills="elicitation/no-capability", because=RAN)
@in_extension
class AChoiceNeedsNobody(ElicitationGate):
    """Asks for the box of old tools; the newer one with a choice runs where nobody can choose."""

    def check_capability(self, call: GatedCall) -> None:
        if call.tool.name != "wire_money":
            super().check_capability(call)

    def decide(self, call: GatedCall) -> Any:
        if call.tool.name == "wire_money" and self.mode_of(call) not in self.modes_of(call):
            return call.run()
        return super().decide(call)


@mutant(kills="elicitation/client-error", because=RAN, protocol=HANDSHAKE)
@in_extension
class AnErrorOnAPageIsConsent(ElicitationGate):
    """A client that cannot open a page shows it to its user in some other way."""

    def unanswered(self, call: GatedCall, question: ElicitationQuestion, reply: Any) -> Any:
        if call.tool.form is None and reply.kind == "error":
            return self.run_once(call, question)
        return super().unanswered(call, question, reply)


@mutant(kills="elicitation/state-lifetime", because="it ran")
@in_extension
class SomeLiveForEver(ElicitationGate):
    """The states of one tool have an end, and those of the others have none."""

    def check_unexpired(self, call: GatedCall, state: SealedState) -> None:
        if call.tool.name == "erase_account":
            super().check_unexpired(call, state)
