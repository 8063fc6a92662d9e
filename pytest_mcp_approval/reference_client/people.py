"""What a client asks of a person, and what a person can say. Knows no screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol


class Decision(StrEnum):
    AGREE = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


@dataclass(frozen=True)
class Review:
    """SEP-2672: what the person approves by a passkey."""

    server: str
    tool: str
    display_text: str
    """To be shown as it is, all of it (section 4.4.3)."""


@dataclass(frozen=True)
class FormQuestion:
    server: str
    message: str
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class UrlQuestion:
    server: str
    message: str
    url: str
    """To be shown whole, and opened only if the person agrees; never fetched."""


class Person(Protocol):
    """Whoever uses the client."""

    def review(self, review: Review) -> Decision:
        """Show displayText, and ask; nothing is signed before this returns AGREE."""

    def fill(self, question: FormQuestion) -> tuple[Decision, Mapping[str, Any]]:
        """Show who asks what, and let the form be filled in; the values keep to its schema."""

    def visit(self, question: UrlQuestion) -> Decision:
        """Show who asks and the URL, and open it if the person agrees."""

    def warn(self, what: str) -> None:
        """Tell something that the person should know and need not answer."""
