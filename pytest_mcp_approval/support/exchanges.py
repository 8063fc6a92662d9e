"""One exchange with a server, as it is kept for reports.

Does not know what the messages mean. Everything is bounded, since the server decides how much it
sends.
"""

from dataclasses import dataclass, replace
from hashlib import sha256

from .http1 import Headers
from .secrets import HIDDEN, beginning

KEPT_OF_A_BODY = 64 * 1024
KEPT_OF_A_HEADER = 1024
KEPT_HEADERS = 100

SECRET_HEADERS = frozenset(
    {"authorization", "cookie", "proxy-authorization", "set-cookie", "x-api-key"}
)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The beginning of some bytes, and how many there were."""

    head: bytes
    length: int
    whole_digest: str = ""
    """SHA-256 of all of them, in hexadecimal digits, if some are missing."""

    @classmethod
    def of(cls, data: bytes | bytearray) -> "Excerpt":
        digest = sha256(data).hexdigest() if len(data) > KEPT_OF_A_BODY else ""
        return cls(bytes(data[:KEPT_OF_A_BODY]), len(data), digest)

    @property
    def digest(self) -> str:
        """SHA-256 of all the bytes that there were."""
        return self.whole_digest or sha256(self.head).hexdigest()

    @property
    def complete(self) -> bool:
        return len(self.head) == self.length

    def cut_to(self, size: int) -> "Excerpt":
        if len(self.head) <= size:
            return self
        return Excerpt(self.head[:size], self.length, self.digest)


def without_secrets(headers: Headers, hidden: frozenset[str] = SECRET_HEADERS) -> Headers:
    """`headers` as a report may show them: those in `hidden` without their value, all bounded."""
    return tuple(
        (_short(name), HIDDEN if name.lower() in hidden else _short(value))
        for name, value in headers[:KEPT_HEADERS]
    )


def _short(text: str) -> str:
    """Secrets are hidden when the text is shown, but already here if it is cut."""
    return text if len(text) <= KEPT_OF_A_HEADER else beginning(text, KEPT_OF_A_HEADER)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One exchange, or one message that the server sent by itself (`outcome` is then None)."""

    method: str
    sent: Excerpt
    received: Excerpt
    outcome: str | None
    """How it ended, in the words of the wire."""
    detail: str
    started: float
    """Measured by `deadline.now`."""
    seconds: float = 0.0
    status: int | None = None
    request_headers: Headers = ()
    response_headers: Headers = ()

    @property
    def weight(self) -> int:
        """About how many bytes it keeps."""
        headers = (*self.request_headers, *self.response_headers)
        text = sum(len(name) + len(value) for name, value in headers)
        return len(self.sent.head) + len(self.received.head) + text

    def cut_to(self, size: int) -> "Exchange":
        """The same with at most `size` bytes of each body, and of the headers on each side."""
        if self.weight <= size:
            return self
        return replace(
            self,
            sent=self.sent.cut_to(size),
            received=self.received.cut_to(size),
            request_headers=_first_of(self.request_headers, size),
            response_headers=_first_of(self.response_headers, size),
        )


def _first_of(headers: Headers, size: int) -> Headers:
    kept = []
    for name, value in headers:
        size -= len(name) + len(value)
        if size < 0:
            break
        kept.append((name, value))
    return tuple(kept)
