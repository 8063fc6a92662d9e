"""What a person would copy from each app's own pages: keys, app credentials, session cookies.

Made at random for each demonstration app, so that none is ever in a file of the project. Knows no
HTTP and how nothing is sent.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from ....families.gateway_consent.vocabulary import AuthType
from ..descriptors import App


class KnownSecrets:
    """By the app's place in the demonstration; `repr` shows none."""

    def __init__(self, members: Mapping[str, Mapping[str, Any]]) -> None:
        self._members = members

    @classmethod
    def made(cls, apps: Mapping[str, App]) -> KnownSecrets:
        """For the apps by their places."""
        return cls({place: _made(app) for place, app in apps.items() if app.auth})

    def of(self, place: str) -> Mapping[str, Any]:
        return self._members.get(place, {})

    def to_json(self) -> dict[str, Any]:
        return {place: dict(members) for place, members in self._members.items()}

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> KnownSecrets:
        return cls(members)

    def values(self) -> dict[str, str]:
        """Each secret with a word for what it is."""
        found: dict[str, str] = {}
        for place, members in self._members.items():
            for name, value in members.items():
                texts = value if isinstance(value, Mapping) else {name: value}
                found |= {text: f"{place} {own}" for own, text in texts.items()}
        return found

    def __repr__(self) -> str:
        return f"KnownSecrets({', '.join(self._members)})"


def _made(app: App) -> dict[str, Any]:
    assert app.auth is not None
    if app.auth.type is AuthType.API_KEY:
        return {"apiKey": f"key_{secrets.token_urlsafe(24)}"}
    if app.auth.type is AuthType.APP_CREDENTIAL:
        return {
            "appId": f"cli_{secrets.token_hex(8)}",
            "appSecret": secrets.token_urlsafe(24),
        }
    if app.auth.type is AuthType.COOKIE:
        names = app.auth.settings.get("requiredCookies", [])
        return {"cookies": {name: secrets.token_hex(20) for name in names}}
    return {}
