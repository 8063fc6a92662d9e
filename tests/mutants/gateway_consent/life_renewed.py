"""Gateways and apps that give something its whole lifetime again."""

from __future__ import annotations

from pytest_mcp_approval.reference_server.gateway_consent.consent import Decisions, Once
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.grants import Allowed
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
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
