"""The tutorials, done step by step: their commands in the folder that they name, and what they say.

Nothing is installed (the packages of the examples are there from other tests), and `check` looks at
the rules that the page shows: the examples' own tests look at all. Lines of output must come in
the page's order; `...` stands for any lines, and figures, which change, are not compared.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, Block, blocks_of
from tests.examples import mcp1_environment, node_packages
from tests.examples.judging import copy_of
from tests.warm_python import warm_python

TUTORIALS = sorted((ROOT / "docs").glob("tutorial-*.md"))
INSTALLING = ("pip", "pipx", "npm")
SECONDS = 100


def folder_of(page: Path, place: Path) -> Path:
    """A copy of the example that the page follows, with its packages, and without its settings."""
    (name,) = re.findall(r"<!-- folder: (\S+) -->", page.read_text(encoding="utf-8"))
    example = ROOT / name
    folder = copy_of(example, place)
    (folder / "mcp-approval.toml").unlink()
    if (example / "package.json").exists():
        packages = node_packages.node_modules(example)
        (folder / "node_modules").symlink_to(packages, target_is_directory=True)
    return folder


def commands(page: Path) -> Path:
    """Where `python` is found, with what the example needs."""
    return (
        mcp1_environment.environment()
        if "fastmcp1" in page.read_text(encoding="utf-8")
        else Path(sys.executable).parent
    )


def steps(block: Block) -> Iterator[tuple[str, list[str]]]:
    """Each command of a block, and the lines that it says."""
    said: list[str] = []
    command = ""
    for line in block.text.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, said
            command, said = line.removeprefix("$ "), []
        else:
            said.append(line)
    if command:
        yield command, said


def rules_on(page: Path) -> list[str]:
    """The rules whose findings the page shows, and one that no step breaks."""
    text = page.read_text(encoding="utf-8")
    return sorted({*re.findall(r"FAIL +(elicitation/\S+)", text), "elicitation/decline"})


def run(command: str, folder: Path, path: Path, rules: list[str]) -> tuple[int, str]:
    words = shlex.split(command)
    if words[0] == "mcp-approval":
        chosen = [f"--select={rule}" for rule in rules] if words[1] == "check" else []
        words = [*warm_python(), "-m", "pytest_mcp_approval.command", *words[1:], *chosen]
    left_out = ("PYTEST_", "COLUMNS", "GITHUB_", "NO_COLOR", "FORCE_COLOR", "CI")
    own = {name: one for name, one in os.environ.items() if not name.startswith(left_out)}
    done = subprocess.run(
        words,
        cwd=folder,
        env={**own, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "98"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def gist(line: str) -> str:
    """A line without its figures, which depend on versions and on how many rules were chosen."""
    return re.sub(r"\d+(\.\d+)*", "N", " ".join(line.split())).replace("findings", "finding")


def in_order(wanted: list[str], said: str) -> str:
    """The first line of the page that does not come; "" if all do."""
    left = iter([gist(line) for line in said.splitlines()])
    for line in wanted:
        if line.strip() and line.strip() != "..." and gist(line) not in left:
            return line
    return ""


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_goes_as_it_says(page: Path, tmp_path: Path):
    if shutil.which("sed") is None:
        pytest.skip("needs sed")
    folder, path = folder_of(page, tmp_path), commands(page)
    ended: list[int] = []
    for block in blocks_of(page):
        if (block.language == "toml" and "[tool" in block.text) or "[elicitation" in block.text:
            (folder / "mcp-approval.toml").write_text(block.text, encoding="utf-8")
        for command, wanted in steps(block) if block.language == "console" else ():
            if command.split()[0] in INSTALLING:
                continue
            code, said = run(command, folder, path, rules_on(page))
            missing = in_order(wanted, said)
            assert not missing, f"{block}: {command}: {missing!r} is not in what it said:\n{said}"
            if command.startswith("mcp-approval check"):
                ended.append(code)
            else:
                assert code == 0, f"{block}: {command}: {said}"
    # Verdicts that are bad, and some that are good: the order is the page's.
    assert set(ended) == {0, 1}, f"{page.name}: the checks ended with {ended}"


def test_a_line_that_does_not_come_is_noticed():
    said = "a 1\nb 22\nc\n"
    assert in_order(["a 7", "...", "c"], said) == ""
    assert in_order(["b 3", "a 1"], said) == "a 1"
    assert in_order(["d"], said) == "d"
