"""The forms that the gate asks with: what they look like, and what approves.

Three kinds: a box to tick, a choice between two words, and a form without members, where to accept
it is to approve. No member has a default, since clients fill forms with them. Knows no question and
no answer's way here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class ContentError(ValueError):
    """The content of an answer is not what the form asks for; one line says why."""


@dataclass(frozen=True)
class QuestionForm:
    """A flat object of at most one member."""

    member: str = ""
    """The one that approves; "" if there is none."""
    schema: Mapping[str, Any] | None = None
    """Of that member."""
    yes: Any = None
    """The value that approves."""

    def to_schema(self) -> dict[str, Any]:
        """The requestedSchema."""
        if not self.member:
            return {"type": "object", "properties": {}}
        return {
            "type": "object",
            "properties": {self.member: dict(self.schema or {})},
            "required": [self.member],
        }

    def check(self, content: Any) -> Mapping[str, Any]:
        """The content, if it is what the schema says; every check is a method."""
        given = self.check_object(content)
        self.check_members(given)
        if self.member:
            self.check_value(given)
        return given

    def check_object(self, content: Any) -> Mapping[str, Any]:
        if not isinstance(content, Mapping):
            raise ContentError(f"content: got {type(content).__name__}, expected an object")
        return content

    def check_members(self, content: Mapping[str, Any]) -> None:
        wanted = {self.member} if self.member else set()
        if wanted - content.keys():
            raise ContentError(f"content: got no {self.member}")
        if content.keys() - wanted:
            raise ContentError("content: got members that were not asked for")

    def check_value(self, content: Mapping[str, Any]) -> None:
        value, schema = content[self.member], self.schema or {}
        if schema["type"] == "boolean":
            if not isinstance(value, bool):
                raise ContentError(f"{self.member}: expected true or false")
        elif not isinstance(value, str) or value not in schema["enum"]:
            raise ContentError(f"{self.member}: expected one of {', '.join(schema['enum'])}")

    def approves(self, content: Mapping[str, Any]) -> bool:
        """Of content that is what the schema says."""
        return not self.member or content[self.member] == self.yes


def box(title: str, member: str = "confirm") -> QuestionForm:
    """A boolean."""
    told = "Tick it only if you want exactly this to happen."
    return QuestionForm(member, {"type": "boolean", "title": title, "description": told}, yes=True)


def choice(title: str, yes: str, no: str, member: str = "decision") -> QuestionForm:
    """One of two words."""
    return QuestionForm(member, {"type": "string", "title": title, "enum": [yes, no]}, yes=yes)


ACCEPT_ALONE = QuestionForm()
"""Without members: to accept it is to approve."""
