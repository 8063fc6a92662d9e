"""examples/two-person-family: a family of another distribution, used as installed from its wheel.

All runs are in one process that is started apart, so that the wheel is installed for it alone.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_mcp_approval.clock.faketime import find_library
from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.base.exploration import BrokenRule, Step
from pytest_mcp_approval.families.base.exploration import walk as run
from pytest_mcp_approval.target import open_target

EXAMPLE = Path(__file__).parents[2] / "examples" / "two-person-family"
DEADLINE = 100
SEVERAL = """
import json, pathlib, sys, pytest
common = ["-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:xdist"]
for name, words in json.loads(sys.argv[1]).items():
    found = [str(one) for one in pathlib.Path(".mcp-approval/findings").glob("*.json")]
    words = [word.replace("{finding}", "".join(found)) for word in words]
    print(f"<<{name}>>", flush=True)
    print(f"<<code {int(pytest.main([*common, *words]))}>>", flush=True)
"""
OWN_TEST = """
def test_the_pump_starts_once(approval_two_person):
    request = approval_two_person.request("start pump 3")
    assert approval_two_person.approve(request).executed
    assert approval_two_person.approve(request).reason == "already_done"
"""
BROKEN = "--mcp-approval-target=stdio:python server.py --broken same-person"
RULE = "two_person/4-second-person"
PINS = {
    **{"action": "start pump 3", "requester-pin": "1815", "approver-pin": "1906"},
    "may-guess": True,
}
REPORTS = ["--mcp-approval-report=r.json", "--mcp-approval-report=r.html"]
RUNS = {
    "whole": [
        *("--mcp-approval", "test_own.py", *REPORTS, "--mcp-approval-timeout=60"),
        "--mcp-approval-explore=1",
    ],
    "listed": ["--mcp-approval", "--collect-only", "-q"],
    "broken": [BROKEN, "--mcp-approval-family=two_person", "--mcp-approval-select=two_person/4*"],
    "replayed": ["--mcp-approval-replay={finding}", BROKEN],
    "family": ["--mcp-approval", "--mcp-approval-family=two_persons"],
    "key": ["--mcp-approval", "--mcp-approval-set=two_person.minuts=5"],
    "value": ["--mcp-approval", "--mcp-approval-set=two_person.minutes=many"],
    "without": ["test_own.py", "-rs"],
}


@dataclass(frozen=True)
class Ran:
    text: str
    code: int


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's folder, with the family installed beside it from its wheel."""
    place = tmp_path_factory.mktemp("two-person")
    left_out = shutil.ignore_patterns("__pycache__", ".pytest_cache", ".mcp-approval", "dist")
    shutil.copytree(EXAMPLE, place / "source", ignore=left_out)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place / "dist")],
        cwd=place / "source",
        check=True,
        capture_output=True,
        timeout=DEADLINE,
    )
    [wheel] = (place / "dist").glob("mcp_approval_two_person-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place / "installed")  # what pip does for a wheel without scripts
    (place / "user").mkdir()
    for name in ("server.py", "mcp-approval.toml"):
        shutil.copy(EXAMPLE / name, place / "user")
    (place / "user" / "test_own.py").write_text(OWN_TEST)
    return place


@pytest.fixture(scope="module")
def ran(place: Path) -> dict[str, Ran]:
    """What each run said."""
    environment = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment["PYTHONPATH"] = str(place / "installed")
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL, json.dumps(RUNS)],
        cwd=place / "user",
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    parts = re.findall(r"<<(\w+)>>\n(.*?)<<code (\d+)>>", done.stdout, re.DOTALL)
    assert [name for name, _, _ in parts] == [*RUNS], done.stdout
    return {name: Ran(text, int(code)) for name, text, code in parts}


def test_its_rules_are_judged_and_pass(ran: dict[str, Ran], place: Path):
    whole = ran["whole"]
    assert whole.code == 0, whole.text
    assert "approved once, honestly: two_person" in whole.text
    assert re.search(r"explore   two_person  .* of 4 transitions .* no finding", whole.text)
    assert "test_own.py ." in whole.text
    report = json.loads((place / "user" / "r.json").read_text(encoding="utf-8"))
    verdicts = {rule["id"]: rule["verdict"] for rule in report["rules"]}
    timed = "passed" if find_library() is not None else "not verified"
    assert verdicts == {
        "two_person/1-request-runs-nothing": "passed",
        "two_person/2-approved-once": "passed",
        "two_person/3-wrong-pin": "passed",
        "two_person/4-second-person": "passed",
        "two_person/5-expiry": timed,
        "two_person/6-guessing": "passed",
    }


REQUEST: Step = ("request", {})
APPROVE: Step = ("approve", {"number": 0})


@pytest.mark.parametrize(
    ("broken", "rule", "walk"),
    [
        ("same-person", "4-second-person", [("approve_wrongly", {"number": 0, "own": True})]),
        ("again", "2-approved-once", [APPROVE, APPROVE]),
        pytest.param(
            *("expiry", "5-expiry", [("wait", {"seconds": 3600}), APPROVE]),
            marks=pytest.mark.skipif(find_library() is None, reason="needs libfaketime"),
        ),
    ],
)
def test_its_model_finds_each_defect(
    broken: str, rule: str, walk: list[Step], monkeypatch: pytest.MonkeyPatch
):
    """The model of a family outside of the suite is a class like any other."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    model = importlib.import_module("mcp_approval_two_person.exploration").MODEL
    found = []
    for options in ("", f" --broken {broken}"):
        command = f"stdio:{sys.executable} {EXAMPLE / 'server.py'}{options}"
        settings = Settings(
            targets=(command,),
            effects="tool:list_runs",
            family_settings={"two_person": PINS},
        )
        target = open_target(command, settings)
        walked = model(target)
        try:
            run(walked, [REQUEST, *walk])
            found.append("nothing")
        except BrokenRule as wrong:
            found.append(wrong.rule)
        finally:
            target.close()
        assert len(walked.taken) == 1 + len(walk)  # each step was possible
    assert found == ["nothing", f"two_person/{rule}"]


def test_its_decoder_says_what_the_steps_mean(ran: dict[str, Ran], place: Path):
    assert ran["broken"].code == 1, ran["broken"].text
    [finding] = (place / "user" / ".mcp-approval" / "findings").glob("*.json")
    steps = json.loads(finding.read_text(encoding="utf-8"))["conversation"]["steps"]
    told = [(step.get("asked", ""), step.get("answered", "")) for step in steps]
    assert any(
        asked.startswith("tools/call approve: request ") and answered == "done"
        for asked, answered in told
    ), told


def test_its_scenarios_are_listed_by_stable_names(ran: dict[str, Ran]):
    listed = [line for line in ran["listed"].text.splitlines() if "::" in line]
    assert len(listed) == 6
    assert all(line.startswith("mcp-approval/two_person/test_") for line in listed), listed


@pytest.mark.parametrize("run", ["broken", "replayed"])
def test_a_broken_server_is_told_in_four_lines(ran: dict[str, Ran], run: str):
    text = ran[run].text
    assert ran[run].code == 1, text
    assert f"1  FAIL  {RULE} " in text
    assert "   sent      an approval with the PIN of the person who requested\n" in text
    assert "   rule      the person who requested cannot approve\n" in text
    assert "   expected  a refusal for same_person, and that nothing runs\n" in text
    assert "   got       done, action run\n" in text


@pytest.mark.parametrize(
    ("run", "code", "said"),
    [
        ("family", 4, "--mcp-approval-family: got 'two_persons', did you mean 'two_person'? "),
        ("key", 10, "two_person.minuts: got 'minuts', did you mean 'minutes'? expected one of "),
        ("value", 10, "two_person.minutes: got 'many', expected a whole number from 1 to 60"),
    ],
)
def test_what_is_wrong_in_its_settings_is_one_line(
    ran: dict[str, Ran], run: str, code: int, said: str
):
    assert said in ran[run].text
    assert ran[run].code == code


def test_its_fixture_is_there_in_plain_runs(ran: dict[str, Ran]):
    """With settings in a file, tests of one's own run without the scenarios."""
    assert ran["without"].code == 0, ran["without"].text
    assert "1 passed" in ran["without"].text
