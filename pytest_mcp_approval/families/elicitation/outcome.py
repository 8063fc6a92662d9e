"""What came of a call: a question to a person with the ways to answer it, or how the call ended.

    question = approval_elicitation.call("delete_user", {"id": "u1"})
    assert question.decline().nothing_ran

In the sessionless era an answer is a retry of the call, with the server's state; in the handshake
era it is a response inside the call, which is still open. An outcome does not take a polite result
for a run, nor a question for a refusal. Read without trust; knows no verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...support.text import neutralise
from ...target import Effects
from ...wire import Outcome, Reply
from ..base.outcome import ObservedOutcome, data_of, errs, is_result
from .claims import shown_words, words_of
from .clients import RelayingClient
from .form_answers import (
    LEFT_OUT,
    Approving,
    CannotAnswerError,
    approving_member,
    honest_content,
)
from .settings import ElicitingTool
from .vocabulary import (
    ACTION,
    CONTENT,
    ELICITATION_ID,
    ELICITATIONS,
    INPUT_REQUIRED,
    MESSAGE,
    MISSING_CAPABILITY,
    REQUIRED_CAPABILITIES,
    RESULT_TYPE,
    SCHEMA,
    URL,
    URL_ELICITATION_REQUIRED,
    Action,
    Mode,
    mode_of,
)

_SHOWN = 160
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
    def pages_listed(self) -> list[Any]:
        """All pages that an error says come first."""
        listed = data_of(self.reply).get(ELICITATIONS) if self.reply is not None else None
        return listed if isinstance(listed, list) else []

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
        """What a person who says yes enters; `CannotAnswerError` if nobody can."""
        try:
            return honest_content(self.schema, self.tool)
        except CannotAnswerError as error:
            raise CannotAnswerError(
                f"nobody can answer the form of {neutralise(self.tool.name, 60)}: {error}; if "
                f"somebody can: {self.tool.in_table('approve', '{ MEMBER = VALUE }')}"
            ) from None

    def accept(self, content: Any = HONEST, **changes: Any) -> ElicitationOutcome:
        """Accept; by default with what a person who says yes enters. For `changes` see
        `Elicitation.answer`."""
        return self.answer(Action.ACCEPT, content, **changes)

    def decline(self, content: Any = LEFT_OUT, **changes: Any) -> ElicitationOutcome:
        return self.answer(Action.DECLINE, content, **changes)

    def cancel(self, content: Any = LEFT_OUT, **changes: Any) -> ElicitationOutcome:
        return self.answer(Action.CANCEL, content, **changes)

    def answer(self, action: Any, content: Any = LEFT_OUT, **changes: Any) -> ElicitationOutcome:
        response = self.response(action, content)
        outcome: ElicitationOutcome = self.client.driver.answer(self, response, **changes)
        return outcome


@dataclass(frozen=True)
class ElicitationOutcome(ObservedOutcome):
    """How a call ended, as far as it did."""

    tool: str
    arguments: Any = field(repr=False)
    reply: Reply = field(repr=False)
    question: AskedQuestion | None = None
    """What the server asks next, instead of an answer."""
    claims: bool = False
    """Whether an ordinary result reads as if the tool had run."""
    honest: bool = False
    """Whether it was approved: then any ordinary result is a success."""
    undeclared: tuple[str, ...] = ()
    """Questions that came although the client declared nothing for them, in words."""

    @property
    def plain(self) -> bool:
        """An ordinary result: no error of any kind, and no question."""
        return is_result(self.reply) and not asks(self.reply)

    @property
    def succeeded(self) -> bool:
        return self.plain and (self.honest or self.claims)

    @property
    def asks_again(self) -> bool:
        return self.question is not None

    @property
    def nothing_ran(self) -> bool:
        """By its effect if that is visible, else by what the answer says."""
        return not self.executed

    @property
    def ran(self) -> bool:
        return self.executed

    @property
    def code(self) -> int | None:
        return self.reply.error.code if self.reply.error is not None else None

    @property
    def required_capabilities(self) -> Any:
        """What the server says that the client lacks; None if it does not say so."""
        if self.code != MISSING_CAPABILITY:
            return None
        return data_of(self.reply).get(REQUIRED_CAPABILITIES)

    @property
    def urls_come_first(self) -> bool:
        return self.code == URL_ELICITATION_REQUIRED

    @property
    def internal_error(self) -> bool:
        return self.code == -32603

    @property
    def reason(self) -> str | None:
        """A refusal in any of its forms; None for a question and for a claim of success."""
        if self.question is not None or self.succeeded or not self.reply.answered:
            return None
        return self.text or "no words"

    @property
    def text(self) -> str:
        if self.reply.error is not None:
            return self.reply.error.message
        return words_of(self.reply.result)

    @property
    def said(self) -> str:
        if self.question is not None:
            return self.question.describe()
        if self.undeclared:
            return f"{'; '.join(self.undeclared)}; then {self._answered}"
        return self._answered

    @property
    def _answered(self) -> str:
        if self.reply.outcome is Outcome.RESULT and not asks(self.reply):
            kind = "a tool error" if errs(self.reply) else "a result"
            shown = shown_words(self.reply.result)
            return f"{kind}: {neutralise(shown, _SHOWN)}" if shown else kind
        return self.reply.describe()


def asks(reply: Reply) -> bool:
    """Sessionless: whether a result asks instead of answering."""
    result = reply.result
    return isinstance(result, Mapping) and result.get(RESULT_TYPE) == INPUT_REQUIRED
