"""Something that is installed once for all workers and kept for later runs."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable
from pathlib import Path


def installed_once(folder: Path, install: Callable[[], None], seconds: float) -> None:
    """Let one process install into the folder; others that want it meanwhile wait for that one."""
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "installed"
    deadline = time.monotonic() + seconds
    with (folder / "lock").open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                assert time.monotonic() < deadline, f"{folder} is held by another process"
                time.sleep(0.1)
        if not done.exists():
            install()
            done.touch()
