"""A server that has nothing of the family; the suite imports it by name."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.reference_server import build


def make() -> Any:
    return build().asgi_app()
