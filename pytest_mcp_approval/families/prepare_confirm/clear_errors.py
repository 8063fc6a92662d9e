"""Tells an error that says what is wrong from an exception that nobody caught. Knows no rule."""

from __future__ import annotations

import re

from .outcome import TwoStepAnswer

_INTERNAL = -32603
# Typical texts of exceptions that nobody caught.
_UNHANDLED = re.compile(
    r"traceback|\b(Key|Type|Value|Attribute|Index|Unicode\w*|Recursion|JSONDecode|Overflow)Error\b|"
    r"'NoneType' object|has no attribute|is not subscriptable|not enough values to unpack|"
    r"Cannot read propert|undefined is not|panicked at|nil pointer|at line \d+ column",
    re.IGNORECASE,
)


def unclear(answer: TwoStepAnswer, words: str) -> str:
    """What should have come instead of this error; empty if it is clear."""
    error = answer.reply.error
    if not words.strip() or (error is not None and error.code == _INTERNAL):
        return "an error that says what is wrong"
    if _UNHANDLED.search(words):
        return "an error in words, not an exception that escaped"
    return ""
