"""The public face: what the page lists, what `__all__` names and what type checkers see agree."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import pytest_mcp_approval

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "two-person-family" / "mcp_approval_two_person"


def test_the_page_lists_each_name_once():
    page = (ROOT / "docs" / "public-api.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == pytest_mcp_approval.__all__


@pytest.mark.parametrize("name", pytest_mcp_approval.__all__)
def test_each_name_is_there(name):
    assert getattr(pytest_mcp_approval, name) is not None
    assert name in dir(pytest_mcp_approval)


def test_type_checkers_see_the_same():
    tree = ast.parse(Path(pytest_mcp_approval.__file__).read_text(encoding="utf-8"))
    seen = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            for one in node.names:
                assert one.asname == one.name
                seen[one.name] = importlib.import_module(f"pytest_mcp_approval.{node.module}")
    assert sorted(seen) == pytest_mcp_approval.__all__
    for name, module in seen.items():
        assert getattr(module, name) is getattr(pytest_mcp_approval, name)


def test_a_name_that_is_not_there_is_told():
    with pytest.raises(AttributeError, match="no attribute 'Fnding'"):
        _ = pytest_mcp_approval.Fnding


def test_a_family_of_ones_own_needs_no_other_names():
    for path in EXAMPLE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r"pytest_mcp_approval\.(?!reference_server)\w+", text), path.name


def test_importing_the_package_loads_nothing_else():
    script = (
        "import sys; import pytest_mcp_approval; "
        "print(*[one for one in sys.modules if one.startswith('pytest_mcp_approval.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == []


def test_the_version_stands_in_one_place():
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = str(stated["version"])
    assert pytest_mcp_approval.__version__ in (version, "")  # nothing: it is not installed
    for path in (ROOT / "pytest_mcp_approval").rglob("*.py"):
        assert f'"{version}"' not in path.read_text(encoding="utf-8"), path
