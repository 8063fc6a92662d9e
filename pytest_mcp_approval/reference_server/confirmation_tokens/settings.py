"""What an operator can set, read once at the start. With a bad value nothing starts.

Knows no rule of validation.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ...families.confirmation_tokens import vocabulary as words
from ..server.settings import (
    ExtensionSettingError,
    bounded,
    check_names,
    one_of,
    refuse,
    truth,
)

logger = logging.getLogger(__name__)

STYLES = ("stored", "signed")
SHORTEST_KEY = 16
_LIMITS = ("issue_limit", "failure_limit", "revocation_limit")


@dataclass(frozen=True)
class RateLimit:
    """At most `burst` at once for one caller; they come back evenly within `seconds`."""

    burst: int
    seconds: float = 60


@dataclass(frozen=True)
class ConfirmationSettings:
    clock_skew_tolerance_seconds: float = words.DEFAULT_TOLERANCE
    ttl_seconds: Mapping[str, float] = field(default_factory=lambda: dict(words.DEFAULT_TTL))
    token_style: str = "stored"
    signing_key: str = field(default="", repr=False)
    """For signed tokens, which it turns on; without one the store makes a random one."""
    store_access: bool = False
    """Adds tools that show the store and plant records in it: never in production."""
    issue_limit: RateLimit = RateLimit(300)
    failure_limit: RateLimit = RateLimit(120)
    revocation_limit: RateLimit = RateLimit(60)
    warnings: tuple[str, ...] = ()
    """What the operator should know; also in the log."""


class SettingsReader:
    """Reads a table of settings; each check is a method."""

    def read(self, table: Mapping[str, Any]) -> ConfirmationSettings:
        known = [one.name for one in fields(ConfirmationSettings) if one.name != "warnings"]
        check_names(table, known)
        tolerance = self.tolerance(table.get(words.TOLERANCE_SETTING, words.DEFAULT_TOLERANCE))
        warnings = self.warnings(tolerance)
        key = self.key(table.get("signing_key", ""))
        style = table.get("token_style", "signed" if key else "stored")
        for warning in warnings:
            logger.warning(warning)
        return ConfirmationSettings(
            clock_skew_tolerance_seconds=tolerance,
            ttl_seconds=self.ttl(table.get("ttl_seconds", {})),
            token_style=one_of("token_style", style, STYLES),
            signing_key=key,
            store_access=truth("store_access", table.get("store_access", False)),
            **{name: self.limit(name, table) for name in _LIMITS},
            warnings=warnings,
        )

    def key(self, value: Any) -> str:
        """Nothing of a bad one is shown: it may be the key of another server."""
        if not isinstance(value, str) or (value and len(value.encode()) < SHORTEST_KEY):
            raise ExtensionSettingError(
                f"signing_key: expected a text of at least {SHORTEST_KEY} bytes"
            )
        return value

    def tolerance(self, value: Any) -> float:
        """Section 5.1: 0 to 300 seconds; 0 means no tolerance."""
        try:
            return words.read_tolerance(value)
        except ValueError as error:
            raise ExtensionSettingError(f"{words.TOLERANCE_SETTING}: {error}") from None

    def warnings(self, tolerance: float) -> tuple[str, ...]:
        """Section 5.1: above 60 seconds the log warns."""
        if tolerance <= words.WARNED_TOLERANCE:
            return ()
        return (
            f"{words.TOLERANCE_SETTING} is {tolerance:g}: above {words.WARNED_TOLERANCE} seconds "
            "the window for replays becomes large",
        )

    def ttl(self, value: Any) -> dict[str, float]:
        """By level and for quota pauses; more than the maximum of section 5.1 is refused."""
        if not isinstance(value, Mapping) or set(value) - set(words.DEFAULT_TTL):
            refuse("ttl_seconds", value, f"seconds by {', '.join(words.DEFAULT_TTL)}")
        for name, seconds in value.items():
            bounded(f"ttl_seconds.{name}", seconds, self.longest(name))
        return {**words.DEFAULT_TTL, **value}

    def longest(self, name: str) -> float:
        return words.MAXIMUM_TTL[name]

    def limit(self, name: str, table: Mapping[str, Any]) -> RateLimit:
        """How many at once; they come back within a minute."""
        usual: RateLimit = getattr(ConfirmationSettings, name)
        value = table.get(name, usual.burst)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            refuse(name, value, "a number of at least 1")
        return RateLimit(value, usual.seconds)
