"""What a verifier made of a token: accepted or not, and what was executed. Knows no verdicts."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...support.text import neutralise
from ...wire import Reply
from ..base.outcome import ObservedOutcome

SHOWN = 200


@dataclass(frozen=True)
class ExecutionOutcome(ObservedOutcome):
    accepted: bool
    """As its answer says."""
    text: str
    """The answer in one line, not to be trusted."""
    reason: str | None = None
    """Its reason for a refusal, if it gives one."""
    ran: tuple[bytes | None, ...] | None = None
    """What was executed meanwhile, with its bytes if they show; None if nothing shows."""
    started: bool = True
    """Whether it got as far as looking at the token."""
    reply: Reply | None = field(default=None, repr=False, compare=False)
    """Over MCP, as it came."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "probed", self.ran is not None)
        object.__setattr__(self, "runs", None if self.ran is None else len(self.ran))

    @property
    def succeeded(self) -> bool:
        return self.accepted

    @property
    def executed(self) -> bool:
        """By what was seen, else by its answer: a verifier that accepts means to execute."""
        return super().executed or self.accepted

    @property
    def refused(self) -> bool:
        """In any words: the document prescribes none."""
        return not self.executed

    @property
    def said(self) -> str:
        word = "accepted" if self.accepted else ("refused" if self.started else "not started")
        return f"{word}: {neutralise(self.text, SHOWN)}" if self.text else word

    @property
    def ran_in_words(self) -> str:
        return f"; content {f'run {self.runs} time(s)' if self.runs else 'not run'}"
