"""Brings the packaged scenarios into a pytest session, wherever the user's own tests are.

Their node ids begin with `mcp-approval/`, whatever folder they are installed in. Knows nothing
about targets and verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ..catalogue.requirements import named_in, selected
from ..config.registry import FamilyError, registered
from .start import ROOT

ON_A_PAGE = "test_browser_"
"""The prefix of files whose scenarios need a page and a browser."""


class ScenarioModule(pytest.Module):
    """A file of scenarios, whatever import mode the user's own tests have.

    It is imported by path, so that files of two families, or a test of the user's, can share a
    name, and nothing is put on sys.path.
    """

    def _getobj(self) -> Any:
        option = self.config.option
        users = option.importmode
        option.importmode = "importlib"
        try:
            return super()._getobj()  # type: ignore[no-untyped-call]
        finally:
            option.importmode = users


class ScenarioFolder(pytest.Collector):
    """The scenarios of one family."""

    def __init__(
        self,
        *,
        family: str,
        ids: tuple[str, ...],
        patterns: tuple[str, ...],
        with_page: bool,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.family = family
        self.folder = registered(family).scenarios
        self.ids = ids
        self.patterns = patterns
        self.with_page = with_page

    def collect(self) -> Iterator[pytest.Module]:
        for path in sorted(self.folder.glob("test_*.py")):
            nodeid = f"{self.nodeid}/{path.name}"
            if self._concerns(path) and self._is_named(nodeid):
                yield ScenarioModule.from_parent(self, path=path, nodeid=nodeid, name=path.name)

    def _is_named(self, nodeid: str) -> bool:
        """Whether an id means this file, something in it, or the whole folder."""
        return not self.ids or any(
            one.partition("::")[0] == nodeid or _names(one, nodeid) for one in self.ids
        )

    def _concerns(self, path: Path) -> bool:
        """Whether a file has scenarios of a wanted rule; reading is much quicker than importing."""
        if path.name.startswith(ON_A_PAGE) and not self.with_page:
            return False
        if not self.patterns:
            return True
        return any(selected(one, self.patterns) for one in named_in(path, self.family))


def collect_scenarios(
    session: pytest.Session,
    families: Sequence[str],
    ids: Iterable[str],
    patterns: tuple[str, ...],
    *,
    with_page: bool = True,
) -> Iterator[pytest.Item]:
    """The scenarios of these families, or only those with these ids. Files are left out if no
    pattern matches, or if they need a page and the target has none."""
    ids = tuple(ids)
    for family in families:
        folder = ScenarioFolder.from_parent(
            session,
            family=family,
            ids=ids,
            patterns=patterns,
            with_page=with_page,
            name=f"{ROOT}/{family}",
            nodeid=f"{ROOT}/{family}",
        )
        _offer_fixtures(session, folder)
        for item in session.genitems(folder):
            if not ids or any(_names(one, item.nodeid) for one in ids):
                yield item


def _names(given: str, nodeid: str) -> bool:
    return nodeid == given or nodeid.startswith((f"{given}[", f"{given}::", f"{given}/"))


def _offer_fixtures(session: pytest.Session, folder: ScenarioFolder) -> None:
    """Register a family's fixtures under plain names, for its scenarios only."""
    try:
        module = registered(folder.family).part("fixtures")
    except FamilyError as error:
        raise pytest.UsageError(str(error)) from error
    manager = session._fixturemanager
    try:
        manager.parsefactories(holder=module, node=folder)
    except TypeError:  # pytest before 9.1 has only the older way
        manager.parsefactories(module, folder.nodeid)
