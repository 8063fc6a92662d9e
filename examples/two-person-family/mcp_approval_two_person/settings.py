"""What a user tells the suite about their server: the table [two_person]. Knows no server.

The suite reads the table before anything is sent, and says in one line what is wrong with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_mcp_approval import Place, Target, read, setting

from .vocabulary import FAMILY


@dataclass(frozen=True)
class TwoPersonTable:
    """The whole table. A key is a field's name with hyphens: `approver-pin`."""

    requester_pin: str = setting("", secret=True)
    """Of the person who requests."""
    approver_pin: str = setting("", secret=True)
    """Of another one."""
    action: str = ""
    """An action that is safe to run, many times."""
    request_tool: str = "request"
    approve_tool: str = "approve"
    minutes: int = setting(5, least=1, most=60)
    """How long a request waits for the second person."""
    may_guess: bool = False
    """Whether the suite may send wrong PINs until the server closes the request."""


TABLE_CLASS = TwoPersonTable


def table_for(target: Target) -> TwoPersonTable:
    given = target.settings.family_settings.get(FAMILY, {})
    return read(TwoPersonTable, given, Place((FAMILY,), target.settings.sources))
