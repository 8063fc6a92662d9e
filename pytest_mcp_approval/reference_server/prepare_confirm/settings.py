"""Settings of the two-step tools, read at their start. With a bad value nothing starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from ...families.prepare_confirm.vocabulary import DEFAULT_EXPIRY_MINUTES
from ..server.settings import ExtensionSettingError, bounded, check_names, one_of, refuse
from .back_end import BACK_ENDS
from .operations import OPERATIONS

_LONGEST_MINUTES = 24 * 60
_SHORTEST_KEY = 16


@dataclass(frozen=True)
class PreparationSettings:
    expiry_minutes: float = DEFAULT_EXPIRY_MINUTES
    expiry_minutes_of: Mapping[str, float] = field(default_factory=dict)
    """By operation, if it differs."""
    secret_key: str | None = None
    """None: a random one for each start."""
    back_end: str = "healthy"
    time_zone: ZoneInfo | None = None
    """The time zone of the people who read the previews; None: the machine's."""

    def lifetime(self, operation: str) -> timedelta:
        return timedelta(minutes=self.expiry_minutes_of.get(operation, self.expiry_minutes))


def read_settings(settings: Mapping[str, Any]) -> PreparationSettings:
    """The settings, checked; `ExtensionSettingError` says in one line what is wrong."""
    check_names(settings, [field.name for field in fields(PreparationSettings)])
    by_operation = settings.get("expiry_minutes_of", {})
    names = [operation.name for operation in OPERATIONS]
    if not isinstance(by_operation, Mapping) or not set(by_operation) <= set(names):
        refuse("expiry_minutes_of", by_operation, f"minutes for {', '.join(names)}")
    return PreparationSettings(
        expiry_minutes=_minutes(
            "expiry_minutes", settings.get("expiry_minutes", DEFAULT_EXPIRY_MINUTES)
        ),
        expiry_minutes_of={
            name: _minutes(f"expiry_minutes_of.{name}", value)
            for name, value in by_operation.items()
        },
        secret_key=secret_key(settings.get("secret_key")),
        back_end=one_of("back_end", settings.get("back_end", "healthy"), BACK_ENDS),
        time_zone=_time_zone(settings.get("time_zone")),
    )


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


def _minutes(name: str, value: Any) -> float:
    return bounded(name, value, _LONGEST_MINUTES, "minutes")


def _time_zone(value: Any) -> ZoneInfo | None:
    if value is None:
        return None
    try:
        return ZoneInfo(value)
    except (KeyError, ValueError, TypeError, OSError):
        refuse("time_zone", value, "a name such as Asia/Kolkata")
