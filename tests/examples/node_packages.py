"""The packages of an example in JavaScript: installed once for a lock file, and kept for later
runs.

They are put into `.cache/<example>/<hash of the lock file>` of the checkout. Workers that want them
at the same time wait for the one that installs.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.examples.installing import installed_once

CHECKOUT = Path(__file__).resolve().parents[2]
EXAMPLE = CHECKOUT / "examples" / "node-server"
CACHE = CHECKOUT / ".cache"
INSTALL_SECONDS = 90
OLDEST_NODE = 20


def node_modules(example: Path = EXAMPLE) -> Path:
    """The folder with the example's packages; skips the test where Node is missing."""
    _require_node()
    files = [example / name for name in ("package.json", "package-lock.json", ".npmrc")]
    content = b"\0".join(file.read_bytes() for file in files)
    folder = CACHE / example.name / hashlib.sha256(content).hexdigest()[:16]
    installed_once(folder, lambda: _install(folder, files), INSTALL_SECONDS)
    return folder / "node_modules"


def _require_node() -> None:
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip(f"needs Node.js {OLDEST_NODE} or newer with npm: apt install nodejs npm")
    version = subprocess.run(
        ["node", "--version"], capture_output=True, text=True, timeout=30, check=True
    ).stdout.strip()
    if int(version.removeprefix("v").partition(".")[0]) < OLDEST_NODE:
        pytest.skip(f"needs Node.js {OLDEST_NODE} or newer, got {version}")


def _install(folder: Path, files: list[Path]) -> None:
    for file in files:
        shutil.copy(file, folder)
    done = subprocess.run(
        ["npm", "ci", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"],
        cwd=folder,
        env={**os.environ, "npm_config_update_notifier": "false"},
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"npm ci failed:\n{done.stderr[-2000:]}"
