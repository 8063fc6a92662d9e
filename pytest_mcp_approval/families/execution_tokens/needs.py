"""What rules of execution tokens need from a target, beyond what all families need."""

from __future__ import annotations

from ...config.settings import PREFIX
from ...target import Target
from ..base.needs import Check


def _launch(target: Target) -> str | None:
    if target.can_restart:
        return None
    return f"needs a verifier that the suite starts: {PREFIX}launch, or a stdio: or command: target"


CHECKS: dict[str, Check] = {"launch": _launch}
