"""The environment of examples/mcp1-server: mcp 1.x, which cannot be installed beside mcp 2.

Made once for its requirements, in `.cache/mcp1-server/<hash of requirements.txt>` of the checkout,
and kept for later runs. Workers that want it at the same time wait for the one that makes it.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
EXAMPLE = CHECKOUT / "examples" / "mcp1-server"
CACHE = CHECKOUT / ".cache" / "mcp1-server"
INSTALL_SECONDS = 100


def environment() -> Path:
    """The folder of the environment's commands, with a python that has mcp 1.x."""
    requirements = EXAMPLE / "requirements.txt"
    made_for = f"{sys.version_info[:2]} {sys.executable}".encode() + requirements.read_bytes()
    folder = CACHE / hashlib.sha256(made_for).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "installed"
    with _locked(folder / "lock"):
        if not done.exists():
            shutil.rmtree(folder / "venv", ignore_errors=True)  # what an interrupted run left
            _make(folder / "venv", requirements)
            done.touch()
    return folder / "venv" / "bin"


def _make(venv: Path, requirements: Path) -> None:
    """By the pip that is here: one of its own would take longer than all the rest."""
    _run(sys.executable, "-m", "venv", "--without-pip", str(venv))
    # Everything is pinned, so there is nothing to resolve; what is imported is compiled then.
    options = ["--require-hashes", "--no-deps", "--no-compile", "--only-binary=:all:"]
    options += ["--quiet", "--disable-pip-version-check", "--no-input"]
    python = str(venv / "bin" / "python")
    _run(
        *(sys.executable, "-m", "pip", "--python", python, "install"),
        *(*options, "--requirement", str(requirements)),
    )


def _run(*command: str) -> None:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command[1:4])} failed:\n{done.stderr[-2000:]}"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    deadline = time.monotonic() + INSTALL_SECONDS
    with path.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                assert time.monotonic() < deadline, f"{path} is held by another process"
                time.sleep(0.1)
        yield
