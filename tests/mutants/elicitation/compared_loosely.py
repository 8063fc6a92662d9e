"""Servers that compare what is bound as if small differences did not matter."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import GatedCall
from pytest_mcp_approval.reference_server.elicitation.sealing import SealedState, Sealer
from pytest_mcp_approval.support.json_reading import with_texts
from tests.mutants.elicitation.parts import RAN, in_extension
from tests.mutants.elicitation.state import _BindsOtherwise
from tests.mutants.registry import mutant

ARGUMENTS = "elicitation/state-arguments"


@mutant(kills=ARGUMENTS, because=RAN)
@in_extension
class BindsTrimmedTexts(_BindsOtherwise):
    """Binds texts without the blanks around them."""

    def seen(self, arguments: Mapping[str, Any]) -> Any:
        return with_texts(dict(arguments), str.strip)


@mutant(kills=ARGUMENTS, because=RAN)
@in_extension
class FoldsTexts(_BindsOtherwise):
    """Binds texts whatever their case."""

    def seen(self, arguments: Mapping[str, Any]) -> Any:
        return with_texts(dict(arguments), str.casefold)


@mutant(kills=ARGUMENTS, because=RAN)
@in_extension
class NormalizesTexts(_BindsOtherwise):
    """Binds texts in Unicode's compatible form, in which many characters are one."""

    def seen(self, arguments: Mapping[str, Any]) -> Any:
        return with_texts(dict(arguments), lambda text: unicodedata.normalize("NFKC", text))


@mutant(kills=ARGUMENTS, because=RAN)
@in_extension
class DropsWhatIsNotAscii(_BindsOtherwise):
    """Binds texts without the characters that are not ASCII."""

    def seen(self, arguments: Mapping[str, Any]) -> Any:
        return with_texts(
            dict(arguments), lambda text: text.encode("ascii", "ignore").decode("ascii")
        )


@mutant(kills="elicitation/state-principal", because=RAN)
@in_extension
class ComparesTheLastWordOfUsers(ElicitationGate):
    """Compares the last word of users' names, as if all were of one house."""

    def principal(self, call: GatedCall) -> str:
        return call.caller.user.split(" ")[-1]


@mutant(kills="elicitation/state-tool", because=RAN)
@in_extension
class ComparesTheEndOfTheTool(ElicitationGate):
    """Compares what a tool acts on, the last word of its name, and not what it does."""

    def check_tool(self, call: GatedCall, state: SealedState) -> None:
        if state.tool.rpartition("_")[2] != call.tool.name.rpartition("_")[2]:
            super().check_tool(call, state)


@mutant(kills="elicitation/state-integrity", because=RAN)
@in_extension
class FoldsTheMac(Sealer):
    """Compares the MAC as text, whatever its case."""

    def check_signature(self, payload: str, signature: str) -> None:
        import base64

        own = base64.urlsafe_b64encode(self.sign(payload)).decode().rstrip("=")
        if signature.lower() != own.lower():
            super().check_signature(payload, signature)
