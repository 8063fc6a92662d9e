"""One HTTP request to an app, bounded, with a time for each silence, and nothing of its own accord.

No redirect is followed and no proxy asked, so that a credential goes where it was meant for and
nowhere else; plain http is spoken to loopback only. Nothing is logged (httpx2 logs whole URLs, and
an API key may stand in one). Knows no app and no credential.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

SECONDS = 10.0
MAXIMUM_BYTES = 1024 * 1024


class SendingError(Exception):
    """There is no answer; the words hold nothing of the request but its host."""


@dataclass(frozen=True)
class Answer:
    """What came back, whatever it means."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in small letters."""
    body: bytes = b""


def send(
    method: str,
    url: str,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    seconds: float = SECONDS,
) -> Answer:
    """Send it and read the answer to its end; `SendingError` if that cannot be."""
    parts = checked(url)
    connection = _connection(parts, seconds)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.request(method, target, body, dict(headers or {}))
        found = connection.getresponse()
        content = found.read(MAXIMUM_BYTES + 1)
        names = {name.lower(): value for name, value in found.getheaders()}
    except (OSError, http.client.HTTPException, ValueError) as error:
        # Not the error's own words: they may quote the request.
        raise SendingError(f"no answer from {parts.hostname}: {type(error).__name__}") from None
    finally:
        connection.close()
    if len(content) > MAXIMUM_BYTES:
        raise SendingError(
            f"too large an answer from {parts.hostname}: more than {MAXIMUM_BYTES} bytes"
        )
    return Answer(found.status, names, content)


def checked(url: str) -> SplitResult:
    """The parts of a URL that a credential may be sent to: https, or http to this machine."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise SendingError("got a URL that cannot be read, expected http or https") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise SendingError("got a URL of another sort, expected http or https and a host")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise SendingError(f"got http to {parts.hostname[:80]!a}, expected https beyond loopback")
    return parts


def is_loopback(host: str) -> bool:
    """By its name or number; no other name is looked up, for an answer may change."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _connection(parts: SplitResult, seconds: float) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "https":
        return http.client.HTTPSConnection(
            host, parts.port, timeout=seconds, context=ssl.create_default_context()
        )
    connection = http.client.HTTPConnection(host, parts.port, timeout=seconds)
    if host.lower().rstrip(".") == "localhost":
        connection._create_connection = _to_this_machine  # type: ignore[attr-defined]
    return connection


def _to_this_machine(
    address: tuple[str, int], timeout: float, source_address: tuple[str, int] | None = None
) -> socket.socket:
    """localhost is this machine, whatever a resolver says of it (RFC 6761)."""
    try:
        return socket.create_connection(("127.0.0.1", address[1]), timeout, source_address)
    except ConnectionRefusedError:
        return socket.create_connection(("::1", address[1]), timeout, source_address)
