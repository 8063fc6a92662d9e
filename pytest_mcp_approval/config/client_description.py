"""A client under test, as its team describes it: the table [client], checked.

    [client]
    command = "my-client --server {url}"
    ready = "> "
    call = "call {tool} {arguments}"
    decide = "Approve? (y/n)"

The command is told where the suite's server is by exactly one of {url}, {stdio} and {config}. By
default the other entries suit the reference client. Knows no terminal and no server.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Any

from .client_page import ClientPage
from .reader import setting

PLACES = ("url", "stdio", "config")
"""Placeholders by which a client learns where the server is; a command has one of them."""
IN_PROCESS = "python:"
"""How a client begins that runs in this process: python:<module>:<callable>."""
_PLACEHOLDER = re.compile(r"\{([a-z]+)\}")


def _command(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("expected a command line")
    try:
        words = shlex.split(value)
    except ValueError as error:
        raise ValueError(f"cannot read {value!r}: {error}") from None
    if not words:
        raise ValueError("expected a command line")
    names = _PLACEHOLDER.findall(value)
    told = [name for name in PLACES if name in names]
    if len(told) != 1:
        raise ValueError(
            "expected one of {url}, {stdio} and {config} in it: where the suite puts the address "
            "of its server, the command that starts it, or the name of a file with mcpServers"
        )
    if ("tool" in names) != ("arguments" in names):
        raise ValueError("expected {tool} and {arguments} together, or neither")
    return value


_TEXT_OR_TEXTS = {
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
}


def _texts(value: Any) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not listed:
        raise ValueError("expected a text, or a list of them")
    if not all(isinstance(one, str) and one for one in listed):
        raise ValueError("expected texts that are not empty")
    return tuple(listed)


def _named(value: Any) -> str:
    if not isinstance(value, str) or "{name}" not in value:
        raise ValueError("expected text with {name} in it")
    return value


def _call(value: Any) -> str:
    if not isinstance(value, str) or "{tool}" not in value or "{arguments}" not in value:
        raise ValueError("expected text with {tool} and {arguments} in it")
    return value


@dataclass(frozen=True)
class ClientDescription:
    """What the client shows, and what a person types. Texts are plain, not patterns."""

    command: str | None = setting(None, parse=_command, repr=False)
    """The client: a command line with {url}, {stdio} or {config}, or python:MODULE:CALLABLE with
    such words after it. With {tool} and {arguments} it is started once for each call."""
    transport: str = setting("http", choices=("http", "stdio"))
    """How the file of {config} says that the server is reached."""
    ready: str = setting("mcp> ", filled=True)
    """Shown when the client waits for a command."""
    call: str = setting("call {tool} {arguments}", parse=_call)
    """Typed to call a tool; {arguments} is JSON on one line."""
    enroll: str = "enroll"
    """Typed to enroll a passkey; "" if the client cannot."""
    decide: tuple[str, ...] = setting(("[y/n/c] ",), parse=_texts, form=_TEXT_OR_TEXTS)
    """Shown when a person is to agree or not, after what is to be decided; several texts, if it
    differs. It may be the text that asks for a member of a form."""
    agree: str = "y"
    decline: str = "n"
    cancel: str = "c"
    """Typed to leave without an answer; "" if the client cannot."""
    field: str = setting("{name} = ", parse=_named)
    """Shown when a member of a form is asked for."""
    origin: str = "http://localhost"
    """Where the client says that the person approves, in what is signed."""
    patience: float = setting(3.0, above=0, most=60)
    """Seconds in which the client shows or sends what comes next."""
    silence: float = setting(1.0, above=0, most=120)
    """Seconds for which a call gets no answer, to see what the client does after a time-out. If its
    own is longer, the server answers late, or closes the connection."""
    page: ClientPage = setting(ClientPage)  # noqa: RUF009  # makes a field

    def __post_init__(self) -> None:
        if self.command is not None and self.page.url is not None:
            raise ValueError("got a command and a page, expected one of them: the client")

    @property
    def name(self) -> str:
        """The client, as the user named it; "" if none is named."""
        return self.command or self.page.url or ""

    @property
    def place(self) -> str:
        """Which of the placeholders tells the client where the server is."""
        found = _PLACEHOLDER.findall(self.command or "")
        return next((name for name in PLACES if name in found), "url")

    @property
    def over_stdio(self) -> bool:
        return self.place == "stdio" or (self.place == "config" and self.transport == "stdio")

    @property
    def once_per_call(self) -> bool:
        """Whether each call is a run of the command."""
        return "{tool}" in (self.command or "")

    @property
    def in_process(self) -> bool:
        return (self.command or "").startswith(IN_PROCESS)

    def words(self, **filled: str) -> list[str]:
        """The words of the command line, with placeholders filled in; {stdio} becomes one word
        unless it is a word by itself."""
        found: list[str] = []
        for word in shlex.split(self.command or ""):
            if word == "{stdio}":
                found += shlex.split(filled["stdio"])
            else:
                found.append(_PLACEHOLDER.sub(lambda one: filled.get(one[1], one[0]), word))
        return found
