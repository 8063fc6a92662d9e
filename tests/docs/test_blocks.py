"""Every code block of README and the documentation is read by whoever would read it: settings by
their reader, commands by their parsers, imports by Python. `test_tutorials` runs commands and
compares what they say, `test_shown_code` runs the Python."""

from __future__ import annotations

import ast
import datetime
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from pytest_mcp_approval.catalogue.baseline_file import read_baseline
from pytest_mcp_approval.catalogue.requirements import read_catalogue
from pytest_mcp_approval.command import check, init
from pytest_mcp_approval.command.main import WORDS, main
from pytest_mcp_approval.config.options import MERGE, OPTIONS, PREFIX, START
from pytest_mcp_approval.config.settings import check_file, settings_of_line
from tests.docs.blocks import PAGES, ROOT, Block, all_blocks, blocks_of, commands_in

LANGUAGES = {
    *("", "console", "sh"),  # commands below; else what a program says
    *("python", "toml", "yaml"),
    "go",  # a compiler for it cannot be expected on every machine
    "{toctree}",  # read by Sphinx: make docs
}
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def shown(blocks: list[Block]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("block", blocks, ids=str)


def test_every_block_is_of_a_kind_that_is_looked_at():
    others = [
        f"{block}: {block.language}"
        for page in PAGES
        for block in blocks_of(page)
        if block.language not in LANGUAGES
    ]
    assert others == []
    assert len(all_blocks(*LANGUAGES)) > 100


@shown(all_blocks("toml"))
def test_toml_is_what_its_reader_reads(block: Block, tmp_path: Path):
    data = tomllib.loads(block.text)
    file = tmp_path / "mcp-approval.toml"
    if "project" in data:
        return
    if "known" in data:
        path = tmp_path / "known.toml"
        path.write_text(block.text, encoding="utf-8")
        assert read_baseline(path, path.name, datetime.date(2026, 1, 1)).entries
        return
    if "requirement" in data:
        path = tmp_path / "requirements.toml"
        path.write_text(block.text, encoding="utf-8")
        assert len(read_catalogue(data["family"], path))
        return
    file.write_text(block.text, encoding="utf-8")
    check_file(tmp_path)


@shown(all_blocks("python"))
def test_python_is_python(block: Block):
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.ImportFrom) and not node.level:
            package = (node.module or "").partition(".")[0]
            if package in ("pytest_mcp_approval", "virtual_authenticator"):
                exec(ast.unparse(node), {})  # what a page imports from us is there


@shown(all_blocks("yaml"))
def test_yaml_names_what_is_there(block: Block):
    data = yaml.safe_load(block.text)
    steps = [step for job in (data.get("jobs") or {}).values() for step in job.get("steps", ())]
    for step in steps:
        if "pytest-mcp-approval@" in step.get("uses", ""):
            assert set(step["with"]) <= set(ACTION["inputs"])
        for line in step.get("run", "").splitlines():
            look_at_commands(Block(block.page, block.line, "sh", line), block.page.parent)
    for repository in data.get("repos") or ():
        known = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
        assert {one["id"] for one in repository["hooks"]} <= {one["id"] for one in known}


@shown([block for block in all_blocks("", "console", "sh") if commands_in(block)])
def test_commands_make_sense(block: Block, tmp_path: Path):
    look_at_commands(block, tmp_path)


def look_at_commands(block: Block, folder: Path) -> None:
    for words in commands_in(block):
        program, *rest = _after_variables(words)
        match Path(program).name:
            case "pytest":
                _read_options([word for word in rest if word.startswith("--mcp-")], folder)
            case "mcp-approval":
                _read_words(rest)
            case "uvx" | "pipx":
                _read_words(
                    rest[rest.index("mcp-approval") + 1 :] if "mcp-approval" in rest else []
                )
                assert any("pytest-mcp-approval" in word for word in rest), block
            case "pip":
                _read_extras(rest)
            case "make":
                assert {word for word in rest if word.isalpha()} <= TARGETS, block
            case "python" | "python3" if rest[:1] == ["-m"]:
                module = rest[1].partition(".")[0]
                if module in ("pytest_mcp_approval", "benchmarks", "docs", "tools", "tests"):
                    assert find_spec(rest[1]) is not None, block


def _after_variables(words: list[str]) -> list[str]:
    at = next((at for at, word in enumerate(words) if not re.match(r"[A-Z_]+=", word)), 0)
    return words[at:]


def _read_options(words: list[str], folder: Path) -> None:
    """Options as pytest has them: each must exist, and its value must be one that it takes."""
    known = {f"{PREFIX}{option.name}": option for option in OPTIONS}
    for word in words:
        name, equals, value = word.partition("=")
        if name in (START, MERGE):
            continue
        assert name in known, word
        option = known[name]
        is_path = option.name in ("baseline", "compare", "replay", "report", "directory")
        if equals and "..." not in value and not is_path:
            settings_of_line({option.name: [value] if option.repeatable else value}, folder)


def _read_words(words: list[str]) -> None:
    """Words of the command: read by its own parser; what only tells something is run."""
    if not words or words[0].startswith("-"):
        return
    word, *rest = words
    assert word in WORDS, words
    if "SERVER" in rest or "..." in rest:
        return
    if word == "check":
        own, _ = check._split(rest)
        check.parser().read(list(map(check._in_our_spelling, own)))
    elif word == "init":
        init._parser().read(rest)
    elif word == "explain":
        given = [one for one in rest if one not in ("|", "head")]
        assert main(["explain", *given[:2]]) == 0, words


def _read_extras(words: list[str]) -> None:
    for word in words:
        found = re.search(r"(?:^\.|pytest-mcp-approval)\[([\w,]+)\]", word)
        if found:
            assert set(found[1].split(",")) <= set(PROJECT["optional-dependencies"])
