"""What the two-step tools can be told at their start. What cannot be followed starts nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from ...families.prepare_confirm.vocabulary import DEFAULT_EXPIRY_MINUTES
from ..server.extension import ExtensionSettingError
from .back_end import BACK_ENDS
from .operations import OPERATIONS

_LONGEST_MINUTES = 24 * 60
_SHORTEST_KEY = 16
_KNOWN = ("expiry_minutes", "expiry_minutes_of", "secret_key", "back_end", "time_zone")


@dataclass(frozen=True)
class Options:
    """Checked."""

    expiry_minutes: float = DEFAULT_EXPIRY_MINUTES
    expiry_minutes_of: Mapping[str, float] = field(default_factory=dict)
    """By operation, where it differs."""
    secret_key: str | None = None
    """None: a random one for each start."""
    back_end: str = "healthy"
    time_zone: ZoneInfo | None = None
    """Where the people are who read the previews; None: where the machine thinks it is."""

    def lifetime(self, operation: str) -> timedelta:
        return timedelta(minutes=self.expiry_minutes_of.get(operation, self.expiry_minutes))


def read_options(settings: Mapping[str, Any]) -> Options:
    """The options; `ExtensionSettingError` is one line that says what is wrong."""
    for name in settings:
        if name not in _KNOWN:
            raise ExtensionSettingError(f"{name}: got a setting of that name, expected {_KNOWN}")
    by_operation = settings.get("expiry_minutes_of", {})
    names = [operation.name for operation in OPERATIONS]
    if not isinstance(by_operation, Mapping) or not set(by_operation) <= set(names):
        raise ExtensionSettingError(
            f"expiry_minutes_of: got {by_operation!r}, expected minutes for {', '.join(names)}"
        )
    return Options(
        expiry_minutes=minutes(
            "expiry_minutes", settings.get("expiry_minutes", DEFAULT_EXPIRY_MINUTES)
        ),
        expiry_minutes_of={
            name: minutes(f"expiry_minutes_of.{name}", value)
            for name, value in by_operation.items()
        },
        secret_key=secret_key(settings.get("secret_key")),
        back_end=_back_end(settings.get("back_end", "healthy")),
        time_zone=_time_zone(settings.get("time_zone")),
    )


def minutes(name: str, value: Any) -> float:
    """Zero is no way to say "the default", and a token of no or negative life would be none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ExtensionSettingError(f"{name}: got {value!r}, expected a number of minutes")
    if not 0 < value <= _LONGEST_MINUTES:
        raise ExtensionSettingError(
            f"{name}: got {value}, expected more than 0 and at most {_LONGEST_MINUTES} minutes"
        )
    return float(value)


def secret_key(value: Any) -> str | None:
    """The key itself is never shown."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise ExtensionSettingError(f"secret_key: got {type(value).__name__}, expected text")
    if len(value.strip()) < _SHORTEST_KEY:
        raise ExtensionSettingError(
            f"secret_key: got {len(value.strip())} characters, expected {_SHORTEST_KEY} or more; "
            "leave it out for a random one"
        )
    return value


def _back_end(value: Any) -> str:
    if value not in BACK_ENDS:
        raise ExtensionSettingError(
            f"back_end: got {value!r}, expected one of {', '.join(BACK_ENDS)}"
        )
    return str(value)


def _time_zone(value: Any) -> ZoneInfo | None:
    if value is None:
        return None
    try:
        return ZoneInfo(value)
    except (KeyError, ValueError, TypeError, OSError):
        raise ExtensionSettingError(
            f"time_zone: got {value!r}, expected a name such as Asia/Kolkata"
        ) from None
