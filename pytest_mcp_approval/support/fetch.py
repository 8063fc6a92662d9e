"""The suite's own HTTP client, for everything that is not the conversation with a server.

One deadline covers the whole answer: name lookup, connecting, TLS, any number of interim responses,
headers and body, however slowly they arrive. The size is limited. A redirect is followed only
within its origin, so that no header of the caller goes elsewhere. Proxies from the environment are
not used, because the server itself is under test. Knows nothing about JSON or MCP.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import urljoin

from .connection import Address, AddressError, ConnectFailedError, Connection, tls_context
from .deadline import Deadline
from .http1 import Headers, MalformedResponseError, ResponseReader, compose_request
from .http_status import advice_for
from .text import neutralise

DEFAULT_LIMIT = 8 * 1024 * 1024
_MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_KEEPING_THE_METHOD = (307, 308)


class FetchError(Exception):
    """There is no usable answer; one line says why, safe to print and without the address."""


class NotConnectedError(FetchError):
    """Nothing was sent: nobody is there, TLS failed, or the address is invalid."""


class NoAnswerError(FetchError):
    """The request was sent, but no complete answer came in time."""


class ClosedError(FetchError):
    """The peer closed the connection before its answer was complete."""


class NotHttpError(FetchError):
    """What came is not HTTP/1.1."""


class TooLargeError(FetchError):
    """The answer is larger than may be read."""


class RedirectError(FetchError):
    """The redirect leads to another origin, or in circles."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A complete answer, whatever its status is."""

    url: str
    """Where it came from, after redirects."""
    status: int
    headers: Headers
    body: bytes

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def header(self, name: str) -> str:
        """The first header of that name, ignoring case; empty if there is none."""
        return next(iter(self.all_of(name)), "")

    def all_of(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def describe(self) -> str:
        """The status, and what to do about it if that is known."""
        advice = advice_for(self.status, self.header("retry-after"))
        return f"HTTP {self.status}: {advice}" if advice else f"HTTP {self.status}"


def fetch(
    url: str,
    *,
    seconds: float,
    method: str = "GET",
    headers: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    body: bytes = b"",
    limit: int = DEFAULT_LIMIT,
    cut: bool = False,
    follow: bool = True,
    verify: bool = True,
) -> Fetched:
    """One answer within `seconds`, or a `FetchError`.

    With `cut` the first `limit` bytes of the body are enough, and it does not wait for the rest.
    Without `follow` a redirect is an answer like any other.
    """
    deadline = Deadline(seconds)
    given = tuple(headers.items() if isinstance(headers, Mapping) else headers)
    address = _address(url)
    for _ in range(_MOST_REDIRECTS + 1):
        payload = _request(address, method, given, body)
        with closing(_connected(address, deadline, verify=verify)) as connection:
            reader, brought = _answer(connection, payload, method, deadline, limit, cut=cut)
        assert reader.status is not None
        answer = Fetched(address.url, reader.status, reader.headers, brought)
        place = answer.header("location")
        if not follow or answer.status not in _REDIRECTS or not place:
            return answer
        address = _redirected(
            address, place, keeps=answer.status in _KEEPING_THE_METHOD or not body
        )
    raise RedirectError(f"more than {_MOST_REDIRECTS} redirects")


def _address(url: str) -> Address:
    try:
        return Address.parse(url)
    except AddressError as problem:
        raise NotConnectedError(str(problem)) from None


def _redirected(address: Address, place: str, *, keeps: bool) -> Address:
    """Where the redirect leads. Another origin is an error: the headers are not meant for it."""
    shown = neutralise(place, 120)
    try:
        other = Address.parse(urljoin(address.url, place).partition("#")[0])
    except ValueError:
        raise RedirectError(f"redirected to {shown}, which is not an address") from None
    if other.origin != address.origin:
        raise RedirectError(
            f"redirected to {shown}, which is another origin and is not followed; "
            "if that is what you want, name that address"
        )
    if not keeps:
        raise RedirectError(
            f"redirected to {shown} by a status that drops the body; name that address"
        )
    return other


def _request(address: Address, method: str, given: Headers, body: bytes) -> bytes:
    own = {name.lower() for name, _ in given}
    usual = (
        ("Host", address.authority),
        ("User-Agent", "pytest-mcp-approval"),
        ("Accept", "*/*"),
        ("Connection", "close"),
    )
    sent = tuple(pair for pair in usual if pair[0].lower() not in own) + given
    try:
        return compose_request(method, address.target, sent, body)
    except ValueError as problem:
        raise NotConnectedError(neutralise(str(problem))) from None


def _connected(address: Address, deadline: Deadline, *, verify: bool) -> Connection:
    try:
        context = tls_context(verify=verify) if address.secure else None
        return Connection.open(address, context, deadline)
    except ConnectFailedError as problem:
        raise NotConnectedError(str(problem)) from None


def _answer(
    connection: Connection,
    payload: bytes,
    method: str,
    deadline: Deadline,
    limit: int,
    *,
    cut: bool,
) -> tuple[ResponseReader, bytes]:
    """Status and headers, and the body."""
    reader, body = ResponseReader(method), bytearray()
    enough = False
    try:
        try:
            connection.send_all(payload, deadline)
        except TimeoutError:
            raise
        except OSError:
            pass  # closed while we were sending; it may have answered before
        while not reader.done and not enough:
            piece = connection.receive(deadline)
            body += reader.feed(piece)
            if not piece and not reader.end():
                raise ClosedError(f"it closed the connection {reader.where_closed}")
            if not cut and max(len(body), reader.declared_length or 0) > limit:
                raise TooLargeError(f"more than {limit} bytes")
            enough = cut and reader.has_head and len(body) >= limit
    except TimeoutError:
        part = "whole answer" if reader.has_head else "answer"
        raise NoAnswerError(f"no {part} within {deadline.in_words}") from None
    except MalformedResponseError as problem:
        raise NotHttpError(f"invalid HTTP response: {problem}") from None
    except OSError as problem:
        raise ClosedError(f"the connection broke: {problem.strerror or 'no reason'}") from None
    return reader, bytes(body[:limit] if cut else body)
