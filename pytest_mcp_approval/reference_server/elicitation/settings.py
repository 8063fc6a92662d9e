"""Settings of the gate that asks through the client. With a bad value nothing starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from ..server.settings import bounded, check_names

_LONGEST_LIFETIME = 24 * 3600
_LONGEST_PATIENCE = 3600


@dataclass(frozen=True)
class ElicitationSettings:
    """In seconds."""

    lifetime: float = 600.0
    """How long a question can be answered: its state, and its page."""
    patience: float = 60.0
    """How long a call is held open for an answer, and then for a page. Read from the server's
    clock, if that can be moved, and from real time."""

    @property
    def life(self) -> timedelta:
        return timedelta(seconds=self.lifetime)

    @property
    def waiting(self) -> timedelta:
        return timedelta(seconds=self.patience)


def read_settings(settings: Mapping[str, Any]) -> ElicitationSettings:
    """The settings, checked; `ExtensionSettingError` says in one line what is wrong."""
    defaults = ElicitationSettings()
    check_names(settings, [field.name for field in fields(ElicitationSettings)])
    return ElicitationSettings(
        lifetime=bounded(
            "lifetime", settings.get("lifetime", defaults.lifetime), _LONGEST_LIFETIME
        ),
        patience=bounded(
            "patience", settings.get("patience", defaults.patience), _LONGEST_PATIENCE
        ),
    )
