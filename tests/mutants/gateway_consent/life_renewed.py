"""Gateways and apps that give something its whole lifetime again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.gateway_consent import vocabulary as words
from pytest_mcp_approval.reference_server.gateway_consent.consent import Decisions, Once
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.grants import Allowed
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
    OAuthError,
)
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


class _TryingProlongs(AuthorisationServer):
    """Whoever tries in vain gives what they tried its whole time again."""

    name: str
    seconds: int

    def held(self, ledger: Any, asked: Mapping[str, str], name: str) -> Any:
        self.__dict__["tried"] = ledger.find(asked.get(name, "")) if name == self.name else None
        return super().held(ledger, asked, name)

    def token(self, body: str) -> Mapping[str, Any]:
        self.__dict__["tried"] = None
        try:
            return super().token(body)
        except OAuthError:
            tried = self.__dict__["tried"]
            if tried is not None and self.is_good(tried):
                tried.expires_at = self.after(self.seconds)
            raise


@mutant(kills="gateway_consent/oauth-pkce", because="that was tried in vain meanwhile[^§]*HTTP 200")
@in_extension
class TryingProlongsCodes(_TryingProlongs):
    """A wrong verifier must be a mistake: the client gets time to correct it."""

    name, seconds = "code", 300


@mutant(kills=TOKEN, because="a year old, that was tried in vain[^§]*HTTP 200")
@in_extension
class TryingProlongsRefreshTokens(_TryingProlongs):
    """A look at a refresh token, by whomever, keeps it alive."""

    name, seconds = "refresh_token", 7 * 24 * 3600


@mutant(kills="gateway_consent/storage-shape", because='called later\\n[^§]*grantedAt "20(?:2|3)')
@in_extension
class CallsRenewGrants(Decisions):
    """Writes the instant of the last call where that of the decision should be."""

    def granted(self, caller: str, app_id: str, tool: str) -> bool | None:
        with self.vault.exclusive():
            record = self.record(caller, app_id)
            if tool in record[words.TOOLS]:
                record[words.TOOLS][tool][words.GRANTED_AT] = self.instant()
                self.save_record(record, caller, app_id)
        return super().granted(caller, app_id, tool)
