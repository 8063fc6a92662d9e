"""The reference server: one gate per family, stores, and entry points for HTTP and stdio.

    from pytest_mcp_approval.reference_server import build
    application = build().asgi_app()

Its dependencies are in the extra `reference`; importing this package alone needs none. Knows
nothing of the plugin: of the rest of the project it uses only the families' vocabularies and
`support`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .assembly import build as build
    from .assembly import default_extensions as default_extensions
    from .elicitation.gate import ElicitationGate as ElicitationGate
    from .elicitation.high_level import ElicitedApproval as ElicitedApproval
    from .elicitation.store import ElicitationStore as ElicitationStore
    from .sep2672.gate import ApprovalGate as ApprovalGate
    from .sep2672.high_level import VerifiedApproval as VerifiedApproval
    from .sep2672.records import ApprovedCall as ApprovedCall
    from .sep2672.records import GatedTool as GatedTool
    from .sep2672.refusals import ApprovalRefusal as ApprovalRefusal
    from .sep2672.relying_party import RelyingParty as RelyingParty
    from .sep2672.relying_party import VerificationError as VerificationError
    from .sep2672.store import ApprovalStore as ApprovalStore
    from .server.answers import InvalidParamsError as InvalidParamsError
    from .server.clock import Clock as Clock
    from .server.clock import FileClock as FileClock
    from .server.clock import SettableClock as SettableClock
    from .server.clock import SystemClock as SystemClock
    from .server.high_level_doors import http_app as http_app
    from .server.high_level_doors import run_stdio as run_stdio
    from .server.mcp_server import ReferenceServer as ReferenceServer

_HOMES = {
    "assembly": ("build", "default_extensions"),
    "elicitation.gate": ("ElicitationGate",),
    "elicitation.high_level": ("ElicitedApproval",),
    "elicitation.store": ("ElicitationStore",),
    "sep2672.gate": ("ApprovalGate",),
    "sep2672.high_level": ("VerifiedApproval",),
    "sep2672.records": ("ApprovedCall", "GatedTool"),
    "sep2672.refusals": ("ApprovalRefusal",),
    "sep2672.relying_party": ("RelyingParty", "VerificationError"),
    "sep2672.store": ("ApprovalStore",),
    "server.answers": ("InvalidParamsError",),
    "server.clock": ("Clock", "FileClock", "SettableClock", "SystemClock"),
    "server.high_level_doors": ("http_app", "run_stdio"),
    "server.mcp_server": ("ReferenceServer",),
}

__all__ = sorted(name for names in _HOMES.values() for name in names)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f".{home}", __name__), name)
    except ModuleNotFoundError as error:
        raise missing_extra(error) from None


def missing_extra(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """The same error, in one line that says what to install; unchanged for our own modules."""
    name = (error.name or "").partition(".")[0]
    if name == __name__.partition(".")[0]:
        return error
    return ModuleNotFoundError(
        f"the reference server needs {name}: pip install 'pytest-mcp-approval[reference]'",
        name=error.name,
    )
