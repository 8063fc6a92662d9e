"""The server that asks a client's person: one tool that asks, one that does not.

Both eras: since 2026-07-28 the result asks and the retry answers; before, a request inside the open
call. What it asks, with which state, is for a scenario to say. Makes no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...clients.messages import (
    Answer,
    Ask,
    Incoming,
    Result,
    ScriptedRefusal,
    as_object,
    text_result,
)
from ...clients.scripted_server import ScriptedServer
from ...wire.eras import Era
from . import vocabulary as words

ASKING, PLAIN = "close_account", "list_accounts"
ARGUMENTS = {"account": "acme-17", "limit": 1.5, "deep": {"b": [1, None, True], "a": "é"}}
MESSAGE = "Close the account acme-17?"
FORM = {
    "type": "object",
    "properties": {"confirm": {"type": "boolean", "title": "Close it"}},
    "required": ["confirm"],
}
KEY = "approval"
STATE = "opaque-state-0"


@dataclass(frozen=True)
class Answered:
    """What a client sent in answer to a question."""

    action: Any
    content: Any = None
    error: Mapping[str, Any] = field(default_factory=dict)
    """Instead, in the handshake era."""
    came: Incoming | None = None

    def describe(self) -> str:
        if self.error:
            return f"error {self.error.get('code')}"
        given = "" if self.content is None else f" with {str(self.content)[:80]}"
        return f"{self.action}{given}"


class ScriptedQuestions:
    """Puts its tools and answers into a scripted server."""

    def __init__(self, server: ScriptedServer) -> None:
        self.server = server
        self.question: dict[str, Any] = {
            words.MODE: words.Mode.FORM.value,
            words.MESSAGE: MESSAGE,
            words.SCHEMA: FORM,
        }
        self.state: str | None = STATE
        self.answered: list[Answered] = []
        self.first: Answer | None = None
        """What the retry is answered with, if not a result."""
        schema = {"type": "object", "properties": {"account": {"type": "string"}}}
        server.tools = [
            {"name": ASKING, "description": "Close an account", "inputSchema": schema},
            {"name": PLAIN, "description": "List accounts", "inputSchema": {"type": "object"}},
        ]
        server.handlers["tools/call"] = self._call

    @property
    def modes(self) -> frozenset[words.Mode]:
        """What the client has declared, as far as it has sent anything."""
        found: frozenset[words.Mode] = frozenset()
        for one in self.server.of("tools/call", "tools/list"):
            found |= words.declared_modes(self.server.declared(one))
        return found

    @property
    def declared_in_words(self) -> str:
        return ", ".join(sorted(self.modes)) or "nothing"

    def asks_for_url(self, url: str) -> None:
        """From now on the question is a URL."""
        self.question = {
            words.MODE: words.Mode.URL.value,
            words.MESSAGE: MESSAGE,
            words.URL: url,
            words.ELICITATION_ID: "el-1",
        }

    def _call(self, incoming: Incoming) -> Answer:
        if incoming.tool != ASKING:
            return text_result("two accounts")
        if not words.declared_modes(self.server.declared(incoming)):
            return ScriptedRefusal(words.MISSING_CAPABILITY, "Needs a client that can ask a person")
        if self.server.era is Era.HANDSHAKE:
            return Ask(words.CREATE, self.question, self._inside)
        if words.INPUT_RESPONSES not in incoming.params:
            return self.asks()
        answers = as_object(incoming.params.get(words.INPUT_RESPONSES))
        own = as_object(answers.get(KEY))
        self._note(Answered(own.get(words.ACTION), own.get(words.CONTENT), came=incoming))
        return self.first or text_result("closed" if self._agreed() else "not closed")

    def asks(self) -> Result:
        asked = {KEY: {"method": words.CREATE, "params": self.question}}
        state = {} if self.state is None else {words.REQUEST_STATE: self.state}
        return Result(
            {words.RESULT_TYPE: words.INPUT_REQUIRED, words.INPUT_REQUESTS: asked, **state}
        )

    def _inside(self, came: Incoming | None) -> Answer:
        if came is not None:
            result = as_object(came.message.get("result"))
            error = as_object(came.message.get("error"))
            self._note(
                Answered(result.get(words.ACTION), result.get(words.CONTENT), error, came=came)
            )
        return self.first or text_result("closed" if self._agreed() else "not closed")

    def _agreed(self) -> bool:
        return bool(self.answered) and self.answered[-1].action == words.Action.ACCEPT

    def _note(self, answered: Answered) -> None:
        self.answered.append(answered)
        self.server.news.tell()
