"""Which families there are: ours, and what other distributions register."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_mcp_approval.config import registry
from pytest_mcp_approval.config.registry import (
    GROUP,
    OPTIONAL,
    REQUIRED,
    FamilyError,
    built_in,
    families,
    registered,
)
from pytest_mcp_approval.reference_server.assembly import default_extensions

ROOT = Path(__file__).parents[2]
Bring = Callable[..., Path]
PARTS = {
    "__init__.py": "",
    "preflight.py": "def look(target, found): ...",
    "health.py": "def honest_approval(target): ...",
    "fixtures.py": "",
    "scenarios/requirements.toml": "",
}


@pytest.fixture
def bring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bring]:
    """Installs a distribution with a family for this test; returns the folder of its package."""
    count = 0

    def install(name: str = "borrowed", value: str | None = None, **changed: str | None) -> Path:
        nonlocal count
        count += 1
        folder = tmp_path / f"place{count}"
        package = folder / f"family_for_a_test_{count}"
        parts = {
            path: changed.pop(path.split(".")[0].strip("_"), text) for path, text in PARTS.items()
        }
        assert not changed
        for path, text in parts.items():
            if text is not None:
                (package / path).parent.mkdir(parents=True, exist_ok=True)
                (package / path).write_text(text)
        metadata = folder / f"others_{count}-1.{count}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Name: others-{count}\nVersion: 1.{count}\n")
        (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {value or package.name}\n")
        monkeypatch.syspath_prepend(folder)
        registry._all.cache_clear()
        return package

    yield install
    monkeypatch.undo()
    registry._all.cache_clear()
    for module in [one for one in sys.modules if one.startswith("family_for_a_test_")]:
        del sys.modules[module]


def broken(act: Callable[[], object]) -> str:
    with pytest.raises(FamilyError) as caught:
        act()
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ---- ours


def test_ours_are_registered_as_others_would_be():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"][GROUP] == {name: registered(name).package for name in built_in()}
    assert len(built_in()) >= 5


def test_each_of_ours_has_a_healthy_server_and_broken_ones():
    assert set(default_extensions()) == set(built_in())
    mutants = {path.parent.name for path in (ROOT / "tests" / "mutants").glob("*/*.py")}
    assert mutants == {*built_in(), "clients"}, "those of clients are in a folder of their own"


@pytest.mark.parametrize("name", built_in())
def test_ours_have_every_part(name: str):
    registered(name).check()
    for role in REQUIRED:
        registered(name).part(role)


def test_ours_are_there_without_any_entry_point(monkeypatch: pytest.MonkeyPatch):
    """In a bare checkout."""
    before = built_in()
    monkeypatch.setattr(registry, "entry_points", lambda **_: [])
    registry._all.cache_clear()
    assert families() == before
    monkeypatch.undo()
    registry._all.cache_clear()


# ---- others'


def test_a_family_of_another_distribution_is_one_of_them(bring: Bring):
    package = bring()
    assert "borrowed" in families()
    assert "borrowed" not in built_in()
    found = registered("borrowed")
    found.check()
    assert (found.distribution, found.folder) == ("others-1 1.1", package)
    assert found.scenarios == package / "scenarios"
    assert found.part("health").honest_approval


def test_it_is_not_imported_before_it_is_used(bring: Bring):
    bring(init="raise RuntimeError('too early')")
    assert "borrowed" in families()
    assert registered("borrowed").has("preflight")
    assert registered("borrowed").scenarios.is_dir()
    said = broken(lambda: registered("borrowed").part("preflight"))
    assert said == (
        "family borrowed of others-1 1.1: preflight.py cannot be imported: RuntimeError: too early "
        "(__init__.py:1); without it: --mcp-approval-family=NAME"
    )


@pytest.mark.parametrize("role", REQUIRED)
def test_a_part_that_is_missing_is_told(bring: Bring, role: str):
    bring(**{role: None})
    for act in (registered("borrowed").check, lambda: registered("borrowed").part(role)):
        assert broken(act).startswith(
            f"family borrowed of others-1 1.1: it has no module {role}.py; without it: "
        )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "import nowhere_to_be_found",
            "ModuleNotFoundError: No module named 'nowhere_to_be_found'",
        ),
        ("def look(:", "SyntaxError: invalid syntax"),
        ("\n\n1 / 0", "ZeroDivisionError: division by zero (preflight.py:3)"),
    ],
)
def test_a_part_that_cannot_be_imported_is_told(bring: Bring, text: str, said: str):
    bring(preflight=text)
    found = broken(lambda: registered("borrowed").part("preflight"))
    assert f"family borrowed of others-1 1.1: preflight.py cannot be imported: {said}" in found


@pytest.mark.parametrize(("role", "wanted"), OPTIONAL.items())
def test_a_part_that_need_not_be_there_has_to_work_if_it_is(bring: Bring, role: str, wanted: str):
    package = bring()
    registered("borrowed").check()
    (package / f"{role}.py").write_text("something_else = 1")
    assert f"{role}.py has no {wanted};" in broken(registered("borrowed").check)


def test_a_part_without_its_function_is_told(bring: Bring):
    bring(health="def approve_honestly(target): ...")
    found = broken(lambda: registered("borrowed").part("health"))
    assert "health.py has no honest_approval;" in found


@pytest.mark.parametrize("value", ["nowhere_to_be_found", "json.decoder", "nowhere.inside"])
def test_an_entry_point_that_names_no_package_is_told(bring: Bring, value: str):
    bring(value=value)
    said = broken(registered("borrowed").check)
    assert said.startswith("family borrowed of others-1 1.1: ")
    assert value.partition(".")[0] in said


def test_a_family_without_rules_is_told(bring: Bring):
    package = bring(**{"scenarios/requirements": None})
    said = broken(lambda: registered("borrowed").scenarios)
    assert f"it has no scenarios/requirements.toml in {package}" in said


def test_one_name_of_two_distributions_is_told(bring: Bring):
    bring()
    bring()
    said = broken(families)
    assert "family borrowed is registered twice" in said
    assert "others-1 1.1" in said
    assert "others-2 1.2" in said


def test_a_name_of_ours_is_taken(bring: Bring):
    bring("sep2672")
    said = broken(families)
    assert said == (
        "family sep2672 is registered twice, by pytest-mcp-approval and by others-1 1.1: uninstall "
        "one of them"
    )


@pytest.mark.parametrize("name", ["Two-Person", "2person", "a b", "../x", "target", "launch"])
def test_a_name_that_cannot_be_one_is_told(bring: Bring, name: str):
    bring(name)
    assert f"got the name {name!r} from others-1 1.1" in broken(families)


def test_an_unknown_family_is_told_with_the_nearest():
    assert "got family 'sep2627', did you mean 'sep2672'?" in broken(lambda: registered("sep2627"))
