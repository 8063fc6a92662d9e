"""What rules of the two-step tools need from a target, beyond what all families need."""

from __future__ import annotations

from ...config.settings import PREFIX
from ...target import Target
from ..base.needs import Check
from ..base.probes import FORMS
from .driver import PrepareConfirm
from .vocabulary import FAMILY


def _launch(target: Target) -> str | None:
    if target.can_restart:
        return None
    return f"needs a server that the suite starts: {PREFIX}target stdio:..., or {PREFIX}launch"


def _payload(target: Target) -> str | None:
    if PrepareConfirm(target).table.payload:
        return None
    return (
        f"tokens are opaque here: {PREFIX}set {FAMILY}.payload=true if they are payload|signature"
    )


def _store(target: Target) -> str | None:
    if PrepareConfirm(target).table.store:
        return None
    return f"needs to see what the server keeps: store = {FORMS} in [{FAMILY}]"


CHECKS: dict[str, Check] = {"launch": _launch, "payload": _payload, "store": _store}
