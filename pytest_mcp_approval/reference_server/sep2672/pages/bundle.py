"""The page's modules as one script: a browser opens the page with one request for all of them.

Knows only as much JavaScript as these modules use: imports and exports by name, each at the
beginning of a line, exported names that differ, and no circles.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|class|function|async function) (\w+))", re.MULTILINE)


def bundled(sources: Mapping[str, str], start: str) -> str:
    """The module `start`, after everything that it imports, each in a scope of its own."""
    parts: dict[str, str] = {}

    def add(name: str) -> None:
        source = sources[name]
        for imported in _IMPORT.findall(source):
            if imported not in parts:
                add(imported)
        parts[name] = _scope(name, source)

    add(start)
    return "\n".join(parts.values())


def _scope(name: str, source: str) -> str:
    given = ", ".join(_EXPORT.findall(source))
    body = _EXPORT.sub("", _IMPORT.sub("", source))
    return (
        f"// ---- {name}\nconst {{ {given} }} = (() => {{\n{body}\nreturn {{ {given} }};\n}})();\n"
    )
