"""What a user tells the suite of their server: the table [two_person]. Knows no server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_mcp_approval import Place, Sources, read

from .vocabulary import FAMILY


@dataclass(frozen=True)
class Table:
    """The whole table. A key is written with hyphens: `approver-pin`."""

    requester_pin: str = ""
    """Of the person who requests."""
    approver_pin: str = ""
    """Of another one."""
    action: str = ""
    """An action that is safe to run, many times."""
    request_tool: str = "request"
    approve_tool: str = "approve"
    minutes: int = 5
    """How long a request waits for the second person."""
    may_guess: bool = False
    """Whether the suite may send wrong PINs until the server has enough of them."""


def read_table(given: Mapping[str, Any], sources: Sources | None = None) -> Table:
    """The table; `SettingsError` is one line that says what is wrong with it."""
    return read(Table, given, Place((FAMILY,), sources or Sources()))
