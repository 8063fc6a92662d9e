"""Who may approve, where, and where that is remembered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcp.server.context import ServerRequestContext

from pytest_mcp_approval.reference_server import (
    ApprovalGate,
    ApprovalStore,
    ElicitationGate,
    ElicitationStore,
    ElicitedApproval,
    RelyingParty,
    SystemClock,
    VerifiedApproval,
)


def approval_by_passkey(
    database: Path, origins: Sequence[str], server_id: str | None = None
) -> VerifiedApproval:
    """The gate, with its credentials and challenges in an SQLite file."""
    gate = ApprovalGate(
        store=ApprovalStore(f"sqlite:///{database}"),
        # Passkeys are enrolled for this host name, on these pages, and work nowhere else.
        relying_party=RelyingParty("localhost", name="Small Bank", origins=origins),
        # Random and kept in the database, unless it is given.
        server_id=server_id,
    )
    return VerifiedApproval(gate, user=user_of)


def approval_by_question(database: Path) -> ElicitedApproval:
    """The gate that asks through the client, with what was answered in an SQLite file."""
    gate = ElicitationGate(ElicitationStore(f"sqlite:///{database}"), SystemClock())
    return ElicitedApproval(gate, user=user_of)


def user_of(context: ServerRequestContext[Any, Any]) -> str:  # noqa: ARG001
    """Whose passkeys and answers count for this request.

    This server listens on the loopback interface and serves the one person at the machine. With
    authentication it would be `get_access_token().subject`, and never something that the client
    merely claims.
    """
    return "owner"
