"""Speaks the two-person rule to a server: request, approve. Judges nothing.

rule = TwoPerson(target)
request = rule.request()
assert rule.approve(request).executed
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_mcp_approval import Driver, DriverError, Outcome, Reply, Target, neutralise

from . import vocabulary as words
from .settings import Table, read_table
from .vocabulary import FAMILY, State


@dataclass(frozen=True)
class Request:
    """What waits for the second person."""

    id: str
    expires_at: datetime.datetime


@dataclass(frozen=True)
class ApprovalOutcome:
    """What became of an attempt to approve."""

    state: str
    reason: str
    runs: int | None
    """How often the action ran, where the effects show it."""
    reply: Reply

    @property
    def executed(self) -> bool:
        """By its effects; where nobody can see them, by the server's own word."""
        return self.state == State.DONE if self.runs is None else self.runs > 0

    def describe(self) -> str:
        """One line for a report. What a server says is a stranger's text."""
        if not self.state:
            return self.reply.describe()
        ran = "" if self.runs is None else f"; runs of the action: {self.runs}"
        why = f" ({neutralise(self.reason, 40)})" if self.reason else ""
        return f"{neutralise(self.state, 40)}{why}{ran}"


class TwoPerson(Driver):
    """The two tools of one target."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        given = target.settings.family_settings.get(FAMILY, {})
        self.table: Table = read_table(given, target.settings.sources)

    def request(self, action: str | None = None) -> Request:
        """`DriverError` where the server does not take an honest request."""
        arguments = {words.ACTION: action or self.table.action, words.PIN: self.table.requester_pin}
        reply = self._call(self.table.request_tool, arguments)
        answer = _object_in(reply)
        id, expires = answer.get(words.REQUEST_ID), answer.get(words.EXPIRES_AT)
        try:
            if not isinstance(id, str) or answer.get(words.STATE) != State.PENDING:
                raise ValueError
            return Request(id, datetime.datetime.fromisoformat(str(expires)))
        except ValueError:
            raise DriverError(
                f"{self.table.request_tool} gave no pending request with {words.EXPIRES_AT}: "
                f"{reply.describe()}",
                reply,
            ) from None

    def approve(self, request: Request, pin: str | None = None) -> ApprovalOutcome:
        """With the second person's PIN, unless another one is given."""
        arguments = {words.REQUEST_ID: request.id, words.PIN: pin or self.table.approver_pin}
        reply, runs = self.runs_during(lambda: self._call(self.table.approve_tool, arguments))
        answer = _object_in(reply)
        state, reason = answer.get(words.STATE, ""), answer.get(words.REASON, "")
        return ApprovalOutcome(str(state), str(reason), runs, reply)

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> Reply:
        return self.session.call("tools/call", {"name": tool, "arguments": dict(arguments)})


def _object_in(reply: Reply) -> Mapping[str, Any]:
    """What the tool answered; nothing where it did not."""
    result = reply.result if reply.outcome is Outcome.RESULT else None
    found = result.get("structuredContent") if isinstance(result, dict) else None
    return found if isinstance(found, dict) else {}
