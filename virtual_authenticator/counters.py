"""How a signature counter moves: as honest devices count, and as broken or cloned ones do.

A policy is a pure function: it computes the next value from the last value shown and the number of
values shown before. Its `scope` says whether "last" means the device's or the credential's. The
first value (nothing shown before) is the one in the registration. Values wrap at 2^32 as the
four-byte field does. Does not know where the values are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal

from .entropy import Entropy

LIMIT = 1 << 32
Scope = Literal["device", "credential"]


@dataclass(frozen=True)
class CounterPolicy:
    """Base of all policies; `kind` names it in profiles and saved states."""

    kind: ClassVar[str]
    scope: ClassVar[Scope] = "credential"

    def following(self, last: int, shown: int, entropy: Entropy) -> int:
        """The next value, when `last` is the one shown last and `shown` counts them all."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True)
class PerCredential(CounterPolicy):
    """Each credential counts for itself, from `start` at registration, by `step`."""

    kind = "per-credential"
    start: int = 0
    step: int = 1

    def following(self, last: int, shown: int, entropy: Entropy) -> int:  # noqa: ARG002
        return (last + self.step if shown else self.start) % LIMIT


@dataclass(frozen=True)
class Global(PerCredential):
    """One counter for the whole device: every use of any credential moves it."""

    kind = "global"
    scope = "device"


@dataclass(frozen=True)
class Constant(CounterPolicy):
    """Never moves: a defect at any value but zero."""

    kind = "constant"
    value: int = 1

    def following(self, last: int, shown: int, entropy: Entropy) -> int:  # noqa: ARG002
        return self.value % LIMIT


@dataclass(frozen=True)
class AlwaysZero(CounterPolicy):
    """No counter at all, as in synced passkeys."""

    kind = "zero"

    def following(self, last: int, shown: int, entropy: Entropy) -> int:  # noqa: ARG002
        return 0


@dataclass(frozen=True)
class RandomStep(CounterPolicy):
    """Grows by a random amount from `low` to `high`, so that uses cannot be counted."""

    kind = "random-step"
    start: int = 0
    low: int = 1
    high: int = 16

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high:
            raise ValueError(
                f"random-step: got low {self.low} and high {self.high}, expected 0 <= low <= high"
            )

    def following(self, last: int, shown: int, entropy: Entropy) -> int:
        if not shown:
            return self.start % LIMIT
        return (last + self.low + entropy.below(self.high - self.low + 1)) % LIMIT


@dataclass(frozen=True)
class Scripted(CounterPolicy):
    """Shows these values, the first at registration; the last one then stays."""

    kind = "scripted"
    values: Sequence[int] = (0,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if not self.values:
            raise ValueError("a scripted counter got no values, expected at least one")

    def following(self, last: int, shown: int, entropy: Entropy) -> int:  # noqa: ARG002
        return self.values[min(shown, len(self.values) - 1)] % LIMIT


@dataclass(frozen=True)
class Rollback(CounterPolicy):
    """Counts by one, but falls back by `by` after `after` values: a copy restored from before."""

    kind = "rollback"
    start: int = 0
    after: int = 3
    by: int = 2

    def following(self, last: int, shown: int, entropy: Entropy) -> int:  # noqa: ARG002
        if not shown:
            return self.start % LIMIT
        # Not below zero: that would wrap into a leap forward.
        return max(0, last - self.by) if shown == self.after else (last + 1) % LIMIT


@dataclass(frozen=True)
class Overflow(CounterPolicy):
    """Starts `lead` below 2^32-1, so that a few uses carry it over to zero."""

    kind = "overflow"
    lead: int = 1

    def following(self, last: int, shown: int, entropy: Entropy) -> int:  # noqa: ARG002
        return (last + 1 if shown else LIMIT - 1 - self.lead) % LIMIT


_KINDS: dict[str, type[CounterPolicy]] = {
    policy.kind: policy
    for policy in (
        PerCredential,
        Global,
        Constant,
        AlwaysZero,
        RandomStep,
        Scripted,
        Rollback,
        Overflow,
    )
}


def counter_policy(description: dict[str, Any]) -> CounterPolicy:
    """The policy that a profile or a saved state describes."""
    members = dict(description)
    kind = members.pop("kind", None)
    if kind not in _KINDS:
        raise ValueError(f"counter kind: got {kind!r}, expected one of {', '.join(_KINDS)}")
    try:
        return _KINDS[kind](**members)
    except TypeError:
        allowed = ", ".join(member.name for member in fields(_KINDS[kind])) or "no members"
        raise ValueError(f"counter {kind!r}: got {members!r}, expected {allowed}") from None
