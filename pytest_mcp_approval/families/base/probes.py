"""Reads what a target shows about itself: at a URL, by a tool, in a file, on standard error.

`http://localhost:3030/audit`, `tool:list_audit`, `file:logs/audit.jsonl`, `stderr`. Only reads;
knows no rule and no family. If something cannot be read, one line says why.
"""

from __future__ import annotations

import json
from typing import Any

from ...support.fetch import FetchError
from ...support.json_reading import read_json
from ...support.text import neutralise
from ...target import Target
from ...wire import Outcome, Session, StdioTransport
from ...wire.beside import fetch_beside
from .driver import DriverError
from .outcome import texts_in

_LIMIT = 32 * 1024 * 1024
FORMS = "a URL, tool:NAME, file:PATH or stderr"


def is_probe(value: Any) -> bool:
    return isinstance(value, str) and (
        value == "stderr"
        or value.startswith(("http://", "https://"))
        or (value.startswith(("tool:", "file:")) and len(value) > 5)
    )


def read_probe(target: Target, place: str) -> Any:
    """What is there: JSON if it is JSON (also one object on each line), else text."""
    if place.startswith("tool:"):
        return call_tool(target, place.removeprefix("tool:"))
    if place == "stderr":
        if not isinstance(target.transport, StdioTransport):
            raise DriverError("stderr: only a target that the suite runs over stdio has one")
        return target.transport.stderr_tail.decode("utf-8", "replace")
    if place.startswith("file:"):
        return _parsed(_file(target, place.removeprefix("file:")))
    shown = neutralise(place, 100)
    try:
        answer = fetch_beside(
            shown,
            place,
            seconds=target.settings.timeout,
            headers=dict(target.settings.headers),
            limit=_LIMIT,
        )
    except FetchError as error:
        raise DriverError(f"{shown}: {error}") from None
    return _parsed(answer.body.decode("utf-8", "replace"))


def entries(target: Target, place: str) -> list[Any]:
    """The list that is there, also if it is the one list inside an object."""
    value = read_probe(target, place)
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    if not isinstance(value, list):
        raise DriverError(f"{place}: got {type(value).__name__}, expected a list")
    return value


def text(target: Target, place: str) -> str:
    """Whatever is there, as text to search."""
    value = read_probe(target, place)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _file(target: Target, name: str) -> str:
    try:
        with (target.settings.directory / name).open("rb") as file:
            return file.read(_LIMIT).decode("utf-8", "replace")
    except OSError as error:
        raise DriverError(f"file:{name}: {error.strerror}") from None


def _parsed(written: str) -> Any:
    try:
        return read_json(written)
    except ValueError:
        pass
    lines = [line for line in written.splitlines() if line.strip()]
    try:
        return [read_json(line) for line in lines] if lines else written
    except ValueError:
        return written


def call_tool(
    target: Target,
    name: str,
    arguments: dict[str, Any] | None = None,
    *,
    session: Session | None = None,
) -> Any:
    """What a tool answers; in the target's own conversation, or in another."""
    call = (session or target.session()).call
    reply = call("tools/call", {"name": name, "arguments": arguments or {}})
    result = reply.result
    if reply.outcome is not Outcome.RESULT or not isinstance(result, dict) or result.get("isError"):
        raise DriverError(f"tool:{name}: {reply.describe()}", reply)
    if "structuredContent" in result:
        return result["structuredContent"]
    return _parsed("\n".join(texts_in(result)))
