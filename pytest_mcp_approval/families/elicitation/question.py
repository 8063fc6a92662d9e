"""A question that a server asks a person, as it came, and the ways to answer it.

    question = approval_elicitation.call("delete_user", {"id": "u1"})
    assert question.decline().nothing_ran

In the sessionless era an answer is a retry of the call, with the server's state; in the handshake
era it is a response inside the call, which is still open. Knows no verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...support.text import neutralise
from ...wire import Reply
from .form_answers import LEFT_OUT, Approving, approving_member, honest_content
from .settings import ElicitingTool
from .vocabulary import (
    ACTION,
    CONTENT,
    ELICITATION_ID,
    MESSAGE,
    SCHEMA,
    URL,
    Action,
    Mode,
    mode_of,
)

if TYPE_CHECKING:
    from ...target import Effects
    from .clients import RelayingClient
    from .outcome import ElicitationOutcome

HONEST: Any = object()
"""For a content: what a person who says yes enters."""
SAME: Any = object()
"""For a part of an answer: as an honest client sends it."""


@dataclass(frozen=True)
class Sent:
    """What a question came from: a call of a tool by a client."""

    client: RelayingClient = field(repr=False)
    tool: ElicitingTool
    arguments: Any
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further members of the params."""
    before: Effects | None = field(default=None, repr=False)
    """What the effects were before it."""
    acts: int = -1
    """How often anybody had done something when it had been sent."""

    def params(self) -> dict[str, Any]:
        return {"name": self.tool.name, "arguments": self.arguments, **self.more}


@dataclass(frozen=True)
class AskedQuestion:
    """One question to a person."""

    sent: Sent
    params: Mapping[str, Any]
    """Of elicitation/create, as they came."""
    reply: Reply | None = field(default=None, repr=False)
    """Sessionless: the answer that asks."""
    key: str = ""
    """Sessionless: its name among the questions of that answer."""
    siblings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Sessionless: the other questions of the same answer, by their names."""
    state: Any = LEFT_OUT
    """Sessionless: what the retry sends back."""
    pending: Any = field(default=None, repr=False)
    """Handshake: the call in which it was asked."""
    by_error: bool = False
    """Handshake: it came in an error that says which pages come first."""
    runs: int | None = None
    """How often the tool ran before there was an answer; None if that was not looked at."""

    # ---- what is asked

    @property
    def client(self) -> RelayingClient:
        return self.sent.client

    @property
    def tool(self) -> ElicitingTool:
        return self.sent.tool

    @property
    def arguments(self) -> Any:
        return self.sent.arguments

    @property
    def message(self) -> str:
        found = self.params.get(MESSAGE)
        return found if isinstance(found, str) else ""

    @property
    def mode(self) -> Mode | None:
        return mode_of(self.params)

    @property
    def schema(self) -> Any:
        return self.params.get(SCHEMA)

    @property
    def url(self) -> str:
        found = self.params.get(URL)
        return found if isinstance(found, str) else ""

    @property
    def elicitation_id(self) -> str:
        found = self.params.get(ELICITATION_ID)
        return found if isinstance(found, str) else ""

    @cached_property
    def approving(self) -> Approving | None:
        """The member of the form that approves; None if accepting alone does."""
        return approving_member(self.schema, self.tool) if self.mode is Mode.FORM else None

    @property
    def declared(self) -> bool:
        """Whether the client declared that it can ask in this way."""
        return self.mode in self.client.modes

    @property
    def nothing_ran(self) -> bool:
        """Before there was an answer, as far as that was looked at."""
        return not self.runs

    def describe(self) -> str:
        kind = self.mode.value if self.mode is not None else "no known mode"
        return f"a question ({kind}): {neutralise(self.message, 100)}"

    # ---- answers

    def response(self, action: Any = Action.ACCEPT, content: Any = HONEST) -> dict[str, Any]:
        """The answer as the wire has it; url mode has no content."""
        answer: dict[str, Any] = {}
        if action is not LEFT_OUT:
            answer[ACTION] = str(action) if isinstance(action, Action) else action
        if content is HONEST:
            content = self.honest_content() if self.mode is Mode.FORM else LEFT_OUT
        if content is not LEFT_OUT:
            answer[CONTENT] = content
        return answer

    def honest_content(self) -> dict[str, Any]:
        return honest_content(self.schema, self.tool)

    def accept(self, content: Any = HONEST, **changes: Any) -> ElicitationOutcome:
        """Accept; by default with what a person who says yes enters. For `changes` see
        `Elicitation.answer`."""
        return self.answer(Action.ACCEPT, content, **changes)

    def decline(self, content: Any = LEFT_OUT, **changes: Any) -> ElicitationOutcome:
        return self.answer(Action.DECLINE, content, **changes)

    def cancel(self, content: Any = LEFT_OUT, **changes: Any) -> ElicitationOutcome:
        return self.answer(Action.CANCEL, content, **changes)

    def answer(self, action: Any, content: Any = LEFT_OUT, **changes: Any) -> ElicitationOutcome:
        return self.client.driver.answer(self, self.response(action, content), **changes)
