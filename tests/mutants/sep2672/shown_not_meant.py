"""Servers that do not show what is approved."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import GatedTool
from pytest_mcp_approval.reference_server.server.visible_text import visible
from tests.mutants.registry import mutant
from tests.mutants.sep2672.parts import everywhere

SHOWN = "sep2672/4.4.3-display-text"


@mutant(kills=SHOWN, because="the same displayText", warned=True)
class CutsWhatItShows(ApprovalGate):
    """Shows the first 200 characters of what is approved."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        return super().display_text(tool, arguments)[:200]


@mutant(kills=SHOWN, because="the same displayText", warned=True)
class ShowsTheSentenceOnly(ApprovalGate):
    """Shows the author's sentence, which does not name every argument."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        return super().display_text(tool, arguments).partition(". Exactly: ")[0]


@mutant(kills=SHOWN, because="the same displayText")
class ShowsObjectsAsObjects(ApprovalGate):
    """Shows [object Object] for an argument that is an object."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        shown = {
            name: "[object Object]" if isinstance(one, Mapping) else one
            for name, one in arguments.items()
        }
        return super().display_text(tool, shown)


@mutant(kills=SHOWN, because="the same displayText")
class ShowsTheFirstItems(ApprovalGate):
    """Shows the first three items of a list."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        shown = everywhere(lambda one: one[:3] if isinstance(one, list) else one, arguments)
        return super().display_text(tool, shown)


@mutant(kills=SHOWN, because="the same displayText")
class RoundsWhatItShows(ApprovalGate):
    """Shows numbers with two decimals."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        shown = everywhere(lambda one: round(one, 2) if isinstance(one, float) else one, arguments)
        return super().display_text(tool, shown)


@mutant(kills=SHOWN, because="the same displayText", warned=True)
class ShowsValuesWithoutQuotes(ApprovalGate):
    """Shows texts without quotes, so that one argument may look like two."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        pairs = (
            f"{name}: {one if isinstance(one, str) else words.canonical_arguments(one).decode()}"
            for name, one in sorted(arguments.items())
        )
        return visible(f"Run {tool.name} with {', '.join(pairs)}")


@mutant(kills=SHOWN, because="the same displayText")
class TakesTagsOutOfTheText(ApprovalGate):
    """Takes whatever is in angle brackets out of what it shows, as PHP's strip_tags does."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        return re.sub("<[^>]*>", "", super().display_text(tool, arguments))


@mutant(kills=SHOWN, because="the same displayText", warned=True)
class ShowsNoTool(ApprovalGate):
    """Shows what the arguments are, and not what is done with them."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        return visible(f"Approve {words.canonical_arguments(arguments).decode()}")


@mutant(kills=SHOWN, because="it stands there raw")
class RawIsolates(ApprovalGate):
    """Escapes overrides and embeddings, and passes the newer isolates through."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        text = super().display_text(tool, arguments)
        return re.sub(r"\\u(206[6-9])", lambda found: chr(int(found[1], 16)), text)


@mutant(kills=SHOWN, because="it stands there raw")
class CleansTheTopOnly(ApprovalGate):
    """Cleans arguments that are texts, and not the texts inside of others."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        pairs = (
            f"{visible(name)}: {visible(text) if isinstance(one, str) else text}"
            for name, one in sorted(arguments.items())
            for text in [words.canonical_arguments(one).decode()]
        )
        return f"Run {tool.name} with {', '.join(pairs)}"
