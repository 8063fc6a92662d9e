"""The command, as somebody in an empty folder would use it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_mcp_approval.command.main import main
from tests.warm_python import warm_python

SMALL_SERVER = Path(__file__).with_name("small_server.py")


@dataclass
class Said:
    """What a use of the command came to."""

    code: int
    out: str
    err: str


Command = Callable[..., Said]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    place = tmp_path / "empty"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def command(folder: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """In this process, which is quick; for words that do not run pytest."""

    def run(*words: str) -> Said:
        capsys.readouterr()
        code = main(words)
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return run


@pytest.fixture
def command_apart(folder: Path) -> Command:
    """In a process of its own, as users have it."""

    def run(
        *words: str,
        variables: Mapping[str, str] | None = None,
        lines: str = "",
        warm: bool = True,
    ) -> Said:
        """`lines` are run before the command; unless `warm`, it loads what it needs by itself."""
        python = warm_python() if warm and not lines else (sys.executable,)
        script = f"import sys\n{lines}\nfrom pytest_mcp_approval.command.main import main\n"
        left_out = ("PYTEST_", "COLUMNS", "GITHUB_", "NO_COLOR", "FORCE_COLOR", "CI")
        own = {name: one for name, one in os.environ.items() if not name.startswith(left_out)}
        done = subprocess.run(
            [*python, "-c", f"{script}sys.exit(main())", *words],
            cwd=folder,
            env={**own, "PYTHONIOENCODING": "utf-8", **(variables or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=110,
            check=False,
        )
        return Said(done.returncode, _text(done.stdout), _text(done.stderr))

    return run


def _text(said: bytes) -> str:
    return said.decode("utf-8", "backslashreplace")


def small_server(*words: str) -> str:
    """The target of a small server that lists what these words say."""
    return f"stdio:{sys.executable} {SMALL_SERVER} {' '.join(words)}"
