"""Gateways and apps that forget too soon, or too late."""

from __future__ import annotations

import datetime
from typing import Any

from pytest_mcp_approval.reference_server.gateway_consent.authorisation.app_credential import (
    AppCredentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import Asking, Sending
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

REMEMBER = "gateway_consent/remember"


@mutant(kills=REMEMBER, because="allowed once, the second call[^§]*, tool run")
@in_extension
class ServesCallsForAMinute(Gateway):
    """Remembers for a minute that a call was checked, also where one call was allowed."""

    def checked(self, caller: str, app: App, tool: AppTool) -> bool:
        seen: dict[Any, datetime.datetime] = self.__dict__.setdefault("seen", {})
        ends = seen.get((caller, app.id, tool.name))
        return ends is not None and self.decisions.clock.now() < ends

    def check_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if not self.checked(caller, app, tool):
            super().check_consent(caller, app, tool)

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if not self.checked(caller, app, tool):
            super().take_consent(caller, app, tool)
            ends = self.decisions.clock.now() + datetime.timedelta(minutes=1)
            self.__dict__.setdefault("seen", {})[caller, app.id, tool.name] = ends


@mutant(kills="gateway_consent/app-credential", because=r"call\(s\) with a token that was over")
@in_extension
class KeepsTheFirstToken(AppCredentials):
    """Renews a token, and goes on with the one that it has in mind."""

    def sending(self, asking: Asking) -> Sending | None:
        sent = super().sending(asking)
        known: dict[tuple[str, str], Sending] = self.__dict__.setdefault("known", {})
        if sent is None:
            return None
        return known.setdefault((asking.caller, asking.app.id), sent)
