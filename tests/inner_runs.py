"""pytest runs inside a test: which plugin, and what must be loaded before.

An inner run in this process drops the modules that it was first to load. The next one would load
them again, and a second copy of a compiled module is a stranger to the first: what may be wanted is
loaded here, once.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from tests import fewer_cases

WHOLE = bool(os.environ.get("MCP_APPROVAL_MATRIX"))
"""`make matrix`: every combination of transport, store and era, and all cases in each."""

ROOT = Path(__file__).parents[1]
LEFT_OUT = ("__main__", "browser", "scenarios", "verifiers")
"""What runs when it is loaded, or needs more than a run of the suite does."""


def load_everything() -> None:
    """Every module of ours that an inner run may want, with all that those load."""
    for package in ("pytest_mcp_approval", "virtual_authenticator"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if not set(parts) & set(LEFT_OUT):
                import_module(".".join(parts).removesuffix(".__init__"))


load_everything()


def plugin_options() -> list[str]:
    """Our plugin and no other that loads slowly. In a bare checkout ours has to be named."""
    others = ["-p", "no:hypothesispytest", "-p", "no:anyio"]
    # These collect garbage around every run, which in a process this large takes half a second.
    others += ["-p", "no:unraisableexception", "-p", "no:threadexception"]
    return others if _is_installed() else [*others, "-p", "pytest_mcp_approval.plugin"]


@cache
def _is_installed() -> bool:
    """Whether pytest finds the plugin by itself; that takes a look at every distribution."""
    return any(one.value == "pytest_mcp_approval.plugin" for one in entry_points(group="pytest11"))


def bare_options() -> list[str]:
    """For many short runs in this process: our plugin alone, and of pytest's own only what a run of
    the packaged scenarios has some use for. Reading the metadata of every distribution, marking
    their files and registering the rest takes longer than a short run itself."""
    unused = [
        *("cacheprovider", "debugging", "doctest", "faulthandler", "junitxml", "legacypath"),
        *("logging", "pastebin", "setuponly", "setupplan", "stepwise", "subtests", "unittest"),
        *("unraisableexception", "threadexception"),
    ]
    options = ["--disable-plugin-autoload", "-p", "pytest_mcp_approval.plugin", "--assert=plain"]
    return options + [word for name in unused for word in ("-p", f"no:{name}")]


class Verdicts:
    """Sits in an inner run and listens."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        result = getattr(report, "mcp_approval", None)
        if result is not None:
            self.found.append(result)


def sample_over(transport: str) -> list[object]:
    """For a run against the healthy reference: in this process it meets every case. Other
    transports have nothing to say to cases that differ in their arguments alone."""
    return [] if WHOLE or transport == "in-process" else [fewer_cases]
