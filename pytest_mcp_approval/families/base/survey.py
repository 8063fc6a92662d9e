"""Tools that look destructive, and of which nothing shows that they ask anybody.

MCP has hints for that: `readOnlyHint` and `destructiveHint` in a tool's annotations. A tool without
them is taken by its name. What a family found gated (`Preflight.gated`) is not listed, and nothing
is called here: it is information for a team, never a failure by itself. Knows no family.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ...support.text import listed_shortly, neutralise

SILENT = "silent"
"""The name of their line in the header."""
ASK_NOBODY = ": nothing shows that anybody is asked"
"""What it says of them."""
MOST = 100
"""How many are told; a server can list any number."""
_LONGEST_NAME = 60
_SHOWN = 6
ANNOTATED = "annotated destructive"
NAMED = "named like something destructive, and without hints"

_ACTS = re.compile(
    "cancel|charge|close|delete|deploy|destroy|discard|drop|erase|expunge|kill|overwrite|pay|publish|"
    "purge|refund|release|remove|reset|revoke|rm|send|shutdown|suspend|terminate|transfer|trash|"
    "truncate|uninstall|unpublish|wipe|withdraw"
)
_LOOKS = re.compile(
    "can|check|count|describe|explain|fetch|find|get|has|is|list|lookup|preview|query|read|search|"
    "show|simulate|stat|status|validate|verify|view"
)
_NAMESPACE = re.compile(r"[:./]|__")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def silent_tools(
    listed: Iterable[Mapping[str, Any]], gated: Collection[str]
) -> list[tuple[str, str]]:
    """The name of each such tool, safe to print, and why it is told."""
    found: dict[str, str] = {}
    for entry in listed:
        name = entry.get("name")
        if isinstance(name, str) and name not in gated and (why := why_destructive(entry)):
            found.setdefault(neutralise(name, _LONGEST_NAME), why)
            if len(found) == MOST:
                break
    return list(found.items())


def why_destructive(entry: Mapping[str, Any]) -> str:
    """Why this entry of tools/list looks destructive; empty if it does not."""
    given = entry.get("annotations")
    hints: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    if hints.get("readOnlyHint") is True or hints.get("destructiveHint") is False:
        return ""
    if hints.get("destructiveHint") is True:
        return ANNOTATED
    return NAMED if _acts(str(entry.get("name"))) else ""


def _acts(name: str) -> bool:
    """Whether it begins or ends with a word for something that cannot be taken back. What begins
    with a word for looking does not: show_transfer, list_drop."""
    words = [one.lower() for one in _WORDS.findall(_NAMESPACE.split(name[-_LONGEST_NAME:])[-1])]
    if not words or _LOOKS.fullmatch(words[0]):
        return False
    return any(_ACTS.fullmatch(one) for one in (words[0], words[-1]))


def named_by_reason(silent: Collection[tuple[str, str]], most: int = _SHOWN) -> str:
    """Such tools by why they are told, the first of each kind; empty if there are none."""
    parts = []
    for why in (ANNOTATED, NAMED):
        names = [name for name, said in silent if said == why]
        if names:
            parts.append(f"{listed_shortly(names, most)} ({why})")
    return "; ".join(parts)
