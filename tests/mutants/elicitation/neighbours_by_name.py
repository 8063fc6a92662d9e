"""Servers that join what belongs apart: then two different things have one name."""

from __future__ import annotations

import json
from typing import Any

from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import GatedCall
from pytest_mcp_approval.reference_server.elicitation.sealing import SealedState
from tests.mutants.elicitation.parts import RAN, in_extension
from tests.mutants.registry import mutant


@mutant(kills="elicitation/state-arguments", because=RAN)
@in_extension
class JoinsValues(ElicitationGate):
    """Binds the arguments as joined text, in which the borders between them are lost."""

    def bound(self, call: GatedCall) -> str:
        return "".join(_texts(call.arguments))


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for name in sorted(value) for text in _texts(value[name])]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    return [value if isinstance(value, str) else json.dumps(value)]


@mutant(kills="elicitation/state-arguments", because=RAN)
@in_extension
class DropsSpecialNames(ElicitationGate):
    """Leaves out members whose names mean something to the language: __proto__ and the like."""

    def bound(self, call: GatedCall) -> str:
        special = ("__proto__", "constructor", "prototype", "__class__", "toString")
        kept = {name: value for name, value in call.arguments.items() if name not in special}
        return json.dumps(kept, sort_keys=True)


@mutant(kills="elicitation/state-tool", because=RAN)
@in_extension
class ToolsOfOneKind(ElicitationGate):
    """An approval is for a kind of tool: those that ask for the same arguments."""

    def check_tool(self, call: GatedCall, state: SealedState) -> None:
        kinds = [{"erase_account", "suspend_account"}]
        if not any({state.tool, call.tool.name} <= kind for kind in kinds):
            super().check_tool(call, state)
