"""What rules of gateway consent need of a target beyond what every family may need."""

from __future__ import annotations

from ...target import Target
from ..needs import Check
from .driver import GatewayConsent
from .table import TABLE


def _export(target: Target) -> str | None:
    if GatewayConsent(target).table.export:
        return None
    return f"needs to see what is stored: export = 'tool:NAME' or a URL {TABLE}"


def _oauth(target: Target) -> str | None:
    if GatewayConsent(target).table.oauth is not None:
        return None
    return f"needs an app's authorisation server: oauth {TABLE}"


def _apps(target: Target) -> str | None:
    if GatewayConsent(target).table.takes_apps:
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
