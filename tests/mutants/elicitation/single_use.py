"""One approval that runs many times, or that another process does not know of."""

from __future__ import annotations

import secrets
import threading
from typing import Any, ClassVar

from pytest_mcp_approval.reference_server.elicitation.extension import ElicitationExtension
from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import ElicitationQuestion, GatedCall
from pytest_mcp_approval.reference_server.elicitation.sealing import SealedState
from pytest_mcp_approval.reference_server.elicitation.store import ElicitationStore
from pytest_mcp_approval.reference_server.server.extension import ExtensionParts
from tests.mutants.elicitation.parts import RAN, in_extension
from tests.mutants.registry import mutant

SINGLE_USE = "elicitation/single-use"
RACE = "elicitation/single-use-race"
RESTART = "elicitation/single-use-restart"
REPLICAS = "elicitation/replicas"


class _Stateless(ElicitationGate):
    """Does not remember what was used, as the SDKs' helpers do not."""

    def check_unspent(self, call: GatedCall, state: SealedState) -> None:
        """Nothing."""

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        return call.run()


@mutant(kills=SINGLE_USE, because=RAN)
@in_extension
class ReplaysInItsLifetime(_Stateless):
    """A sealed state serves as often as it is sent, until its end."""


@mutant(kills=SINGLE_USE, because="2 runs")
@in_extension
class GivesItBackAfterAFailure(ElicitationGate):
    """An approval whose tool failed can be used once more."""

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        result = super().run_once(call, question)
        if isinstance(result, dict) and result.get("isError"):
            self.store._spent.remove(question.id)
        return result


@mutant(kills=SINGLE_USE, because="2 runs")
@in_extension
class MarksUsedAfterSuccess(ElicitationGate):
    """Marks an approval as used when the tool has come back well."""

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        result = call.run()
        if not (isinstance(result, dict) and result.get("isError")):
            self.close(question)
        return result


@mutant(kills=SINGLE_USE, because=RAN)
@in_extension
class RemembersTheLastOne(ElicitationGate):
    """Remembers the approval that was used last: the next one drives it out."""

    def check_unspent(self, call: GatedCall, state: SealedState) -> None:
        if self.__dict__.get("last") == state.id:
            self.refuse_used(call)

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        self.__dict__["last"] = question.id
        return call.run()


@mutant(kills=SINGLE_USE, because=RAN)
@in_extension
class KeepsThreeUsedOnes(ElicitationStore):
    """Has room for three used approvals, and then begins anew."""

    def spend(self, id: str, expires_at: Any) -> bool:
        done = super().spend(id, expires_at)
        kept = self._spent.find()
        if done and len(kept) > 3:
            for old in kept:
                if old.id != id:
                    self._spent.remove(old.id)
        return done


@mutant(kills=RACE, because=r"tool run|run \d+ times|ran")
@in_extension
class LooksAndThenMarks(ElicitationGate):
    """Looks whether an approval was used, and marks it a moment later."""

    together: ClassVar[threading.Barrier] = threading.Barrier(2)

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        if self.store.is_spent(question.id):
            self.refuse_used(call)
        try:
            self.together.wait(0.15)  # until another has looked too, if there is one
        except threading.BrokenBarrierError:
            self.together.reset()
        self.close(question)
        return call.run()


@mutant(kills=RACE, because=r"tool run|run \d+ times|ran")
@in_extension
class MarksWhenItIsDone(ElicitationGate):
    """Runs first, slowly, and then marks the approval as used."""

    together: ClassVar[threading.Barrier] = threading.Barrier(2)

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        if self.store.is_spent(question.id):
            self.refuse_used(call)
        result = call.run()
        try:
            self.together.wait(0.15)
        except threading.BrokenBarrierError:
            self.together.reset()
        self.close(question)
        return result


class _UsedInMemory(ElicitationGate):
    """The used ones in memory, and the key in the store."""

    def is_used(self, id: str) -> bool:
        return id in self.__dict__.setdefault("used", set())

    def check_unspent(self, call: GatedCall, state: SealedState) -> None:
        if self.is_used(state.id):
            self.refuse_used(call)

    def close(self, question: ElicitationQuestion) -> None:
        self.__dict__.setdefault("used", set()).add(question.id)

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        lock = self.__dict__.setdefault("lock", threading.Lock())
        with lock:
            if self.is_used(question.id):
                self.refuse_used(call)
            self.close(question)
        return call.run()


@mutant(kills=RESTART, because=RAN)
@in_extension
class UsedOnesInMemory(_UsedInMemory):
    """Keeps the key in its store, and what was used in its process."""


@mutant(kills=RESTART, because=RAN)
@in_extension
class WritesLate(_UsedInMemory):
    """Writes down what was used when it ends in order, or every hundredth time."""

    def close(self, question: ElicitationQuestion) -> None:
        super().close(question)
        if len(self.__dict__["used"]) % 100 == 0:
            for id in self.__dict__["used"]:
                self.store.spend(id, question.expires_at)


@mutant(kills=RESTART, because=RAN)
class StartsWithAnEmptyTable(ElicitationExtension):
    """Empties its table of used approvals when it starts."""

    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        self.store._spent.remove_all()


@mutant(kills=REPLICAS, because="not run|error|not one of ours")
@in_extension
class HasAKeyOfItsOwn(ElicitationGate):
    """Makes a key for each process, as SDKs do by default."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        key = secrets.token_bytes(32)
        self.sealer = self.sealer_class(lambda: key)


@mutant(kills=REPLICAS, because="not run|error|used")
@in_extension
class KnowsItsOwnQuestions(ElicitationGate):
    """Answers only to questions that this very process has asked."""

    def open_question(self, call: GatedCall) -> ElicitationQuestion:
        question = super().open_question(call)
        self.__dict__.setdefault("asked", set()).add(question.id)
        return question

    def check_unspent(self, call: GatedCall, state: SealedState) -> None:
        if state.id not in self.__dict__.setdefault("asked", set()):
            self.refuse_used(call)
        super().check_unspent(call, state)
