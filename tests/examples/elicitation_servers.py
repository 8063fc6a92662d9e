"""The examples that ask by elicitation: how each is reached, and a run of the suite in its folder.

They are servers on three SDKs, each in a healthy form (`server`) and with the SDK's helpers as they
come (`stock`). Knows no rules.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import fewer_cases
from tests.examples import mcp1_environment, node_packages
from tests.examples.judging import Judged, copy_of, run_pytest
from tests.inner_runs import WHOLE

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
HANDSHAKE = "--mcp-approval-protocol=2025-11-25"
OVER_HTTP = "--mcp-approval-target=http://localhost:{port}/mcp"


@dataclass(frozen=True)
class Reached:
    """An example, and how the suite gets to it; without words as its mcp-approval.toml says."""

    example: str
    words: tuple[str, ...] = ()
    briefly: bool = False
    """Whether all rules are checked only in `make matrix`: over stdio every client of the handshake
    era needs a process of its own."""
    timed: bool = False
    """Whether it runs under libfaketime here too, for which its start and each look at the clock
    pay: some checks move the time. `make matrix` can move it for all."""


def stdio(command: str) -> str:
    return f"--mcp-approval-target=stdio:{command}"


def over_http(command: str) -> tuple[str, str]:
    return OVER_HTTP, f"--mcp-approval-launch={command} --http {{port}}"


WITHOUT_SDK = "stdio-any-language"
PYTHON, FASTMCP, TYPESCRIPT = "elicitation-python", "elicitation-fastmcp1", "elicitation-typescript"
PYTHON_STDIO = stdio("python server.py --database {state}/approvals.db")
NODE_STDIO = stdio("node server.js --state {state}")
HEALTHY = {
    "Python, sessionless": Reached(PYTHON, timed=True),
    "Python, handshake": Reached(PYTHON, (HANDSHAKE,), briefly=True),
    "Python, sessionless over stdio": Reached(PYTHON, (PYTHON_STDIO,), briefly=True),
    "Python, handshake over stdio": Reached(PYTHON, (PYTHON_STDIO, HANDSHAKE), briefly=True),
    "FastMCP 1": Reached(FASTMCP, over_http("python server.py"), timed=True),
    "FastMCP 1 over stdio": Reached(FASTMCP, briefly=True),
    "without an SDK": Reached(WITHOUT_SDK, briefly=True),
    "TypeScript, sessionless": Reached(TYPESCRIPT, timed=True),
    "TypeScript, sessionless over stdio": Reached(TYPESCRIPT, (NODE_STDIO,), briefly=True),
    "TypeScript, handshake over stdio": Reached(TYPESCRIPT, (NODE_STDIO, HANDSHAKE), briefly=True),
}
STOCK = {
    "Python, sessionless": Reached(PYTHON, (stdio("python stock.py"),), timed=True),
    "FastMCP 1": Reached(FASTMCP, over_http("python stock.py")),
    "TypeScript, sessionless": Reached(TYPESCRIPT, (stdio("node stock.js"),), timed=True),
}
Judge = Callable[..., Judged]


def judge_in(pytester: pytest.Pytester, place: Path) -> Judge:
    """Runs the suite as somebody would who has copied an example."""

    def run(
        reached: Reached, *arguments: str, prepare: Callable[[Path], None] | None = None
    ) -> Judged:
        folder = copy_of(EXAMPLES / reached.example, place)
        commands = Path(sys.executable).parent
        if reached.example == FASTMCP:
            commands = mcp1_environment.environment()
        if reached.example == TYPESCRIPT:
            packages = node_packages.node_modules(EXAMPLES / TYPESCRIPT)
            (folder / "node_modules").symlink_to(packages, target_is_directory=True)
        if prepare is not None:
            prepare(folder)
        shutil.copy(fewer_cases.__file__, folder)
        fewer = () if WHOLE else ("-p", "fewer_cases")
        untimed = () if WHOLE or reached.timed else ("--mcp-approval-clock=none",)
        # A busy machine is slow to start things, which is not what is checked here.
        words = (*reached.words, *fewer, *untimed, "--mcp-approval-launch-timeout=60", *arguments)
        return run_pytest(pytester, folder, "-q", *words, commands=commands)

    return run
