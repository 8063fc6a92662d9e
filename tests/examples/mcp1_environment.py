"""The environment of examples/mcp1-server: mcp 1.x, which cannot be installed beside mcp 2.

Made once for its requirements, in `.cache/mcp1-server/<hash of requirements.txt>` of the checkout,
and kept for later runs. Workers that want it at the same time wait for the one that makes it.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from tests.examples.installing import installed_once

CHECKOUT = Path(__file__).resolve().parents[2]
EXAMPLE = CHECKOUT / "examples" / "mcp1-server"
CACHE = CHECKOUT / ".cache" / "mcp1-server"
INSTALL_SECONDS = 100


def environment() -> Path:
    """The folder of the environment's commands, with a python that has mcp 1.x."""
    requirements = EXAMPLE / "requirements.txt"
    made_for = f"{sys.version_info[:2]} {sys.executable}".encode() + requirements.read_bytes()
    folder = CACHE / hashlib.sha256(made_for).hexdigest()[:16]
    venv = folder / "venv"
    installed_once(folder, lambda: _make(venv, requirements), INSTALL_SECONDS)
    return venv / "bin"


def _make(venv: Path, requirements: Path) -> None:
    """With our own pip: installing another would take longer than all the rest."""
    shutil.rmtree(venv, ignore_errors=True)  # what an interrupted run left
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
