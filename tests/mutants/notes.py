"""Which scenarios find each mutant out: the first for the reason that it was written for.

    python -m tests.mutants.notes           look for what is not noted yet
    python -m tests.mutants.notes NAME ...  and look at these mutants anew

It writes found_by.json anew. Every mutant is in it, and every scenario function, each with one
mutant at least on which it fails: a function that fails on none has not shown that it can. What is
missing is looked for among the scenarios of a mutant's rule. The kill matrix runs what is noted,
and fails if it does not find the mutant out any more.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from pytest_mcp_approval.config.registry import built_in, registered
from pytest_mcp_approval.session.collection import OF_A_CLIENT
from tests.mutants.search_order import function_of

NOTES = Path(__file__).with_name("found_by.json")
Notes = Mapping[str, list[str]]
"""The ids of scenarios, by the name of the mutant."""


@cache
def found_by() -> Notes:
    notes: Notes = json.loads(NOTES.read_text(encoding="utf-8"))
    return notes


@cache
def scenario_functions() -> Mapping[str, frozenset[str]]:
    """Every scenario of ours, as its id begins, with the rules that its decorators name."""
    return {
        f"mcp-approval/{family}/{path.name}::{one.name}": _rules_named(family, one)
        for family in built_in()
        for path in registered(family).scenarios.glob("test_*.py")
        for one in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(one, ast.FunctionDef) and one.name.startswith("test_")
    }


def _rules_named(family: str, function: ast.FunctionDef) -> frozenset[str]:
    texts = (
        node.value
        for decorator in function.decorator_list
        for node in ast.walk(decorator)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return frozenset(text for text in texts if text.startswith(f"{family}/"))


def shown_failing(notes: Notes) -> set[str]:
    return {function_of(scenario) for noted in notes.values() for scenario in noted}


def still_true(
    notes: Notes, mutants: Iterable[str], functions: Iterable[str]
) -> dict[str, list[str]]:
    """Without mutants and scenarios that are gone."""
    known, kept = set(functions), set(mutants)
    left = {
        mutant: [one for one in noted if function_of(one) in known]
        for mutant, noted in notes.items()
        if mutant in kept
    }
    return {mutant: noted for mutant, noted in left.items() if noted}


def renew(anew: set[str]) -> None:
    """First what finds these mutants out, and those without a note. Then what else fails, on any
    mutant of its rule, among the functions that none is noted for."""
    from tests.inner_session import InnerSession
    from tests.mutants.judging import judge
    from tests.mutants.registry import load_mutants
    from tests.mutants.shown_elsewhere import NOT_SHOWN_YET, SHOWN_ELSEWHERE

    # Some mutants write to HOME, where a fetched browser would not be found.
    os.environ.setdefault("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    mutants = load_mutants()
    known = {name: noted for name, noted in found_by().items() if name not in anew}
    notes = still_true(known, mutants, scenario_functions())

    def missing() -> set[str]:
        excused = SHOWN_ELSEWHERE.keys() | NOT_SHOWN_YET.keys()
        return scenario_functions().keys() - shown_failing(notes) - excused

    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        os.environ["HOME"] = folder
        session = InnerSession(Path(folder))
        stack.callback(session.close)
        for mutant in mutants.values():
            if mutant.name in notes:
                continue
            finder = judge(session, mutant, Path(folder)).finder
            if finder is None:
                print(f"{mutant.name}: not found out", flush=True)
                continue
            notes[mutant.name] = [finder["scenario"]]
            _write(notes)
        for mutant in mutants.values():
            asked = {
                one
                for one in missing()
                if mutant.kills in scenario_functions()[one]
                and (OF_A_CLIENT in one) == mutant.client
            }
            if mutant.name not in notes or not asked:
                continue
            noted = notes[mutant.name]
            failed = judge(session, mutant, Path(folder), first=noted, functions=asked).failed
            notes[mutant.name] = [*noted, *(failed[one] for one in sorted(asked & failed.keys()))]
            _write(notes)
    for one in sorted(missing()):
        print(f"never shown failing: {one}")


def _write(notes: Notes) -> None:
    text = json.dumps(notes, indent=1, sort_keys=True, ensure_ascii=True)
    NOTES.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    renew(set(sys.argv[1:]))
