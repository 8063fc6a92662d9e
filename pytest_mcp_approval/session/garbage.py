"""How often Python searches for garbage while scenarios run.

A run makes millions of short-lived objects, and nearly all of them are dropped without the
collector's help; but each search walks through all that is loaded, which with a server in this
process is a lot. Searching seldom saves about a tenth of a run's processor time. Knows nothing
about the run.
"""

from __future__ import annotations

import gc

_SELDOM = 10_000
"""New objects between two searches; Python's own value is 700."""


class SeldomSearches:
    """From `begin` to `end` the collector searches less often, and not through what was there
    already. It does nothing if somebody has chosen otherwise."""

    def __init__(self) -> None:
        self._before: tuple[int, int, int] | None = None

    def begin(self) -> None:
        usual = gc.get_threshold()
        if gc.isenabled() and 0 < usual[0] < _SELDOM and not gc.get_freeze_count():
            self._before = usual
            gc.freeze()
            gc.set_threshold(_SELDOM, *usual[1:])

    def end(self) -> None:
        """All is as it was. A second time does nothing."""
        if self._before is not None:
            gc.set_threshold(*self._before)
            gc.unfreeze()
            self._before = None
