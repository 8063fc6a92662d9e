"""A client that is a web page, as its team describes it: the table [client.page], checked.

    [client.page]
    url = "http://localhost:5173/?server={url}"
    tool = "#tool"
    arguments = "#arguments"
    call = "role=button[name='Call']"
    ...

An entry is a selector of Playwright's. Knows no browser and no server.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .reader import setting


def _url(value: Any) -> str:
    if not isinstance(value, str) or not value.startswith(("http://", "https://")):
        raise ValueError("expected a URL such as http://localhost:5173/?server={url}")
    if "{url}" not in value:
        raise ValueError("expected a URL with {url} in it, where the page is told its server")
    return value


def _named(value: Any) -> str:
    if not isinstance(value, str) or "{name}" not in value:
        raise ValueError("expected a selector with {name} in it")
    return value


@dataclass(frozen=True)
class ClientPage:
    """Where things are on the page."""

    url: str | None = setting(None, parse=_url, repr=False)
    """The page, with {url} where it is told its server (percent-encoded)."""
    ready: str = setting("#call:enabled", filled=True)
    """There, and enabled, while a tool can be called, and not before the last call is over."""
    tool: str = setting("#tool", filled=True)
    """A field or list box for the tool's name."""
    arguments: str = setting("#arguments", filled=True)
    """A field for the arguments, as JSON."""
    call: str = setting("#call", filled=True)
    """Pressed to call the tool."""
    agree: str = setting("#agree", filled=True)
    """Pressed to agree; there while a person is to decide."""
    decline: str = setting("#decline", filled=True)
    """Pressed to decline."""
    cancel: str = "#cancel"
    """Pressed to leave without an answer; "" if nobody can."""
    field: str = setting("[name='{name}']", parse=_named)
    """A member of a form."""
    enroll: str = "#enroll"
    """Pressed to enroll a passkey; "" if the page cannot."""
