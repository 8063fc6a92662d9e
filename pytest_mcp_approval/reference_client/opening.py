"""Opens a conversation with a server that is named by its URL or its command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from .authenticators import Signer
from .client import CAPABILITIES, ReferenceClient
from .connection import Connection
from .people import Person
from .transports import HttpTransport, StdioTransport, Transport

SECONDS = 120.0
"""How long one answer may take: a person may be asked meanwhile."""


def transport_to(
    target: str | Sequence[str], headers: Mapping[str, str] | None = None, seconds: float = SECONDS
) -> Transport:
    """A URL; or a command, as a line or as words."""
    if isinstance(target, str) and target.startswith(("http://", "https://")):
        return HttpTransport(target, headers or {}, seconds)
    words = shlex.split(target.removeprefix("stdio:")) if isinstance(target, str) else target
    return StdioTransport(words, seconds)


def open_client(
    target: str | Sequence[str],
    *,
    person: Person,
    signer: Signer,
    headers: Mapping[str, str] | None = None,
) -> ReferenceClient:
    """A client that has agreed with the server on a revision and knows its tools; to be closed by
    `client.connection.close()`. Raises `BrokenOff` or `ServerError` if there is no conversation."""
    connection = Connection(transport_to(target, headers), CAPABILITIES)
    client = ReferenceClient(connection, person, signer)
    client.open()
    return client
