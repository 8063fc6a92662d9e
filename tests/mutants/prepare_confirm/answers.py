"""Servers whose answers do not say what was done, or why nothing was."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.prepare_confirm.vocabulary import Payload
from pytest_mcp_approval.reference_server.prepare_confirm.extension import PrepareConfirmExtension
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationOutcome,
    TwoStepOperation,
)
from tests.mutants.prepare_confirm.parts import in_extension
from tests.mutants.registry import mutant

ANSWER = "prepare_confirm/confirm-answer"
_REASONS = re.compile("has expired|already been used|signature|wrong action")


class _Tells(PreparationGate):
    """Answers a confirmation in other words."""

    def told(self, answer: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def tell(
        self, operation: TwoStepOperation, payload: Payload, outcome: OperationOutcome
    ) -> dict[str, Any]:
        return self.told(super().tell(operation, payload, outcome))


@mutant(kills=ANSWER, because="message: a sentence[^§]*success: True")
@in_extension
class AnswersWithoutAMessage(_Tells):
    """Has no message for a person."""

    def told(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in answer.items() if name != "message"}


@mutant(kills=ANSWER, because="a word for what was done[^§]*action: preview")
@in_extension
class CallsItAPreviewStill(_Tells):
    """Answers a confirmation with the action of a preview."""

    def told(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {**answer, "action": "preview"}


@mutant(kills=ANSWER, because="a word for what was done[^§]*action: closed, deleted_count")
@in_extension
class CallsEveryActionClosed(_Tells):
    """Says of what it has deleted that it is closed."""

    def told(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {**answer, "action": "closed"}


@mutant(kills=ANSWER, because="in all parts of the answer[^§]*both: success: False")
class TellsRefusalsInTwoWays(PrepareConfirmExtension):
    """Says success in the text of a refusal, and none in its members."""

    def result(self, answer: dict[str, Any]) -> dict[str, Any]:
        result = super().result(answer)
        if answer.get("success") is False:
            said = json.dumps({"success": True, "message": answer["message"]})
            result["content"] = [{"type": "text", "text": said}]
        return result


@mutant(
    kills="prepare_confirm/signature",
    because="a broken signature: success: False[^§]*failed: has expired",
)
@in_extension
class ReadsReasonsOffTheToken(PreparationGate):
    """Looks for the words of its reasons in all that it has, and finds them in a thing's name."""

    def confirm(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        answer = super().confirm(operation, arguments, caller)
        found = _REASONS.search(str(arguments.get("confirmation_token")))
        if answer["success"] or found is None:
            return answer
        return {**answer, "message": f"Confirmation failed: {found[0]}"}
