"""examples/node-server, judged as its authors would do it: pytest --mcp-approval in its folder.

The example was written from the document and shares no code with the suite or its reference server,
so what they agree on is not one misreading made twice. A broken copy shows that the agreement is
worth something.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import fewer_cases
from tests.browsers import HINT, find_browser
from tests.examples.judging import copy_of, run_pytest
from tests.examples.node_packages import EXAMPLE, node_modules
from tests.inner_browser import shared_browser
from tests.inner_runs import WHOLE

# The rules in parts that take about as long, so that cores share them, and how many pass in each.
# Not applicable: 4.4-method-not-found (binds servers without the capability). Not verified:
# 4.6-server-id-unique (the configuration fixes the serverId).
PARTS = {
    "enrolment": (("4.4.2-*",), 7),
    "listing and challenges": (("4.2-*", "4.3-*", "4.4-*", "4.4.1-*", "4.4.3-*"), 22),
    "canonical arguments": (("4.6-*",), 4),
    "evidence, classes and replays": (("4.5-*", "4.7-*", "8.*"), 8),
    "errors": (("4.10-*",), 3),
    "steps 1 to 9": (("4.8-0*",), 9),
    "steps 10 to 14": (("4.8-1*", "4.8-order"), 6),
}
ALL_CASES = {"canonical arguments"}
"""Where two languages differ most. Of other scenarios with many cases the first and the last are
run here, and all of them by `make matrix`."""


@dataclass(frozen=True)
class Judgement:
    exit_code: int
    output: str

    def count(self, word: str) -> int:
        """How many rules got this verdict, from the last line about the family."""
        lines = re.findall(r"^ +(\d+ [^\n]*) checks in ", self.output, re.MULTILINE)
        assert len(lines) == 1, self.output
        found = re.search(rf"(\d+) {word}", lines[0])
        return int(found[1]) if found else 0


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A copy of the example, with its packages."""
    packages = node_modules()
    copy = copy_of(EXAMPLE, tmp_path)
    (copy / "node_modules").symlink_to(packages, target_is_directory=True)
    return copy


@pytest.fixture
def judge(pytester: pytest.Pytester, example: Path) -> Callable[..., Judgement]:
    """Runs the suite in the example's folder; without a browser, unless one is given."""

    def run(*arguments: str, rules: tuple[str, ...], browser: object = None) -> Judgement:
        selected = [f"--mcp-approval-select=sep2672/{rule}" for rule in rules]
        without = [] if browser else ["--mcp-approval-browser=none"]
        plugins = [browser] if browser else []
        judged = run_pytest(pytester, example, *without, *arguments, *selected, plugins=plugins)
        return Judgement(judged.code, judged.text)

    return run


@pytest.mark.parametrize("part", PARTS)
def test_it_keeps_every_rule_over_http(example, judge, part):
    rules, passed = PARTS[part]
    fewer: tuple[str, ...] = ()
    if not (WHOLE or part in ALL_CASES):
        shutil.copy(fewer_cases.__file__, example)
        fewer = ("-p", "fewer_cases", "--cases-of-each=2")
    judgement = judge("--mcp-approval-strict", *fewer, rules=rules)
    assert judgement.exit_code == 0, judgement.output
    assert judgement.count("failed") == 0, judgement.output
    assert judgement.count("passed") >= passed, judgement.output


def test_it_keeps_the_rules_over_stdio_and_with_the_handshake(judge):
    server = "stdio:node server.js --stdio --server-id urn:example:node-server"
    judgement = judge(
        f"--mcp-approval-target={server}",
        "--mcp-approval-protocol=2025-11-25",
        # On a pipe time moves by libfaketime only, which is not everywhere: left to HTTP.
        "--mcp-approval-clock=none",
        rules=("4.2-*", "4.3-*", "4.8-0[1-4789]*", "4.8-12*"),
    )
    assert judgement.exit_code == 0, judgement.output
    assert "(handshake era, 2025-11-25" in judgement.output
    assert judgement.count("failed") == 0, judgement.output
    assert judgement.count("passed") >= 15, judgement.output


# One line of gate.js each: what it is, what becomes of it, and the rule that finds out.
BROKEN = {
    "presence is enough": (
        "requireUserVerification: true,",
        "requireUserVerification: false,",
        "4.8-10-signature",
    ),
    "the arguments may change": (
        "if (!this.#isApprovedAction(tool.name, params.arguments, challenge)) "
        "throw approvalError('argument_hash_mismatch');",
        "",
        "4.8-12-argument-hash",
    ),
}


@pytest.mark.parametrize("defect", BROKEN)
def test_a_broken_copy_is_found_out(example, judge, defect):
    line, instead, rule = BROKEN[defect]
    gate = example / "gate.js"
    source = gate.read_text(encoding="utf-8")
    assert source.count(line) == 1, f"gate.js has changed: expected {line!r} once"
    gate.write_text(source.replace(line, instead), encoding="utf-8")
    judgement = judge("-x", rules=(rule,))
    assert judgement.exit_code == 1, judgement.output
    assert re.search(rf"^1  FAIL  sep2672/{rule} ", judgement.output, re.MULTILINE), (
        judgement.output
    )


# ---- its page, in a browser

ON_THE_PAGE = {"ceremonies": 8, "client": 12, "review": 2}
"""The files of scenarios, and how many rules pass in each."""


@pytest.fixture
def browser() -> object:
    if find_browser() is None:
        pytest.skip(HINT)
    return shared_browser()


@pytest.mark.parametrize("part", ON_THE_PAGE)
def test_its_page_keeps_every_rule_in_a_browser(example, judge, browser, part):
    shutil.copy(fewer_cases.__file__, example)
    fewer = ("-p", "fewer_cases", f"--cases-of-each={9 if WHOLE else 1}")
    judgement = judge(
        f"mcp-approval/sep2672/test_browser_{part}.py", *fewer, rules=(), browser=browser
    )
    assert judgement.exit_code == 0, judgement.output
    assert re.search(r" page     http://localhost:\d+/  [(]in .+[)]", judgement.output)
    assert judgement.count("passed") == ON_THE_PAGE[part], judgement.output
    assert judgement.count("failed") + judgement.count("not verified") == 0, judgement.output


def test_a_broken_page_is_found_out(example, judge, browser):
    script = example / "public" / "app.js"
    source = script.read_text(encoding="utf-8")
    line = "at('text').textContent = displayText;"
    assert source.count(line) == 1, f"app.js has changed: expected {line!r} once"
    shorter = line.replace("displayText", "displayText.slice(0, 80)")
    script.write_text(source.replace(line, shorter), encoding="utf-8")
    judgement = judge("-x", rules=("4.4.3-client-verbatim",), browser=browser)
    assert judgement.exit_code == 1, judgement.output
    assert "1  FAIL  sep2672/4.4.3-client-verbatim " in judgement.output
    assert "80 characters, without what follows" in judgement.output
    assert re.search(r"^   trace     .mcp-approval/evidence/.*[.]zip$", judgement.output, re.M)


def test_a_wrong_description_is_told_in_one_line(judge, browser):
    judgement = judge(
        "--mcp-approval-set=sep2672.page.enrol=role=button[name='Enrol']",
        "mcp-approval/sep2672/test_browser_ceremonies.py",
        rules=("8.3.2-counter-zero",),
        browser=browser,
    )
    assert re.search(
        r"sep2672.page. enrol: got nothing for \"role=button.name='Enrol'.\" on "
        r"http://localhost:\d+/, expected one element; there is: .*button#add \"Add a passkey\"",
        judgement.output,
    ), judgement.output
