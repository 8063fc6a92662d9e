"""What is said when a target cannot be judged."""

from __future__ import annotations


class TargetError(Exception):
    """The target cannot be judged; one line says what is wrong and what to do."""
