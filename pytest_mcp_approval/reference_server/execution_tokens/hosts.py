"""Which host a URL really names, and whether it is one of those that were allowed.

A host is compared as a whole, in lower case, without the dot of the root, in its ASCII form. Text
that readers could take for different hosts (user information, a backslash, an escaped dot, a space)
names none. Knows no token. Does not use `urllib.parse`, which turns some non-ASCII letters into
ASCII ones before they can be checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_ASCII_HOST = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*"
)
_AUTHORITY = re.compile(r"(?P<host>[^:]*)(?::(?P<port>[0-9]{0,5}))?")
_FORBIDDEN = re.compile(r"[\\@%\s\x00-\x20\x7f]")


class HostError(ValueError):
    """A text that does not clearly name a host."""


def host_of(text: str) -> str:
    """The host of a URL, or a bare host, in the form in which hosts are compared."""
    authority = text
    if "://" in text:
        scheme, _, rest = text.partition("://")
        if scheme.lower() not in ("http", "https"):
            raise HostError("got a URL of another scheme, expected http or https")
        authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if _FORBIDDEN.search(authority):
        raise HostError("got a host with user information, an escape, a backslash or a space")
    found = _AUTHORITY.fullmatch(authority)
    if not found or int(found["port"] or "0") > 65535:
        raise HostError("got no host, or a port that is no number")
    return normalise(found["host"])


def normalise(host: str) -> str:
    """Lower case, without the dot of the root, ASCII (by IDNA 2008 if needed)."""
    name = host.removesuffix(".")
    # In this order: str.lower turns some other letters into ASCII ones (the Kelvin sign).
    name = name.lower() if name.isascii() else _to_ascii(name)
    if not _ASCII_HOST.fullmatch(name):
        raise HostError("got no host name")
    return name


def _to_ascii(name: str) -> str:
    try:
        import idna
    except ModuleNotFoundError:
        raise HostError("got letters beyond ASCII: write the host as xn--...") from None
    try:
        return idna.encode(name).decode("ascii")
    except idna.IDNAError:
        raise HostError("got letters that no host name may have") from None


def is_allowed(text: str, allowed: Iterable[str]) -> bool:
    """Whether the whole host of a URL is one of these."""
    host = host_of(text)
    for entry in allowed:
        try:
            if normalise(entry) == host:
                return True
        except HostError:
            continue  # an entry that names no host allows none
    return False
