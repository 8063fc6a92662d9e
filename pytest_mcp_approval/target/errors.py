"""The error for a target that cannot be checked."""

from __future__ import annotations


class TargetError(Exception):
    """The target cannot be checked; one line says what is wrong and what to do."""
