"""Contents that approve and break the form's schema in one place.

Members that the form does not name break it only where the schema forbids them. Knows no verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .form_answers import Approving, choices_of, members_of, required_of

_OTHER_TYPES: Mapping[str, tuple[tuple[str, Any], ...]] = {
    "string": (("an object", {}), ("a list", ["x"]), ("true", True)),
    "boolean": (("an object", {}), ("a list", [True]), ("another word", "perhaps")),
    "integer": (("a word", "many"), ("a half", 1.5), ("an object", {})),
    "number": (("a word", "many"), ("an object", {}), ("a list", [1])),
    "array": (("an object", {"a": 1}), ("a word", "all")),
}
_WRONG_FORMATS = {
    "email": "not an address",
    "uri": "not a uri",
    "date": "2030-13-41",
    "date-time": "yesterday",
}


def breaking(
    schema: Any, honest: Mapping[str, Any], approving: Approving | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each broken content, by what is wrong with it."""
    own = approving.name if approving is not None else ""
    for name, member in members_of(schema).items():
        for what, value in _wrong_values(member, own=name == own):
            yield f"{name} is {what}", {**honest, name: value}
        if name in required_of(schema) and name != own:
            yield f"without {name}", {k: v for k, v in honest.items() if k != name}
    if isinstance(schema, Mapping) and schema.get("additionalProperties") is False:
        yield "with a member more", {**honest, "not_in_the_form": True}


def _wrong_values(member: Mapping[str, Any], *, own: bool) -> Iterator[tuple[str, Any]]:
    kind = str(member.get("type", "string"))
    if own:
        # What the approving member is when it says no is another rule's business.
        choices = [value for value, _ in choices_of(member)]
        if choices:
            yield "a choice that is not offered", "not offered"
        return
    yield from _OTHER_TYPES.get(kind, ())
    if choices_of(member):
        yield "a choice that is not offered", "not offered"
    items = member.get("items")
    if isinstance(items, Mapping) and choices_of(items):
        yield "a list of what is not offered", ["not offered"]
    yield from _beyond_limits(member)


def _beyond_limits(member: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    longest, shortest = member.get("maxLength"), member.get("minLength")
    if type(longest) is int and 0 <= longest < 100_000:
        yield "too long", "x" * (longest + 1)
    if type(shortest) is int and shortest > 0:
        yield "too short", "x" * (shortest - 1)
    highest, lowest = member.get("maximum"), member.get("minimum")
    if isinstance(highest, (int, float)) and not isinstance(highest, bool):
        yield "too large", highest + 1
    if isinstance(lowest, (int, float)) and not isinstance(lowest, bool):
        yield "too small", lowest - 1
    wrong = _WRONG_FORMATS.get(str(member.get("format")))
    if wrong is not None:
        yield f"no {member['format']}", wrong
