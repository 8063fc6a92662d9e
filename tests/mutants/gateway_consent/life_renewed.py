"""Gateways and apps that give something its whole lifetime again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_mcp_approval.families.gateway_consent import vocabulary as words
from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    APP_TOKEN_SECONDS,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.app_credential import (
    AppCredentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import (
    Asking,
    Sending,
)
from pytest_mcp_approval.reference_server.gateway_consent.consent import (
    Decisions,
    Once,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.grants import (
    Allowed,
    Grant,
    Ledger,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

TOKEN = "gateway_consent/oauth-token"


@mutant(kills=TOKEN, because="a second after its end[^§]*it opens")
@in_extension
class UseRenewsAccessTokens(AuthorisationServer):
    """Gives an access token its whole time again whenever it is used."""

    def opened(self, access_token: str) -> Allowed | None:
        allowed = super().opened(access_token)
        held = self.access.find(access_token)
        if allowed is not None and held is not None:
            held.expires_at = self.after(self.access_seconds)
        return allowed


@mutant(
    kills="gateway_consent/deny",
    because="refused without a question; it was not to be remembered",
    warned=True,
)
@in_extension
class CallsProlongDenials(Decisions):
    """Each call that is refused keeps a denial that is not remembered alive."""

    def use_up(self, caller: str, app_id: str, tool: str) -> bool | None:
        granted = super().use_up(caller, app_id, tool)
        if granted is False:
            with self._lock:
                self._once[caller, app_id, tool] = Once(False, self.clock.now())
        return granted


@mutant(
    kills="gateway_consent/oauth-token",
    because="s, at its end, renewed and used meanwhile[^§]*it opens",
)
@in_extension
class RefreshProlongsOldTokens(AuthorisationServer):
    """Has one end for all tokens of a session: a refresh prolongs those given before."""

    def given(self, allowed: Allowed, scopes: Sequence[str]) -> dict[str, Any]:
        for held in self.access._records.values():
            if held.allowed is allowed:
                held.expires_at = self.after(self.access_seconds)
        return super().given(allowed, scopes)


@mutant(
    kills="gateway_consent/oauth-pkce",
    because="a code, an hour old, that was tried in vain meanwhile[^§]*HTTP 200",
)
@in_extension
class AttemptsRenewCodes(AuthorisationServer):
    """Gives a code its whole time again whenever somebody tries to redeem it."""

    def held(self, ledger: Ledger[Grant], asked: Mapping[str, str], name: str) -> Grant:
        held = super().held(ledger, asked, name)
        if name == "code":
            held.expires_at = self.after(self.code_seconds)
        return held


@mutant(kills="gateway_consent/oauth-token", because="that was tried in vain[^§]*HTTP 200")
@in_extension
class AttemptsRenewRefreshTokens(AuthorisationServer):
    """Gives a refresh token its whole time again whenever it is shown, also where it is refused."""

    def held(self, ledger: Ledger[Grant], asked: Mapping[str, str], name: str) -> Grant:
        found = ledger.find(asked.get(name, ""))
        if name == "refresh_token" and found is not None and self.is_good(found):
            found.expires_at = self.after(self.refresh_seconds)
        return super().held(ledger, asked, name)


@mutant(
    kills="gateway_consent/app-credential",
    because=r"the end of its first token of ten minutes[^§]*call\(s\) with a token that was over",
)
@in_extension
class UseRenewsAppTokens(AppCredentials):
    """Takes a token that was used for one that has its whole time again."""

    def sending(self, asking: Asking) -> Sending | None:
        sent = super().sending(asking)
        record = self.load(asking)
        if sent is not None and record is not None:
            ends = self.credentials.now() + APP_TOKEN_SECONDS * 1000
            renewed = {**record, words.EXPIRES_AT: ends}
            self.credentials.save(asking.caller, asking.app.id, renewed)
        return sent


@mutant(
    kills="gateway_consent/credential-shape",
    because=r"authorised a day ago and called now[^§]*createdAt \d",
)
@in_extension
class RenewalsRedateCredentials(AppCredentials):
    """Writes down anew when a credential was created, whenever its token is renewed."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        return {**super().fresh(app, record), words.CREATED_AT: self.credentials.now()}


@mutant(kills="gateway_consent/storage-shape", because='decided on at[^§]*grantedAt "')
@in_extension
class CallsRedateGrants(Gateway):
    """Writes the instant of the latest call where that of the grant belongs."""

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        super().take_consent(caller, app, tool)
        with self.decisions.vault.exclusive():
            record = self.decisions.record(caller, app.id)
            if tool.name in record[words.TOOLS]:
                record[words.TOOLS][tool.name][words.GRANTED_AT] = self.decisions.instant()
                self.decisions.save_record(record, caller, app.id)
