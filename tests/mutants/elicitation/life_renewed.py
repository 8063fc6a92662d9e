"""Questions that live longer each time somebody looks at them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import ElicitationQuestion, GatedCall
from pytest_mcp_approval.reference_server.elicitation.sealing import SealedState
from tests.mutants.elicitation.parts import HANDSHAKE, RAN, in_extension
from tests.mutants.registry import mutant

LIFETIME = "elicitation/state-lifetime"


class _Renews(ElicitationGate):
    """Knows for some questions a later end than their states say."""

    @property
    def ends(self) -> dict[str, Any]:
        found: dict[str, Any] = self.__dict__.setdefault("_ends", {})
        return found

    def renew(self, id: str) -> None:
        self.ends[id] = self.expiry()

    def check_unexpired(self, call: GatedCall, state: SealedState) -> None:
        later = self.ends.get(state.id, state.expires_at)
        super().check_unexpired(call, replace(state, expires_at=later))


@mutant(kills=LIFETIME, because=RAN)
@in_extension
class AskingAgainRenews(_Renews):
    """A retry without an answer gives the question its whole life again."""

    def next_round(self, call: GatedCall) -> Any:
        result = super().next_round(call)
        state = call.caller.params.get("requestState")
        if isinstance(state, str) and not call.caller.params.get("inputResponses"):
            self.renew(self.sealer.open(state).id)
        return result


@mutant(kills=LIFETIME, because=RAN)
@in_extension
class ARefusalRenews(_Renews):
    """An answer that is refused gives the question its whole life again."""

    def answered(self, call: GatedCall, question: ElicitationQuestion, response: Any) -> Any:
        try:
            return super().answered(call, question, response)
        except Exception:
            self.renew(question.id)
            raise


@mutant(kills=LIFETIME, because=RAN)
@in_extension
class ASiblingRenews(ElicitationGate):
    """The life of all questions of a tool counts from the last one that was asked."""

    def ask(self, call: GatedCall) -> dict[str, Any]:
        self.__dict__.setdefault("last", {})[call.tool.name] = self.expiry()
        return super().ask(call)

    def check_unexpired(self, call: GatedCall, state: SealedState) -> None:
        last = self.__dict__.setdefault("last", {}).get(call.tool.name, state.expires_at)
        super().check_unexpired(call, replace(state, expires_at=max(last, state.expires_at)))


@mutant(
    kills="elicitation/client-silent",
    because="the call is still open",
    protocol=HANDSHAKE,
    timeout=2.0,
)
@in_extension
class AsksAgainInsideForEver(ElicitationGate):
    """When nobody answers in time, it puts the same question again, without end."""

    def unanswered(self, call: GatedCall, question: ElicitationQuestion, reply: Any) -> Any:
        return (
            self.ask_inside(call)
            if reply.kind == "silent"
            else super().unanswered(call, question, reply)
        )
