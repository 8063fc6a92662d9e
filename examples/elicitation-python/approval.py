"""What the SDK's helpers leave open, closed: one yes runs one call, once.

The SDK (mcp 2.x) seals `requestState` and binds it to the tool, its arguments and the caller. It
does not remember which states were used, its default key ends with the process, and in the
handshake era it waits for an answer for ever. Copy this file; `server.py` shows its use.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from contextlib import closing
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.request_state import AESGCMRequestStateCodec, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR
from pydantic import BaseModel, ConfigDict

_brought: ContextVar[str | None] = ContextVar("brought", default=None)


class Confirmation(BaseModel):
    # Strict: otherwise "yes", "on" and 1 count as true. Nothing that was not asked for is taken.
    model_config = ConfigDict(strict=True, extra="forbid")

    confirm: bool


class Approvals:
    """Which questions were answered, and the key of the seal. Replicas share the database."""

    def __init__(self, database: Path) -> None:
        self._database = database
        with closing(self._open()) as store, store:
            store.execute("CREATE TABLE IF NOT EXISTS answered (state TEXT PRIMARY KEY)")
            store.execute("CREATE TABLE IF NOT EXISTS key (one INTEGER PRIMARY KEY, value BLOB)")
            made = secrets.token_bytes(32)
            store.execute("INSERT OR IGNORE INTO key VALUES (1, ?)", (made,))
            [(key,)] = store.execute("SELECT value FROM key")
        self.security = RequestStateSecurity(codec=_RememberingCodec([key]))

    def use(self, ctx: Context[Any, Any], answer: ElicitationResult[Confirmation]) -> None:
        """Call this just before the tool acts. Raises unless it is a yes, given for the first time.
        A question is over with its first answer, whatever that is."""
        # What a client can do is what this very request declares; `elicitation: {}` means forms.
        client = ctx.client_capabilities
        declared = client.elicitation if client is not None else None
        if declared is None or (declared.form is None and declared.url is not None):
            raise ToolError("Nothing was done: this client cannot ask a person.")
        state = _brought.get()
        # In the handshake era there is none: the question was asked inside this very call.
        if state is not None and not self._is_first(state):
            raise ToolError("Nothing was done: this question has been answered before.")
        if not isinstance(answer, AcceptedElicitation) or answer.data.confirm is not True:
            raise ToolError("Nothing was done: it was not confirmed.")

    def _is_first(self, state: str) -> bool:
        with closing(self._open()) as store, store:
            # One statement, so that of two at the same moment one wins.
            done = store.execute("INSERT OR IGNORE INTO answered VALUES (?)", (state,))
            return done.rowcount == 1

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._database, timeout=10)


class _RememberingCodec(AESGCMRequestStateCodec):
    """The SDK's seal; it also tells which state this request brought."""

    def unseal(self, token: str) -> bytes:
        payload = super().unseal(token)
        _brought.set(hashlib.sha256(token.encode()).hexdigest())
        return payload


def give_up_after(seconds: float) -> ServerMiddleware[Any]:
    """Middleware: no call stays open for ever. In the handshake era a question waits inside it."""

    async def give_up(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        with anyio.move_on_after(seconds):
            return await call_next(ctx)
        raise MCPError(code=INTERNAL_ERROR, message="Nothing was done: nobody answered in time.")

    return give_up
