"""What came of an answer to a question, or of a call that asked none. Read without trust.

An outcome says what the server answered and whether the tool ran; it does not take a polite result
for a run, nor a question for a refusal. Knows no verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...support.text import neutralise
from ...wire import Outcome, Reply
from ..base.outcome import ObservedOutcome, data_of, errs, is_result
from .claims import words_of
from .vocabulary import (
    INPUT_REQUIRED,
    MISSING_CAPABILITY,
    REQUIRED_CAPABILITIES,
    RESULT_TYPE,
    URL_ELICITATION_REQUIRED,
)

if TYPE_CHECKING:
    from .question import AskedQuestion

_SHOWN = 160


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
            return f"{kind}: {neutralise(self.text, _SHOWN)}" if self.text else kind
        return self.reply.describe()


def asks(reply: Reply) -> bool:
    """Sessionless: whether a result asks instead of answering."""
    result = reply.result
    return isinstance(result, Mapping) and result.get(RESULT_TYPE) == INPUT_REQUIRED
