"""The healthy reference passes every rule of every family, over transports, stores and eras.

The table (healthy_table.py) says for each family how its rules are divided, and where some rule
cannot pass, and why. A family without a row, a rule that is in no part, and a verdict other than
passed that is not in the table each fail a test; so does one in the table that does not come.

No scenario is left without a server: in the first combination of its family each one applies, or
the table says in which other run it passes.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import Verdict, catalogue
from pytest_mcp_approval.catalogue.requirements import covered, selected
from pytest_mcp_approval.clock.faketime import find_library
from pytest_mcp_approval.config.registry import built_in, registered
from pytest_mcp_approval.reference_server.execution_tokens import verifiers
from pytest_mcp_approval.session.collection import OF_A_CLIENT, ON_A_PAGE
from pytest_mcp_approval.support import guard
from tests import fewer_cases
from tests.browsers import HINT, find_browser
from tests.combinations import NEW, OLD, Combination, chosen
from tests.inner_browser import shared_browser
from tests.inner_runs import WHOLE, Verdicts, bare_options
from tests.plugin.healthy_table import (
    NOWHERE,
    TABLE,
    Elsewhere,
    Part,
    Row,
    Shortfall,
    without_bash_or_node,
)


def cases() -> Iterable[tuple[str, str, str, str, str]]:
    for family, row in TABLE.items():
        for combination in chosen(*row.combinations):
            if combination in row.left_out:
                continue
            for name, part in row.parts.items():
                if part.on_a_page:
                    # A page is driven over HTTP whatever carries MCP elsewhere: once is enough.
                    wanted = combination == row.combinations[0]
                else:
                    wanted = WHOLE or name in parts_over(row, combination)
                if wanted:
                    yield family, *combination, name


def parts_over(row: Row, combination: Combination) -> Iterable[str]:
    """The parts that a combination is asked when it is one of the few."""
    transport, store, _ = combination
    return row.over.get(f"{transport}+{store}", row.over.get(transport, row.parts))


def patterns_of(family: str, part: Part) -> tuple[str, ...]:
    return tuple(f"{family}/{pattern}" for pattern in part.rules)


def files_about(family: str, prefix: str) -> list[Path]:
    return sorted(registered(family).scenarios.glob(f"{prefix}*.py"))


def rules_in(family: str, prefix: str) -> set[str]:
    """Those that some scenario in a file with this prefix names."""
    text = "".join(path.read_text(encoding="utf-8") for path in files_about(family, prefix))
    return set(re.findall(rf'"({family}/[^"]+)"', text))


def rules_on_a_page(family: str) -> set[str]:
    return rules_in(family, ON_A_PAGE)


def server_rules(family: str) -> set[str]:
    return {rule.id for rule in catalogue(family) if rule.party == "server"}


def passes(result: Mapping[str, Any]) -> bool:
    return bool(result["verdict"] == Verdict.PASSED)


def strangers(
    results: Iterable[Mapping[str, Any]], elsewhere: Sequence[Elsewhere]
) -> set[tuple[str, str]]:
    """The scenarios that did not apply, and that are in no other run either."""
    absent = {
        (one["scenario"].partition("::")[2], one["why"])
        for one in results
        if one["verdict"] == Verdict.NOT_APPLICABLE
    }
    return {
        (name, why)
        for name, why in absent
        if not any(
            one.scenario in (name, name.partition("[")[0]) and one.why in why for one in elsewhere
        )
    }


def expect_every_rule(
    suite: Any,
    family: str,
    part: Part,
    *options: str,
    target: str,
    shortfalls: Sequence[Shortfall] = (),
    elsewhere: Sequence[Elsewhere] | None = None,
    run: str = "",
    plugins: Sequence[object] = (),
) -> None:
    """A run of this part passes, but for what is named, for that reason. `elsewhere`: everything
    else applies, too. `run`: its name, in which the scenarios pass that do not apply elsewhere."""
    listener = Verdicts()
    patterns = patterns_of(family, part)
    before = guard.kept()
    result = suite.run(
        *("-q", "--mcp-approval-timeout=60", *bare_options()),
        *(f"--mcp-approval-select={pattern}" for pattern in patterns),
        *options,
        target=target,
        plugins=[listener, *plugins],
    )
    assert guard.kept() <= before, "processes or folders of the run are left behind"
    fine = (Verdict.PASSED, Verdict.NOT_APPLICABLE)
    others = [one for one in listener.found if not passes(one)]
    came: set[Shortfall] = set()
    unexpected = set()
    for one in others:
        expected = [
            each
            for each in shortfalls
            if one["verdict"] == each.verdict
            and f"{family}/{each.rule}" in one["rules"]
            and each.why in one["why"]
        ]
        came.update(expected)
        if not expected and one["verdict"] not in fine:
            unexpected.add((one["scenario"], one["verdict"], one["why"]))
    assert unexpected == set()
    here = {each for each in shortfalls if selected(f"{family}/{each.rule}", patterns)}
    assert came == here, "what the table says cannot pass did pass"
    assert result.ret == max((each.exit_code for each in came), default=0)
    if elsewhere is not None:
        assert strangers(listener.found, elsewhere) == set(), "a scenario that no server serves"
    served = {one["scenario"].partition("::")[2] for one in listener.found if passes(one)}
    served |= {name.partition("[")[0] for name in served}
    for lacking in TABLE[family].elsewhere:
        if lacking.passes == run and selected(f"{family}/{lacking.rule}", patterns):
            assert lacking.scenario in served
    rules = rules_on_a_page(family) if part.on_a_page else server_rules(family)
    owed = {rule for rule in rules if selected(rule, patterns)}
    # A scenario may be tied to a rule of another part as well.
    passed = {rule for one in listener.found if passes(one) for rule in one["rules"]}
    broken = {f"{family}/{each.rule}" for each in here if not each.passes}
    assert passed & owed == owed - broken, "every rule was verified, by one scenario at least"


@pytest.mark.parametrize(("family", "transport", "store", "era", "part"), list(cases()))
def test_every_rule_passes(
    suite: Any, family: str, transport: str, store: str, era: str, part: str
) -> None:
    row = TABLE[family]
    asked, combination = row.parts[part], (transport, store, era)
    every_case = transport not in row.sampled if WHOLE else combination == row.combinations[0]
    plugins: list[object] = [] if every_case else [fewer_cases]
    options = [f"--mcp-approval-protocol={era}"]
    if transport == "stdio" and row.spared and not WHOLE:
        options += ["-k", row.spared]
    if asked.browser or asked.on_a_page:
        if find_browser() is None:
            pytest.skip(HINT)
        plugins = [*plugins, shared_browser()]
        options.append("--mcp-approval-findings=none")  # a trace of each page costs a third more
    else:
        options.append("--mcp-approval-browser=none")
    if asked.on_a_page:
        options += [f"mcp-approval/{family}/{path.name}" for path in files_about(family, ON_A_PAGE)]
    expect_every_rule(
        suite,
        family,
        asked,
        *options,
        target=f"reference:{transport}+{store}",
        shortfalls=[one for one in row.shortfalls if one.when(transport, store, era)],
        elsewhere=row.elsewhere if combination == row.combinations[0] else None,
        run=transport if combination in row.combinations else "",
        plugins=plugins,
    )


# ---- the verifiers that ship beside the reference server

FOLDER = Path(verifiers.__file__).parent
VERIFIERS = {
    "bash": (f"bash {FOLDER / 'verify.sh'}", ("times", "nonces", "scopes")),
    "node": (f"node {FOLDER / 'verify.mjs'}", ("strings", "signatures")),
    "python": (f"{sys.executable} {FOLDER / 'verify.py'}", ()),
}
"""How each is called, and the parts that it is asked: here each part once, by `make matrix` all of
all. Each case is one process or more. That they agree in every part is in test_verifiers.py, and
the scenarios of "strings" ask them all."""
VERIFIER_SHORTFALLS = (
    Shortfall("cross-language", "is not installed", without_bash_or_node),
    Shortfall("expiry", "", lambda *_: find_library() is None),
    *(
        Shortfall(
            rule, "only verifies", lambda *_: True, verdict=Verdict.NOT_APPLICABLE, passes=False
        )
        for rule in ("arbiter-scope", "arbiter-expiry")
    ),
)


@pytest.mark.parametrize(
    ("language", "part"),
    [
        (language, part)
        for language, (_, parts) in VERIFIERS.items()
        for part in (TABLE["execution_tokens"].parts if WHOLE else parts)
    ],
)
def test_a_shipped_verifier_passes_every_rule(suite: Any, language: str, part: str) -> None:
    command, _ = VERIFIERS[language]
    if not shutil.which(command.split()[0]):
        pytest.skip(f"{language} is not installed")
    lacking = [one for one in VERIFIER_SHORTFALLS if one.when("", "", "")]
    expect_every_rule(
        suite,
        "execution_tokens",
        TABLE["execution_tokens"].parts[part],
        target=f"command:{command}",
        shortfalls=lacking,
        run=language,
        plugins=[] if WHOLE else [fewer_cases],
    )


# ---- the table itself


def test_every_family_has_a_row() -> None:
    assert sorted(TABLE) == sorted(built_in())


@pytest.mark.parametrize("family", TABLE)
def test_the_parts_are_the_whole(family: str) -> None:
    row = TABLE[family]
    rules = {rule.id for rule in catalogue(family)}
    unchecked = {f"{family}/{name}" for name in row.no_scenario}
    assert rules - covered(family) == unchecked
    for on_a_page, owed in ((False, server_rules(family)), (True, rules_on_a_page(family))):
        parts = [part for part in row.parts.values() if part.on_a_page == on_a_page]
        for rule in owed:
            owners = [part for part in parts if selected(rule, patterns_of(family, part))]
            assert len(owners) == 1, rule
    of_clients = rules_in(family, OF_A_CLIENT)  # tests/reference_client has a healthy one
    assert server_rules(family) | rules_on_a_page(family) | of_clients | unchecked == rules


@pytest.mark.parametrize("family", TABLE)
def test_the_table_names_what_there_is(family: str) -> None:
    row = TABLE[family]
    over = {f"{one[0]}+{one[1]}" for one in row.combinations} | {one[0] for one in row.combinations}
    assert row.over.keys() <= over
    for names in row.over.values():
        assert set(names) <= set(row.parts)
    assert not set(row.left_out) & set(row.combinations)
    for one in row.shortfalls:
        assert f"{family}/{one.rule}" in server_rules(family)
    for lacking in row.elsewhere:
        assert f"{family}/{lacking.rule}" in server_rules(family)
        runs = runs_of(family, lacking.rule) | {NOWHERE}
        assert lacking.passes in runs or Path(lacking.passes).is_file()


@pytest.mark.parametrize("family", TABLE)
def test_every_part_meets_each_store(family: str) -> None:
    """At least once; a dialog in a browser knows no store. And each transport and era is met."""
    row = TABLE[family]
    for store in ("memory", "sqlite"):
        asked = {
            name
            for combination in row.combinations
            if combination[1] == store
            for name in parts_over(row, combination)
        }
        on_pages = {name for name, part in row.parts.items() if part.browser or part.on_a_page}
        assert row.parts.keys() - on_pages <= asked, store
    transports, _, eras = map(set, zip(*row.combinations, strict=True))
    assert (transports, eras) == ({"in-process", "http", "stdio"}, {NEW, OLD})


def runs_of(family: str, rule: str) -> set[str]:
    """The names of the runs that ask for this rule, off any page."""
    row = TABLE[family]
    [part] = [
        name
        for name, part in row.parts.items()
        if not part.on_a_page and selected(f"{family}/{rule}", patterns_of(family, part))
    ]
    runs = {one[0] for one in row.combinations if part in parts_over(row, one)}
    if family == "execution_tokens":
        runs |= {language for language, (_, parts) in VERIFIERS.items() if part in parts}
    return runs


def test_a_scenario_that_no_server_serves_is_noticed() -> None:
    known = Elsewhere("rule", "test_one[a]", "no such thing", "http")
    absent = {"verdict": Verdict.NOT_APPLICABLE, "why": "there is no such thing here"}
    results = [
        {**absent, "scenario": "file.py::test_one[a]"},
        {**absent, "scenario": "file.py::test_one[b]"},
        {**absent, "scenario": "file.py::test_one[a]", "why": "another reason"},
        {**absent, "scenario": "file.py::test_two", "verdict": Verdict.PASSED},
    ]
    assert strangers(results, [known]) == {
        ("test_one[b]", "there is no such thing here"),
        ("test_one[a]", "another reason"),
    }
