"""The origin of an address, as a browser writes it. Knows no page and no browser."""

from __future__ import annotations

from urllib.parse import urlsplit

OPAQUE = "null"
_INHERITING = ("", "about:blank", "about:srcdoc")


def origin_of_url(url: str) -> str | None:
    """The origin of a URL; None if it is inherited from another document."""
    if url.partition("#")[0].partition("?")[0] in _INHERITING:
        return None
    try:
        parts = urlsplit(url.removeprefix("blob:"))
        host, port = parts.hostname, parts.port
    except ValueError:
        return OPAQUE
    if parts.scheme not in ("http", "https") or not host:
        return OPAQUE
    named = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{named}" + (f":{port}" if port is not None else "")
