"""All families are built alike: the same files for the same roles, and no name twice."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

import pytest_mcp_approval.families as package

FAMILIES = Path(package.__file__).parent
ROLES = {
    "vocabulary",
    "driver",
    "outcome",
    "scenario",
    "preflight",
    "needs",
    "settings",
    "decoder",
    "health",
    "fixtures",
}
BUILT_IN = sorted(
    folder.name
    for folder in FAMILIES.iterdir()
    if (folder / "__init__.py").is_file() and folder.name != "base"
)


@pytest.mark.parametrize("family", BUILT_IN)
def test_a_family_has_a_file_for_every_role(family):
    assert {path.stem for path in (FAMILIES / family).glob("*.py")} >= ROLES


def test_no_two_classes_have_one_name():
    names = Counter(
        node.name
        for path in FAMILIES.parent.rglob("*.py")
        if path.parent.name != "reference_client"  # shares no code with what checks it
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    )
    assert {name for name, count in names.items() if count > 1} == set()
