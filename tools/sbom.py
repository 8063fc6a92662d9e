"""Writes the software bill of materials of the package: CycloneDX 1.6, as JSON.

    python -m tools.sbom OUTPUT

What the package needs, with and without its extras, is read from the metadata of the installed
distributions; versions and hashes are those of requirements/development.txt, with which everything
was tested. Nothing is asked of a network. The same input gives the same file.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "pytest-mcp-approval"
EXTRAS = ("reference", "browser", "all")
_PINNED = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^\s;\\]+)(?P<rest>(?:.*\\\n)*.*)$", re.M)
_HASH = re.compile(r"--hash=(sha256:[0-9a-f]{64})")


@dataclass(frozen=True)
class Pinned:
    """One line of the requirements."""

    version: str
    hashes: tuple[str, ...]


def pinned(text: str) -> dict[str, Pinned]:
    return {
        canonicalize_name(found["name"]): Pinned(
            found["version"], tuple(sorted(_HASH.findall(found["rest"])))
        )
        for found in _PINNED.finditer(text)
    }


def needed(package: str, extras: tuple[str, ...] = ()) -> dict[str, set[str]]:
    """Everything that a package needs here, however far down: each with what it needs itself."""
    found: dict[str, set[str]] = {}
    left: list[tuple[str, tuple[str, ...]]] = [(package, extras)]
    seen = set(left)
    while left:
        name, wanted = left.pop()
        own = found.setdefault(canonicalize_name(name), set())
        try:
            lines = distribution(name).requires or []
        except PackageNotFoundError:  # for another platform or Python
            continue
        for one in map(Requirement, lines):
            if any(_applies(one, extra) for extra in ("", *wanted)):
                own.add(canonicalize_name(one.name))
                step = (one.name, tuple(sorted(one.extras)))
                if step not in seen:
                    seen.add(step)
                    left.append(step)
    return found


def _applies(one: Requirement, extra: str) -> bool:
    return one.marker is None or one.marker.evaluate({"extra": extra})


def bill(requirements: str) -> dict[str, Any]:
    """The whole document."""
    known = pinned(requirements)
    base, everything = needed(PACKAGE), needed(PACKAGE, EXTRAS)
    own = distribution(PACKAGE)
    root = _reference(PACKAGE, own.version)
    names = sorted(name for name in everything if name != PACKAGE and name in known)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": PACKAGE,
                "version": own.version,
                "purl": root,
                "licenses": [{"license": {"id": "MIT"}}],
            }
        },
        "components": [_component(name, known[name], name in base) for name in names],
        "dependencies": [
            {
                "ref": _reference(name, own.version if name == PACKAGE else known[name].version),
                "dependsOn": sorted(
                    _reference(one, known[one].version)
                    for one in everything[name]
                    if one in known and one != name
                ),
            }
            for name in (PACKAGE, *names)
        ],
    }


def _component(name: str, one: Pinned, required: bool) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": _reference(name, one.version),
        "name": name,
        "version": one.version,
        "purl": _reference(name, one.version),
        "scope": "required" if required else "optional",
        # Of every file of that version: which one is installed depends on the machine.
        "properties": [{"name": "pip:hash", "value": value} for value in one.hashes],
    }


def _reference(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"


def write(path: Path) -> int:
    """Write the file; how many components it has."""
    text = (ROOT / "requirements" / "development.txt").read_text(encoding="utf-8")
    told = bill(text)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return len(told["components"])


if __name__ == "__main__":
    print(f"sbom: {write(Path(sys.argv[1]))} components in {sys.argv[1]}")
