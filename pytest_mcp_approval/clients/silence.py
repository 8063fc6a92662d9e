"""A scripted server that says nothing to some requests until it is told to, as behind a time-out.

    with Silence(server, "tools/call", then=HangUp()) as silence:
        ...                       # the client sends one, and waits
        silence.is_for_no_more()  # what comes from now on is answered as usual
        silence.ends()            # the late answer goes out, to whoever still listens

Leaving it does both. Knows no family and no transport.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Self

from .messages import Answer, Incoming
from .scripted_server import ScriptedServer

_LONGEST_SECONDS = 300.0
"""Whatever becomes of a scenario, no thread waits longer."""


def _all(_: Incoming) -> bool:
    return True


class Silence:
    """Requests of one method, those for which `about` holds, are kept waiting."""

    def __init__(
        self,
        server: ScriptedServer,
        method: str,
        *,
        then: Answer,
        about: Callable[[Incoming], bool] = _all,
    ) -> None:
        self._server = server
        self._method = method
        self._then = then
        self._about = about
        self._usual = server.handlers[method]
        self._over = threading.Event()
        self.kept: list[Incoming] = []
        """The requests that got no answer."""

    def __enter__(self) -> Self:
        self._server.handlers[self._method] = self._handle
        return self

    def __exit__(self, *_: object) -> None:
        self.is_for_no_more()
        self.ends()

    @property
    def has_begun(self) -> bool:
        return bool(self.kept)

    def is_for_no_more(self) -> None:
        """Answer later requests as usual; those that wait go on waiting."""
        self._server.handlers[self._method] = self._usual

    def ends(self) -> None:
        """Answer what was kept waiting."""
        self._over.set()

    def _handle(self, incoming: Incoming) -> Answer:
        # On a thread of the door's own: each request has one.
        if not self._about(incoming):
            return self._usual(incoming)
        self.kept.append(incoming)
        self._server.news.tell()
        self._over.wait(_LONGEST_SECONDS)
        return self._then
