"""The reference server: one gate per family, stores, and entry points for HTTP and stdio.

    from pytest_mcp_approval.reference_server import build
    application = build().asgi_app()

What it needs is in the extra `reference`; importing this package alone needs nothing. Knows nothing
of the plugin: of the rest of the project it uses the families' vocabularies only.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .clock import Clock, FileClock, SettableClock, SystemClock
    from .high_level import VerifiedApproval, http_app, run_stdio
    from .relying_party import RelyingParty, VerificationError
    from .sep2672.gate import ApprovalGate
    from .sep2672.records import Approval, GatedTool
    from .sep2672.refusals import ApprovalRefusal, InvalidParamsError
    from .server import ReferenceServer, build
    from .stores.interface import Store
    from .stores.memory import MemoryStore
    from .stores.sql import SqlStore
    from .tools import DEMONSTRATION_TOOLS, RESTART_SERVICE, Tool

_HOMES = {
    "Approval": "sep2672.records",
    "ApprovalGate": "sep2672.gate",
    "ApprovalRefusal": "sep2672.refusals",
    "Clock": "clock",
    "DEMONSTRATION_TOOLS": "tools",
    "FileClock": "clock",
    "GatedTool": "sep2672.records",
    "InvalidParamsError": "sep2672.refusals",
    "MemoryStore": "stores.memory",
    "RESTART_SERVICE": "tools",
    "ReferenceServer": "server",
    "RelyingParty": "relying_party",
    "SettableClock": "clock",
    "SqlStore": "stores.sql",
    "Store": "stores.interface",
    "SystemClock": "clock",
    "Tool": "tools",
    "VerificationError": "relying_party",
    "VerifiedApproval": "high_level",
    "build": "server",
    "http_app": "high_level",
    "run_stdio": "high_level",
}

__all__ = [
    "DEMONSTRATION_TOOLS",
    "RESTART_SERVICE",
    "Approval",
    "ApprovalGate",
    "ApprovalRefusal",
    "Clock",
    "FileClock",
    "GatedTool",
    "InvalidParamsError",
    "MemoryStore",
    "ReferenceServer",
    "RelyingParty",
    "SettableClock",
    "SqlStore",
    "Store",
    "SystemClock",
    "Tool",
    "VerificationError",
    "VerifiedApproval",
    "build",
    "http_app",
    "run_stdio",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    except ModuleNotFoundError as error:
        raise missing_extra(error) from None


def missing_extra(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """The same error, in one line that says what to install; ours as it was."""
    name = (error.name or "").partition(".")[0]
    if name == __name__.partition(".")[0]:
        return error
    return ModuleNotFoundError(
        f"the reference server needs {name}: pip install 'pytest-mcp-approval[reference]'",
        name=error.name,
    )
