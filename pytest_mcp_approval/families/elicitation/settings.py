"""What a user tells the suite about a server that asks by elicitation: the table [elicitation].

Only tools that are named with arguments are ever called. Everything else is found out where it can
be, or lets more rules be checked. Knows no server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...config.reader import Place, Sources, read, setting
from ...config.settings import PREFIX
from .vocabulary import FAMILY

PAGE, BROWSER, HOOK, PYTHON = "page", "browser", "hook:", "python:"
TABLE = f"in [{FAMILY}]"
NO_TOOL = (
    f"needs a tool that asks and may be run: {PREFIX}tool 'NAME=JSON', or "
    f"[{FAMILY}.tools.NAME] arguments = {{ ... }}"
)


@dataclass(frozen=True)
class ElicitingTool:
    """A tool that asks a person before it runs, and what is safe to do with it."""

    name: str = setting("", internal=True)
    arguments: Mapping[str, Any] | None = setting(None, expected="a table of arguments")
    """Safe to run, again and again; None: this tool is never called."""
    other_arguments: Mapping[str, Any] | None = setting(None, expected="a table of arguments")
    """Another call that is safe to run; without it, one member is changed."""
    approve: Mapping[str, Any] | None = setting(None, expected="a table: the content of the form")
    """What a person who says yes enters, if it cannot be worked out from the form."""
    approves: str = ""
    """The member of the form that approves, if it cannot be worked out."""
    exempt: tuple[str, ...] = ()
    """Arguments that an approval need not bind, and that the question need not tell."""
    silent_arguments: Mapping[str, Any] | None = setting(None, expected="a table of arguments")
    """With these it rightly asks nobody."""
    failing_arguments: Mapping[str, Any] | None = setting(None, expected="a table of arguments")
    """With these it is approved, and then the tool itself fails."""
    found: bool = setting(False, internal=True)
    """Whether the table does not name it: it was seen to ask."""

    def in_table(self, key: str, example: str) -> str:
        """How to configure something for this tool."""
        return f"{key} = {example} in [{FAMILY}.tools.{self.name}]"


def _who(value: Any) -> str:
    if isinstance(value, str) and (
        value in (PAGE, BROWSER) or (value.startswith((HOOK, PYTHON)) and value[-1] != ":")
    ):
        return value
    raise ValueError("expected page, browser, hook:<command or URL> or python:<module:function>")


@dataclass(frozen=True)
class PersonAtPage:
    """Who is at the page of a question in url mode, and how the page knows them."""

    who: str = setting(PAGE, parse=_who)
    approve_button: str = setting("Approve", filled=True)
    decline_button: str = setting("Decline", filled=True)
    headers: Mapping[str, str] = setting({}, expected="a table of headers")
    """By which the page knows the person: a cookie of theirs, say. By default those that the run
    sends to the server."""
    second_headers: Mapping[str, str] = setting({}, expected="a table of headers")
    """By which it knows somebody else. By default those of the second user."""

    @property
    def is_told(self) -> bool:
        """Whether decisions go to the user's hook instead of a page."""
        return self.who.startswith((HOOK, PYTHON))


@dataclass(frozen=True)
class ElicitationTable:
    """The whole table."""

    tools: Mapping[str, ElicitingTool] = setting({})
    instead: str = ""
    """The family by which clients without the capability are asked instead."""
    person: PersonAtPage = setting(PersonAtPage)
    patience: float = setting(60.0, above=0, most=86_400, expected="seconds up to 86400")
    """Handshake era: after how long the server gives up a question that nobody answers."""
    patience_setting: str = ""
    """The setting of the server that says so, if the suite can start it with another."""

    def named_tools(self) -> dict[str, ElicitingTool]:
        return {name: replace(one, name=name) for name, one in self.tools.items()}


TABLE_CLASS = ElicitationTable


def read_table(given: Mapping[str, Any], sources: Sources | None = None) -> ElicitationTable:
    """The table; `SettingsError` is one line that says what is wrong with it."""
    return read(ElicitationTable, given, Place((FAMILY,), sources or Sources()))


def tools_of_table(
    table: ElicitationTable, listed: Sequence[str], safe_arguments: Mapping[str, Any]
) -> list[ElicitingTool]:
    """The tools of the table that exist; `safe_arguments` come from --mcp-approval-tool."""
    return [
        replace(one, arguments=safe_arguments.get(name)) if one.arguments is None else one
        for name, one in table.named_tools().items()
        if name in listed
    ]


def missing_tools(table: ElicitationTable, listed: Sequence[str]) -> list[str]:
    """Tools that the table names and the server does not list."""
    return [name for name in table.tools if name not in listed]
