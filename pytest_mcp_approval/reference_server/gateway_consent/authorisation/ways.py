"""What the four ways in have in common on the gateway's side.

A way turns what is stored into what is sent, and what a person typed into what is stored. No `repr`
and no error shows a credential. Knows no page and no MCP.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ....families.gateway_consent import vocabulary as words
from ....families.gateway_consent.vocabulary import RFC_NAMES, AuthType
from ..descriptors import App
from ..http_client import SendingError
from .credentials import Credentials

_VISIBLE = re.compile(r"[\x21-\x7e]+")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
LONGEST_SECRET = 8192


class AuthorisationNeeded(Exception):  # noqa: N818 - an answer, not an error of the code
    """A person must first give the gateway access to the app, on this page of the gateway."""

    def __init__(self, url: str) -> None:
        super().__init__("a person has to let the gateway into the app")
        self.url = url


class NotSentError(SendingError):
    """The credential may not be sent there, or there is none; the message contains no secret."""


class NotAcceptedError(ValueError):
    """What was typed in cannot be stored; the message is for the person, and does not repeat it."""


@dataclass(frozen=True, repr=False)
class Sending:
    """What to add to one request."""

    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Sending({', '.join([*self.headers, *self.query]) or 'nothing'})"


@dataclass(frozen=True)
class Asking:
    """Who needs a credential, and for which tools of the app."""

    app: App
    caller: str
    consented: Sequence[str] = ()
    tool: str | None = None
    url: str = field(default="", repr=False)


@dataclass(frozen=True)
class DialogStep:
    """One thing that a dialog asks for."""

    member: str
    label: str
    hint: str = ""
    secret: bool = True


class WayIn(ABC):
    """One of the four, for every app that uses it."""

    kind: ClassVar[AuthType]

    def __init__(self, credentials: Credentials) -> None:
        self.credentials = credentials

    @abstractmethod
    def sending(self, asking: Asking) -> Sending | None:
        """What to add to the request; None: a person must be asked first."""

    @abstractmethod
    def rejected(self, app: App, caller: str) -> None:
        """The app did not accept what was sent."""

    def load(self, asking: Asking) -> dict[str, Any] | None:
        return self.credentials.load(asking.caller, asking.app.id)


class TypedWay(WayIn):
    """A way whose credential a person types into a dialog of the gateway."""

    @abstractmethod
    def steps(self, app: App) -> Sequence[DialogStep]: ...

    def check(self, app: App, step: DialogStep, value: str) -> str:  # noqa: ARG002
        """One value as it is stored; `NotAcceptedError` if it cannot be right."""
        return checked_secret(value, step.label)

    def keep(self, app: App, caller: str, values: Mapping[str, str]) -> None:
        """Store the values of all steps, checked."""
        record = {
            words.TYPE: self.kind.value,
            **self.members(app, values),
            words.CREATED_AT: self.credentials.now(),
        }
        self.credentials.save(caller, app.id, record)

    def members(self, app: App, values: Mapping[str, str]) -> Mapping[str, Any]:  # noqa: ARG002
        """What to store."""
        return values

    def rejected(self, app: App, caller: str) -> None:
        """A credential without an expiry must have been revoked: the person is asked again."""
        self.credentials.forget(caller, app.id)


def settings_of(app: App) -> Mapping[str, Any]:
    return app.auth.settings if app.auth else {}


def text_setting(app: App, name: str, default: str = "") -> str:
    """A text of the descriptor; it comes from the app and may be anything."""
    value = settings_of(app).get(name, default)
    return value if isinstance(value, str) else default


def needed_setting(app: App, name: str) -> str:
    value = text_setting(app, name)
    if not value:
        raise NotSentError(f"its descriptor has no {name}")
    return value


def header_name(name: str) -> str:
    if not _TOKEN.fullmatch(name):
        raise NotSentError("its descriptor names a header that cannot be sent")
    return name


def checked_secret(value: str, what: str) -> str:
    """As it can be sent in a header: visible ASCII, without blanks pasted around it."""
    value = value.strip()
    if not value:
        raise NotAcceptedError(f"{what}: got nothing, expected it to be pasted here.")
    if len(value) > LONGEST_SECRET:
        raise NotAcceptedError(f"{what}: got more than {LONGEST_SECRET} characters.")
    if not is_visible(value):
        raise NotAcceptedError(f"{what}: got spaces or characters that it cannot have.")
    return value


def is_visible(value: Any) -> bool:
    return isinstance(value, str) and _VISIBLE.fullmatch(value) is not None


def members_of(body: bytes) -> dict[str, Any]:
    """The JSON object of an answer, else an empty one."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def member(members: Mapping[str, Any], name: str) -> Any:
    """Under this profile's name or the RFC's."""
    return members.get(name, members.get(RFC_NAMES.get(name, name)))


def lifetime(value: Any, default: float) -> int:
    """Seconds as milliseconds; the default if it is not a lifetime."""
    usable = isinstance(value, (int, float)) and not isinstance(value, bool)
    return int((value if usable and 0 < value < 10**9 else default) * 1000)
