"""Gateways that take back what was done, or lose what they have, when something fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    AuthType,
    Refusal,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.app_credential import (
    AppCredentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import (
    KIND as CREDENTIALS,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.dialogs import (
    Dialogs,
    Ticket,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.flows import KIND as FLOWS
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.flows import Flow, FlowError
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import (
    OAuth2,
    Return,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import (
    Asking,
    DialogStep,
    Sending,
    TypedWay,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.grants import (
    Grant,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.gateway_consent.http_client import SendingError
from pytest_mcp_approval.reference_server.gateway_consent.refusals import GatewayRefusal
from pytest_mcp_approval.reference_server.server.secret_text import digest
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant


@mutant(
    kills="gateway_consent/remember",
    because="allowed once, after a call that the app failed at[^§]*, tool run",
)
@in_extension
class GivesConsentBackWhenAnAppFails(Gateway):
    """A consent for one call comes back when the app fails, though the app was called."""

    def run(self, app: App, tool: AppTool, arguments: Any, sending: Any) -> dict[str, Any]:
        try:
            return super().run(app, tool, arguments, sending)
        except GatewayRefusal:
            self.decisions._once.update(self.taken)
            raise

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        subject: tuple[str, ...] = (caller, app.id, tool.name)
        self.taken = {one: once for one, once in self.decisions._once.items() if one == subject}
        super().take_consent(caller, app, tool)


@mutant(
    kills="gateway_consent/remember",
    because=r"remembered, after a call that the app failed at[^§]*CONSENT_REQUIRED \(error",
)
@in_extension
class ForgetsGrantsWhenAnAppFails(Gateway):
    """Takes a grant back that was remembered when the app fails."""

    def call_web(
        self, caller: str, app: App, tool: AppTool, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        try:
            return super().call_web(caller, app, tool, arguments)
        except GatewayRefusal as refusal:
            if refusal.code is Refusal.APP_FAILED:
                self.decisions.vault.delete("consent", caller, app.id)
            raise


@mutant(
    kills="gateway_consent/api-key",
    because=r"when its app works again[^§]*AUTHORIZATION_REQUIRED \(error",
)
@in_extension
class ForgetsKeysWhenAnAppFails(Gateway):
    """Takes any failure of an app for a wrong key, and asks for the key again."""

    def call_web(
        self, caller: str, app: App, tool: AppTool, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        try:
            return super().call_web(caller, app, tool, arguments)
        except GatewayRefusal as refusal:
            if refusal.code is Refusal.APP_FAILED:
                self.authoriser().credentials.forget(caller, app.id)
            raise


@mutant(
    kills="gateway_consent/app-credential",
    because=r"when its token end point works again[^§]*AUTHORIZATION_REQUIRED \(error",
)
@in_extension
class ForgetsSecretsWhenNobodyAnswers(AppCredentials):
    """Takes a token endpoint that is down for one that refuses, and asks for the secret again."""

    def renewed(self, asking: Asking) -> dict[str, Any] | None:
        try:
            return super().renewed(asking)
        except SendingError:
            self.credentials.forget(asking.caller, asking.app.id)
            return None


@mutant(
    kills="gateway_consent/app-credential",
    because=r"whose token end point breaks down[^§]*call\(s\) with a token that was over",
)
@in_extension
class GoesOnWhenRenewalFails(AppCredentials):
    """Goes on with the token that it has when it gets no new one, also when that is over."""

    def is_over(self, record: Mapping[str, Any]) -> bool:
        return False


@mutant(
    kills="gateway_consent/oauth-callback",
    because="with a state that the app had answered with access_denied[^§]*, tool run",
)
@in_extension
class GivesTheStateBackAfterAFailure(OAuth2):
    """Undoes that a state was answered when the answer is none that it can use."""

    def finish(self, back: Return, apps: Mapping[str, App]) -> Flow:
        key = digest(self.state_of(back))
        vault = self.credentials._vault
        flow = vault.load(FLOWS, key)
        try:
            return super().finish(back, apps)
        except FlowError:
            if flow is not None:
                vault.save(FLOWS, flow, key)
            raise


@mutant(kills="gateway_consent/credential-dialog", because=r"the first step: App ID\nApp Secret")
@in_extension
class CancelKeepsTheFirstStep(Dialogs):
    """Goes on, after a dialog was cancelled, where it was left."""

    def next_step(self, way: TypedWay, app: App, ticket: Ticket) -> DialogStep:
        left: dict[Any, dict[str, str]] = self.__dict__.setdefault("left", {})
        ticket.values = left.setdefault(ticket.subject, ticket.values)
        return super().next_step(way, app, ticket)


@mutant(kills="gateway_consent/oauth-pkce", because="redeemed by 6 at once[^§]*[2-9] tokens")
@in_extension
class GivesCodesBackAfterAReplay(AuthorisationServer):
    """Undoes that a code was used when it is brought again, and so takes it the third time."""

    def check_unused(self, held: Grant) -> bool:
        fresh = not held.used
        if not fresh:
            held._use.release()
        return fresh


@mutant(
    kills="gateway_consent/app-credential",
    because=r"when its app works again[^§]*AUTHORIZATION_REQUIRED \(error",
)
@in_extension
class ForgetsSecretsWhenAnAppFails(Gateway):
    """Takes any failure of an app for a wrong secret, and asks for id and secret again."""

    def run(
        self, app: App, tool: AppTool, arguments: dict[str, Any], sending: Sending | None
    ) -> dict[str, Any]:
        try:
            return super().run(app, tool, arguments, sending)
        except GatewayRefusal:
            if app.auth is not None and app.auth.type is AuthType.APP_CREDENTIAL:
                for caller, app_id in self.decisions.vault.keys(CREDENTIALS):
                    if app_id == app.id:
                        self.authoriser().credentials.forget(caller, app_id)
            raise
