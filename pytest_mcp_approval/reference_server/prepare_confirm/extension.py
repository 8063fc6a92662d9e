"""The two-step tools as a part of the reference server: six tools, and some more.

The others read, undo, and put projects and users in place for a trial. Knows MCP's shapes of tools
and results; the rules are in the gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ...families.prepare_confirm import vocabulary as words
from ..server.answers import (
    InvalidParamsError,
    invalid,
    object_arguments,
    tool_listing,
    tool_result,
)
from ..server.extension import Caller, Extension, ExtensionParts
from .back_end import BACK_ENDS
from .demonstration import SUITE_SETTINGS
from .gate import PreparationGate
from .operations import MOST_IDS, OPERATIONS, TwoStepOperation, identifier, project_ids, truth
from .records import ACTIVE, Project, User, item_of
from .settings import PreparationSettings, read_settings
from .store import PreparationStore

_IDS = {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MOST_IDS}
_TEXT = {"type": "string", "minLength": 1}


class PrepareConfirmExtension(Extension):
    """prepare_x and confirm_x for three operations."""

    family = words.FAMILY
    suite_settings: ClassVar[Mapping[str, Any]] = SUITE_SETTINGS
    store: PreparationStore
    gate_class: ClassVar[type[PreparationGate]] = PreparationGate

    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        self.settings = self.read_settings(parts.settings)
        self.store = parts.backing.keep(self.family, self.open_store)
        back_end = BACK_ENDS[self.settings.back_end](self.store, self.effects)
        self.gate = self.gate_class(self.clock, self.store, back_end, self.settings)
        self._pairs = {
            prefix + operation.name: (prefix, operation)
            for operation in OPERATIONS
            for prefix in (words.PREPARE, words.CONFIRM)
        }
        self._listings = [
            *(self.listing(prefix, operation) for prefix, operation in self._pairs.values()),
            *_OTHERS,
        ]

    def read_settings(self, given: Mapping[str, Any]) -> PreparationSettings:
        return read_settings(given)

    def open_store(self, url: str | None) -> PreparationStore:
        return PreparationStore(url, self.clock.now())

    def listing(self, prefix: str, operation: TwoStepOperation) -> dict[str, Any]:
        if prefix == words.PREPARE:
            return tool_listing(
                prefix + operation.name,
                f"{operation.title}: preview",
                f"Show what would be {operation.past}, and get a token for "
                f"{words.CONFIRM}{operation.name}. Changes nothing.",
                operation.properties,
                operation.required,
                read_only=True,
            )
        return tool_listing(
            prefix + operation.name,
            operation.title,
            f"Do what {words.PREPARE}{operation.name} has shown, once, on its token.",
            {words.TOKEN: {"type": "string"}},
            (words.TOKEN,),
        )

    def listings(self) -> list[dict[str, Any]]:
        return self._listings

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        given = object_arguments(arguments)
        if name in self._pairs:
            prefix, operation = self._pairs[name]
            act = self.gate.prepare if prefix == words.PREPARE else self.gate.confirm
            return self.result(act(operation, given, caller.user))
        # Any other listed tool is a method of the same name.
        return self.result(getattr(self, name)(given))

    def result(self, answer: dict[str, Any]) -> dict[str, Any]:
        return tool_result(answer)

    def reset(self) -> None:
        self.store.reset_at(self.clock.now())

    # ---- the tools besides the pairs

    def reopen_projects(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What makes closing reversible."""
        found = self.store.projects(project_ids(arguments))
        closed = [one for one in found.values() if one.status != ACTIVE]
        self.store.put_projects(replace(one, status=ACTIVE) for one in closed)
        return {"success": True, "reopened": [one.project_id for one in closed]}

    def create_projects(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        given = arguments.get("projects")
        if not isinstance(given, list) or not 0 < len(given) <= MOST_IDS:
            raise InvalidParamsError(f"projects: expected a list of 1 to {MOST_IDS}")
        projects = [
            Project(
                project_id=identifier(_member(one, "project_id"), "project_id"),
                name=identifier(_member(one, "name"), "name"),
                artworks=_count(one, "artworks"),
                unfinished=_count(one, "unfinished"),
            )
            for one in given
        ]
        self.store.put_projects(projects)
        return {"success": True, "created": len(projects)}

    def create_user(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        user = User(
            username=identifier(arguments.get("username"), "username"),
            name=identifier(arguments.get("name"), "name"),
            email=identifier(arguments.get("email"), "email"),
            is_sso=truth(arguments, "is_sso"),
        )
        self.store.put_user(user)
        return {"success": True, "created": 1}

    def list_projects(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"projects": [item_of(one) for one in self.store.projects().values()]}

    def list_confirmations(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"attempts": [one.to_json() for one in self.store.attempts()]}

    def list_kept_records(self, _: Mapping[str, Any]) -> dict[str, Any]:
        kept = self.store.kept_records()
        return {
            name: [{member: str(value) for member, value in vars(one).items()} for one in records]
            for name, records in kept.items()
        }

    def count_held_tokens(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"held": self.store.spent_count()}


def _member(value: Any, name: str) -> Any:
    if not isinstance(value, Mapping):
        invalid("projects", value, "objects")
    return value.get(name)


def _count(value: Mapping[str, Any], name: str) -> int:
    count = value.get(name, 0)
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= 10**6:
        invalid(name, count, "a whole number")
    return count


_OTHERS = [
    tool_listing(
        "reopen_projects",
        "Reopen projects",
        "Open closed projects again. Needs no confirmation.",
        {"project_ids": _IDS},
        ("project_ids",),
        destructive=False,
    ),
    tool_listing(
        "create_projects",
        "Create projects",
        "Put projects in place, new or changed, for a trial.",
        {"projects": {"type": "array", "items": {"type": "object"}, "minItems": 1}},
        ("projects",),
        destructive=False,
    ),
    tool_listing(
        "create_user",
        "Create a user",
        "Put a user in place, new or changed, for a trial.",
        {"username": _TEXT, "name": _TEXT, "email": _TEXT, "is_sso": {"type": "boolean"}},
        ("username", "name", "email"),
        destructive=False,
    ),
    tool_listing("list_projects", "List projects", "All projects.", {}, read_only=True),
    tool_listing(
        "list_confirmations",
        "List confirmations",
        "Every attempt to prepare or confirm, oldest first.",
        {},
        read_only=True,
    ),
    tool_listing(
        "list_kept_records",
        "List kept records",
        "Everything that this server keeps of tokens, as it is kept.",
        {},
        read_only=True,
    ),
    tool_listing(
        "count_held_tokens",
        "Count held tokens",
        "How many tokens this server remembers.",
        {},
        read_only=True,
    ),
]
