"""The script of the GitHub action: every input arrives as one word, and none is ever evaluated."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "ci" / "github_action.sh"
FAKE = f"""#!{sys.executable}
import json, os, pathlib, sys
pathlib.Path("words.json").write_text(json.dumps(sys.argv[1:]))
for word in sys.argv[1:]:
    if word.startswith("--report=") and word.endswith(".sarif") and "NO_SARIF" not in os.environ:
        pathlib.Path(word.removeprefix("--report=")).write_text("{{}}")
sys.exit(int(os.environ.get("FAKE_CODE", "0")))
"""

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@dataclass
class Done:
    code: int
    said: str
    words: list[str]
    outputs: dict[str, str]


Act = Callable[..., Done]


@pytest.fixture
def act(tmp_path: Path) -> Act:
    command, temporary = tmp_path / "fake command", tmp_path / "temp folder"
    command.write_text(FAKE)
    command.chmod(0o755)
    temporary.mkdir()
    given = tmp_path / "output"
    given.touch()

    def run(**variables: str) -> Done:
        own = {name: one for name, one in os.environ.items() if not name.startswith("GITHUB_")}
        done = subprocess.run(
            ["bash", str(SCRIPT)],
            cwd=tmp_path,
            env={
                **own,
                "RUNNER_TEMP": str(temporary),
                "GITHUB_OUTPUT": str(given),
                "GITHUB_ACTION_PATH": str(ROOT),
                "MCP_APPROVAL_COMMAND": str(command),
                **variables,
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        noted = tmp_path / "words.json"
        words = json.loads(noted.read_text()) if noted.exists() else []
        pairs = (line.split("=", 1) for line in given.read_text().splitlines())
        return Done(done.returncode, done.stdout + done.stderr, words, dict(pairs))

    return run


def test_without_inputs_the_settings_file_decides(act: Act, tmp_path: Path):
    done = act()
    reports = tmp_path / "temp folder" / "mcp-approval-reports"
    assert done.words == [
        "check",
        *(f"--report={reports}/report.{ending}" for ending in ("html", "json", "sarif")),
        f"--junitxml={reports}/junit.xml",
    ]
    assert done.code == 0
    assert done.said == ""
    assert done.outputs == {
        "exit-code": "0",
        "reports": str(reports),
        "sarif": f"{reports}/report.sarif",
    }


def test_inputs_become_words(act: Act):
    done = act(
        MCP_APPROVAL_TARGET="stdio:node server.js --stdio",
        MCP_APPROVAL_SERVER="my shop",
        MCP_APPROVAL_REQUIRE_VERIFIED="true",
        MCP_APPROVAL_OPTIONS=(
            '--effects=tool:list_users\r\n\n  # a comment\n  --tool=x={"id": "a b"}'
        ),
    )
    assert done.words[1:6] == [
        "stdio:node server.js --stdio",
        "--server=my shop",
        "--require-verified",
        "--effects=tool:list_users",
        '--tool=x={"id": "a b"}',
    ]


HOSTILE = [
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned #",
    "x\ntouch pwned",
    "*",
    "-e",
    "a'\"b",
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("name", ["TARGET", "SERVER", "OPTIONS"])
def test_nothing_in_an_input_is_evaluated(act: Act, tmp_path: Path, name: str, text: str):
    done = act(**{f"MCP_APPROVAL_{name}": text})
    assert not (tmp_path / "pwned").exists()
    expected = {
        "TARGET": [text],
        "SERVER": [f"--server={text}"],
        "OPTIONS": text.split("\n"),
    }[name]
    assert done.words[1 : 1 + len(expected)] == expected


@pytest.mark.parametrize(
    ("code", "words"),
    [(1, "breaks a rule"), (4, "exit code 4"), (10, "nothing is proved"), (11, "died, hung")],
)
def test_the_code_of_the_run_is_that_of_the_step(act: Act, code: int, words: str):
    done = act(FAKE_CODE=str(code), NO_SARIF="1")
    assert done.code == code
    assert done.said.startswith("::error::")
    assert words in done.said
    assert done.outputs["exit-code"] == str(code)
    assert "sarif" not in done.outputs


def test_a_switch_that_is_neither_on_nor_off_is_an_error(act: Act):
    done = act(MCP_APPROVAL_REQUIRE_VERIFIED="yes")
    assert done.code == 4
    assert done.words == []


def test_it_works_with_the_real_command(act: Act, tmp_path: Path):
    real = tmp_path / "real"
    real.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pytest_mcp_approval.command "$@"\n')
    real.chmod(0o755)
    summary = tmp_path / "summary.md"
    done = act(
        MCP_APPROVAL_COMMAND=str(real),
        MCP_APPROVAL_TARGET="reference",
        MCP_APPROVAL_OPTIONS="--select=sep2672/4.2*\n--browser=none",
        GITHUB_STEP_SUMMARY=str(summary),
    )
    assert done.code == 0, done.said
    kept = {one.name for one in Path(done.outputs["reports"]).iterdir()}
    assert kept == {"report.html", "report.json", "report.sarif", "junit.xml"}
    assert "sep2672" in summary.read_text()
