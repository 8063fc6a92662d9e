"""Servers as clients have them configured: a JSON file with `mcpServers` (or `servers`), which
many hosts share. Turns one of its servers into options of the suite. Starts nothing."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..support.nearest import expected
from ..support.text import neutralise
from .parsing import WrongWordsError

_TABLES = ("mcpServers", "servers", "mcp.servers")
_VARIABLE = re.compile(r"\$\{(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<usual>[^}]*))?\}")
_OTHER = re.compile(r"\$\{(?P<what>[^}]+)\}")
_SPOKEN = ("http", "streamable-http", "streamableHttp", "streamable_http")
_LARGEST = 4 * 1024 * 1024


@dataclass(frozen=True)
class NamedServer:
    """One server of such a file."""

    name: str
    target: str
    headers: Mapping[str, str]
    environment: Mapping[str, str]
    directory: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        """By option of the suite; only those that the file says something about."""
        found: dict[str, Any] = {"target": [self.target]}
        if self.headers:
            found["header"] = [f"{name}: {value}" for name, value in self.headers.items()]
        if self.environment:
            found["environment"] = [f"{name}={value}" for name, value in self.environment.items()]
        if self.directory is not None:
            found["directory"] = self.directory
        return found


def read_server(path: Path, wanted: str | None = None) -> NamedServer:
    """The server of that name, or the only one; `WrongWordsError` says what is wrong."""
    servers = _servers(path)
    if wanted is None and len(servers) > 1:
        names = ", ".join(_shown(name) for name in servers)
        raise WrongWordsError(
            f"{path.name} has {len(servers)} servers: say --server NAME, of {names}"
        )
    name = next(iter(servers)) if wanted is None else wanted
    if name not in servers:
        raise WrongWordsError(
            f"--server: got {_shown(name)!r}, {expected(name, map(_shown, servers))} ({path.name})"
        )
    place = f"{path.name} {_shown(name)}"
    return _server(name, servers[name], place)


def _servers(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _LARGEST:
            raise WrongWordsError(f"{path.name}: too large for a file of servers")
        data = json.loads(_without_comments(path.read_text(encoding="utf-8-sig")))
    except OSError as error:
        raise WrongWordsError(f"{path.name}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise WrongWordsError(f"{path.name}: no JSON: {neutralise(str(error), 200)}") from None
    if isinstance(data, dict):
        nested = data.get("mcp")
        data = data | {"mcp.servers": nested.get("servers") if isinstance(nested, dict) else None}
        for table in _TABLES:
            found = data.get(table)
            if isinstance(found, dict) and found:
                return found
    raise WrongWordsError(
        f"{path.name}: got no servers, expected "
        '{"mcpServers": {"NAME": {"command": ..., "args": [...]} or {"url": ...}}}'
    )


def _without_comments(text: str) -> str:
    """Editors allow lines that are comments; nothing is done about others."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))


def _server(name: str, given: Any, place: str) -> NamedServer:
    if not isinstance(given, dict):
        raise WrongWordsError(f"{place}: got {type(given).__name__}, expected an object")
    kind, url, command = given.get("type"), given.get("url"), given.get("command")
    if kind == "sse":
        raise WrongWordsError(
            f"{place}: got type 'sse', the transport that Streamable HTTP has replaced: expected "
            "a server that speaks Streamable HTTP or stdio"
        )
    if isinstance(url, str) and url and not command:
        if kind is not None and kind not in _SPOKEN:
            raise WrongWordsError(f"{place}: got type {_shown(kind)!r} with a url, expected 'http'")
        headers = _texts(given.get("headers"), f"{place} headers")
        return NamedServer(name, _filled(url, f"{place} url"), headers, {})
    if not isinstance(command, str) or not command.strip():
        raise WrongWordsError(f"{place}: got neither a command nor a url, expected one of them")
    words = given.get("args", [])
    if not isinstance(words, list) or not all(isinstance(one, (str, int, float)) for one in words):
        raise WrongWordsError(f"{place} args: expected a list of texts")
    line = [_filled(str(one), f"{place} args") for one in (command, *words)]
    directory = given.get("cwd")
    return NamedServer(
        name,
        f"stdio:{shlex.join(line)}",
        {},
        _texts(given.get("env"), f"{place} env"),
        _filled(directory, f"{place} cwd") if isinstance(directory, str) else None,
    )


def _texts(given: Any, place: str) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise WrongWordsError(f"{place}: expected an object of texts")
    found = {}
    for name, value in given.items():
        if not isinstance(value, (str, int, float)) or isinstance(value, bool):
            raise WrongWordsError(f"{place}.{_shown(name)}: expected a text")
        found[str(name)] = _filled(str(value), f"{place}.{_shown(name)}")
    return found


def _filled(text: str, place: str) -> str:
    """The text with `${NAME}`, `${env:NAME}` and `${NAME:-default}` replaced, as hosts do."""

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match["name"], match["usual"])
        if found is None:
            raise WrongWordsError(f"{place}: there is no environment variable {match['name']!r}")
        return found

    for other in _OTHER.finditer(text):
        if not _VARIABLE.fullmatch(other[0]):
            raise WrongWordsError(
                f"{place}: got {_shown(other[0])}, which only your editor can fill in: expected "
                "${NAME} of the environment"
            )
    return _VARIABLE.sub(value, text)


def _shown(text: Any) -> str:
    return neutralise(str(text), 80)
