"""What can go wrong in the browser layer itself: one line, what to do."""

from __future__ import annotations


class BrowserError(Exception):
    """One line: what was wanted, what is wrong, what to do."""


class NoBrowserError(BrowserError):
    """There is no browser, or nothing to drive one with."""
