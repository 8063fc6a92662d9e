"""What the scenarios of a rule do, in the first sentence of each docstring. Their files are read,
not imported: that needs no server and takes no time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from ..config.registry import registered
from .requirements import Requirement, named_in

_MARKER = "requirement"


def scenario_texts(rule: Requirement) -> list[str]:
    """One line for each scenario of the rule, in the order of files and lines."""
    files = sorted(registered(rule.family).scenarios.glob("test_*.py"))
    return [
        line
        for path in files
        if rule.id in named_in(path, rule.family)
        for line in _in_file(path, rule.id)
    ]


def _in_file(path: Path, rule: str) -> Iterator[str]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and rule in _rules_of(node):
            yield _told(node)


def _rules_of(node: ast.FunctionDef) -> Iterator[object]:
    for decorator in node.decorator_list:
        if (
            isinstance(decorator, ast.Call)
            and isinstance(decorator.func, ast.Name)
            and decorator.func.id == _MARKER
        ):
            yield from (one.value for one in decorator.args if isinstance(one, ast.Constant))


def _told(node: ast.FunctionDef) -> str:
    text = " ".join((ast.get_docstring(node) or "").split())
    sentence = text.partition(". ")[0].rstrip(".")
    return sentence or node.name.removeprefix("test_").replace("_", " ")
