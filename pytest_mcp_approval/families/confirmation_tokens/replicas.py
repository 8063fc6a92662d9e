"""A second replica of a target that issues confirmation tokens.

Knows no rule.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ...catalogue import NotApplicable, NotVerified
from .driver import ConfirmationTokens
from .scenario import Confirmations


@contextlib.contextmanager
def other_replica(tokens: Confirmations) -> Iterator[ConfirmationTokens]:
    """The other one, which serves honest calls and takes tokens of the first."""
    target = tokens.target.replica()
    if target is None:
        raise NotApplicable("no second replica of the target is named (another target)")
    try:
        other = ConfirmationTokens(target)
        with tokens.honest_step("the replica refuses honest calls"):
            fresh = other.issue(tokens.operation.name, tokens.operation.params)
        if not other.redeem(fresh).succeeded:
            raise NotVerified("the replica refuses honest calls")
        tokens.honest()
        if not other.redeem(tokens.issue()).succeeded:
            raise NotApplicable("the replicas do not share their tokens")
        forget_runs(tokens, other)
        yield other
    finally:
        target.close()


def forget_runs(tokens: Confirmations, other: ConfirmationTokens) -> None:
    """Replicas may show each other's runs, which must not count for later calls."""
    tokens.driver.forget()
    other.forget()
