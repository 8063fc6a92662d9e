"""A TCP or TLS connection on which every operation has a deadline.

Knows nothing about HTTP. A socket's own timeout starts again with each byte that arrives; here the
timeout is what is left of the deadline.
"""

import contextlib
import ipaddress
import selectors
import socket
import ssl
import threading
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from .deadline import Deadline
from .text import neutralise

_PIECE = 64 * 1024
_SMALL_PIECE = 4 * 1024
"""The size of a read that only looks whether anything is there: the buffer is always allocated."""
_QUICK_ACKNOWLEDGEMENT: int | None = getattr(socket, "TCP_QUICKACK", None)


class AddressError(ValueError):
    """The text is not an address to connect to; one line says why."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where an http or https URL points."""

    url: str
    secure: bool
    host: str
    port: int
    target: str
    """Path and query, as they go into the request line."""
    authority: str
    """Host and port, as they go into the Host header."""

    @property
    def origin(self) -> tuple[bool, str, int]:
        """The origin, which is the same for URLs of one server (RFC 6454)."""
        return self.secure, self.host.lower(), self.port

    @classmethod
    def parse(cls, url: str) -> "Address":
        """Raises `AddressError`."""
        shown = neutralise(url)
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as problem:
            raise AddressError(f"not a URL: {shown} ({problem})") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise AddressError(f"not an http or https URL: {shown}")
        if parts.username is not None or parts.password is not None:
            host = neutralise(parts.hostname)
            raise AddressError(f"credentials belong in a header, not in the URL of {host}")
        if not url.isascii() or not url.isprintable() or " " in url:
            raise AddressError(f"a URL must be spelled in ASCII without spaces: {shown}")
        secure = parts.scheme == "https"
        default = 443 if secure else 80
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return cls(
            url=url,
            secure=secure,
            host=parts.hostname,
            port=default if port is None else port,
            target=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
            authority=host if port in (None, default) else f"{host}:{port}",
        )


class ConnectFailedError(Exception):
    """The connection failed; the text says why."""


class Connection:
    """One connected socket. Raises `TimeoutError` at the deadline and `OSError` when it breaks."""

    def __init__(self, raw: socket.socket) -> None:
        self.socket = raw

    @classmethod
    def open(
        cls, address: Address, context: ssl.SSLContext | None, deadline: Deadline
    ) -> "Connection":
        plain = _connect(address, deadline)
        if not address.secure:
            return cls(plain)
        try:
            plain.settimeout(_time_left(deadline))
            assert context is not None
            return cls(context.wrap_socket(plain, server_hostname=address.host))
        except ssl.SSLCertVerificationError as problem:
            plain.close()
            raise ConnectFailedError(f"certificate not trusted: {problem.verify_message}") from None
        except TimeoutError:
            plain.close()
            raise ConnectFailedError(f"no TLS handshake within {deadline.in_words}") from None
        except (OSError, ValueError) as problem:
            plain.close()
            raise ConnectFailedError(f"TLS failed: {neutralise(str(problem))}") from None

    def send(self, data: bytes | memoryview, deadline: Deadline) -> int:
        """One send; returns how many bytes were taken. If it raises, none were."""
        self.socket.settimeout(_time_left(deadline))
        return self.socket.send(data)

    def send_all(self, data: bytes, deadline: Deadline) -> None:
        # Not sendall: over TLS its timeout starts again with each piece that is taken.
        left = memoryview(data)
        while left:
            left = left[self.send(left, deadline) :]

    def receive(self, deadline: Deadline) -> bytes:
        """The next bytes; empty at the end."""
        self.socket.settimeout(_time_left(deadline))
        self.acknowledge_at_once()
        return self._receive(_PIECE)

    def receive_ready(self) -> bytes | None:
        """What is already there: None if nothing, empty at the end."""
        self.socket.setblocking(False)
        try:
            return self._receive(_SMALL_PIECE)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return None

    def acknowledge_at_once(self) -> None:
        """Many servers write head and body separately and wait for the head to be acknowledged,
        which Linux delays by 40 ms: on loopback that is ten times the rest. Holds for one
        answer."""
        if _QUICK_ACKNOWLEDGEMENT is not None:
            with contextlib.suppress(OSError):
                self.socket.setsockopt(socket.IPPROTO_TCP, _QUICK_ACKNOWLEDGEMENT, 1)

    def cut(self) -> None:
        """End it from another thread, without TLS's goodbye: whoever reads from it wakes up."""
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self.socket, socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.close()

    def _receive(self, size: int) -> bytes:
        try:
            return self.socket.recv(size)
        except ssl.SSLEOFError:
            return b""  # closed without TLS's goodbye, as many do


def tls_context(*, verify: bool = True) -> ssl.SSLContext:
    """Without `verify` any certificate is accepted."""
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def wait_readable(connections: list[Connection], seconds: float) -> list[Connection]:
    """The `connections` that have something to read; waits at most `seconds` for the first."""
    pending = [c for c in connections if isinstance(c.socket, ssl.SSLSocket) and c.socket.pending()]
    if pending or not connections:
        return pending
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection.socket, selectors.EVENT_READ, connection)
        return [key.data for key, _ in selector.select(seconds)]


def _time_left(deadline: Deadline) -> float:
    left = deadline.left()
    if left <= 0:
        raise TimeoutError  # a timeout of zero would mean "do not wait" to a socket
    return left


def _connect(address: Address, deadline: Deadline) -> socket.socket:
    """Connect to the first of the host's addresses that works, all within one deadline."""
    place = f"{address.host}:{address.port}"
    reason = "no address"
    for family, kind, protocol, _, where in _resolve(address, deadline):
        try:
            plain = socket.socket(family, kind, protocol)
        except OSError as problem:  # without IPv6, say
            reason = problem.strerror or str(problem)
            continue
        try:
            plain.settimeout(_time_left(deadline))
            plain.connect(where)
            # One request is one send; waiting to fill the packet would gain nothing.
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return plain
        except ConnectionRefusedError:
            reason = "connection refused"
        except TimeoutError:
            reason = f"no connection within {deadline.in_words}"
        except OSError as problem:
            reason = problem.strerror or str(problem)
        plain.close()
    raise ConnectFailedError(f"{reason} ({place})")


_Resolved = list[tuple[Any, Any, int, str, Any]]
"""What `getaddrinfo` returns."""


def _resolve(address: Address, deadline: Deadline) -> _Resolved:
    """The addresses of a host. The system's resolver has no timeout, so a name is looked up in its
    own thread, which is abandoned if it takes too long."""
    found: list[_Resolved | OSError | UnicodeError] = []

    def look_up() -> None:
        try:
            found.append(socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as problem:
            found.append(problem)

    if is_loopback(address.host):
        look_up()  # needs no other machine
    else:
        thread = threading.Thread(target=look_up, name="mcp-approval resolver", daemon=True)
        thread.start()
        thread.join(deadline.left())
    shown = neutralise(address.host)
    if not found:
        raise ConnectFailedError(f"{shown} was not resolved within {deadline.in_words}")
    if isinstance(found[0], list):
        # localhost is this machine, whatever a resolver says (RFC 6761).
        here = is_loopback(address.host)
        return [one for one in found[0] if not here or is_loopback(one[4][0])]
    reason = found[0].strerror if isinstance(found[0], OSError) else "not a host name"
    raise ConnectFailedError(f"no such host: {shown} ({reason})")


def is_loopback(host: str) -> bool:
    """Whether a URL's host is this machine, without asking a resolver."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
