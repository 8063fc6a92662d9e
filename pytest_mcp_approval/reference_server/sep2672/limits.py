"""How much one user may make the gate of SEP-2672 remember. Data without behaviour."""

from __future__ import annotations

import datetime
from dataclasses import dataclass


@dataclass(frozen=True)
class ApprovalLimits:
    """The document sets none, but everything here is made by callers."""

    challenges: int = 1000
    """Of one user, used and expired ones too. Beyond it the oldest are forgotten."""
    registrations: int = 100
    """The same for registration challenges."""
    credentials: int = 10_000
    """Of one user. Beyond it no further one is enrolled."""
    argument_bytes: int = 128 * 1024
    """Of a call that is to be approved, in canonical form: a person has to read it."""
    sentence_characters: int = 1000
    """Of what a tool's author says about a call; it is cut, the call itself never is."""
    retention: datetime.timedelta = datetime.timedelta(days=1)
    """How long an expired challenge is remembered, so that a replay gets the right reason."""


SWEEP_AFTER = datetime.timedelta(seconds=30)
"""Between two looks for what is too old: each costs a statement or two."""
SWEEP_EVERY = 32
"""Challenges between two looks at how many a user has: so many more there may be."""
