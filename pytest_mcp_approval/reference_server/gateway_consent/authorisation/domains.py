"""Which host a cookie or a key may go to. Names only: nothing is looked up.

Knows no credential. An ambiguous name belongs nowhere.
"""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_PORTS = {"http": 80, "https": 443}


def belongs(host: str, domain: str) -> bool:
    """Whether a cookie of `domain` goes to `host`.

    With a leading dot: that domain and its subdomains, label by label. Without: that host alone. An
    IP address has no subdomains, and neither has a name of one label such as `.com`.
    """
    host, domain = host.lower(), domain.lower()
    below = domain.startswith(".")
    name = domain[1:] if below else domain
    if not is_name(host) or not is_name(name):
        return host == domain and is_number(host)
    if not below:
        return host == name
    if is_number(host) or is_number(name) or "." not in name:
        return host == name and name == "localhost"
    return host == name or host.endswith(f".{name}")


def is_name(host: str) -> bool:
    return len(host) <= 253 and _NAME.fullmatch(host) is not None


def is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        # Browsers and resolvers read 127.1 and 0x7f000001 as numbers too.
        return re.fullmatch(r"[0-9]+|0x[0-9a-f]*", host.rpartition(".")[2]) is not None
    return True


def origin_of(url: str) -> tuple[str, str, int] | None:
    """Scheme, host and port; None if they are missing or ambiguous."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or "@" in parts.netloc or "\\" in url:
        return None
    if not is_name(host) and not is_number(host):
        return None
    return parts.scheme, host.lower(), port or _PORTS[parts.scheme]
