"""What the preflight found, as far as scenarios and verdicts depend on it: one object.

Under xdist the controller runs the preflight, and its workers run the checks. They get this object
with `workerinput`: attributes of `config.option` that are set later do not reach them. Knows no
target.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

WORKER_INPUT = "mcp_approval_preflight"
WORKER_FOLDER = "mcp_approval_folder"
"""A folder in which a run's workers leave things for each other; it ends with the controller."""


@dataclass(frozen=True)
class PreflightFindings:
    """The same for the controller and for each of its workers."""

    offered: tuple[str, ...] = ()
    """The families that the target has."""
    with_page: bool = False
    """Whether scenarios on a page are run."""
    clock_stuck: str = ""
    """Why the clock cannot be trusted, if it was moved and the target did not notice."""
    approved: tuple[str, ...] = ()
    """The families in which an honest approval was made."""
    not_approved: Mapping[str, str] = field(default_factory=dict)
    """Why no approval was made, by family, in one line each."""
    effects_doubt: str = ""
    """Why the effects probe cannot tell whether a tool ran, so that it is not used."""
    answered: tuple[str, ...] = ()
    """The kinds of request that the target answered."""
    samples: Mapping[str, str] = field(default_factory=dict)
    """For each kind, one request that was answered; its bytes as Latin-1."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> PreflightFindings:
        data: dict[str, Any] = json.loads(text)
        for name in ("offered", "approved", "answered"):
            data[name] = tuple(data[name])
        return cls(**data)


def of_worker(config: object) -> PreflightFindings | None:
    """What the controller found; None if this process is not a worker, or without a preflight."""
    text = getattr(config, "workerinput", {}).get(WORKER_INPUT)
    return PreflightFindings.from_json(text) if text else None


def shared_file(config: object, name: str) -> Path | None:
    """A file that all workers of a run share; None if this process is not a worker."""
    told = getattr(config, "workerinput", None)
    if told is None:
        return None
    folder = told.get(WORKER_FOLDER)
    if folder:
        return Path(folder) / name
    return Path(tempfile.gettempdir()) / f"mcp-approval-{told['testrunuid']}.{name}"
