"""What came of a tools/call: a result, or a refusal with its reason. Knows no verdicts."""

from __future__ import annotations

from dataclasses import dataclass

from ...wire import Reply
from ..base.outcome import ObservedOutcome, data_of, is_result
from .vocabulary import ERROR_CODE, Reason


def reason_in(reply: Reply) -> str | None:
    """`error.data.reason`, if there is an error with one."""
    found = data_of(reply).get("reason")
    return found if isinstance(found, str) else None


@dataclass(frozen=True)
class ApprovalOutcome(ObservedOutcome):
    reply: Reply

    @property
    def succeeded(self) -> bool:
        return is_result(self.reply)

    @property
    def reason(self) -> str | None:
        return reason_in(self.reply)

    @property
    def refused(self) -> bool:
        """Refused in the words of section 4.10, and the tool did not run."""
        error = self.reply.error
        in_form = error is not None and error.code == ERROR_CODE and self.reason in set(Reason)
        return in_form and not self.executed

    @property
    def said(self) -> str:
        return "a result" if self.succeeded else self.reply.describe()
