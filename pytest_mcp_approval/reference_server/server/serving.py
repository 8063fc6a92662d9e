"""An ASGI application behind a socket, in a thread of its own. Knows neither MCP nor pages."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

_SECONDS = 10.0


class ServingError(RuntimeError):
    """The application does not start."""


class ServedApplication:
    """Serves from its creation to `stop`; `options` are those of uvicorn's configuration."""

    def __init__(self, app: Any, listening: socket.socket, **options: Any) -> None:
        import uvicorn  # here, so that it costs nothing if nothing is served

        from .prompt_server import PromptServer
        from .request_deadline import RequestDeadline

        self.port = int(listening.getsockname()[1])
        self._server = PromptServer(uvicorn.Config(app, http=RequestDeadline, **options))
        self._thread = threading.Thread(
            target=self._server.run,
            kwargs={"sockets": [listening]},
            name=f"serving port {self.port}",
            daemon=True,
        )
        self._thread.start()
        give_up = time.monotonic() + _SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > give_up:
                self._server.leave()
                listening.close()
                raise ServingError(f"nothing serves port {self.port} of 127.0.0.1")
            time.sleep(0.001)

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        self._server.leave()
        self._thread.join(_SECONDS)
