"""Inner pytest runs, as a user would start them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.inner_runs import plugin_options
from tests.warm_python import warm_python


class Suite:
    """Runs pytest in a folder of its own with the plugin."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester

    def run(
        self,
        *arguments: str,
        target: str | None = "reference",
        plugins: Sequence[object] = (),
        remembers: bool = False,
    ) -> pytest.RunResult:
        """In this process, which is quicker; the reference server is imported only once. With
        `-n` the controller is here and only its workers are processes. `remembers`: what failed,
        for `--lf`."""
        named = [f"--mcp-approval-target={target}"] if target else []
        cache = [] if remembers else ["-p", "no:cacheprovider"]
        return self.pytester.runpytest_inprocess(
            *cache, *plugin_options(), *named, *arguments, plugins=list(plugins)
        )

    def run_apart(self, *arguments: str, target: str | None = "reference") -> pytest.RunResult:
        """In a process of its own, which loads what it needs as that of a user does."""
        named = [f"--mcp-approval-target={target}"] if target else []
        return self.pytester.runpytest_subprocess(
            *plugin_options(), *named, *arguments, timeout=110
        )

    def run_apart_warm(self, *arguments: str, target: str) -> pytest.RunResult:
        """In a process of its own, which has everything loaded."""
        command = [*warm_python(), "-m", "pytest", f"--mcp-approval-target={target}"]
        return self.pytester.run(*command, *plugin_options(), *arguments, timeout=110)


@pytest.fixture
def suite(pytester: pytest.Pytester) -> Suite:
    return Suite(pytester)
