"""pytest runs inside a test: which plugin, and what must be loaded before.

An inner run in this process drops the modules that it was first to load. The next one would load
them again, and a second copy of a compiled module does not work with the first. So everything that
may be needed is loaded here, once.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

WHOLE = bool(os.environ.get("MCP_APPROVAL_MATRIX"))
"""`make matrix`: every combination of transport, store and era, and all cases in each."""

ROOT = Path(__file__).parents[1]
LEFT_OUT = ("__main__", "browser", "scenarios", "verifiers")
"""Modules that run when they are loaded, or need more than a run of the suite does."""


def load_everything() -> None:
    """Load every module of ours that an inner run may need, with all that they import."""
    for package in ("pytest_mcp_approval", "virtual_authenticator"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if not set(parts) & set(LEFT_OUT):
                import_module(".".join(parts).removesuffix(".__init__"))


load_everything()
import_module("execnet")  # for inner runs with workers
# It takes over the search for distributions. First loaded in an inner run, whose end takes its
# finder away again, it would leave nobody to find plugins.
with suppress(ModuleNotFoundError):  # nothing needs it from Python 3.12 on
    import_module("importlib_metadata")


def plugin_options() -> list[str]:
    """Our plugin, and no other that loads slowly. In a bare checkout ours must be named."""
    others = ["-p", "no:hypothesispytest", "-p", "no:anyio"]
    # These collect garbage around every run, which takes half a second in such a large process.
    others += ["-p", "no:unraisableexception", "-p", "no:threadexception"]
    return others if _is_installed() else [*others, "-p", "pytest_mcp_approval.plugin"]


@cache
def _is_installed() -> bool:
    """Whether pytest finds the plugin by itself; this looks at every distribution."""
    return any(one.value == "pytest_mcp_approval.plugin" for one in entry_points(group="pytest11"))


def bare_options() -> list[str]:
    """For many short runs in this process: only our plugin, and only those of pytest's plugins that
    the packaged scenarios need. Reading the metadata of every distribution, marking their files and
    registering the rest takes longer than a short run itself."""
    unused = [
        *("cacheprovider", "debugging", "doctest", "faulthandler", "junitxml", "legacypath"),
        *("logging", "pastebin", "setuponly", "setupplan", "stepwise", "subtests", "unittest"),
        *("unraisableexception", "threadexception"),
    ]
    options = ["--disable-plugin-autoload", "-p", "pytest_mcp_approval.plugin", "--assert=plain"]
    return options + [word for name in unused for word in ("-p", f"no:{name}")]


class Verdicts:
    """A plugin that collects the verdicts of an inner run."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        result = getattr(report, "mcp_approval", None)
        if result is not None:
            self.found.append(result)
