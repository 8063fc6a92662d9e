"""A question to a person from the call that asks to the call that answers, step by step.

Since 2026-07-28 only: before, both are one open call. Knows no verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...target import Target
from ...wire import Reply, Session
from ..base.driver import DriverError
from ..base.staged import StagedApproval
from .driver import Elicitation
from .outcome import AskedQuestion
from .sessionless import retry_of
from .settings import ElicitingTool
from .vocabulary import Action, Mode


class StagedQuestion(StagedApproval):
    steps = ("a person was asked",)

    def __init__(self, tool: ElicitingTool) -> None:
        super().__init__()
        self._tool = tool
        self.asked: AskedQuestion | None = None

    def open(self, target: Target) -> Elicitation:
        return Elicitation(target)

    def take(self, step: int, target: Target) -> None:  # noqa: ARG002  # there is only one
        driver: Elicitation = self.at(target)
        asked = driver.ask(self._tool, watch=False)
        if not isinstance(asked, AskedQuestion):
            raise DriverError(f"{self._tool.name}: expected a question, got {asked.describe()}")
        if asked.mode is Mode.URL:
            driver.person.approve(asked)
        self.asked = asked

    def params(self, target: Target) -> Mapping[str, Any]:
        assert self.asked is not None
        driver: Elicitation = self.at(target)
        sent = retry_of(self.asked, self.asked.response(Action.ACCEPT), client=driver.client)
        return driver.client.completed(sent.params())

    def session(self, target: Target) -> Session:
        driver: Elicitation = self.at(target)
        return driver.client.session

    def claims(self, reply: Reply, target: Target) -> bool:
        assert self.asked is not None
        driver: Elicitation = self.at(target)
        return driver.read(reply, self.asked).succeeded
