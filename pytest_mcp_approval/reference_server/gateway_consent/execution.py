"""Runs a tool of an app, after all checks: over HTTP, as a command, or on the desktop.

Each kind gets only what it needs. Knows no consent, and of credentials only what to add to a
request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from ...support.command import CommandError, run_command
from . import http_client
from .demonstration import COMMAND_PLACES
from .descriptors import App, AppTool

if TYPE_CHECKING:
    from .authorisation import Sending

_SECONDS = 20.0


class ExecutionError(Exception):
    """The app did not do it; the message is ours, not the app's."""


class RejectedError(ExecutionError):
    """The app does not know the credential (401)."""


def url_of(app: App, tool: AppTool) -> str:
    """Where a web app's tool is, without any credential."""
    path = str(tool.execution.get("path", ""))
    return f"{app.base_url}/{path.lstrip('/')}"


def over_http(
    app: App, tool: AppTool, arguments: Mapping[str, Any], sending: Sending | None
) -> dict[str, Any]:
    """One request; the answer is a JSON object."""
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    url = url_of(app, tool)
    if sending is not None:
        headers.update(sending.headers)
        if sending.query:
            url += ("&" if "?" in url else "?") + urlencode(sending.query)
    method = str(tool.execution.get("method", "POST")).upper()
    try:
        answer = http_client.send(method, url, headers, json.dumps(dict(arguments)).encode())
    except http_client.SendingError as error:
        raise ExecutionError(str(error)) from None
    if answer.status == 401:
        raise RejectedError("it does not know the credential")
    if not 200 <= answer.status < 300:
        raise ExecutionError(f"it answered with the status {answer.status}")
    try:
        result = json.loads(answer.body)
    except (ValueError, RecursionError):
        raise ExecutionError("it answered with no JSON") from None
    return result if isinstance(result, dict) else {"result": result}


def as_command(tool: AppTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The descriptor's command, each argument one word: no shell is involved."""
    words = tool.execution.get("command")
    if not isinstance(words, list) or not words:
        raise ExecutionError("its descriptor names no command")
    line = [_word(str(word), arguments) for word in words]
    try:
        done = run_command(line, seconds=_SECONDS)
    except CommandError:
        raise ExecutionError("its command could not be run") from None
    if done.code:
        raise ExecutionError(f"its command ended with {done.code}")
    return {"output": done.output.decode("utf-8", "replace")}


def _word(word: str, arguments: Mapping[str, Any]) -> str:
    name = word[1:-1] if word[:1] == "{" and word[-1:] == "}" else ""
    if name in arguments:
        value = arguments[name]
        return value if isinstance(value, str) else json.dumps(value)
    return COMMAND_PLACES.get(name, word)


def on_desktop(tool: AppTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A demonstration: there is no desktop to send events to, so the event is handed back."""
    return {"event": tool.execution.get("event", tool.name), "arguments": dict(arguments)}
