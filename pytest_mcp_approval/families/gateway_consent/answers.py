"""What a gateway answered to a call: the tool's result, or why the tool was not run.

The document writes the code of a refusal where JSON-RPC wants a whole number; both that and
`error.data.code` are read. Members may be in camelCase, as the document has them, or in snake_case.
Knows no verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...support.json_reading import JsonError, read_json
from ...wire import Reply
from ...wire.text import neutralise
from .vocabulary import (
    APP_ID,
    APP_NAME,
    AUTH_TYPE,
    AUTH_URL,
    CONSENT_URL,
    TOOL,
    TOOL_DESCRIPTION,
    TOOL_PARAMETERS,
    Refusal,
)

_CODES = frozenset(Refusal)
_MEMBERS = (
    APP_ID,
    APP_NAME,
    TOOL,
    TOOL_DESCRIPTION,
    TOOL_PARAMETERS,
    CONSENT_URL,
    AUTH_TYPE,
    AUTH_URL,
)


def snake_case(name: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: f"_{letter.group().lower()}", name)


@dataclass(frozen=True)
class Answer:
    """One call, and what came of it."""

    caller: str
    """As the suite calls this client; what it sent may be nothing."""
    name: str
    arguments: Any
    reply: Reply
    runs: int | None = None
    """By the effects probe; None: there is no telling."""
    probed: bool = False
    code: str = ""
    """The word of the refusal; "" where there is none."""
    told_in: str = ""
    """Where the code stands: error.code, error.data or a tool error."""
    members: Mapping[str, Any] = field(default_factory=dict)
    """Under the document's names."""
    snake: tuple[str, ...] = ()
    """Members that came in snake_case."""

    @classmethod
    def read(
        cls,
        caller: str,
        name: str,
        arguments: Any,
        reply: Reply,
        runs: int | None = None,
        probed: bool = False,
    ) -> Answer:
        code, told_in, data = _refusal(reply)
        members, snake = _named(data)
        return cls(caller, name, arguments, reply, runs, probed, code, told_in, members, snake)

    # ---- what it says

    @property
    def refused(self) -> bool:
        """The answer is no result of the tool: a JSON-RPC error, or a tool error."""
        result = self.reply.result
        tool_error = isinstance(result, dict) and result.get("isError") is True
        return self.reply.error is not None or tool_error

    @property
    def executed(self) -> bool:
        """By the effects; without a probe, by the answer's word."""
        if self.probed:
            return self.runs != 0
        return self.reply.answered and not self.refused

    @property
    def succeeded(self) -> bool:
        return self.reply.answered and not self.refused

    @property
    def needs_consent(self) -> bool:
        return self.code == Refusal.CONSENT_REQUIRED

    @property
    def needs_authorization(self) -> bool:
        return self.code == Refusal.AUTHORIZATION_REQUIRED

    @property
    def denied(self) -> bool:
        """Refused without a new question."""
        return self.refused and not self.needs_consent and not self.needs_authorization

    def text(self, member: str) -> str:
        value = self.members.get(member)
        return value if isinstance(value, str) else ""

    @property
    def consent_url(self) -> str:
        return self.text(CONSENT_URL)

    @property
    def auth_url(self) -> str:
        return self.text(AUTH_URL)

    def describe(self) -> str:
        """One line, safe to print."""
        line = f"{self.code} ({self.told_in})" if self.code else self.reply.describe()
        if not self.probed:
            return line
        if self.runs is None:
            return f"{line}, something ran"
        return f"{line}, tool run" if self.runs else f"{line}, tool not run"


def _refusal(reply: Reply) -> tuple[str, str, Mapping[str, Any]]:
    """The code, where it stands, and the members beside it."""
    error = reply.error
    if error is not None:
        data = error.data if isinstance(error.data, Mapping) else {}
        own = error.raw.get("code") if isinstance(error.raw, Mapping) else None
        if isinstance(own, str) and own in _CODES:
            return own, "error.code", data
        inside = data.get("code")
        if isinstance(inside, str) and inside in _CODES:
            return inside, "error.data", data
        return "", "", data
    result = reply.result
    if isinstance(result, dict) and result.get("isError") is True:
        for found in _objects(result):
            own = found.get("code")
            if isinstance(own, str) and own in _CODES:
                inside = found.get("data")
                return own, "a tool error", inside if isinstance(inside, Mapping) else found
    return "", "", {}


def _objects(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What a tool error may hold: structured content, or a text that is JSON; `error` inside."""
    found: list[Any] = [result.get("structuredContent")]
    content = result.get("content")
    for part in content if isinstance(content, list) else []:
        text = part.get("text") if isinstance(part, Mapping) else None
        if isinstance(text, str) and len(text) < 100_000:
            try:
                found.append(read_json(text))
            except JsonError:
                continue
    objects = [one for one in found if isinstance(one, Mapping)]
    inner = [one["error"] for one in objects if isinstance(one.get("error"), Mapping)]
    return objects + inner


def _named(data: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    members: dict[str, Any] = {}
    snake = []
    for name in _MEMBERS:
        if name in data:
            members[name] = data[name]
        elif snake_case(name) in data:
            members[name] = data[snake_case(name)]
            snake.append(snake_case(name))
    return members, tuple(snake)


def shown(text: str, limit: int = 60) -> str:
    """A name of any sort, in quotes and safe to print."""
    return f"'{neutralise(text, limit)}'"
