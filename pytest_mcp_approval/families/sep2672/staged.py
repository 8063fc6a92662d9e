"""SEP-2672 from the enrolment of a passkey to the call that it approves, step by step.

Knows no verdicts.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from virtual_authenticator import Authenticator

from ...target import Target
from ...wire import Reply
from ..base.driver import DriverError
from ..base.outcome import is_result
from ..base.staged import StagedApproval
from .driver import Approval, Challenge, ListedTool, Passkey, confirmed_enrolment

# A synced passkey shows no counter, so that a counter cannot hide a challenge that serves twice.
SHAPE = "icloud-keychain"


class StagedCall(StagedApproval):
    steps = ("an enrolment was begun", "a passkey was enrolled", "a challenge was created")

    def __init__(self, tool: ListedTool) -> None:
        super().__init__()
        self._tool = tool
        self._registered: tuple[Authenticator, str, dict[str, Any]] | None = None
        self._passkey: Passkey | None = None
        self.challenge: Challenge | None = None
        self._evidence: dict[str, Any] = {}

    def open(self, target: Target) -> Approval:
        return Approval(target)

    def take(self, step: int, target: Target) -> None:
        approval: Approval = self.at(target)
        if step == 0:
            self._registered = approval.register(Authenticator(SHAPE))
        elif step == 1:
            self._enrol(approval)
        else:
            assert self._passkey is not None
            self.challenge = approval.challenge(self._tool.name, self._tool.arguments)
            if self._passkey.id not in self.challenge.offered:
                raise DriverError("the challenge does not offer the passkey that was enrolled")
            self._evidence = self._passkey.sign(self.challenge)

    def _enrol(self, approval: Approval) -> None:
        assert self._registered is not None
        device, page, response = self._registered
        reply = approval.finish(response)
        if not confirmed_enrolment(reply):
            raise DriverError(f"an honest enrolment was refused: {reply.describe()}", reply)
        self._passkey = Passkey(device, page, response)

    def params(self, target: Target) -> Mapping[str, Any]:
        assert self.challenge is not None
        approval: Approval = self.at(target)
        return approval.call_params(self.challenge, self._evidence)

    def claims(self, reply: Reply, target: Target) -> bool:  # noqa: ARG002  # the same everywhere
        return is_result(reply)

    def expires_at(self) -> datetime.datetime | None:
        try:
            return self.challenge.expires_at if self.challenge is not None else None
        except ValueError:
            return None
