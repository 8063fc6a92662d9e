"""Servers that look at a part of what was approved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.reference_server.elicitation import binding
from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import GatedCall
from pytest_mcp_approval.reference_server.elicitation.sealing import SealedState, Sealer, SealError
from tests.mutants.elicitation.parts import RAN, in_extension
from tests.mutants.elicitation.state import _BindsOtherwise
from tests.mutants.registry import mutant

ARGUMENTS = "elicitation/state-arguments"
INTEGRITY = "elicitation/state-integrity"


@mutant(kills=ARGUMENTS, because=RAN)
@in_extension
class BindsTheFirstKilobyte(ElicitationGate):
    """Binds the first kilobyte of the arguments."""

    def bound(self, call: GatedCall) -> str:
        return binding.canonical(call.arguments)[:1024]


@mutant(kills=ARGUMENTS, because=RAN)
@in_extension
class BindsTheFirstItems(_BindsOtherwise):
    """Binds the first item of a list, and not those after it."""

    def seen(self, arguments: Mapping[str, Any]) -> Any:
        return {
            name: value[:1] if isinstance(value, list) else value
            for name, value in arguments.items()
        }


@mutant(kills=ARGUMENTS, because=RAN)
@in_extension
class BindsTheFirstMember(_BindsOtherwise):
    """Binds the first argument by its name, and none after it."""

    def seen(self, arguments: Mapping[str, Any]) -> Any:
        return sorted(arguments.items())[:1]


@mutant(kills=ARGUMENTS, because=RAN)
@in_extension
class BindsTheFirstCharacters(_BindsOtherwise):
    """Binds the first twenty characters of each text."""

    def seen(self, arguments: Mapping[str, Any]) -> Any:
        return {
            name: value[:20] if isinstance(value, str) else value
            for name, value in arguments.items()
        }


@mutant(kills=INTEGRITY, because=RAN)
@in_extension
class ReadsTheFirstCharacters(Sealer):
    """Takes as much of a state as a state is long, and drops the rest."""

    def open(self, text: str) -> SealedState:
        longest: int = self.__dict__.get("longest", 0)
        return super().open(text[:longest] if longest else text)

    def seal(self, state: SealedState) -> str:
        sealed = super().seal(state)
        self.__dict__["longest"] = len(sealed)
        return sealed


@mutant(kills=INTEGRITY, because=RAN)
@in_extension
class ChecksHalfOfTheMac(Sealer):
    """Compares every other byte of the MAC."""

    def check_signature(self, payload: str, signature: str) -> None:
        if self.decode(signature)[::2] != self.sign(payload)[::2]:
            raise SealError("its MAC is not ours")
