"""Which families exist, built in or from other distributions, and where their parts are.

A family is a package that an entry point of the group `mcp_approval.families` names. Its parts are
modules by convention (docs/how-to-add-a-family.md). Nothing is imported before it is used, and no
entry point is read in a run without a target. This is below the catalogue because the reader of the
settings must know which tables may exist. Knows no family by name, and does not know what the parts
mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from ..support.nearest import expected
from .options import OPTIONS, PREFIX, SettingsError

GROUP = "mcp_approval.families"
REQUIRED = {"preflight": "look", "health": "honest_approval", "fixtures": ""}
"""The modules that every family has, each with what the suite takes from it."""
OPTIONAL = {
    "settings": "TABLE_CLASS",
    "decoder": "decode",
    "proposal": "propose",
    "client_preflight": "look_at_client",
    "exploration": "MODEL",
}
RULES = "requirements.toml"
_PACKAGE = Path(__file__).parent.parent
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_OURS = "pytest-mcp-approval"


class FamilyError(SettingsError):
    """A family cannot be used: one line says where it comes from, and what is wrong."""


@dataclass(frozen=True)
class Family:
    """One family, as it was registered."""

    name: str
    package: str
    distribution: str
    """The distribution it comes from, for example `mcp-approval-two-person 0.1.0`."""

    @property
    def built_in(self) -> bool:
        return self.distribution == _OURS

    @cached_property
    def folder(self) -> Path:
        """The folder of its package. Does not import the package."""
        try:
            found = find_spec(self.package)
        except Exception as error:  # from a parent package, which may do anything
            raise self.broken(f"{self.package}: {_told(error)}") from error
        if found is None or not found.submodule_search_locations:
            raise self.broken(f"got {self.package!r} in {GROUP}, expected a package")
        return Path(found.submodule_search_locations[0])

    @cached_property
    def scenarios(self) -> Path:
        """The folder of its rules and scenarios."""
        if self.built_in:
            return _scenarios() / self.name
        if not (self.folder / "scenarios" / RULES).is_file():
            raise self.broken(f"it has no scenarios/{RULES} in {self.folder}")
        return self.folder / "scenarios"

    def part(self, role: str) -> ModuleType:
        """A module of the family; `FamilyError` if it is missing or broken."""
        name = f"{self.package}.{role}"
        try:
            module = import_module(name)
        except Exception as error:
            if isinstance(error, ModuleNotFoundError) and error.name == name:
                raise self.broken(f"it has no module {role}.py") from None
            raise self.broken(f"{role}.py cannot be imported: {_told(error)}") from error
        wanted = (REQUIRED | OPTIONAL).get(role)
        if wanted and not callable(getattr(module, wanted, None)):
            raise self.broken(f"{role}.py has no {wanted}")
        return module

    def has(self, role: str) -> bool:
        """Whether there is such a module. Does not import it."""
        return any((self.folder / f"{role}{end}").exists() for end in (".py", ""))

    def check(self) -> None:
        """Check that all required parts exist; for a family that is not ours, also that they
        work."""
        for role in REQUIRED:
            if not self.has(role):
                raise self.broken(f"it has no module {role}.py")
        if not self.built_in:
            for role in filter(self.has, REQUIRED | OPTIONAL):
                self.part(role)

    def broken(self, why: str) -> FamilyError:
        advice = "" if self.built_in else f"; without it: {PREFIX}family=NAME"
        return FamilyError(f"family {self.name} of {self.distribution}: {why}{advice}")


def families() -> tuple[str, ...]:
    """The names of all families."""
    return tuple(_all())


def built_in() -> tuple[str, ...]:
    """The names of those that come with the suite."""
    return tuple(name for name, family in _all().items() if family.built_in)


def registered(name: str) -> Family:
    """The family of that name."""
    if name not in _all():
        raise FamilyError(f"got family {name!r}, {expected(name, families())}")
    return _all()[name]


@cache
def _all() -> Mapping[str, Family]:
    # Ours are found by their folders, since a bare checkout has no entry points.
    ours = [found.parent.name for found in _scenarios().glob(f"*/{RULES}")]
    found = {name: Family(name, f"pytest_mcp_approval.families.{name}", _OURS) for name in ours}
    for point in entry_points(group=GROUP):
        known = found.get(point.name)
        if known is not None and known.built_in and known.package == point.value:
            continue
        given = Family(point.name, point.value, _distribution(point))
        if known is not None:
            raise FamilyError(
                f"family {given.name} is registered twice, by {known.distribution} and by "
                f"{given.distribution}: uninstall one of them"
            )
        _check_name(given)
        found[given.name] = given
    return dict(sorted(found.items()))


def _check_name(given: Family) -> None:
    """The name is used as a table in settings files, in ids and as a name in JavaScript."""
    if not _NAME.fullmatch(given.name):
        raise FamilyError(
            f"{GROUP}: got the name {given.name!r} from {given.distribution}, expected small "
            "letters, digits and underscores"
        )
    if given.name in {option.name for option in OPTIONS}:
        raise FamilyError(
            f"{GROUP}: got the name {given.name!r} from {given.distribution}, which is a setting "
            "of the suite: expected another"
        )


def _distribution(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown distribution"


def _scenarios() -> Path:
    """The folder of our scenarios: inside the installed package, or beside it in a checkout."""
    installed = _PACKAGE / "scenarios"
    return installed if installed.is_dir() else _PACKAGE.parent / "scenarios"


def _told(error: Any) -> str:
    """An error in a family's module, in one line, with its place."""
    text = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    place, step = "", error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if not file.startswith("<"):  # skip frames of the import machinery
            place = f" ({Path(file).name}:{step.tb_lineno})"
        step = step.tb_next
    return f"{text}{place}"
