"""Checks that a figure is plausible before a benchmark writes it down.

A figure that cannot be true ends the benchmark with one line and a failing exit code, before
anything is written. Does not know what is measured.
"""

from __future__ import annotations

import math
from typing import NoReturn

LARGEST_RATIO = 1000.0
"""The largest ratio of two things measured side by side; beyond it the measurement is wrong."""


def share(value: float, what: str) -> float:
    """A part of a whole."""
    if not 0 <= value <= 1:
        _wrong(what, f"{value:.2f}", "a share between 0 and 1")
    return value


def ratio(value: float, what: str) -> float:
    """The ratio of two measurements, neither of which was zero."""
    if not (math.isfinite(value) and 1 / LARGEST_RATIO < value < LARGEST_RATIO):
        _wrong(what, f"{value:g}", "a ratio of two things that were measured")
    return value


def measured(value: float, what: str, at_most: float = math.inf, *, at_least: float = 0.0) -> float:
    """Seconds, bytes and the like: above zero, and within what is possible."""
    if not (math.isfinite(value) and value > 0 and at_least <= value <= at_most):
        least = f"at least {at_least:g}" if at_least else "more than 0"
        limit = "" if math.isinf(at_most) else f" and at most {at_most:g}"
        _wrong(what, f"{value:g}", f"{least}{limit}")
    return value


def count(value: int, reported: int, what: str) -> int:
    """A number counted in one place must be the one reported in another."""
    if value != reported or value <= 0:
        _wrong(what, str(value), f"the {reported} that were reported, and more than 0")
    return value


def named(value: object, expected: object, what: str) -> None:
    """The figure must be about what its name says."""
    if value != expected:
        _wrong(what, repr(value), repr(expected))


def _wrong(what: str, got: str, expected: str) -> NoReturn:
    raise SystemExit(f"benchmark: nothing was written: {what}: got {got}, expected {expected}")
