"""Compares what was shown with what was done, thing by thing. Knows no verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ...support.text import neutralise
from ..base.decoder import values_in
from .outcome import Preview, TwoStepOutcome


def what_differs(preview: Preview, outcome: TwoStepOutcome) -> str:
    """How a confirmation differs from its preview, in one line; empty if it does not."""
    shown = preview.ids
    expected = len(shown) or 1
    if not outcome.succeeded:
        return outcome.describe()
    if outcome.claimed_count is not None and outcome.claimed_count != expected:
        return f"the answer counts {outcome.claimed_count}: {outcome.describe()}"
    claimed = outcome.claimed_ids
    if shown and claimed is not None and Counter(claimed) != Counter(shown):
        return f"the answer names {_listed(claimed)}, the preview {_listed(shown)}"
    if not outcome.probed:
        return ""
    # A probe may grow by one for each thing, or by one for each confirmation.
    if outcome.runs is not None and outcome.runs not in (expected, 1):
        return f"the effects show {outcome.runs} done: {outcome.describe()}"
    if outcome.entries is not None and len(outcome.entries) == expected:
        return _entries_differ(preview, outcome.entries)
    return ""


def _entries_differ(preview: Preview, entries: tuple[Any, ...]) -> str:
    shown = set(preview.ids)
    done = Counter[str]()
    for entry in entries:
        named = shown & _texts(entry)
        if len(named) == 1:
            done[named.pop()] += 1
        elif not named:
            if any(_texts(entry)) and shown:
                return f"the effects show something else done: {neutralise(str(entry), 120)}"
        else:
            return ""  # one entry for several things: they cannot be told apart
        wrong = _flag_differs(preview.arguments, entry)
        if wrong:
            return f"the effects show {wrong}: {neutralise(str(entry), 120)}"
    twice = [one for one, times in done.items() if times > 1]
    return f"the effects show {_listed(twice)} done twice" if twice else ""


def _flag_differs(arguments: Mapping[str, Any], entry: Any) -> str:
    """A flag that was shown in one way and carried out in another."""
    for name, value in values_in(entry):
        given = arguments.get(name)
        if isinstance(value, bool) and isinstance(given, bool) and value is not given:
            return f"{name} {value}, prepared was {given}"
    return ""


def passed_on_unread(flags: Mapping[str, bool], outcome: TwoStepOutcome) -> str:
    """A flag that the effects show as a text: most languages take it for set, the word false too.
    Empty if there is none."""
    for entry in outcome.entries or ():
        for name, value in values_in(entry):
            if name in flags and isinstance(value, str) and value:
                return f"{name}: {neutralise(value, 40)!r}"
    return ""


def _texts(entry: Any) -> set[str]:
    return {value for _, value in values_in(entry) if isinstance(value, str)}


def _listed(ids: list[str]) -> str:
    more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
    return (", ".join(neutralise(one, 40) for one in ids[:5]) or "nothing") + more
