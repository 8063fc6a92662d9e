"""Pages on loopback beside MCP: a small HTTP server, started when a page is first needed.

It does not depend on MCP's transport, so that a server on standard input has pages too. Only
requests under a loopback name are served (another site cannot point its own name here), and
requests are not logged, since their addresses are secret. Knows no family.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .serving import ServedApplication, ServingError

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

HOST = "localhost"
_HOSTS = ("localhost", "127.0.0.1")
_BACKLOG = 128
MAXIMUM_BYTES = 256 * 1024
"""For a request's body: forms, not uploads."""


class ListenerError(RuntimeError):
    """No page can be served."""


class Listener:
    """`routes` is called once, at the start."""

    def __init__(self, routes: Callable[[], Sequence[BaseRoute]], host: str = HOST) -> None:
        self._routes = routes
        self._host = host
        self._lock = threading.Lock()
        self._served: ServedApplication | None = None
        self._port = 0

    @property
    def running(self) -> bool:
        return self._served is not None

    @property
    def url(self) -> str:
        """Where it can be reached, without a slash at the end; starts it."""
        with self._lock:
            if self._served is None:
                self._served = self._start()
            return f"http://{self._host}:{self._port}"

    def _start(self) -> ServedApplication:
        listening = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
        self._port = int(listening.getsockname()[1])
        try:
            return ServedApplication(
                self.application(),
                listening,
                log_level=logging.CRITICAL,
                access_log=False,
                # The log of a program that embeds us stays as it is.
                log_config=None,
                lifespan="off",
                server_header=False,
                ws="none",
                timeout_graceful_shutdown=1,
            )
        except ServingError:
            raise ListenerError("pages: cannot listen on 127.0.0.1") from None

    def application(self) -> Any:
        from starlette.applications import Starlette

        return _Door(Starlette(routes=list(self._routes())), lambda: self._port)

    def stop(self) -> None:
        """Also if it never ran. If a page is needed later, it starts again on another port."""
        with self._lock:
            served, self._served = self._served, None
        if served is not None:
            served.stop()


class _Door:
    """Lets in requests to a loopback name with our port that are not too large."""

    def __init__(self, app: Any, port: Callable[[], int]) -> None:
        self._app = app
        self._port = port

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from starlette.responses import PlainTextResponse

        if scope["type"] != "http":
            return
        headers = dict(scope["headers"])
        allowed = {f"{host}:{self._port()}".encode() for host in _HOSTS}
        length = headers.get(b"content-length", b"0")
        if headers.get(b"host") not in allowed:
            answer = PlainTextResponse("This name is not served here.", 421)
        elif b"transfer-encoding" in headers or not length.isdigit():
            answer = PlainTextResponse("The body must have a length.", 411)
        elif len(length) > 12 or int(length) > MAXIMUM_BYTES:
            answer = PlainTextResponse("The body is too large.", 413)
        else:
            await self._app(scope, receive, send)
            return
        await answer(scope, receive, send)
