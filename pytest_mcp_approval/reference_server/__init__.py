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
    from .assembly import build, default_extensions
    from .sep2672.gate import ApprovalGate
    from .sep2672.high_level import VerifiedApproval, http_app, run_stdio
    from .sep2672.records import ApprovedCall, GatedTool
    from .sep2672.refusals import ApprovalRefusal
    from .sep2672.relying_party import RelyingParty, VerificationError
    from .sep2672.store import ApprovalStore
    from .server.answers import InvalidParamsError
    from .server.clock import Clock, FileClock, SettableClock, SystemClock
    from .server.mcp_server import ReferenceServer

_HOMES = {
    "assembly": ("build", "default_extensions"),
    "sep2672.gate": ("ApprovalGate",),
    "sep2672.high_level": ("VerifiedApproval", "http_app", "run_stdio"),
    "sep2672.records": ("ApprovedCall", "GatedTool"),
    "sep2672.refusals": ("ApprovalRefusal",),
    "sep2672.relying_party": ("RelyingParty", "VerificationError"),
    "sep2672.store": ("ApprovalStore",),
    "server.answers": ("InvalidParamsError",),
    "server.clock": ("Clock", "FileClock", "SettableClock", "SystemClock"),
    "server.mcp_server": ("ReferenceServer",),
}

__all__ = [
    "ApprovalGate",
    "ApprovalRefusal",
    "ApprovalStore",
    "ApprovedCall",
    "Clock",
    "FileClock",
    "GatedTool",
    "InvalidParamsError",
    "ReferenceServer",
    "RelyingParty",
    "SettableClock",
    "SystemClock",
    "VerificationError",
    "VerifiedApproval",
    "build",
    "default_extensions",
    "http_app",
    "run_stdio",
]


def __getattr__(name: str) -> Any:
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f".{home}", __name__), name)
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
