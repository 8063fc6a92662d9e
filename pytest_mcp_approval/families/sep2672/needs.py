"""What rules of SEP-2672 need from a target, beyond what all families need."""

from __future__ import annotations

from ...config.settings import PREFIX
from ...target import Target
from ..base.needs import Check
from .settings import settings_of


def _server_id(target: Target) -> str | None:
    target.session()  # an embedded server's id is known once it runs
    return (
        None
        if settings_of(target).server_id
        else f"needs the target's serverId: {PREFIX}server-id ID"
    )


CHECKS: dict[str, Check] = {"server-id": _server_id}
