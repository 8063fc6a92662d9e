"""What rules of gateway consent need of a target beyond what every family may need, and which of
them do not concern a gateway."""

from __future__ import annotations

from collections.abc import Iterable

from ...catalogue import Requirement
from ...target import Target
from ..base.needs import Check
from .driver import GatewayConsent
from .settings import TABLE, GatewayConsentTable
from .vocabulary import AuthType

_WAYS: dict[str, tuple[AuthType, ...]] = {
    "api-key": (AuthType.API_KEY,),
    "app-credential": (AuthType.APP_CREDENTIAL,),
    "cookie": (AuthType.COOKIE,),
    "oauth-authorize": (AuthType.OAUTH2,),
    "oauth-callback": (AuthType.OAUTH2,),
    "oauth-pkce": (AuthType.OAUTH2,),
    "oauth-token": (AuthType.OAUTH2,),
    "aai-tools-only-consented": (AuthType.OAUTH2,),
    "two-layers": tuple(AuthType),
    "never-logged": tuple(AuthType),
}
"""Rules about a way to authorise, which a gateway need not have."""


def not_concerned(rules: Iterable[Requirement], table: GatewayConsentTable) -> str:
    """Why none of the rules concerns this gateway; "" if one does."""
    ways = [_WAYS.get(rule.name) for rule in rules]
    if not ways or any(way is None or table.has(*way) for way in ways):
        return ""
    lacking = ", ".join(dict.fromkeys(kind.value for way in ways for kind in way or ()))
    return f"the gateway has no apps with {lacking} (auth {TABLE})"


def _export(target: Target) -> str | None:
    if GatewayConsent(target).table.export:
        return None
    return f"needs to see what is stored: export = 'tool:NAME' or a URL {TABLE}"


def _oauth(target: Target) -> str | None:
    if GatewayConsent(target).table.oauth is not None:
        return None
    return f"needs an app's authorisation server: oauth {TABLE}"


def _apps(target: Target) -> str | None:
    table = GatewayConsent(target).table
    if table.takes_apps or table.auth == ():  # then most of what apps are for does not concern it
        return None
    return (
        "needs a gateway that the suite starts and can give apps to: "
        f"descriptors-environment = 'VARIABLE' {TABLE}"
    )


def _files(target: Target) -> str | None:
    if GatewayConsent(target).table.files:
        return None
    return f"needs to know what the gateway writes: files = ['FOLDER'] {TABLE}"


CHECKS: dict[str, Check] = {"export": _export, "oauth": _oauth, "apps": _apps, "files": _files}
