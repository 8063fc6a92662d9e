"""What rules of SEP-2672 need of a target beyond what every family may need."""

from __future__ import annotations

from ...config.settings import PREFIX
from ...target import Target
from ..base.needs import Check


def _server_id(target: Target) -> str | None:
    target.session()  # an embedded server's id is known once it runs
    known = target.settings.server_id or target.known_server_id
    return None if known else f"needs the target's serverId: {PREFIX}server-id ID"


CHECKS: dict[str, Check] = {"server-id": _server_id}
