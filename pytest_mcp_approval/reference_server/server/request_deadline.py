"""HTTP requests that do not arrive: uvicorn waits for them for ever, this protocol does not.

From the first moment of a connection, or the first byte of a further request on it, a whole request
must arrive in time. How long an answer takes does not matter. Knows no MCP.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class RequestDeadline(H11Protocol):
    """For `uvicorn.Config(http=...)`."""

    request_seconds: ClassVar[float] = 30.0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as there
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Between two requests uvicorn's own limit holds, until there is a byte of the next."""
        state = self.conn.their_state
        arriving = state is h11.SEND_BODY or (
            state is h11.IDLE and bool(self.conn.trailing_data[0])
        )
        if not arriving:
            self._stop()
        elif self._deadline is None:
            self._wait()

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(self.request_seconds, self.transport.abort)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
