"""What a user tells the suite of their server: the table [two_person]. Knows no server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from pytest_mcp_approval.config.settings import SettingsError
from pytest_mcp_approval.support.nearest import expected

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


def read_table(given: Mapping[str, Any]) -> Table:
    """The table; `SettingsError` is one line that says what is wrong with it."""
    known = {field.name.replace("_", "-"): type(field.default) for field in fields(Table)}
    for key, value in given.items():
        if key not in known:
            raise SettingsError(f"[{FAMILY}]: got {key!r}, {expected(key, known)}")
        if type(value) is not known[key]:
            words = {str: "text", int: "a whole number", bool: "true or false"}[known[key]]
            raise SettingsError(f"[{FAMILY}] {key}: got {value!r}, expected {words}")
    return Table(**{key.replace("-", "_"): value for key, value in given.items()})
