"""Gateways that send credentials where they do not belong, or ask for them again and again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.reference_server.gateway_consent.authorisation.api_key import ApiKeys
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.app_credential import (
    AppCredentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.cookies import (
    Cookies,
    text_of,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import (
    Credentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import Asking, Sending
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.execution import url_of
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.gateway_consent.refusals import GatewayRefusal
from pytest_mcp_approval.reference_server.gateway_consent.vault import MemoryVault
from tests.mutants.gateway_consent.parts import in_extension, sent_on
from tests.mutants.registry import mutant

KEY = "gateway_consent/api-key"
CREDENTIAL = "gateway_consent/app-credential"
COOKIE = "gateway_consent/cookie"


class _FollowsRedirects(Gateway):
    """Goes where the app sends it, with all that it has."""

    def run(self, app: App, tool: AppTool, arguments: Any, sending: Any) -> Any:
        try:
            return super().run(app, tool, arguments, sending)
        except GatewayRefusal:
            headers = dict(sending.headers) if sending is not None else {}
            sent_on("POST", url_of(app, tool), headers, b"{}")
            raise


# ---- api-key


@mutant(kills=KEY, because="the key in: query")
@in_extension
class PutsTheKeyIntoTheQuery(ApiKeys):
    """Sends every key in the query string."""

    def placed(self, app: App, key: str) -> Sending:
        return Sending(query={"api_key": key})


@mutant(kills=KEY, because="wants the key in: query[^§]*the key in: header Authorization")
@in_extension
class PutsTheKeyIntoAHeader(ApiKeys):
    """Sends every key in the header Authorization."""

    def placed(self, app: App, key: str) -> Sending:
        return Sending(headers={"Authorization": f"Bearer {key}"})


@mutant(kills=KEY, because="nowhere else\n.*the key in: .*header X-Api-Key")
@in_extension
class PutsTheKeyIntoBoth(ApiKeys):
    """Sends the key twice, to be sure."""

    def placed(self, app: App, key: str) -> Sending:
        right = super().placed(app, key)
        return Sending(headers={**right.headers, "X-Api-Key": key}, query=right.query)


@mutant(kills=KEY, because="Authorization: Bearer <key>[^§]*Authorization: '<key>'")
@in_extension
class LeavesThePrefixOut(ApiKeys):
    """Sends the bare key."""

    def placed(self, app: App, key: str) -> Sending:
        right = super().placed(app, key)
        return Sending(dict.fromkeys(right.headers, key), right.query)


@mutant(kills=KEY, because="X-Suite-Key: <key>[^§]*Bearer <key>")
@in_extension
class AlwaysSaysBearer(ApiKeys):
    """Has one prefix for all."""

    def placed(self, app: App, key: str) -> Sending:
        right = super().placed(app, key)
        return Sending(dict.fromkeys(right.headers, f"Bearer {key}"), right.query)


@mutant(kills=KEY, because=r"the second call[^§]*AUTHORIZATION_REQUIRED \(error")
@in_extension
class AsksForTheKeyEveryTime(ApiKeys):
    """Forgets a key when it was used."""

    def sending(self, asking: Asking) -> Sending | None:
        found = super().sending(asking)
        self.credentials.forget(asking.caller, asking.app.id)
        return found


class _InMemory(Credentials):
    """Has its credentials as long as it runs."""

    def __init__(self, vault: Any, clock: Any) -> None:
        super().__init__(MemoryVault(), clock)


@mutant(kills=KEY, because="after a restart[^§]*AUTHORIZATION_REQUIRED")
@in_extension
class KeepsKeysInMind(_InMemory):
    """Asks for every key again after a restart."""


@mutant(kills=KEY, because="no key at the other host[^§]*the key in: header")
@in_extension
class TakesTheKeyAlong(_FollowsRedirects):
    """Follows redirects, with the key."""


# ---- app-credential


@mutant(
    kills=CREDENTIAL,
    because=r"a token whose time is not over[^§]*call\(s\) with a token that was over",
)
@in_extension
class UsesTokensThatAreOver(AppCredentials):
    """Uses a token until the app complains."""

    def is_due(self, record: Mapping[str, Any]) -> bool:
        return record["expiresAt"] == 0


@mutant(
    kills=CREDENTIAL,
    because=r"(?:before the end|without asking anybody)[^§]*AUTHORIZATION_REQUIRED \(error",
)
@in_extension
class AsksWhenATokenEnds(AppCredentials):
    """Asks the person again when a token is over."""

    def renewed(self, asking: Asking) -> None:
        return None


@mutant(kills=CREDENTIAL, because="the secret nowhere[^§]*the secret in: header")
@in_extension
class SendsTheSecretAlong(AppCredentials):
    """Sends the secret with every call."""

    def sending(self, asking: Asking) -> Sending | None:
        found, record = super().sending(asking), self.load(asking)
        if found is None or record is None:
            return found
        return Sending({**found.headers, "X-App-Secret": record["appSecret"]})


@mutant(
    kills=CREDENTIAL,
    because=r"after a restart and the end of the token[^§]*AUTHORIZATION_REQUIRED \(error",
)
@in_extension
class KeepsSecretsInMind(_InMemory):
    """Asks for id and secret again after a restart."""


# ---- cookie


@mutant(kills=COOKIE, because="at 127.0.0.1[^§]*the cookies web_session")
@in_extension
class SendsCookiesAnywhere(Cookies):
    """Sends cookies to whatever host the app is at."""

    def goes_to(self, app: App, url: str) -> bool:
        return True


@mutant(kills=COOKIE, because="redirects to another host[^§]*the cookies web_session")
@in_extension
class TakesCookiesAlong(_FollowsRedirects):
    """Follows redirects, with the cookies."""


@mutant(kills=COOKIE, because=r"of which one is missing[^§]*1 request\(s\)")
@in_extension
class TakesSomeCookies(Cookies):
    """Keeps what it gets, whatever is required."""

    def check_required(self, app: App, found: Mapping[str, str]) -> None:
        """Some are better than none."""


@mutant(kills=COOKIE, because=r"of which one is empty[^§]*1 request\(s\)")
@in_extension
class TakesEmptyCookies(Cookies):
    """Looks for names, and not for values."""

    def check_required(self, app: App, found: Mapping[str, str]) -> None:
        super().check_required(app, {name: value or "?" for name, value in found.items()})


@mutant(kills=COOKIE, because=r"(?:a longer name|a name in a value)[^§]*1 request\(s\)")
@in_extension
class LooksForNamesAnywhere(Cookies):
    """Looks whether the names stand somewhere in the text."""

    def check_required(self, app: App, found: Mapping[str, str]) -> None:
        text = text_of(found)
        super().check_required(app, {name: "?" for name in self.required(app) if name in text})


@mutant(
    kills=COOKIE,
    because="the cookie web_session in the header Cookie, and nowhere else[^§]*header X-Cookies",
)
@in_extension
class SendsCookiesTwice(Cookies):
    """Sends cookies in a header of its own as well."""

    def sending(self, asking: Asking) -> Sending | None:
        found = super().sending(asking)
        if found is None or not found.headers:
            return found
        return Sending({**found.headers, "X-Cookies": found.headers["Cookie"]})
