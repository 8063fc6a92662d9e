"""A client under test and all that it is given: a server, an authenticator, a browser to open.

One pair of doors serves a whole run; each check has a server and a client of its own. Knows no
family: who signs is brought by whoever asks for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..config.client_description import ClientDescription
from ..support.guard import TemporaryFolder
from ..wire.eras import Era
from .http_door import ScriptedHttpDoor, Service
from .news import News
from .person import Person
from .scripted_server import NAME, ScriptedServer
from .stdio_door import ScriptedStdioDoor
from .terminal import CallableTerminal, CommandTerminal, Terminal

if TYPE_CHECKING:
    from .web_page import BrowserThread

AUTHENTICATOR = "MCP_APPROVAL_AUTHENTICATOR"
"""The variable that names the suite's authenticator, for clients that are not told otherwise."""
_OPENERS = ("browser", "xdg-open", "open", "sensible-browser", "x-www-browser", "wslview")
"""Programs by which clients open a page; ours only note it."""
_NOTES_IT = """#!/bin/sh
for one in "$@"; do printf '%s\\n' "$one" >> "{file}"; done
"""


class OpenedClient:
    """What the clients of one run share. Close it at the end."""

    def __init__(
        self,
        description: ClientDescription,
        *,
        directory: Path,
        environment: Mapping[str, str],
        browser: str | None = None,
    ) -> None:
        self._browser_named = browser
        self._browser: BrowserThread | None = None
        self.description = description
        self.directory = directory
        self.environment = environment
        self.eras: tuple[Era, ...] = tuple(Era)
        """The eras that this client speaks, once that is known."""
        self.http = ScriptedHttpDoor()
        self.stdio = ScriptedStdioDoor()
        self._folder = TemporaryFolder()
        self.folder = Path(self._folder.name)
        self.opened_file = self.folder / "opened"
        openers = self.folder / "openers"
        openers.mkdir()
        for name in _OPENERS:
            program = openers / name
            program.write_text(_NOTES_IT.format(file=self.opened_file))
            program.chmod(0o700)
        self.openers = openers

    @property
    def browser(self) -> BrowserThread:
        """Started when a page is first opened."""
        if self._browser is None:
            from .web_page import BrowserThread

            self._browser = BrowserThread(self._browser_named)
        return self._browser

    def close(self) -> None:
        if self._browser is not None:
            self._browser.close()
        self.http.close()
        self.stdio.close()
        self._folder.cleanup()

    @contextlib.contextmanager
    def client(self, era: Era, authenticator: Service | None = None) -> Iterator[ClientUnderTest]:
        """A server of this era, and a client that is started when it is first used."""
        self.opened_file.unlink(missing_ok=True)
        server = ScriptedServer(era, News(), self.description.patience)
        url = self.http.serve(server)
        command = self.stdio.serve(server)
        signer = self.http.offer(authenticator or _nobody)
        one = ClientUnderTest(self, server, url, command, signer)
        try:
            yield one
        finally:
            one.person.leaves()
            self.http.withdraw(url, signer)
            self.stdio.withdraw(command)

    def opened_urls(self) -> list[str]:
        """What the client asked a browser to open."""
        try:
            return self.opened_file.read_text(encoding="utf-8").splitlines()
        except OSError:
            return []


class ClientUnderTest:
    """One client and its server."""

    def __init__(
        self,
        opened: OpenedClient,
        server: ScriptedServer,
        url: str,
        command: list[str],
        authenticator: str,
    ) -> None:
        self.opened = opened
        self.description = opened.description
        self.server = server
        self.url = url
        self._command = command
        self._authenticator = authenticator
        self.person = Person(opened.description, self._start)

    @property
    def page_url(self) -> str:
        """The address of a page that the server notices being fetched."""
        return self.url.removesuffix("/mcp")

    @property
    def known_as(self) -> tuple[str, ...]:
        """What tells a person which server it is: its name, its address, or the host of that."""
        return (self.server.name, self.url, self.url.split("/")[2])

    def opened_urls(self) -> list[str]:
        return self.opened.opened_urls()

    def as_opened(self, url: str) -> str:
        """An address as it is noted when it is opened: in a browser, without its fragment."""
        return url if self.description.page.url is None else url.partition("#")[0]

    def _start(self, tool: str, arguments: str) -> Terminal:
        if self.description.page.url is not None:
            return self._visited()
        filled = {
            "url": self.url,
            "stdio": shlex.join(self._command),
            "config": str(self._config()),
            "authenticator": self._authenticator,
            **({"tool": tool, "arguments": arguments} if tool else {}),
        }
        words = self.description.words(**filled)
        environment = {
            **self.opened.environment,
            "BROWSER": str(self.opened.openers / "browser"),
            "PATH": f"{self.opened.openers}{os.pathsep}{os.environ.get('PATH', '')}",
            AUTHENTICATOR: self._authenticator,
        }
        if self.description.in_process:
            kind: type[CallableTerminal | CommandTerminal] = CallableTerminal
        else:
            kind = CommandTerminal
        return kind(
            words, self.server.news, environment=environment, directory=self.opened.directory
        )

    def _visited(self) -> Terminal:
        from .web_page import WebTerminal

        return WebTerminal(
            self.opened.browser,
            self.description,
            self.server.news,
            url=self.url,
            authenticator=self._authenticator,
            opened=self.opened.opened_file,
        )

    def _config(self) -> Path:
        """A file of the form that most clients read."""
        path = self.opened.folder / "mcp.json"
        if self.description.over_stdio:
            entry = {"command": self._command[0], "args": self._command[1:]}
        else:
            entry = {"type": "http", "url": self.url}
        path.write_text(json.dumps({"mcpServers": {NAME: entry}}, indent=2), encoding="utf-8")
        return path


def _nobody(what: str, _: object) -> object:
    raise ValueError(f"nobody signs here ({what})")
