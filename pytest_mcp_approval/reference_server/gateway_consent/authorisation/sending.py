"""What goes out with a request to an app, and what is said when it cannot.

Values are in headers, queries and cookies only: no `repr` and no error shows one. Knows no way in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ....families.gateway_consent.vocabulary import AuthType
from ..descriptors import App
from ..http_client import SendingError


@dataclass(frozen=True, repr=False)
class Sending:
    """What to add to one request."""

    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    cookies: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        places = {"header": self.headers, "query": self.query, "cookie": self.cookies}
        names = [f"{place} {name}" for place, found in places.items() for name in found]
        return f"Sending({', '.join(names) or 'nothing'})"


class AuthorisationNeeded(Exception):  # noqa: N818 - an answer, not an error of the code
    """A person has to let the gateway into the app first, at a page of the gateway."""

    def __init__(self, app: App, kind: AuthType, url: str) -> None:
        super().__init__(f"a person has to let the gateway into the app ({kind.value})")
        self.app = app
        self.kind = kind
        self.url = url


class NotSentError(SendingError):
    """The credential may not go there, or cannot be had; the words hold no value."""
