"""What the scenarios of its rule say about one broken server.

A run ends when the server is found out, and when every scenario that was to be shown failing has
failed. Knows no notes and no file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import Verdict
from tests.inner_browser import shared_browser
from tests.inner_session import InnerSession
from tests.mutants.registry import Mutant, rule_of, wanted_verdict
from tests.mutants.search_order import function_of, search_order

_FINDINGS = (Verdict.FAILED, Verdict.WARNING)
_AFTERWARDS = "after this, honest calls fail"
"""The look at the target after a scenario says so. The scenario itself expected nothing that did
not come."""


def text_of(result: dict[str, Any]) -> str:
    """All that a scenario says of what it found."""
    return "\n".join((result["evidence"] or {"why": result["why"]}).values())


def is_finding(result: dict[str, Any]) -> bool:
    """Whether a scenario itself found something, by which it has shown that it can."""
    got = (result["evidence"] or {"got": result["why"]})["got"]
    return result["verdict"] in _FINDINGS and not got.startswith(_AFTERWARDS)


def says_so(mutant: Mutant, result: dict[str, Any]) -> bool:
    """Whether a scenario says what the mutant is to be found out for.

    What was sent and expected is said of every server alike, so the words must reach into what was
    got.
    """
    if result["verdict"] != wanted_verdict(mutant):
        return False
    if not re.search(mutant.because, text_of(result)):
        return False
    found = result["evidence"]
    return not found or not re.search(mutant.because, f"{found['sent']}\n{found['expected']}\n")


@dataclass(eq=False)
class Judged:
    """The verdicts on one mutant, as they come."""

    mutant: Mutant
    functions: Collection[str]
    """Those that are to be shown failing, besides the one that finds the mutant out."""
    results: list[dict[str, Any]] = field(default_factory=list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        result = getattr(report, "mcp_approval", None)
        if result is not None:
            self.results.append(result)

    @property
    def finder(self) -> dict[str, Any] | None:
        """The first that says what the mutant is to be found out for."""
        return next((one for one in self.results if says_so(self.mutant, one)), None)

    @property
    def failed(self) -> dict[str, str]:
        """By function, the first case that failed."""
        found: dict[str, str] = {}
        for one in filter(is_finding, self.results):
            found.setdefault(function_of(one["scenario"]), one["scenario"])
        return found

    def is_done(self) -> bool:
        return self.finder is not None and set(self.functions) <= self.failed.keys()

    def needless(self, item: pytest.Item) -> bool:
        """Whether this one need not run: its answer is known, or not asked for."""
        function = function_of(item.nodeid)
        asked = function in self.functions and function not in self.failed
        return self.finder is not None and not asked


def judge(
    session: InnerSession,
    mutant: Mutant,
    folder: Path,
    *,
    first: Sequence[str] = (),
    functions: Collection[str] = (),
) -> Judged:
    """The scenarios with the ids `first` come before all others: they run alone if that is enough,
    because collecting the others takes longer. HOME must be a folder of its own: some mutants write
    there."""
    if first:
        judged = _judged(session, mutant, folder, first, functions, ids=first)
        if judged.is_done():
            return judged
    return _judged(session, mutant, folder, first, functions)


def _judged(
    session: InnerSession,
    mutant: Mutant,
    folder: Path,
    first: Sequence[str],
    functions: Collection[str],
    ids: Sequence[str] = (),
) -> Judged:
    rule = rule_of(mutant)
    on_a_page = not mutant.client and (rule.party == "client" or "browser" in rule.needs)
    judged = Judged(mutant, functions)
    session.judge(
        judged,
        *([shared_browser()] if on_a_page else []),
        order=partial(search_order, first=first),
        skip=judged.needless,
        enough=judged.is_done,
        ids=ids,
        **_named(mutant, folder),
        select=[mutant.kills],
        findings="none",
        **({} if mutant.protocol is None else {"protocol": mutant.protocol}),
        **({} if mutant.timeout is None else {"timeout": mutant.timeout}),
        browser=None if on_a_page else "none",
    )
    return judged


def _named(mutant: Mutant, folder: Path) -> dict[str, Any]:
    if mutant.client:
        # By name: a client that does nothing of a family would be let be.
        return {"client": mutant.client_command, "family": [rule_of(mutant).family]}
    return {"target": [mutant.target_in(folder)]}
