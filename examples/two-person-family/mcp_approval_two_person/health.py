"""One whole honest approval. If none succeeds, a refusal proves nothing. Knows no rule."""

from __future__ import annotations

from pytest_mcp_approval import DriverError, Target

from .driver import TwoPerson


def honest_approval(target: Target) -> str:
    """An empty text if the action ran, else one line: the step, and what came back."""
    rule = TwoPerson(target)
    try:
        outcome = rule.approve(rule.request())
    except DriverError as error:
        return str(error)
    return "" if outcome.served else f"{rule.table.approve_tool}: {outcome.describe()}"
