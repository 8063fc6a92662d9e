"""Inner pytest runs, as a user would start them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points

import pytest

# An inner run in this process drops the modules that it was first to load, and a second copy of a
# compiled module is a stranger to the first: what is heavy is loaded here, once.
import virtual_authenticator.cdp
import virtual_authenticator.certificates
import virtual_authenticator.client_extensions
import virtual_authenticator.faults  # noqa: F401

pytest_plugins = ["pytester"]


def _named_plugin() -> list[str]:
    """Where the package is not installed (a bare checkout), the plugin has to be named."""
    known = {one.value for one in entry_points(group="pytest11")}
    return [] if "pytest_mcp_approval.plugin" in known else ["-p", "pytest_mcp_approval.plugin"]


class Suite:
    """Runs pytest in a folder of its own with the plugin."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester

    def run(
        self, *arguments: str, target: str | None = "reference", plugins: Sequence[object] = ()
    ) -> pytest.RunResult:
        """In this process, which is quicker; the reference server is imported only once."""
        named = [f"--mcp-approval-target={target}"] if target else []
        self.pytester.plugins = list(plugins)
        return self.pytester.runpytest_inprocess(
            "-p", "no:cacheprovider", *_named_plugin(), *named, *arguments
        )

    def run_apart(self, *arguments: str, target: str | None = "reference") -> pytest.RunResult:
        """In a process of its own."""
        named = [f"--mcp-approval-target={target}"] if target else []
        return self.pytester.runpytest_subprocess(*_named_plugin(), *named, *arguments, timeout=60)


@pytest.fixture
def suite(pytester: pytest.Pytester) -> Suite:
    return Suite(pytester)
