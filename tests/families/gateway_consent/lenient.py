"""Gateways that do what the document leaves open, or more than it asks for: warned, never failed.

Each is the reference with one habit of other gateways. `LENIENT` names the rule that mentions it,
and words of the warning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_mcp_approval.families.gateway_consent import vocabulary as words
from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice, Refusal
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.app_credential import (
    AppCredentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import OAuth2
from pytest_mcp_approval.reference_server.gateway_consent.consent import ConsentQuestion, Decisions
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.grants import Allowed
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
)
from pytest_mcp_approval.reference_server.gateway_consent.extension import GatewayExtension
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.gateway_consent.refusals import GatewayRefusal
from pytest_mcp_approval.reference_server.server.answers import ErrorAnswer, InvalidParamsError
from pytest_mcp_approval.reference_server.server.mcp_server import Context, ReferenceServer
from pytest_mcp_approval.target.reference import ReferenceTarget
from tests.mutants.gateway_consent.oauth_server import _Answers
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import having

LENIENT: dict[str, tuple[str, str]] = {}


def served(part: type) -> Callable[..., ReferenceServer]:
    """A factory of the reference server with this part."""

    def make(**options: Any) -> ReferenceServer:
        known = issubclass(part, (ReferenceServer, GatewayExtension))
        return having(part if known else in_extension(part), options)

    make.mcp_approval_target = ReferenceTarget  # type: ignore[attr-defined]
    return make


def lenient(rule: str, warning: str) -> Callable[[type], Callable[..., ReferenceServer]]:
    def decorate(part: type) -> Callable[..., ReferenceServer]:
        LENIENT[part.__name__] = rule, warning
        return served(part)

    return decorate


@lenient("consent-required", "toolDescription is not what the tool's listing says")
class WritesMoreThanTheListing(GatewayExtension):
    """Tells the agent of the app as well."""

    def refuse(self, refusal: ErrorAnswer) -> dict[str, Any]:
        assert isinstance(refusal, GatewayRefusal)
        if words.TOOL_DESCRIPTION in refusal.data:
            told = refusal.data[words.TOOL_DESCRIPTION]
            refusal.data[words.TOOL_DESCRIPTION] = f"[{refusal.data[words.APP_NAME]}] {told}"
        return super().refuse(refusal)


@lenient("caller-identity", "by another version of .*asked again")
class TellsVersionsApart(ReferenceServer):
    """Asks again for a new version of a client."""

    def client_of(self, ctx: Context) -> str:
        meta = (ctx.params or {}).get("_meta") or {}
        info = meta.get("io.modelcontextprotocol/clientInfo") or {}
        name = super().client_of(ctx)
        return f"{name} {info['version']}" if name not in ("", words.UNKNOWN_CLIENT) else name


@lenient("deny", "refused without a question; it was not to be remembered")
class DeniesUntilItsEnd(Decisions):
    """A denial that is not remembered counts as long as the gateway runs."""

    def use_up(self, caller: str, app_id: str, tool: str) -> bool | None:
        once = self._once.get((caller, app_id, tool))
        if once is not None and not once.granted:
            return False
        return super().use_up(caller, app_id, tool)


@lenient("two-layers", "")
class HasAnotherCodeForAuthorisation(Gateway):
    """Says in its own words that the app's authorisation is needed."""

    def authorise(self, *arguments: Any) -> Any:
        try:
            return super().authorise(*arguments)
        except GatewayRefusal as refusal:
            refusal.data[words.CODE] = "LOGIN_FIRST"
            raise


@lenient("caller-isolation", "")
class RefusesOddNames(Gateway):
    """Serves no client whose name has control characters, markup or a path in it."""

    def caller_name(self, who: Any, arguments: Any) -> str:
        if not who.client.isprintable() or set(who.client) & set("<>/\\*%"):
            raise InvalidParamsError("clientInfo.name: expected letters, digits and blanks")
        return super().caller_name(who, arguments)


@lenient("api-key", "told as a result, not as an error")
class PassesFailuresOn(Gateway):
    """What an app answers is the result, even if it broke down."""

    def run(self, *arguments: Any) -> dict[str, Any]:
        try:
            return super().run(*arguments)
        except GatewayRefusal as refusal:
            if refusal.code is Refusal.APP_FAILED:
                return {"status": 500}
            raise


@lenient("app-credential", "more exchange\\(s\\) for a token that has two hours to go")
class ExchangesEveryTime(AppCredentials):
    """Gets a new token for every call."""

    def is_due(self, record: Mapping[str, Any]) -> bool:
        return True


@lenient("oauth-token", "the person is asked again, and the refresh token is not used")
class AsksEveryHour(OAuth2):
    """Sends the person to the app again when a token is over."""

    def renewed(self, asking: Any) -> None:
        return None


@lenient("oauth-token", "has no scope")
class TellsNoScope(_Answers):
    """Does not say what a token is for."""

    member = "scope"


@lenient("oauth-token", "")
class HasOneAuthorisationAtATime(AuthorisationServer):
    """A client's new authorisation ends the one before it."""

    latest: Allowed | None = None

    def given(self, allowed: Allowed, scopes: Any) -> dict[str, Any]:
        if self.latest is not None and self.latest is not allowed:
            self.latest.revoked = True
        self.latest = allowed
        return super().given(allowed, scopes)


@lenient("stored-encrypted", "without what was decided: a name that can be read")
class NamesFilesByCallers(Decisions):
    """Has a file for each caller, as the document's key has the caller's name."""

    def keep(self, question: ConsentQuestion, choice: Choice) -> None:
        super().keep(question, choice)
        folder: Path | None = getattr(self.vault, "folder", None)
        if folder is not None:
            (folder / f"consent-{question.caller}.seal").touch()
