"""A run where another distribution brings a family that cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from pytest_mcp_approval.catalogue.requirements import catalogue, covered
from pytest_mcp_approval.config import registry
from pytest_mcp_approval.config.registry import GROUP, OPTIONAL, REQUIRED

RULES = """family = "lent"
document = "A lent page"
[[requirement]]
id = "1"
level = "MUST"
watch = "something"
fault = "nothing"
"""
QUICK = "--mcp-approval-select=lent/*"
Register = Callable[..., None]


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Iterator[Register]:
    """Registers packages under names, as distributions would that are installed."""

    def points(*named: tuple[str, str]) -> None:
        found = [EntryPoint(name, value, GROUP) for name, value in named]
        monkeypatch.setattr(registry, "entry_points", lambda **_: found)
        forget()

    def forget() -> None:
        for kept in (registry._all, catalogue, covered):
            kept.cache_clear()

    yield points
    monkeypatch.undo()
    forget()


@pytest.fixture
def package(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A family whose preflight works, and finds itself in any server."""
    folder = pytester.path / "place" / "lent_family"
    (folder / "scenarios").mkdir(parents=True)
    (folder / "scenarios" / "requirements.toml").write_text(RULES)
    (folder / "__init__.py").touch()
    (folder / "preflight.py").write_text("def look(target, found): ...")
    (folder / "health.py").write_text("def honest_approval(target): return ''")
    (folder / "fixtures.py").touch()
    monkeypatch.syspath_prepend(folder.parent)
    return folder


def line_of(result: pytest.RunResult, code: int) -> str:
    text = result.stdout.str() + result.stderr.str()
    assert result.ret == code, text
    assert "Traceback" not in text
    return next(line for line in text.splitlines() if "family" in line)


def test_one_name_for_two_ends_a_run_with_a_target_and_no_other(suite, register: Register):
    register(("lent", "one_package"), ("lent", "another_package"))
    suite.pytester.makepyfile("def test_something(): pass")
    plain = suite.run(target=None)
    plain.assert_outcomes(passed=1)
    assert "family lent is registered twice" in line_of(suite.run(), 4)


@pytest.mark.parametrize("part", [*REQUIRED, *OPTIONAL])
def test_a_part_that_cannot_be_imported_is_one_line(
    suite, register: Register, package: Path, part: str
):
    (package / f"{part}.py").write_text("import not_there_at_all")
    register(("lent", "lent_family"))
    line = line_of(suite.run(QUICK), 10)
    assert f"{part}.py cannot be imported: ModuleNotFoundError: No module named 'not_there" in line
    assert f"({part}.py:1)" in line


def test_listing_its_scenarios_tells_what_is_broken_too(suite, register: Register, package: Path):
    """Without a look at the target."""
    (package / "fixtures.py").write_text("import not_there_at_all")
    register(("lent", "lent_family"))
    line = line_of(suite.run(QUICK, "--collect-only"), 4)
    assert "fixtures.py cannot be imported: ModuleNotFoundError" in line


def test_a_part_that_is_missing_is_told_before_the_target_is_opened(
    suite, register: Register, package: Path
):
    (package / "fixtures.py").unlink()
    register(("lent", "lent_family"))
    line = line_of(suite.run(QUICK, target="stdio:not-a-command-at-all"), 10)
    assert "it has no module fixtures.py; without it: --mcp-approval-family=NAME" in line


def test_rules_that_cannot_be_read_are_told_with_their_file(
    suite, register: Register, package: Path
):
    rules = package / "scenarios" / "requirements.toml"
    rules.write_text(RULES.replace("MUST", "OUGHT"))
    register(("lent", "lent_family"))
    said = line_of(suite.run(QUICK), 4)
    assert f"{rules} requirement[0].level: got 'OUGHT', expected one of MUST" in said


def test_a_run_of_other_families_does_not_touch_it(suite, register: Register):
    register(("lent", "not_there_at_all"))
    result = suite.run("--mcp-approval-family=sep2672", "--mcp-approval-select=4.3-capability*")
    assert result.ret == 0, result.stdout.str()


def test_a_run_without_a_target_loads_nothing_heavy(suite):
    suite.pytester.makepyfile(
        """
        import sys

        def test_what_is_loaded():
            ours = {name for name in sys.modules if name.startswith("pytest_mcp_approval.")}
            parts = {name.split(".")[1] for name in ours}
            assert parts <= {"plugin", "fixtures", "config", "session", "support", "families"}
            assert not {name for name in ours if "driver" in name or name.endswith(".target")}
            assert not {"cryptography", "fido2", "mcp", "playwright"} & set(sys.modules)
        """
    )
    suite.run_apart("-p", "no:xdist", target=None).assert_outcomes(passed=1)
