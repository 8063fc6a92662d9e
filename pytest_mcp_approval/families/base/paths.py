"""Places inside JSON, written with dots: `error.details.confirmation_token`, `content.0.text`.

Knows no specification and no wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ABSENT: Any = object()
"""Nothing is there; None would mean a JSON null."""


def value_at(tree: Any, path: str, default: Any = None) -> Any:
    """The value at the place."""
    for name in path.split("."):
        if isinstance(tree, Mapping) and name in tree:
            tree = tree[name]
        elif isinstance(tree, list) and name.isdigit() and int(name) < len(tree):
            tree = tree[int(name)]
        else:
            return default
    return tree


def put_at(tree: dict[str, Any], path: str, value: Any) -> None:
    """Put a value there, creating the objects on the way to it."""
    *way, last = path.split(".")
    for name in way:
        below = tree.get(name)
        # A copy: we must not change what the tree was made from.
        tree[name] = dict(below) if isinstance(below, dict) else {}
        tree = tree[name]
    tree[last] = value
