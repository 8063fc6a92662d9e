"""How a call can end: one type for each end, so that none can be taken for another.

A call whose answer never came may have run: that is `Unknown`, never `Refused`. Knows no transport
and no screen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..families.sep2672.vocabulary import Reason


@dataclass(frozen=True)
class Done:
    """The tool ran; this is its result."""

    result: Mapping[str, Any]


@dataclass(frozen=True)
class Refused:
    """The server said no."""

    code: int
    message: str
    reason: Reason | None = None
    """Of SEP-2672, section 4.10; None for any other error."""


@dataclass(frozen=True)
class Declined:
    """The person said no; the server was told so, if it had asked."""


@dataclass(frozen=True)
class Cancelled:
    """The person left without an answer; the server was told so, if it had asked."""


@dataclass(frozen=True)
class Unusable:
    """The server asked for something that this client cannot do; nothing was agreed to."""

    what: str


@dataclass(frozen=True)
class Unknown:
    """No answer came, so nobody knows whether the tool ran."""

    what: str


Outcome: TypeAlias = Done | Refused | Declined | Cancelled | Unusable | Unknown
