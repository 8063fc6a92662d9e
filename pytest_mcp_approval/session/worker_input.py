"""What xdist's controller tells its workers: the preflight's findings, and a folder to share.

The controller runs the preflight, and its workers run the checks. They get it with `workerinput`:
attributes of `config.option` that are set later do not reach them. Knows no target.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path

from ..families.base.preflight import Preflight
from ..wire import Patience

WORKER_INPUT = "mcp_approval_preflight"
WORKER_FOLDER = "mcp_approval_folder"
"""A folder in which a run's workers leave things for each other; it ends with the controller."""


def for_workers(found: Preflight, patience: Patience) -> str:
    """As text, with what the target has answered so far."""
    samples = {kind: body.decode("latin-1") for kind, body in patience.samples.items()}
    return json.dumps([asdict(found), sorted(patience.answered), samples])


def of_worker(config: object, patience: Patience) -> Preflight | None:
    """What the controller found; None if this process is not a worker, or without a preflight.
    Tells the patience what was answered."""
    text = getattr(config, "workerinput", {}).get(WORKER_INPUT)
    if not text:
        return None
    found, answered, samples = json.loads(text)
    patience.answered.update(answered)
    patience.samples.update((kind, body.encode("latin-1")) for kind, body in samples.items())
    return Preflight(**found)


def shared_file(config: object, name: str) -> Path | None:
    """A file that all workers of a run share; None if this process is not a worker."""
    told = getattr(config, "workerinput", None)
    if told is None:
        return None
    folder = told.get(WORKER_FOLDER)
    if folder:
        return Path(folder) / name
    return Path(tempfile.gettempdir()) / f"mcp-approval-{told['testrunuid']}.{name}"
