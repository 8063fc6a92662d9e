"""Tools that destroy something and ask nobody."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.reference_server.elicitation.demonstration import TOOLS, OfferedTool
from pytest_mcp_approval.reference_server.elicitation.extension import ElicitationExtension
from pytest_mcp_approval.reference_server.server.answers import tool_listing
from pytest_mcp_approval.reference_server.server.effects import RecordedEffects
from tests.mutants.registry import mutant

SURVEY = "elicitation/survey"


def _silent(name: str, title: str, **hints: Any) -> OfferedTool:
    def run(arguments: Any, effects: RecordedEffects) -> dict[str, Any]:
        return {"done": True, "executed": effects.record(name, arguments)}

    entry = tool_listing(name, title, f"{title}. Asks nobody.", {})
    entry["annotations"] = hints
    return OfferedTool(entry, lambda _: None, run)


@mutant(kills=SURVEY, because="purge_accounts")
class DestroysWithoutAWord(ElicitationExtension):
    """Has a tool that is annotated destructive, and asks nobody."""

    def offered_tools(self) -> tuple[OfferedTool, ...]:
        return (*TOOLS, _silent("purge_accounts", "Purge all accounts", destructiveHint=True))


@mutant(kills=SURVEY, because="delete_all_files")
class DestroysWithoutAHint(ElicitationExtension):
    """Has a tool without any hint whose name says that it deletes, and asks nobody."""

    def offered_tools(self) -> tuple[OfferedTool, ...]:
        return (*TOOLS, _silent("delete_all_files", "Delete all files"))
