"""One HTTP request to an app, bounded in size and time, and nothing else.

No redirect is followed and no proxy is used, so that a credential goes only where it should; plain
http is used for loopback only. Nothing is logged (httpx2 logs whole URLs, which may contain an API
key). Knows no app and no credential.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from ...support.connection import is_loopback
from ...support.fetch import Fetched, FetchError, TooLargeError, fetch

SECONDS = 10.0
MAXIMUM_BYTES = 1024 * 1024


class SendingError(Exception):
    """There is no answer; the message contains nothing of the request but its host."""


def send(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Fetched:
    """Send it and read the answer to its end; `SendingError` if that fails."""
    parts = checked(url)
    try:
        return fetch(
            url,
            seconds=SECONDS,
            method=method,
            headers=headers,
            body=body,
            limit=MAXIMUM_BYTES,
            follow=False,
        )
    except TooLargeError as error:
        raise SendingError(f"too large an answer from {parts.hostname}: {error}") from None
    except FetchError as error:
        # Not the error's own words: they may quote the request.
        raise SendingError(f"no answer from {parts.hostname}: {type(error).__name__}") from None


def checked(url: str) -> SplitResult:
    """The parts of a URL that a credential may be sent to: https, or http to this machine."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise SendingError("got a URL that cannot be read, expected http or https") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise SendingError("got another kind of URL, expected http or https and a host")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise SendingError(f"got http to {parts.hostname[:80]!a}, expected https beyond loopback")
    return parts
