"""Brings the packaged scenarios into a pytest session, wherever the user's own tests are.

Their node ids begin with `mcp-approval/`, whatever folder they are installed in. Knows nothing
about targets and verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ..catalogue.requirements import named_in, selected
from ..config.registry import FamilyError, registered
from .start import ROOT

ON_A_PAGE = "test_browser_"
"""The prefix of files whose scenarios need a page and a browser."""
OF_A_CLIENT = "test_client_"
"""The prefix of files whose scenarios are about a client: the suite plays its server."""
ON_REQUEST = "test_network_faults"
"""The prefix of files whose scenarios run only if the user asks for them."""


class ScenarioModule(pytest.Module):
    """A file of scenarios, whatever import mode the user's own tests have.

    It is imported by path, so that files of two families, or a test of the user's, can share a
    name, and nothing is put on sys.path.
    """

    only: frozenset[str] | None = None
    """The functions that are wanted; None: all. Making an item of each takes longer than many a
    scenario."""

    def istestfunction(self, obj: object, name: str) -> bool:
        return (self.only is None or name in self.only) and super().istestfunction(obj, name)

    def _getobj(self) -> Any:
        option = self.config.option
        users = option.importmode
        option.importmode = "importlib"
        try:
            return super()._getobj()  # type: ignore[no-untyped-call]
        finally:
            option.importmode = users


class ScenarioFolder(pytest.Collector):
    """The parent of one family's scenarios: its fixtures are theirs."""

    def collect(self) -> Iterable[pytest.Item]:
        return ()  # `collect_scenarios` does it


def collect_scenarios(
    session: pytest.Session,
    families: Sequence[str],
    ids: Sequence[str],
    patterns: tuple[str, ...],
    *,
    which: Callable[[str], bool] = bool,
) -> Iterator[pytest.Item]:
    """The scenarios of these families, or only those with these ids. Files are left out if no
    pattern matches, or if `which` does not want a file of that name."""
    for family in families:
        name = f"{ROOT}/{family}"
        folder = ScenarioFolder.from_parent(session, name=name, nodeid=name)
        _offer_fixtures(family, folder)
        for path in sorted(registered(family).scenarios.glob("test_*.py")):
            nodeid = f"{name}/{path.name}"
            # An id means this file, something in it, or the whole folder.
            wanted = not ids or any(
                one.partition("::")[0] == nodeid or _names(one, nodeid) for one in ids
            )
            if not wanted or not which(path.name) or not _concerns(path, family, patterns):
                continue
            file = ScenarioModule.from_parent(folder, path=path, nodeid=nodeid, name=path.name)
            file.only = _functions(ids, nodeid)
            for item in session.genitems(file):
                if not ids or any(_names(one, item.nodeid) for one in ids):
                    yield item


def _concerns(path: Path, family: str, patterns: tuple[str, ...]) -> bool:
    """Whether a file has scenarios of a wanted rule; reading is much quicker than importing."""
    return not patterns or any(selected(one, patterns) for one in named_in(path, family))


def _functions(ids: Sequence[str], file: str) -> frozenset[str] | None:
    """The functions of a file that ids name; None if one means all of it."""
    inside = [one.removeprefix(f"{file}::") for one in ids if one.startswith(f"{file}::")]
    if not inside or any(_names(one, file) for one in ids):
        return None
    return frozenset(one.partition("[")[0] for one in inside)


def _names(given: str, nodeid: str) -> bool:
    return nodeid == given or nodeid.startswith((f"{given}[", f"{given}::", f"{given}/"))


def _offer_fixtures(family: str, folder: ScenarioFolder) -> None:
    """Register a family's fixtures under plain names, for its scenarios only."""
    try:
        module = registered(family).part("fixtures")
    except FamilyError as error:
        raise pytest.UsageError(str(error)) from error
    manager = folder.session._fixturemanager
    try:
        manager.parsefactories(holder=module, node=folder)
    except TypeError:  # pytest before 9.1 has only the older way
        manager.parsefactories(module, folder.nodeid)
