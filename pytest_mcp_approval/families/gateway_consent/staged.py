"""A consent for one call from the question to the call, step by step. Knows no verdicts."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from ...target import Target
from ...wire import Reply, Session
from ..base.driver import Driver, DriverError
from ..base.staged import StagedApproval
from .driver import Client, GatewayConsent
from .outcome import GatewayOutcome
from .settings import SafeTool
from .vocabulary import Choice


class StagedConsent(StagedApproval):
    steps = ("a client was asked for consent", "a person allowed one call")

    def __init__(self, tool: SafeTool) -> None:
        super().__init__()
        self._tool = tool
        self._name = f"Staged Client {secrets.token_hex(4)}"
        self._asked: GatewayOutcome | None = None

    def open(self, target: Target) -> GatewayConsent:
        return GatewayConsent(target)

    def _client(self, target: Target) -> Client:
        gateway: GatewayConsent = self.at(target)
        return gateway.client(self._name)

    def take(self, step: int, target: Target) -> None:
        if step == 0:
            asked = self._client(target).call(self._tool)
            if not asked.needs_consent:
                raise DriverError(f"a first call was not asked about: {asked.describe()}")
            self._asked = asked
        else:
            assert self._asked is not None
            gateway: GatewayConsent = self.at(target)
            gateway.decide(self._asked, Choice.TOOL, remember=False)

    def params(self, target: Target) -> Mapping[str, Any]:
        gateway: GatewayConsent = self.at(target)
        return gateway.binding.call_params(self._tool, self._tool.arguments)

    def servers(self, target: Target) -> list[Target]:
        gateway: GatewayConsent = self.at(target)
        return [*gateway.places, target]

    def session(self, target: Target) -> Session:
        return self._client(target).connection.session

    def watching(self, target: Target) -> Driver:
        return self._client(target).connection

    def claims(self, reply: Reply, target: Target) -> bool:
        gateway: GatewayConsent = self.at(target)
        read = gateway.binding.read(
            self._name, self._tool, self._tool.arguments, reply, None, False
        )
        return read.succeeded
