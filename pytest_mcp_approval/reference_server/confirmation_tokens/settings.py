"""What an operator can set, read once at the start: a bad value is one line, and nothing starts.

Knows no rule of validation.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...families.confirmation_tokens import vocabulary as words
from ..server.extension import ExtensionSettingError

logger = logging.getLogger(__name__)

STYLES = ("stored", "signed")


@dataclass(frozen=True)
class RateLimit:
    """At most `burst` at once for one caller; they come back evenly within `seconds`."""

    burst: int
    seconds: float = 60


@dataclass(frozen=True)
class GateSettings:
    """The settings, checked."""

    clock_skew_tolerance_seconds: float = words.DEFAULT_TOLERANCE
    ttl_seconds: Mapping[str, float] = field(default_factory=lambda: dict(words.DEFAULT_TTL))
    token_style: str = "stored"
    store_access: bool = False
    """Adds tools that show the store and plant records in it: for judging, never for use."""
    issue_limit: RateLimit = RateLimit(300)
    failure_limit: RateLimit = RateLimit(120)
    revocation_limit: RateLimit = RateLimit(60)
    warnings: tuple[str, ...] = ()
    """What the operator should know; it is in the log too."""

    KEYS: ClassVar = (
        words.TOLERANCE_SETTING,
        "ttl_seconds",
        "token_style",
        "store_access",
        "issue_limit",
        "failure_limit",
        "revocation_limit",
    )


class SettingsReader:
    """Reads a table of settings; each check is a method."""

    def read(self, table: Mapping[str, Any]) -> GateSettings:
        unknown = sorted(set(table) - set(GateSettings.KEYS))
        if unknown:
            raise ExtensionSettingError(
                f"{unknown[0]}: got an unknown setting, expected one of "
                f"{', '.join(GateSettings.KEYS)}"
            )
        tolerance = self.tolerance(table.get(words.TOLERANCE_SETTING, words.DEFAULT_TOLERANCE))
        warnings = self.warnings(tolerance)
        for warning in warnings:
            logger.warning(warning)
        return GateSettings(
            clock_skew_tolerance_seconds=tolerance,
            ttl_seconds=self.ttl(table.get("ttl_seconds", {})),
            token_style=self.style(table.get("token_style", "stored")),
            store_access=self.truth("store_access", table.get("store_access", False)),
            issue_limit=self.limit("issue_limit", table, GateSettings.issue_limit),
            failure_limit=self.limit("failure_limit", table, GateSettings.failure_limit),
            revocation_limit=self.limit("revocation_limit", table, GateSettings.revocation_limit),
            warnings=warnings,
        )

    def tolerance(self, value: Any) -> float:
        """Section 5.1: 0 to 300 seconds, and 0 is 0."""
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
            "the window for replays grows a good deal",
        )

    def ttl(self, value: Any) -> dict[str, float]:
        """By level and for quota pauses; what is beyond the maximum of section 5.1 is refused."""
        if not isinstance(value, Mapping) or set(value) - set(words.DEFAULT_TTL):
            raise ExtensionSettingError(
                f"ttl_seconds: got {value!r}, expected seconds by {', '.join(words.DEFAULT_TTL)}"
            )
        for name, seconds in value.items():
            number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
            if not number or not math.isfinite(seconds) or not 0 < seconds <= self.longest(name):
                raise ExtensionSettingError(
                    f"ttl_seconds.{name}: got {seconds!r}, expected seconds up to "
                    f"{self.longest(name)}"
                )
        return {**words.DEFAULT_TTL, **value}

    def longest(self, name: str) -> float:
        return words.MAXIMUM_TTL[name]

    def style(self, value: Any) -> str:
        if value not in STYLES:
            raise ExtensionSettingError(
                f"token_style: got {value!r}, expected {' or '.join(STYLES)}"
            )
        return str(value)

    def truth(self, name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ExtensionSettingError(f"{name}: got {value!r}, expected true or false")
        return value

    def limit(self, name: str, table: Mapping[str, Any], usual: RateLimit) -> RateLimit:
        """How many at once; they come back within a minute."""
        value = table.get(name, usual.burst)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ExtensionSettingError(f"{name}: got {value!r}, expected a number of at least 1")
        return RateLimit(value, usual.seconds)
