"""A saved state in a file. Does not know what a state says, except that it holds private keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .encoding import shorten


def write(path: str | Path, state: dict[str, Any]) -> None:
    """Write it for its owner only."""
    target = Path(path)
    target.touch(mode=0o600)
    target.chmod(0o600)  # it may have been there before
    target.write_text(json.dumps(state, indent=1), encoding="utf-8")


def read(path: str | Path) -> dict[str, Any]:
    """A state that `write` wrote; ValueError if it is none."""
    try:
        state = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: got no JSON ({error}), expected a saved state") from None
    if not isinstance(state, dict):
        raise ValueError(f"{path}: got {shorten(state)}, expected a saved state")
    return state
