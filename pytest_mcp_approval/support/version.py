"""The version of this package, as installed; it is defined in pyproject.toml."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def own_version() -> str:
    """The version; empty in a checkout that was never installed."""
    try:
        return version("pytest-mcp-approval")
    except PackageNotFoundError:
        return ""
