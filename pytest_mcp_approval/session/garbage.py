"""How often Python searches for garbage while scenarios run.

A run makes millions of short-lived objects, and nearly all of them are dropped without the
collector's help; but each search walks through all that is loaded, which with a server in this
process is a lot. Searching seldom saves about a tenth of a run's processor time. Knows nothing
about the run.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

_SELDOM = 10_000
"""New objects between two searches; Python's own value is 700."""


@contextlib.contextmanager
def seldom_searched() -> Iterator[None]:
    """In here the collector searches less often, and not through what is there already. Afterwards
    all is as it was. Does nothing if somebody has chosen otherwise."""
    before = gc.get_threshold()
    if not gc.isenabled() or gc.get_freeze_count() or not 0 < before[0] < _SELDOM:
        yield
        return
    gc.freeze()
    gc.set_threshold(_SELDOM, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
