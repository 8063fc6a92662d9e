"""The three operations: what a preview of each shows, and what its confirmation does.

What was shown goes into the token with its versions; if a version differs when the token comes
back, the thing is reported and left alone. Knows no token and no transport.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..server.answers import InvalidParamsError, invalid
from .back_end import BackEnd
from .records import ACTIVE, Project, item_of
from .refusals import BackEndError, NothingToPrepareError
from .store import PreparationStore

MOST_IDS = 10_000
_LONGEST_ID = 200
_NAMED = 5
"""How many ids a sentence names before it counts the others."""


@dataclass(frozen=True)
class OperationDraft:
    """What would happen."""

    items: list[dict[str, Any]]
    warnings: list[str]
    data: dict[str, Any]
    """What the token carries; the confirmation uses nothing else."""


@dataclass
class OperationOutcome:
    """What happened."""

    done: list[str] = field(default_factory=list)
    left_alone: dict[str, str] = field(default_factory=dict)
    """The reason, by id."""
    unknown: list[str] = field(default_factory=list)
    """If the back end failed during the change: it may be done or not."""
    failure: str = ""

    @property
    def complete(self) -> bool:
        return not (self.left_alone or self.unknown or self.failure)


class TwoStepOperation(ABC):
    """One pair of tools."""

    name: ClassVar[str]
    """As in prepare_<name> and confirm_<name>; also the action of its tokens."""
    verb: ClassVar[str]
    past: ClassVar[str]
    thing: ClassVar[str]
    title: ClassVar[str]
    properties: ClassVar[dict[str, Any]]
    required: ClassVar[tuple[str, ...]]

    @abstractmethod
    def draft(self, arguments: Mapping[str, Any], store: PreparationStore) -> OperationDraft:
        """Look, and change nothing."""

    @abstractmethod
    def execute(
        self, data: Mapping[str, Any], store: PreparationStore, back_end: BackEnd
    ) -> OperationOutcome:
        """Do what the draft listed, and nothing else."""

    @abstractmethod
    def answer(self, data: Mapping[str, Any], outcome: OperationOutcome) -> dict[str, Any]:
        """The members of the answer that say what happened, besides success and message."""

    def message(self, outcome: OperationOutcome) -> str:
        """One sentence with the whole truth."""
        total = len(outcome.done) + len(outcome.left_alone) + len(outcome.unknown)
        parts = [f"{self.past} {len(outcome.done)} of {total} {self.thing}(s)"]
        if outcome.complete:
            parts = [f"{self.past} {len(outcome.done)} {self.thing}(s)"]
        if outcome.failure:
            parts.append(f"it failed: {outcome.failure}")
        if outcome.unknown:
            parts.append(f"may or may not be {self.past}: {named(outcome.unknown)}")
        if outcome.left_alone:
            shown = [f"{one!r} ({why})" for one, why in list(outcome.left_alone.items())[:_NAMED]]
            parts.append(f"not {self.past}: {', '.join(shown)}{_more(outcome.left_alone)}")
        return "; ".join(parts)


def do_each(
    seen: Sequence[tuple[str, int]],
    change: Callable[[str, int], bool],
    exists: Callable[[str], bool],
) -> OperationOutcome:
    """Change one thing after the other; after a failure the rest is not tried."""
    outcome = OperationOutcome()
    for name, version in seen:
        if outcome.failure:
            outcome.left_alone[name] = "not tried"
            continue
        try:
            if change(name, version):
                outcome.done.append(name)
            elif exists(name):
                outcome.left_alone[name] = "changed since the preview"
            else:
                outcome.left_alone[name] = "gone since the preview"
        except BackEndError as error:
            outcome.failure = str(error)
            outcome.unknown.append(name)
    return outcome


def _rest(outcome: OperationOutcome, name: str) -> dict[str, Any]:
    """What was not done, or may not have been; `name` is the member for an id."""
    left = [{name: one, "reason": why} for one, why in outcome.left_alone.items()]
    found = {"left_alone": left, "unknown": outcome.unknown}
    return {member: ids for member, ids in found.items() if ids}


class _OnProjects(TwoStepOperation):
    thing = "project"
    required = ("project_ids",)
    properties: ClassVar[dict[str, Any]] = {
        "project_ids": {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": _LONGEST_ID},
            "minItems": 1,
            "maxItems": MOST_IDS,
        },
        "force": {"type": "boolean", "description": "Do it in spite of warnings"},
    }

    def draft(self, arguments: Mapping[str, Any], store: PreparationStore) -> OperationDraft:
        ids, force = project_ids(arguments), truth(arguments, "force")
        found = store.projects(ids)
        missing = [one for one in ids if one not in found]
        if missing:
            raise NothingToPrepareError(f"no such {self.thing}: {named(missing)}")
        for project in found.values():
            self.check_possible(project, force)
        data = {
            "project_ids": ids,
            "force": force,
            "versions": [found[one].version for one in ids],
        }
        items = [item_of(found[one]) for one in ids]
        return OperationDraft(items, self.warnings(list(found.values()), force), data)

    @abstractmethod
    def check_possible(self, project: Project, force: bool) -> None:
        """A preview lists only what can happen."""

    @abstractmethod
    def warnings(self, projects: Sequence[Project], force: bool) -> list[str]: ...

    def execute(
        self, data: Mapping[str, Any], store: PreparationStore, back_end: BackEnd
    ) -> OperationOutcome:
        force = data["force"]
        return do_each(
            list(zip(data["project_ids"], data["versions"], strict=True)),
            lambda one, version: back_end.change(
                f"{self.verb}_project", one, version, {"project_id": one, "force": force}
            ),
            lambda one: bool(store.projects([one])),
        )

    def answer(self, data: Mapping[str, Any], outcome: OperationOutcome) -> dict[str, Any]:  # noqa: ARG002
        members: dict[str, Any] = {
            f"{self.past}_count": len(outcome.done),
            "project_ids": outcome.done,
        }
        return {**members, **_rest(outcome, "project_id")}


class CloseProjects(_OnProjects):
    """Reversible."""

    name, verb, past = "close_projects", "close", "closed"
    title = "Close projects"

    def check_possible(self, project: Project, force: bool) -> None:
        if project.status != ACTIVE:
            raise NothingToPrepareError(f"project {project.project_id!r} is {project.status}")
        if project.unfinished and not force:
            raise NothingToPrepareError(
                f"project {project.project_id!r} has {project.unfinished} unfinished artwork(s): "
                "say force to close it all the same"
            )

    def warnings(self, projects: Sequence[Project], force: bool) -> list[str]:
        lines = [f"{len(projects)} project(s) will be closed"]
        unfinished = sum(project.unfinished for project in projects)
        if force and unfinished:
            lines.append(f"Forced: {unfinished} unfinished artwork(s) are closed with them")
        else:
            lines.append("Closing asks for artworks that are complete or approved")
        return [*lines, "It can be reversed: reopen_projects opens them again"]


class DeleteProjects(_OnProjects):
    """Irreversible."""

    name, verb, past = "delete_projects", "delete", "deleted"
    title = "Delete projects"

    def check_possible(self, project: Project, force: bool) -> None:
        if project.artworks and not force:
            raise NothingToPrepareError(
                f"project {project.project_id!r} has {project.artworks} artwork(s): "
                "say force to delete it all the same"
            )

    def warnings(self, projects: Sequence[Project], force: bool) -> list[str]:
        lines = [
            f"DESTRUCTIVE: {len(projects)} project(s) will be deleted permanently",
            "This CANNOT BE UNDONE",
        ]
        artworks = sum(project.artworks for project in projects)
        if force and artworks:
            lines.append(f"Forced: {artworks} artwork(s) in them are lost for ever")
        else:
            lines.append("Deleting asks for projects without artworks")
        return [*lines, "All data that belong to them are lost"]


class DeleteUser(TwoStepOperation):
    """Irreversible; warns if the user signs in through another service."""

    name, verb, past, thing = "delete_user", "delete", "deleted", "user"
    title = "Delete a user"
    properties: ClassVar[dict[str, Any]] = {
        "username": {"type": "string", "minLength": 1, "maxLength": _LONGEST_ID}
    }
    required = ("username",)

    def draft(self, arguments: Mapping[str, Any], store: PreparationStore) -> OperationDraft:
        username = identifier(arguments.get("username"), "username")
        user = store.user(username)
        if user is None:
            raise NothingToPrepareError(f"no such user: {username!r}")
        warnings = [
            f"DESTRUCTIVE: the user {username!r} will be deleted permanently",
            "This CANNOT BE UNDONE",
            f"The user's address is {user.email}",
            "All data of the user, and access to projects and artworks, are lost",
        ]
        if user.is_sso:
            warnings.append("This is an SSO user: signing in elsewhere may be affected too")
        return OperationDraft(
            [item_of(user)], warnings, {"username": username, "version": user.version}
        )

    def execute(
        self, data: Mapping[str, Any], store: PreparationStore, back_end: BackEnd
    ) -> OperationOutcome:
        return do_each(
            [(data["username"], data["version"])],
            lambda one, version: back_end.change("delete_user", one, version, {"username": one}),
            lambda one: store.user(one) is not None,
        )

    def answer(self, data: Mapping[str, Any], outcome: OperationOutcome) -> dict[str, Any]:
        members: dict[str, Any] = {"deleted_count": len(outcome.done)}
        if outcome.done:
            members["username"] = data["username"]
        return {**members, **_rest(outcome, "username")}


OPERATIONS: tuple[TwoStepOperation, ...] = (CloseProjects(), DeleteProjects(), DeleteUser())


# ---- arguments


def project_ids(arguments: Mapping[str, Any]) -> list[str]:
    """Each id once, in the given order."""
    given = arguments.get("project_ids")
    if not isinstance(given, list) or not 0 < len(given) <= MOST_IDS:
        shown = f"{len(given)} of them" if isinstance(given, list) else type(given).__name__
        raise InvalidParamsError(f"project_ids: got {shown}, expected a list of 1 to {MOST_IDS}")
    return list(dict.fromkeys(identifier(one, "project_ids") for one in given))


def identifier(value: Any, name: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_ID:
        invalid(name, value, f"text of 1 to {_LONGEST_ID} characters")
    return value


def truth(arguments: Mapping[str, Any], name: str) -> bool:
    value = arguments.get(name, False)
    if not isinstance(value, bool):
        invalid(name, value, "true or false")
    return value


def named(ids: Sequence[str]) -> str:
    """Some ids, and how many more there are."""
    return ", ".join(repr(one) for one in list(ids)[:_NAMED]) + _more(ids)


def _more(ids: Any) -> str:
    return f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
