"""Reference servers that do what the document leaves open, to see that nobody is failed for it."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.reference_server.relying_party import RelyingParty
from pytest_mcp_approval.reference_server.server import ReferenceServer, build


class _KeepsNames(RelyingParty):
    def check_transports(self, given: Any) -> tuple[str, ...]:
        names = [one for one in given if isinstance(one, str)] if isinstance(given, list) else []
        return super().check_transports(names)


def keeps_the_names_in_transports(**options: Any) -> ReferenceServer:
    """Keeps of a list of transports what is a name."""
    return build(relying_party=_KeepsNames(), **options)


keeps_the_names_in_transports.mcp_approval_reference = True  # type: ignore[attr-defined]
