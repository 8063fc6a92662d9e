"""What rules need from a target, beyond what the suite checks itself (clock, restart)."""

from __future__ import annotations

from pytest_mcp_approval import Check, Target

from .driver import TwoPerson
from .vocabulary import FAMILY


def _guessing(target: Target) -> str | None:
    if TwoPerson(target).table.may_guess:
        return None
    return f"needs permission to send wrong PINs: may-guess = true in [{FAMILY}]"


CHECKS: dict[str, Check] = {"guessing": _guessing}
