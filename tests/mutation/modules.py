"""Whose lines are broken: the gates, stores, relying party and vocabularies of each family.

Not the demonstrations, pages and doors around them: they are no part of what a document asks for.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from pytest_mcp_approval.config.registry import built_in
from tests.inner_runs import ROOT

UNNOTICED = ("odd", "nobody", "not run")
"""Answers that are no notice: a check could not be made, all passed, or none runs the line."""
SERVER = "pytest_mcp_approval/reference_server"
PARTS: dict[str, tuple[str, ...]] = {
    "confirmation_tokens": ("gate", "ledger", "minting", "records", "refusals", "store"),
    "elicitation": ("binding", "forms", "gate", "records", "refusals", "sealing", "store"),
    "execution_tokens": ("gate", "hosts", "refusals", "store", "strict_json", "tokens"),
    "gateway_consent": (
        *("consent", "consent_page", "descriptors", "execution", "gate", "log", "open_questions"),
        *("person_code", "refusals", "store"),
    ),
    "prepare_confirm": ("gate", "operations", "records", "refusals", "store", "tokens"),
    "sep2672": (
        *("challenges", "enrolment", "enrolment_policy", "gate", "public_keys", "records"),
        *("refusals", "relying_party", "store"),
    ),
}


def module_names(family: str) -> list[str]:
    """As they are imported. The vocabulary comes last."""
    names = [f"{SERVER.replace('/', '.')}.{family}.{part}" for part in PARTS[family]]
    return [*names, f"pytest_mcp_approval.families.{family}.vocabulary"]


def source_of(module: str) -> Path:
    return ROOT / f"{module.replace('.', '/')}.py"


@cache
def lines_of(module: str, function: str) -> range:
    """The lines of a function, known by its qualified name."""
    body: list[ast.stmt] = ast.parse(source_of(module).read_text(encoding="utf-8")).body
    for name in function.split("."):
        found = next(one for one in body if getattr(one, "name", "") == name)
        body = getattr(found, "body", [])
    return range(found.lineno, (found.end_lineno or found.lineno) + 1)


@cache
def used_by_server(module: str) -> frozenset[str]:
    """Of a module that the suite uses too, the functions that the server uses: by their names in
    its sources, and in those of the functions that it uses. Methods of the same name are others."""
    family = module.split(".")[-2]
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / SERVER / family).rglob("*.py")]
    functions = {
        one.name: "\n".join(map(ast.unparse, one.body))
        for one in ast.parse(source_of(module).read_text(encoding="utf-8")).body
        if isinstance(one, ast.FunctionDef)
    }
    used: set[str] = set()
    while True:
        known = "\n".join((*texts, *(functions[name] for name in used)))
        found = {name for name in functions if re.search(rf"(?<!self\.)(?<!def )\b{name}\b", known)}
        if found == used:
            return frozenset(used)
        used = found


def is_shared(module: str) -> bool:
    """Whether the suite uses it too. Only the server's copy may be broken then: a suite that is
    wrong in the same way would see nothing."""
    return ".families." in module


assert PARTS.keys() == set(built_in()), "a family without its modules"
