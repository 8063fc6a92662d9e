"""What rules of gateway consent need from a target, beyond what all families need, and which of
them do not apply to a gateway."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...catalogue import Requirement
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
    "token-request": (AuthType.OAUTH2,),
    "app-token-request": (AuthType.APP_CREDENTIAL,),
    "aai-tools-only-consented": (AuthType.OAUTH2,),
    "two-layers": tuple(AuthType),
    "never-logged": tuple(AuthType),
    "credential-shape": tuple(AuthType),
    "key-store": tuple(AuthType),
    "credential-dialog": (AuthType.API_KEY, AuthType.APP_CREDENTIAL, AuthType.COOKIE),
}
"""Rules about a way to authorise, which a gateway need not have."""


def not_concerned(rules: Iterable[Requirement], table: GatewayConsentTable) -> str:
    """Why none of the rules applies to this gateway; "" if one does."""
    ways = [_WAYS.get(rule.name) for rule in rules]
    if not ways or any(way is None or table.has(*way) for way in ways):
        return ""
    lacking = ", ".join(dict.fromkeys(kind.value for way in ways for kind in way or ()))
    return f"the gateway has no apps with {lacking} (auth {TABLE})"


def _has(found: Callable[[GatewayConsentTable], object], missing: str) -> Check:
    said = f"needs {missing} {TABLE}"
    return lambda target: None if found(GatewayConsent(target).table) else said


CHECKS: dict[str, Check] = {
    "export": _has(
        lambda table: table.export, "to see what is stored: export = 'tool:NAME' or a URL"
    ),
    "credentials": _has(
        lambda table: table.credentials or table.auth == (),
        "to see how credentials are stored: credentials = 'tool:NAME' or a URL",
    ),
    "key-store": _has(
        lambda table: table.key_store,
        "to see what is in the system's key store: key-store = 'tool:NAME' or a URL",
    ),
    "oauth": _has(lambda table: table.oauth, "an app's authorisation server: oauth"),
    "apps": _has(
        # Without a way to authorise, most rules about apps do not apply.
        lambda table: table.takes_apps or table.auth == (),
        "a gateway that the suite starts and can give apps to: "
        "descriptors-environment = 'VARIABLE'",
    ),
    "files": _has(lambda table: table.files, "to know what the gateway writes: files = ['FOLDER']"),
}
