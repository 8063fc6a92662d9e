"""Speaks the two-person rule to a server: request, approve. Judges nothing.

rule = TwoPerson(target)
request = rule.request()
assert rule.approve(request).served
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_mcp_approval import Driver, DriverError, Reply, Target, object_in

from . import vocabulary as words
from .outcome import ApprovalOutcome
from .settings import table_for
from .vocabulary import State


@dataclass(frozen=True)
class Request:
    """What waits for the second person."""

    id: str
    expires_at: datetime.datetime


class TwoPerson(Driver):
    """The two tools of one target."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.table = table_for(target)

    def request(self, action: str | None = None) -> Request:
        """`DriverError` if the server does not accept an honest request."""
        arguments = {words.ACTION: action or self.table.action, words.PIN: self.table.requester_pin}
        reply = self._call(self.table.request_tool, arguments)
        answer = object_in(reply.result) or {}
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
        return ApprovalOutcome(reply=reply, runs=runs, probed=self.effects is not None)

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> Reply:
        return self.session.call("tools/call", {"name": tool, "arguments": dict(arguments)})
