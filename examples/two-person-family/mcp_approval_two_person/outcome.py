"""What became of an attempt to approve, read without trust. Judges nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from pytest_mcp_approval import ObservedOutcome, Reply, neutralise, object_in

from . import vocabulary as words
from .vocabulary import State


@dataclass(frozen=True, kw_only=True)
class ApprovalOutcome(ObservedOutcome):
    """`ObservedOutcome` derives the rest: whether the action ran, and a description."""

    thing: ClassVar[str] = "action"

    reply: Reply

    def _member(self, name: str) -> Any:
        return (object_in(self.reply.result) or {}).get(name)

    @property
    def succeeded(self) -> bool:
        return bool(self._member(words.STATE) == State.DONE)

    @property
    def reason(self) -> str | None:
        refused = self._member(words.STATE) == State.REFUSED
        return str(self._member(words.REASON)) if refused else None

    @property
    def said(self) -> str:
        """Text from a server is untrusted."""
        state = self._member(words.STATE)
        if state is None:
            return self.reply.describe()
        why = f" ({neutralise(self.reason, 40)})" if self.reason else ""
        return f"{neutralise(str(state), 40)}{why}"
