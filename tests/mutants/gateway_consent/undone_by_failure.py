"""Gateways that take back what was done, or lose what they have, when something fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.reference_server.gateway_consent import http_client
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.app_credential import (
    AppCredentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.renewing import (
    RenewalRefusedError,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import (
    Sending,
)
from pytest_mcp_approval.reference_server.gateway_consent.consent import Once
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.gateway_consent.refusals import GatewayRefusal
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant


@mutant(
    kills="gateway_consent/remember",
    because="a call that the app failed at[^§]*, the app was called 2 times",
)
@in_extension
class GivesDecisionsBack(Gateway):
    """A call that fails has not been made: its decision comes back."""

    def call_web(
        self, caller: str, app: App, tool: AppTool, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        decisions = self.decisions
        once = decisions.decided_once(caller, app.id, tool.name)
        try:
            return super().call_web(caller, app, tool, arguments)
        except GatewayRefusal:
            if once and decisions.decided_once(caller, app.id, tool.name) is None:
                decisions._once[caller, app.id, tool.name] = Once(True, decisions.clock.now())
            raise


@mutant(
    kills="gateway_consent/api-key",
    because=r"when its app works again[^§]*AUTHORIZATION_REQUIRED \(error",
)
@in_extension
class DropsCredentialsThatFailed(Gateway):
    """Whatever goes wrong at an app, its credential must be at fault."""

    def run(
        self, app: App, tool: AppTool, arguments: dict[str, Any], sending: Sending | None
    ) -> dict[str, Any]:
        try:
            return super().run(app, tool, arguments, sending)
        except GatewayRefusal:
            for caller, app_id in self.decisions.vault.keys("cred"):
                if app_id == app.id:
                    self.authoriser().credentials.forget(caller, app_id)
            raise


@mutant(
    kills="gateway_consent/app-credential",
    because=r"when its token end point works again[^§]*AUTHORIZATION_REQUIRED \(error",
)
@in_extension
class TakesABreakdownForANo(AppCredentials):
    """Forgets id and secret when the app gives no new token, whatever the reason is."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return super().fresh(app, record)
        except http_client.SendingError:
            raise RenewalRefusedError from None
