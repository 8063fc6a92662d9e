"""Where things are on a page, as its author describes it: the table [sep2672.page], checked.

    [sep2672.page]
    url = "http://localhost:{port}/"
    enrol = "role=button[name='Add a passkey']"
    tool = "select#tool"
    arguments = "#arguments"
    ...

An entry is a selector of Playwright's, or several in the order in which they are used. By default
entries suit the reference server's page. Knows no browser and no server.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ...config.reader import setting

TABLE = "page"
"""Under the family's own table."""

Steps = tuple[str, ...]
"""Selectors, used one after the other."""
_ARGUMENTS: Steps = ("#as-json", "#arguments-json")
_ASK: Steps = ("role=button[name='Ask for approval'i]",)
_CALL: Steps = ("role=button[name='Call'i]",)


def _url(value: Any) -> str:
    """A URL with a name in it: browsers have no passkeys for addresses."""
    try:
        parts = urlsplit(value.replace("{port}", "1"))
        host, _ = parts.hostname, parts.port
    except (AttributeError, ValueError):
        host = None
    if not host or not value.startswith(("https://", "http://")):
        raise ValueError("expected a URL such as http://localhost:3000/")
    if ":" in host or host.replace(".", "").isdigit():
        raise ValueError(
            "expected a host name such as localhost: browsers have no passkeys for addresses"
        )
    return str(value)


def _steps(value: Any) -> Steps:
    listed = (value,) if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)) or not all(
        isinstance(one, str) and one.strip() for one in listed
    ):
        raise ValueError(
            "expected a selector such as \"role=button[name='Approve']\", or a list of them"
        )
    return tuple(listed)


def _needed(value: Any) -> Steps:
    steps = _steps(value)
    return steps or _steps([""])  # an error: every page has this


def _named(value: Any) -> Steps:
    steps = _needed(value)
    if "{name}" not in steps[-1]:
        raise ValueError("expected a selector with {name} in it")
    return steps


def _entry(*usual: str) -> Any:
    return setting(usual, parse=_needed)


def _may_be_missing(*usual: str) -> Any:
    """An entry that may be [], if the page has nothing of the kind."""
    return setting(usual, parse=_steps)


@dataclass(frozen=True)
class PageDescription:
    """Each entry once. `{tool}` stands for the name of a tool, `{name}` for that of an argument."""

    url: str | None = setting(None, parse=_url, repr=False)
    """Where the page is; None: the reference server brings its own."""
    ready: Steps = _may_be_missing("html[data-ready=connected]")
    """There when the page can be used."""
    enrol: Steps = _entry("role=button[name='Enrol a passkey'i]")
    """Pressed to enrol a passkey."""
    enrolled: Steps = _entry("#enrolment-outcome")
    """Where the page says what became of that."""
    tool: Steps = _may_be_missing('button[data-tool="{tool}"]')
    """Pressed to choose a tool; in a list box the tool's name is chosen. [] for a page that is for
    one tool only."""
    arguments: Steps = _may_be_missing(*_ARGUMENTS)
    """The last is filled with the arguments as JSON, those before it are pressed. [] for a page
    that gives its own."""
    argument: Steps = setting((), parse=_named)
    """Instead: the field of one argument, with `{name}`."""
    ask: Steps = _entry(*_ASK)
    """Pressed to ask for a call that needs approval."""
    call: Steps = _entry()
    """Pressed to call a tool that needs none; on most pages one button does both."""
    display_text: Steps = _entry("#display-text")
    """Where displayText is shown."""
    approve: Steps = _entry("role=button[name='Approve'i]")
    decline: Steps = _entry("role=button[name='Decline'i]")
    outcome: Steps = _entry("#call-outcome")
    """Where the page says what became of a call."""
    busy: Steps = _may_be_missing()
    """Seen while the page is at work: what it says meanwhile is not the outcome yet."""

    def __post_init__(self) -> None:
        if self.argument and self.arguments != _ARGUMENTS:
            raise ValueError(
                "got arguments and argument, expected one of them: a field for all arguments as "
                "JSON, or one field for each"
            )
        if not self.call:
            object.__setattr__(self, "call", _CALL if self.ask == _ASK else self.ask)

    def entry(self, key: str, **named: str) -> Steps:
        """The selectors of an entry, by its key in the files, with placeholders filled in."""
        steps: Steps = getattr(self, key.replace("-", "_"))
        for placeholder, text in named.items():
            # Escaped for quotes, in CSS and in role=, whatever the tool's name.
            quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("'", "\\'")
            steps = tuple(step.replace(f"{{{placeholder}}}", quoted) for step in steps)
        return steps
