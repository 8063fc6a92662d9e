"""States that say too little, are read without care, or are not of our making."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from pytest_mcp_approval.reference_server.elicitation import binding
from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import ElicitationQuestion, GatedCall
from pytest_mcp_approval.reference_server.elicitation.sealing import SealedState, Sealer, SealError
from tests.mutants.elicitation.parts import RAN, in_extension
from tests.mutants.registry import mutant

FIRST_SHOT = "elicitation/first-shot"
INTEGRITY = "elicitation/state-integrity"
ARGUMENTS = "elicitation/state-arguments"
TOOL = "elicitation/state-tool"
PRINCIPAL = "elicitation/state-principal"
LIFETIME = "elicitation/state-lifetime"


# ---- answers without a question


@mutant(kills=FIRST_SHOT, because=RAN)
@in_extension
class LooksForTheResponseFirst(ElicitationGate):
    """Takes a response that is there for the answer, and does not ask for a state."""

    def next_round(self, call: GatedCall) -> Any:
        if self.state_given(call) is None and self.response_given(call) is not None:
            question = self.open_question(call)
            return self.answered(call, question, self.response_given(call))
        return super().next_round(call)


@mutant(kills=FIRST_SHOT, because=RAN)
@in_extension
class AnEmptyStateIsNew(ElicitationGate):
    """An empty state means a new conversation; what it says counts from its beginning."""

    def next_round(self, call: GatedCall) -> Any:
        if self.state_given(call) == "" and self.response_given(call) is not None:
            return self.answered(call, self.open_question(call), self.response_given(call))
        return super().next_round(call)


@mutant(kills=FIRST_SHOT, because=RAN)
@in_extension
class AnUnknownStateIsOld(ElicitationGate):
    """A state that it does not know may be of before its restart, and counts."""

    def next_round(self, call: GatedCall) -> Any:
        given = self.state_given(call)
        if given and given.count(".") != 2:
            response = self.response_given(call)
            if response is not None:
                return self.answered(call, self.open_question(call), response)
        return super().next_round(call)


# ---- the seal


@mutant(kills=INTEGRITY, because=RAN)
@in_extension
class PlainState(Sealer):
    """A state is JSON in base64, and nothing more."""

    def check_signature(self, payload: str, signature: str) -> None:
        """Nothing."""


@mutant(kills=INTEGRITY, because=RAN)
@in_extension
class ChecksTheFirstBytes(Sealer):
    """Compares the first eight bytes of the MAC."""

    def check_signature(self, payload: str, signature: str) -> None:
        if self.decode(signature)[:8] != self.sign(payload)[:8]:
            raise SealError("its MAC is not ours")


@mutant(kills=INTEGRITY, because=RAN)
@in_extension
class ChecksTheLastBytes(Sealer):
    """Compares the last eight bytes of the MAC."""

    def check_signature(self, payload: str, signature: str) -> None:
        if self.decode(signature)[-8:] != self.sign(payload)[-8:]:
            raise SealError("its MAC is not ours")


@mutant(kills=INTEGRITY, because=RAN)
@in_extension
class ComparesAsFarAsItGoes(Sealer):
    """Compares as many bytes of the MAC as there are: of none, none."""

    def check_signature(self, payload: str, signature: str) -> None:
        given = self.decode(signature)
        if self.sign(payload)[: len(given)] != given:
            raise SealError("its MAC is not ours")


@mutant(kills=INTEGRITY, because=RAN)
@in_extension
class SignsTheBeginning(Sealer):
    """Signs the first forty characters of the payload: those with the id."""

    def sign(self, payload: str) -> bytes:
        return super().sign(payload[:40])


@mutant(kills=INTEGRITY, because=RAN)
@in_extension
class DropsWhatIsTooMuch(Sealer):
    """Takes the first three parts of a state, whatever comes after them."""

    def split(self, text: str) -> tuple[str, str]:
        return super().split(".".join(text.split(".")[:3]))


@mutant(kills=INTEGRITY, because=RAN)
@in_extension
class UnsignedIsAVersion(Sealer):
    """A state without a MAC is of the version before MACs, and still counts."""

    def split(self, text: str) -> tuple[str, str]:
        parts = text.rstrip(".").split(".")
        return (parts[1], "") if len(parts) == 2 else super().split(text)

    def check_signature(self, payload: str, signature: str) -> None:
        if signature:
            super().check_signature(payload, signature)


@mutant(kills=INTEGRITY, because="the same bytes in another spelling", warned=True)
@in_extension
class TrimsTheState(Sealer):
    """Strips blanks and padding from a state before it looks at it."""

    def open(self, text: str) -> SealedState:
        return super().open(text.strip(" \t\r\n="))


@mutant(kills=INTEGRITY, because="the same bytes in another spelling", warned=True)
@in_extension
class DecodesLoosely(Sealer):
    """Decodes base64 as the library does: spare bits and padding may be anything."""

    def decode(self, text: str) -> bytes:
        try:
            return base64.urlsafe_b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))
        except ValueError:
            raise SealError("it is no base64url") from None


# ---- arguments


class _BindsOtherwise(ElicitationGate):
    """Binds something other than the arguments as they came."""

    def seen(self, arguments: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def bound(self, call: GatedCall) -> str:
        return binding.digest(self.seen(call.arguments))


@mutant(kills=ARGUMENTS, because=RAN)
@in_extension
class BindsTheToolOnly(_BindsOtherwise):
    """Binds the tool, and no argument."""

    def seen(self, arguments: Mapping[str, Any]) -> Any:
        return {}


@mutant(kills=ARGUMENTS, because=RAN)
@in_extension
class BindsRequiredOnesOnly(_BindsOtherwise):
    """Binds the arguments that a tool requires."""

    def seen(self, arguments: Mapping[str, Any]) -> Any:
        required = ("account", "to", "amount", "version", "service")
        return {name: arguments[name] for name in required if name in arguments}


@mutant(kills=ARGUMENTS, because=RAN)
@in_extension
class BindsKnownOnesOnly(_BindsOtherwise):
    """Binds the arguments that a tool lists: members that it does not know come in freely."""

    def seen(self, arguments: Mapping[str, Any]) -> Any:
        known = {"account", "reason", "keep_backup", "to", "amount", "tags", "version", "service"}
        return {name: value for name, value in arguments.items() if name in known}


@mutant(kills=ARGUMENTS, because=RAN)
@in_extension
class BindsTheTopLevel(_BindsOtherwise):
    """Binds nested values by their kind: that there is an object, not what is in it."""

    def seen(self, arguments: Mapping[str, Any]) -> Any:
        return {
            name: type(value).__name__ if isinstance(value, (dict, list)) else value
            for name, value in arguments.items()
        }


@mutant(kills=ARGUMENTS, because=RAN)
@in_extension
class BindsNames(_BindsOtherwise):
    """Binds which arguments there are, and not what they say."""

    def seen(self, arguments: Mapping[str, Any]) -> Any:
        return sorted(arguments)


@mutant(kills=ARGUMENTS, because=RAN)
@in_extension
class BindsValues(_BindsOtherwise):
    """Binds the values in their order, and not under which name they are."""

    def seen(self, arguments: Mapping[str, Any]) -> Any:
        return sorted(map(repr, arguments.values()))


@mutant(kills=ARGUMENTS, because="not run|error|refused")
@in_extension
class BindsTheOrder(_BindsOtherwise):
    """Binds the order of members too: a client that writes them otherwise is refused."""

    def bound(self, call: GatedCall) -> str:
        return hashlib.sha256(json.dumps(call.arguments).encode()).hexdigest()


# ---- tool, user, life


@mutant(kills=TOOL, because=RAN)
@in_extension
class ForgetsTheTool(ElicitationGate):
    """Checks the arguments, and not which tool they were for."""

    def check_tool(self, call: GatedCall, state: SealedState) -> None:
        """Nothing."""


@mutant(kills=PRINCIPAL, because=RAN)
@in_extension
class ForgetsTheUser(ElicitationGate):
    """Whoever has the state and says yes is served."""

    def check_user(self, call: GatedCall, state: SealedState) -> None:
        """Nothing."""


@mutant(kills=PRINCIPAL, because=RAN)
@in_extension
class BindsTheClientsName(ElicitationGate):
    """Binds the name that the client gives itself, in the place of the user."""

    def principal(self, call: GatedCall) -> str:
        return call.caller.client


@mutant(kills=PRINCIPAL, because="not run|used|error")
@in_extension
class BurnsOnAnothersTry(ElicitationGate):
    """Gives a question up as soon as anybody else tries its state."""

    def check_user(self, call: GatedCall, state: SealedState) -> None:
        if state.user != self.principal(call):
            self.close(ElicitationQuestion(state.id, state.expires_at))
        super().check_user(call, state)


@mutant(kills=LIFETIME, because="it runs .* after the question")
@in_extension
class StatesNeverEnd(ElicitationGate):
    """A state has no end."""

    def check_unexpired(self, call: GatedCall, state: SealedState) -> None:
        """Nothing."""


@mutant(kills=LIFETIME, because="it runs .* after the question")
@in_extension
class LivesForAWeek(ElicitationGate):
    """A state serves for a week."""

    def check_unexpired(self, call: GatedCall, state: SealedState) -> None:
        super().check_unexpired(call, replace(state, expires_at=state.expires_at + _WEEK))


_WEEK = timedelta(days=7)
