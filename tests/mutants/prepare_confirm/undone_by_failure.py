"""Servers on which a failure gives back, or takes away, what it should leave alone."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.prepare_confirm.vocabulary import (
    Payload,
)
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationOutcome,
    TwoStepOperation,
)
from pytest_mcp_approval.reference_server.prepare_confirm.refusals import ConfirmationRefusal
from tests.mutants.prepare_confirm.parts import Renews, in_extension
from tests.mutants.registry import mutant

ONE_TIME = "prepare_confirm/one-time"
FAILED = "prepare_confirm/failed-execution"


@mutant(kills=FAILED, because="the same token again[^§]*twice: [^§]*proj-1")
@in_extension
class GivesTheTokenBack(Renews):
    """Rolls the use of a token back when the back end fails."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        outcome = super().execute(operation, payload, arguments)
        if outcome.failure:
            self.store._spent.remove(payload.nonce)
        return outcome


@mutant(kills=ONE_TIME, because="the same token, the third time[^§]*[1-9] done")
@in_extension
class ServesEveryOtherTime(Renews):
    """Takes the mark of a used token back when a second use is refused."""

    def spend(self, payload: Payload) -> None:
        try:
            super().spend(payload)
        except ConfirmationRefusal:
            self.store._spent.remove(payload.nonce)
            raise


@mutant(
    kills=ONE_TIME, because="the same token, the second time[^§]*success: True[^§]*nothing done"
)
@in_extension
class RepeatsItsAnswer(PreparationGate):
    """Answers the second use of a token as the first, to be kind to retries."""

    def confirm(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        answers: dict[Any, dict[str, Any]] = self.__dict__.setdefault("answers", {})
        token = str(arguments.get("confirmation_token"))
        if token not in answers:
            answer = super().confirm(operation, arguments, caller)
            if not answer["success"]:
                return answer
            answers[token] = answer
        return answers[token]


@mutant(kills=FAILED, because="answer is lost; the same token again[^§]*twice: [^§]*proj-1")
@in_extension
class GivesBackIfNothingWasDone(Renews):
    """Gives the token back if nothing is known to be done, also where the answer was lost."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        outcome = super().execute(operation, payload, arguments)
        if not outcome.done:
            self.store._spent.remove(payload.nonce)
        return outcome


@mutant(kills=FAILED, because="counts what was really done[^§]*closed_count: 0[^§]*1 done")
@in_extension
class SaysItTookEverythingBack(PreparationGate):
    """Says after half a failure that nothing was done, though the back end takes nothing back."""

    def tell(
        self, operation: TwoStepOperation, payload: Payload, outcome: OperationOutcome
    ) -> dict[str, Any]:
        if outcome.failure:
            undone = {**dict.fromkeys(outcome.done, "taken back"), **outcome.left_alone}
            outcome = replace(outcome, done=[], left_alone=undone)
        return super().tell(operation, payload, outcome)


@mutant(kills=FAILED, because="fails at the second[^§]*success: True[^§]*1 done")
@in_extension
class TakesHalfForSuccess(PreparationGate):
    """Says that it succeeded if the back end did anything."""

    def tell(
        self, operation: TwoStepOperation, payload: Payload, outcome: OperationOutcome
    ) -> dict[str, Any]:
        if outcome.failure and outcome.done:
            outcome = OperationOutcome(done=outcome.done)
        return super().tell(operation, payload, outcome)


@mutant(kills="prepare_confirm/one-time", because="had done a part[^§]*success: True")
@in_extension
class GivesBackWhenSomethingWasGone(Renews):
    """Gives the token back if something was gone, after it has done the rest."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        outcome = super().execute(operation, payload, arguments)
        if outcome.left_alone and not outcome.failure:
            self.store._spent.remove(payload.nonce)
        return outcome


@mutant(kills="prepare_confirm/failed-execution", because="then another token[^§]*twice: ")
@in_extension
class TriesAgainLater(Renews):
    """Puts what failed into a queue, and does it with the next confirmation."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        queue: list[tuple[TwoStepOperation, Payload]] = self.__dict__.setdefault("queue", [])
        for earlier in [queue.pop(0) for _ in list(queue)]:
            super().execute(*earlier, {})
        outcome = super().execute(operation, payload, arguments)
        if outcome.failure:
            queue.append((operation, payload))
        return outcome


@mutant(kills="prepare_confirm/failed-execution", because="the back end fails[^§]*-32603")
@in_extension
class BreaksWithTheBackEnd(PreparationGate):
    """Lets the exception of a back end that fails through."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        outcome = super().execute(operation, payload, arguments)
        if outcome.failure:
            raise RuntimeError(outcome.failure)
        return outcome


@mutant(kills="prepare_confirm/failed-execution", because="the back end is slow[^§]*twice: ")
@in_extension
class WaitsALittleAndGivesUp(Renews):
    """Gives up waiting for a slow back end and gives the token back, while the work goes on."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        outcomes: list[OperationOutcome] = []
        work = threading.Thread(
            target=lambda: outcomes.append(Renews.execute(self, operation, payload, arguments)),
            daemon=True,
        )
        work.start()
        work.join(0.2)
        if outcomes:
            return outcomes[0]
        self.store._spent.remove(payload.nonce)
        ids = payload.data.get("project_ids", [payload.data.get("username")])
        return OperationOutcome(failure="the back end takes too long", unknown=list(ids))
