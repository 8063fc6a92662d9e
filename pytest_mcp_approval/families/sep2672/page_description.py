"""Where things are on a page, as its author describes it: the table [sep2672.page], checked.

    [sep2672.page]
    enrol = "role=button[name='Add a passkey']"
    tool = "select#tool"
    arguments = "#arguments"
    ...

An entry is a selector of Playwright's, or several in the order in which they are used. Unsaid
entries suit the reference server's page. Knows no browser and no server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ...config.settings import SettingsError
from ...support.nearest import expected

TABLE = "page"
"""Under the family's own table."""

_MAY_BE_MISSING = ("ready", "tool", "arguments", "busy")
"""What a page need not have, and is then said to be []."""

Steps = tuple[str, ...]
"""Selectors, used one after the other."""


@dataclass(frozen=True)
class PageDescription:
    """Each entry once. `{tool}` stands for the name of a tool, `{name}` for that of an argument."""

    ready: Steps = ("html[data-ready=connected]",)
    """There when the page can be used."""
    enrol: Steps = ("role=button[name='Enrol a passkey'i]",)
    """Pressed to enrol a passkey."""
    enrolled: Steps = ("#enrolment-outcome",)
    """Where the page says what became of that."""
    tool: Steps = ('button[data-tool="{tool}"]',)
    """Pressed to choose a tool; in a list box the tool's name is chosen. [] for a page that is for
    one tool only."""
    arguments: Steps = ("#as-json", "#arguments-json")
    """The last is filled with the arguments as JSON, those before it are pressed. [] for a page
    that gives its own."""
    argument: Steps = ()
    """Instead: the field of one argument, with `{name}`."""
    ask: Steps = ("role=button[name='Ask for approval'i]",)
    """Pressed to ask for a call that needs approval."""
    call: Steps = ("role=button[name='Call'i]",)
    """Pressed to call a tool that needs none."""
    display_text: Steps = ("#display-text",)
    """Where displayText stands."""
    approve: Steps = ("role=button[name='Approve'i]",)
    decline: Steps = ("role=button[name='Decline'i]",)
    outcome: Steps = ("#call-outcome",)
    """Where the page says what became of a call."""
    busy: Steps = ()
    """Seen while the page is at work: what it says meanwhile is not the outcome yet."""

    @classmethod
    def of_table(cls, table: Any) -> PageDescription:
        """What [sep2672.page] says; SettingsError in one line where that cannot be."""
        if not isinstance(table, Mapping):
            raise SettingsError(f"[sep2672.{TABLE}]: got {table!r}, expected a table")
        known = {one.name.replace("_", "-"): one.name for one in fields(cls)}
        given: dict[str, Steps] = {}
        for key, value in table.items():
            if key not in known:
                raise SettingsError(f"[sep2672.{TABLE}]: got {key!r}, {expected(key, known)}")
            given[known[key]] = _steps(key, value)
        if "argument" in given:
            if "arguments" in given:
                raise SettingsError(
                    f"[sep2672.{TABLE}]: got arguments and argument, expected one of them: a "
                    "field for all arguments as JSON, or one field for each"
                )
            if "{name}" not in given["argument"][-1]:
                raise SettingsError(
                    f"[sep2672.{TABLE}] argument: got {given['argument'][-1]!r}, expected a "
                    "selector with {name} in it"
                )
        if "ask" in given and "call" not in given:
            given["call"] = given["ask"]  # on most pages one button does both
        return cls(**given)

    def entry(self, key: str, **named: str) -> Steps:
        """The selectors of an entry as the files call it, with names in place of placeholders."""
        steps: Steps = getattr(self, key.replace("-", "_"))
        for placeholder, text in named.items():
            # Inside quotes, in CSS and in role=: whatever a tool is called.
            quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("'", "\\'")
            steps = tuple(step.replace(f"{{{placeholder}}}", quoted) for step in steps)
        return steps


def _steps(key: str, value: Any) -> Steps:
    listed = (value,) if isinstance(value, str) else value
    if (
        not isinstance(listed, (list, tuple))
        or (not listed and key not in _MAY_BE_MISSING)
        or not all(isinstance(one, str) and one.strip() for one in listed)
    ):
        raise SettingsError(
            f"[sep2672.{TABLE}] {key}: got {value!r}, expected a selector such as "
            "\"role=button[name='Approve']\", or a list of them"
        )
    return tuple(listed)
