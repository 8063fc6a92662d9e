"""An execution token of an MCP server from the approval to the execution. Knows no verdicts."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from ...target import Target
from ...wire import Reply
from ..base.driver import Driver
from ..base.outcome import is_result, object_in
from ..base.staged import StagedApproval
from .driver import ExecutionTokens
from .mcp_verifier import McpVerifier
from .vocabulary import EXPIRES_AT


class StagedExecution(StagedApproval):
    steps = ("a token was made",)

    def __init__(self, secret: str | None) -> None:
        super().__init__()
        self._secret = secret
        self.token: Mapping[str, Any] = {}
        self._watches: dict[Target, Driver] = {}

    def open(self, target: Target) -> ExecutionTokens:
        driver = ExecutionTokens(target)
        driver.secret = self._secret if driver.secret is None else driver.secret
        self._watches[target] = Driver(target)
        return driver

    def take(self, step: int, target: Target) -> None:  # noqa: ARG002  # there is only one
        driver: ExecutionTokens = self.at(target)
        self.token = driver.token()
        _ = driver.names_hosts  # tried out now, and not between this step and the next

    def params(self, target: Target) -> Mapping[str, Any]:
        driver: ExecutionTokens = self.at(target)
        assert isinstance(driver.verifier, McpVerifier)
        return driver.verifier.params(driver.request(self.token))

    def claims(self, reply: Reply, target: Target) -> bool:
        driver: ExecutionTokens = self.at(target)
        says_yes, _ = driver.table.read_answer(object_in(reply.result))
        return is_result(reply) and says_yes

    def watching(self, target: Target) -> Driver:
        self.at(target)
        return self._watches[target]

    def expires_at(self) -> datetime.datetime | None:
        driver: ExecutionTokens = next(iter(self._drivers.values()))
        written = self.token.get(driver.table.names[EXPIRES_AT])
        try:
            expiry = datetime.datetime.fromisoformat(str(written))
        except ValueError:
            return None
        return expiry if expiry.tzinfo is not None else None
