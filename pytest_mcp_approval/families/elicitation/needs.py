"""What rules of elicitation need from a target, beyond what all families need.

A second caller, a page and replicas are looked for by the scenarios themselves: whether a server
has them shows only when it asks.
"""

from __future__ import annotations

from ...catalogue import NotApplicable
from ...target import Target
from ...wire import StdioTransport
from ..base.needs import Check
from ..base.second_user import headers_of_second_user


def _second_caller(target: Target) -> str | None:
    """Over stdio there is one caller; elsewhere the user names a second one."""
    headers_of_second_user(target, known_to_document=True)
    return None


def _http(target: Target) -> str | None:
    if isinstance(target.transport, StdioTransport):
        raise NotApplicable("over stdio there is one session")
    return None


CHECKS: dict[str, Check] = {"second-caller": _second_caller, "http": _http}
