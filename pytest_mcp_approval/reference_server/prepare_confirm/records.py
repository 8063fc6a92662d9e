"""What the back end stores, and what is recorded about each attempt. Knows no rule."""

from __future__ import annotations

import datetime
import secrets
from dataclasses import asdict, dataclass
from typing import Any

ACTIVE, CLOSED = "active", "closed"


def fresh_version() -> int:
    """Never one that was used before: what is deleted and created again is not the same thing."""
    return secrets.randbits(52)


def item_of(record: Project | User) -> dict[str, Any]:
    """As a preview lists it."""
    members = asdict(record)
    del members["version"]
    return members


@dataclass(frozen=True)
class Project:
    """A project. Every change gives it another version, and a preview is bound to a version."""

    project_id: str
    name: str
    status: str = ACTIVE
    artworks: int = 0
    unfinished: int = 0
    """Artworks that are neither complete nor approved."""
    version: int = 1


@dataclass(frozen=True)
class User:
    """A user of the back end."""

    username: str
    name: str
    email: str
    enabled: bool = True
    is_sso: bool = False
    version: int = 1


@dataclass(frozen=True)
class Beginning:
    """When the server began to remember."""

    name: str
    value: datetime.datetime


@dataclass(frozen=True)
class SpentToken:
    """A used token, kept until it would have expired."""

    nonce: str
    forget_at: datetime.datetime


@dataclass(frozen=True)
class ConfirmationAttempt:
    """One call of a prepare or confirm tool, and what came of it."""

    at: datetime.datetime
    tool: str
    outcome: str
    token: str
    """A fingerprint: it tells two tokens apart, and cannot be used as one."""
    caller: str

    def to_json(self) -> dict[str, str]:
        return {**asdict(self), "at": self.at.isoformat()}
