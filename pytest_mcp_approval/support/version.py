"""The version of this package, as it was installed; pyproject.toml is where it stands."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def own_version() -> str:
    """Empty in a checkout that was never installed."""
    try:
        return version("pytest-mcp-approval")
    except PackageNotFoundError:
        return ""
