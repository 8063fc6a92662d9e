"""Under which names a server is served, and to which pages: this stops DNS rebinding.

The SDK checks names only if it is told to, or if it listens on loopback; a server on a public
address needs it most. Knows no family.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcp.server.transport_security import TransportSecuritySettings

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
WILDCARDS = ("0.0.0.0", "::", "[::]", "")
"""Addresses to listen on that are nobody's name."""


def names_checked(hosts: Sequence[str], origins: Sequence[str]) -> TransportSecuritySettings:
    """Loopback names and these hosts, with any port; pages of loopback and of these origins."""
    names = [*LOOPBACK_HOSTS, *(host for host in hosts if host not in WILDCARDS)]
    pages = [f"http://{host}" for host in LOOPBACK_HOSTS]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[pattern for name in names for pattern in (name, f"{name}:*")],
        allowed_origins=[pattern for page in pages for pattern in (page, f"{page}:*")]
        + list(origins),
    )
