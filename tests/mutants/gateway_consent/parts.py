"""How a broken part of the gateway gets into a server, and what some share; no mutants itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urljoin

from pytest_mcp_approval.reference_server.gateway_consent.authorisation.api_key import ApiKeys
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.app_credential import (
    AppCredentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.authoriser import (
    Authoriser,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.cookies import Cookies
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import (
    Credentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.dialogs import Dialogs
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import OAuth2
from pytest_mcp_approval.reference_server.gateway_consent.consent import Decisions
from pytest_mcp_approval.reference_server.gateway_consent.consent_page import ConsentPages
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app import (
    DemonstrationApp,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
)
from pytest_mcp_approval.reference_server.gateway_consent.extension import GatewayExtension
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.gateway_consent.settings import Storage
from pytest_mcp_approval.reference_server.gateway_consent.vault_file import FILE, FileVault
from pytest_mcp_approval.support.fetch import fetch

OF_EVERY_OBJECT = frozenset(
    (
        *("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "__proto__"),
        *("toString", "toLocaleString", "valueOf", "__defineGetter__", "__defineSetter__"),
        *("__lookupGetter__", "__lookupSetter__"),
    )
)
"""What every object of JavaScript has by nature."""

_OF_THE_EXTENSION = {
    Gateway: "gateway_class",
    Decisions: "decisions_class",
    ConsentPages: "pages_class",
}
_OF_THE_AUTHORISER = {
    OAuth2: "oauth2_class",
    ApiKeys: "api_keys_class",
    AppCredentials: "app_credentials_class",
    Cookies: "cookies_class",
    Credentials: "credentials_class",
    Dialogs: "dialogs_class",
}


def in_extension(part: type) -> type[GatewayExtension]:
    """The extension that has this part, under the part's name and words."""
    members = {**_members(part), "__doc__": part.__doc__, "__module__": part.__module__}
    return type(part.__name__, (GatewayExtension,), members)


def _members(part: type) -> dict[str, Any]:
    for base, name in _OF_THE_EXTENSION.items():
        if issubclass(part, base):
            return {name: part}
    for base, name in _OF_THE_AUTHORISER.items():
        if issubclass(part, base):
            return {"make_authoriser": _authoriser(type("Broken", (Authoriser,), {name: part}))}
    if issubclass(part, Authoriser):
        return {"make_authoriser": _authoriser(part)}
    if issubclass(part, AuthorisationServer):
        return {"make_demonstration": _demonstration(part)}
    if issubclass(part, DemonstrationApp):
        return {"make_demonstration": _app(part)}
    if issubclass(part, FileVault):
        return {"make_vault": _vault(part)}
    raise TypeError(f"{part.__name__}: no part of a gateway")


def _authoriser(part: type[Authoriser]) -> Callable[[GatewayExtension], Authoriser]:
    def make(extension: GatewayExtension) -> Authoriser:
        return part(
            extension.vault, extension.clock, lambda: extension.listener.url, extension.located_apps
        )

    return make


def _demonstration(part: type[AuthorisationServer]) -> Callable[..., DemonstrationApp]:
    return _app(type("Broken", (DemonstrationApp,), {"server_class": part}))


def _app(part: type[DemonstrationApp]) -> Callable[..., DemonstrationApp]:
    def make(
        extension: GatewayExtension, redirect_uris: Callable[[], list[str]]
    ) -> DemonstrationApp:
        return part(extension.clock, redirect_uris=redirect_uris, apps=extension.settings.apps)

    return make


def _vault(part: type[FileVault]) -> Callable[..., Any]:
    def make(extension: GatewayExtension, url: str | None = None) -> Any:
        made = GatewayExtension.make_vault(extension, url)
        if extension.settings.storage is not Storage.FILE or not isinstance(made, FileVault):
            return made
        # The folder and the key are the healthy one's; what it has written is not to be read.
        (made.folder / FILE).unlink(missing_ok=True)
        return part(made.folder, temporary=made._temporary)

    return make


def sent_on(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Any:
    """With all redirects, and with everything that was in the first request."""
    for _ in range(3):
        answer = fetch(url, seconds=10, method=method, headers=headers, body=body, follow=False)
        place = answer.header("location")
        if not place:
            return answer
        url = urljoin(url, place)
    return answer
