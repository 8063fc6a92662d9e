"""The packages of examples/node-server: installed once for a lock file, and kept for later runs.

They are put into `.cache/node-server/<hash of the lock file>` of the checkout. Workers that want
them at the same time wait for the one that installs.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
EXAMPLE = CHECKOUT / "examples" / "node-server"
CACHE = CHECKOUT / ".cache" / "node-server"
INSTALL_SECONDS = 90
OLDEST_NODE = 20


def node_modules() -> Path:
    """The folder with the example's packages; skips the test where Node is missing."""
    _require_node()
    files = [EXAMPLE / name for name in ("package.json", "package-lock.json", ".npmrc")]
    content = b"\0".join(file.read_bytes() for file in files)
    folder = CACHE / hashlib.sha256(content).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "installed"
    with _locked(folder / "lock"):
        if not done.exists():
            for file in files:
                shutil.copy(file, folder)
            _install(folder)
            done.touch()
    return folder / "node_modules"


def _require_node() -> None:
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip(f"needs Node.js {OLDEST_NODE} or newer with npm: apt install nodejs npm")
    version = subprocess.run(
        ["node", "--version"], capture_output=True, text=True, timeout=30, check=True
    ).stdout.strip()
    if int(version.removeprefix("v").partition(".")[0]) < OLDEST_NODE:
        pytest.skip(f"needs Node.js {OLDEST_NODE} or newer, got {version}")


def _install(folder: Path) -> None:
    done = subprocess.run(
        ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"],
        cwd=folder,
        env={**os.environ, "npm_config_update_notifier": "false"},
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"npm ci failed:\n{done.stderr[-2000:]}"


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
