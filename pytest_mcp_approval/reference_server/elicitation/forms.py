"""The forms that the gate asks with: what they look like, and what approves.

Three kinds: a box to tick, a choice between two words, and a form without members, where to accept
it is to approve. Beside what approves a form may have short texts that need not be filled in: they
decide nothing, and are checked all the same. No member has a default, since clients fill forms with
them. Knows no question and no answer's way here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class ContentError(ValueError):
    """The content of an answer is not what the form asks for; one line says why."""


@dataclass(frozen=True)
class QuestionForm:
    """A flat object: at most one member that approves, and texts that need not be there."""

    member: str = ""
    """The one that approves; "" if there is none."""
    schema: Mapping[str, Any] | None = None
    """Of that member."""
    yes: Any = None
    """The value that approves."""
    texts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The schemas of the others, each with a `maxLength`."""

    def to_schema(self) -> dict[str, Any]:
        """The requestedSchema."""
        texts = {name: dict(schema) for name, schema in self.texts.items()}
        if not self.member:
            return {"type": "object", "properties": texts}
        return {
            "type": "object",
            "properties": {self.member: dict(self.schema or {}), **texts},
            "required": [self.member],
        }

    def check(self, content: Any) -> Mapping[str, Any]:
        """The content, if it is what the schema says; every check is a method."""
        given = self.check_object(content)
        self.check_members(given)
        if self.member:
            self.check_value(given)
        self.check_texts(given)
        return given

    def check_object(self, content: Any) -> Mapping[str, Any]:
        if not isinstance(content, Mapping):
            raise ContentError(f"content: got {type(content).__name__}, expected an object")
        return content

    def check_members(self, content: Mapping[str, Any]) -> None:
        wanted = {self.member} if self.member else set()
        if wanted - content.keys():
            raise ContentError(f"content: got no {self.member}")
        if content.keys() - wanted - self.texts.keys():
            raise ContentError("content: got members that were not asked for")

    def check_value(self, content: Mapping[str, Any]) -> None:
        value, schema = content[self.member], self.schema or {}
        if schema["type"] == "boolean":
            if not isinstance(value, bool):
                raise ContentError(f"{self.member}: expected true or false")
        elif not isinstance(value, str) or value not in schema["enum"]:
            raise ContentError(f"{self.member}: expected one of {', '.join(schema['enum'])}")

    def check_texts(self, content: Mapping[str, Any]) -> None:
        for name in self.texts.keys() & content.keys():
            value, longest = content[name], self.texts[name]["maxLength"]
            if not isinstance(value, str) or len(value) > longest:
                raise ContentError(f"{name}: expected text of {longest} characters at most")

    def approves(self, content: Mapping[str, Any]) -> bool:
        """Of content that is what the schema says."""
        return not self.member or content[self.member] == self.yes


def box(title: str, member: str = "confirm") -> QuestionForm:
    """A boolean."""
    told = "Tick it only if you want exactly this to happen."
    return QuestionForm(member, {"type": "boolean", "title": title, "description": told}, yes=True)


def choice(
    title: str,
    yes: str,
    no: str,
    member: str = "decision",
    texts: Mapping[str, Mapping[str, Any]] | None = None,
) -> QuestionForm:
    """One of two words."""
    schema = {"type": "string", "title": title, "enum": [yes, no]}
    return QuestionForm(member, schema, yes=yes, texts=texts or {})


ACCEPT_ALONE = QuestionForm()
"""Without members: to accept it is to approve."""
