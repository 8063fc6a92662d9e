"""A process that breaks lines in itself, and says who noticed.

    python -m tests.mutation.worker cover FAMILY FILE [browser]
        writes which scenario runs which lines
    python -m tests.mutation.worker check FAMILY FILE [browser]
        reads mutations, a line of JSON each, and answers each with a line

The scenarios are asked first. What none of them notices is explored, for as long as was asked.

A broken server may never come back. Whoever started this process waits with a deadline, and starts
another one.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import Verdict
from pytest_mcp_approval.config.options import OPTIONS
from pytest_mcp_approval.config.settings import settings_of_line
from pytest_mcp_approval.explore.budget import Budget
from pytest_mcp_approval.explore.engine import Explorer
from pytest_mcp_approval.explore.findings import model_of
from pytest_mcp_approval.target import open_target
from tests.inner_session import InnerSession
from tests.mutation.breaking import broken
from tests.mutation.covering import Line, Lines, covering, scenarios_for
from tests.mutation.modules import UNNOTICED, lines_of, module_names, source_of

ERAS: dict[str, tuple[str, ...]] = {"elicitation": ("2026-07-28", "2025-11-25")}
"""Of the other families the document is the same in both eras, and so is the gate."""
FOUND = (Verdict.FAILED, Verdict.WARNING)
_SEED = 1
_NEARLY_ALL = 0.8
"""Of the scenarios: a line that so many run through is in the way of every honest approval."""


BROWSER = "browser"
"""The word that lets a browser look at pages: without it, what they show is not verified."""


def options_for(family: str, era: str | None, *, browser: bool = False) -> dict[str, Any]:
    chosen = {} if era is None else {"protocol": era}
    return {
        "target": ["reference"],
        "family": [family],
        "findings": "none",
        **({} if browser else {"browser": "none"}),
        **chosen,
    }


def eras_of(family: str) -> tuple[str | None, ...]:
    return ERAS.get(family, (None,))


class Watch:
    """The verdicts on one broken server, until one is enough."""

    def __init__(self, healthy: dict[str, str]) -> None:
        self._healthy = healthy
        self.finder: str | None = None
        self.odd: list[tuple[str, str]] = []
        self.checked = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        result = getattr(report, "mcp_approval", None)
        if result is None:
            return
        self.checked += 1
        verdict, before = result["verdict"], self._healthy.get(report.nodeid)
        if verdict in FOUND and before not in FOUND:
            self.finder = report.nodeid
        elif verdict != before and before == Verdict.PASSED:
            self.odd.append((report.nodeid, str(verdict)))

    def is_enough(self) -> bool:
        return self.finder is not None


def cover(family: str, file: Path, *, browser: bool) -> None:
    files = [source_of(name) for name in module_names(family)]
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        session = InnerSession(Path(folder))
        for era in eras_of(family):
            lines: Lines = covering(session, files, **options_for(family, era, browser=browser))
            found[str(era)] = {
                "lines": {name: sorted(one) for name, one in lines.found.items()},
                "verdicts": lines.verdicts,
                "seconds": lines.seconds,
            }
        session.close()
    file.write_text(json.dumps(found), encoding="utf-8")


def by_exploration(family: str, seconds: float) -> dict[str, Any]:
    """What walks on the server of this process find, in this time; an early find ends it. Eras
    share the time."""
    model, eras = model_of(family), eras_of(family)
    told: dict[str, Any] = {"explored": "", "exploring": seconds}
    for era in eras:
        given = {option.name: None for option in OPTIONS} | options_for(family, era)
        target = open_target("reference", settings_of_line(given, Path()))
        try:
            explorer = Explorer(
                model,
                target,
                Budget(seconds / len(eras)),
                _SEED,
                stop_at_first=True,
                most_shrinking=0.0,
            )
            explorer.run()
            told["walks"] = told.get("walks", 0) + explorer.walks
        except Exception as error:  # no verdict, and a fault of ours: a model must take anything
            told["error"] = repr(error)[:300]
            continue
        finally:
            target.close()
        if explorer.findings:
            broken_rule = explorer.findings[0].broken
            return told | {"explored": f"{broken_rule.rule}: {broken_rule.cause}"}
    return told


class Checker:
    """Checks one mutation after the other."""

    def __init__(
        self, family: str, file: Path, session: InnerSession, *, browser: bool = False
    ) -> None:
        self.family, self.session, self._browser = family, session, browser
        self._known = json.loads(file.read_text(encoding="utf-8"))
        for one in self._known.values():
            one["lines"] = {
                name: {(path, line) for path, line in lines} for name, lines in one["lines"].items()
            }
        self._keen: list[str] = []

    def check(
        self,
        module: str,
        number: int,
        function: str,
        lines: Sequence[int],
        scenarios: float | None,
        explore: float,
    ) -> dict[str, Any]:
        """`scenarios`: for how many seconds they are asked, as they were measured before; None:
        until one notices. `explore`: seconds of exploration, if none of them noticed."""
        answer: dict[str, Any] = {"how": "nobody"}
        with broken(module, number, function):
            if scenarios != 0:
                answer = self._by_scenarios(module, function, lines, scenarios)
            if explore and answer["how"] in UNNOTICED:
                return answer | by_exploration(self.family, explore)
        return answer

    def _by_scenarios(
        self, module: str, function: str, lines: Sequence[int], most: float | None
    ) -> dict[str, Any]:
        answers: list[dict[str, Any]] = []
        for era in eras_of(self.family):
            answers.append(self._in_era(era, module, function, lines, most))
            if answers[-1]["how"] in ("found", "stopped"):
                break
        best = ("found", "stopped", *UNNOTICED)
        return min(answers, key=lambda one: best.index(one["how"]))

    def _in_era(
        self,
        era: str | None,
        module: str,
        function: str,
        lines: Sequence[int],
        most: float | None,
    ) -> dict[str, Any]:
        known, path = self._known[str(era)], str(source_of(module))
        through: dict[str, None] = {}
        for line in lines:
            through |= dict.fromkeys(scenarios_for((path, line), known["lines"]))
        if function.endswith("__init__"):
            # It ran when the server was made, and what it left is there for all of them.
            through |= dict.fromkeys(name for name in known["lines"] if name)
        wanted = [name for name in through if known["verdicts"].get(name) == Verdict.PASSED]
        if not wanted:
            return {"how": "not run"}
        near = {(path, line) for line in lines_of(module, function)}
        wanted = self._in_order(wanted, known, near)
        asked = _within(wanted, known["seconds"], most)
        watch = Watch(known["verdicts"])
        place = {name: at for at, name in enumerate(asked)}
        try:
            self.session.judge(
                watch,
                order=lambda items: sorted(items, key=lambda item: place.get(item.nodeid, -1)),
                enough=watch.is_enough,
                ids=asked if len(asked) < len(known["verdicts"]) else (),
                **options_for(self.family, era, browser=self._browser),
            )
        except Exception as error:  # the server could not even be made
            return {"how": "stopped", "by": repr(error)[:300]}
        told = {"checked": watch.checked, "left_out": len(wanted) - len(asked)}
        if watch.finder is not None:
            self._keen = [watch.finder, *(one for one in self._keen if one != watch.finder)][:40]
            return {"how": "found", "by": watch.finder}
        if watch.checked == 0:
            return {"how": "stopped", "by": self.session.written[-300:]}
        passing = sum(verdict == Verdict.PASSED for verdict in known["verdicts"].values())
        if len(watch.odd) == watch.checked and len(wanted) > _NEARLY_ALL * passing:
            # Nobody was ever served: such a run ends with an exit code of its own.
            return {"how": "stopped", "by": watch.odd[0][0], **told}
        if watch.odd:
            by, instead = watch.odd[0]
            return {"how": "odd", "by": by, "instead": instead, "odd": len(watch.odd), **told}
        return {"how": "nobody", **told}

    def _in_order(self, names: Sequence[str], known: dict[str, Any], near: set[Line]) -> list[str]:
        """Those that noticed others of late first; then one case of each function before the second
        of any, and of these the ones that see most of the broken function."""
        keen = {name: at for at, name in enumerate(self._keen)}
        seconds: dict[str, float] = known["seconds"]
        cases: dict[str, int] = {}
        ranked = []
        for name in sorted(names, key=lambda one: seconds.get(one, 0)):
            function = name.partition("[")[0]
            cases[function] = case = cases.get(function, -1) + 1
            seen = len(near & known["lines"][name])
            ranked.append(((keen.get(name, 1000), case, -seen), name))
        return [name for _, name in sorted(ranked, key=lambda one: one[0])]


def _within(names: Sequence[str], seconds: dict[str, float], most: float | None) -> list[str]:
    """The first of them that take so long together; one at least."""
    if most is None:
        return list(names)
    sums = accumulate(seconds.get(name, 0.0) for name in names)
    return [name for name, total in zip(names, sums, strict=True) if total <= most] or [names[0]]


def check(family: str, file: Path, *, browser: bool) -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # nothing else may write where the answers go
    with tempfile.TemporaryDirectory() as folder:
        # A browser of our own is in the cache of whoever runs this.
        os.environ.setdefault("XDG_CACHE_HOME", str(Path.home() / ".cache"))
        os.environ["HOME"] = folder
        checker = Checker(family, file, InnerSession(Path(folder)), browser=browser)
        print(json.dumps({"how": "ready"}), file=answers, flush=True)
        for line in sys.stdin:
            asked = json.loads(line)
            print(json.dumps(checker.check(**asked)), file=answers, flush=True)


def main() -> None:
    word, family, file, *more = sys.argv[1:]
    {"cover": cover, "check": check}[word](family, Path(file), browser=BROWSER in more)


if __name__ == "__main__":
    main()
    os._exit(0)  # threads of broken servers may be left
