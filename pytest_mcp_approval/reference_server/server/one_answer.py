"""Sessionless requests are answered with one JSON object each, whatever other requests get.

The SDK prepares for events in every answer: two tasks, a stream and a timer, which take longer than
the answer itself. Without a session the reference server never sends any (nor may it ask the client
something in between), so that nothing differs on the wire. The handshake era keeps its events.

Knows no extension, and of MCP only the header that names a revision.
"""

from __future__ import annotations

from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.middleware.errors import ServerErrorMiddleware

_REVISION = b"mcp-protocol-version"
_HANDSHAKE = frozenset(version.encode() for version in HANDSHAKE_PROTOCOL_VERSIONS)


class OneAnswerEach:
    """`app`, but for the sessionless POSTs to this path: `manager` answers those. It must be one
    that answers with JSON, and that nobody else runs."""

    def __init__(self, app: Any, manager: StreamableHTTPSessionManager, path: str) -> None:
        self._app = app
        self._manager = manager
        self._path = path
        # As Starlette does around `app`: an error is an answer of status 500.
        self._sessionless = ServerErrorMiddleware(manager.handle_request)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            async with self._manager.run():
                await self._app(scope, receive, send)
        elif self._is_sessionless(scope):
            await self._sessionless(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _is_sessionless(self, scope: Any) -> bool:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != self._path:
            return False
        # As the SDK decides it: by the first such header.
        named = (value for name, value in scope["headers"] if name == _REVISION)
        revision = next(named, None)
        return revision is not None and revision not in _HANDSHAKE
