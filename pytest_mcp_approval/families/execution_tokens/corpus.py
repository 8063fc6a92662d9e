"""Scopes that languages write differently: nesting, orders, escapes, letters, numbers, emptiness.

The same on every machine and in every run: a seed decides. Knows no token and no target.
"""

from __future__ import annotations

import random
from typing import Any

NAMED: dict[str, dict[str, Any]] = {
    "keys in another order, at every depth": {
        "z": {"b": 1, "a": {"d": [{"y": 1, "x": 2}], "c": 3}},
        "A": {"b": 1, "B": 2, "_": 3, "a": 4},
    },
    "letters beyond ASCII": {"note": "Größe 漢字 \u2028 \x7f", "ключ": "значение"},
    "letters beyond the first plane": {"\U0001f600": 1, "\uffff": 2, "face": "\U0001f600"},
    "what JSON escapes": {"note": 'quote " backslash \\ slash / tab \t line \n bell \x07'},
    "nothing at all": {"list": [], "object": {}, "text": "", "null": None},
    "truth": {"yes": True, "no": False, "list": [True, None, False]},
    "whole numbers beyond a double": {"n": [0, -1, 2**53 + 1, 10**30, -(10**25)]},
    "numbers with a fraction": {"n": [0.1, 1.0, -0.0, 1e16, 1e22, 1.5e300, 5e-324, 1e-05, 0.0001]},
    "what looks like separators": {"a": 'x", "y": "z', "b": "{, : }", "c:d": ":"},
    "hosts, none of them": {"allowed_hosts_note": [], "deep": [[[[[[]]]]]]},
}
WITHOUT_NUMBERS = [name for name in NAMED if "number" not in name]


def generated(count: int, seed: int = 6) -> dict[str, dict[str, Any]]:
    """More scopes, mixed from everything above."""
    chance = random.Random(seed)
    return {
        f"generated scope {number}": {
            f"{_text(chance)}{place}": _value(chance, 0) for place in range(1 + chance.randrange(4))
        }
        for number in range(1, count + 1)
    }


def _text(chance: random.Random) -> str:
    letters = ["a", "Z", "é", "\U0001f600", "\u2028", "\n", '"', "\\", "/", "\uffff", "漢", " "]
    return "".join(chance.choice(letters) for _ in range(chance.randrange(6)))


def _value(chance: random.Random, depth: int) -> Any:
    kind = chance.randrange(8 if depth < 4 else 5)
    if kind == 0:
        return chance.choice([0, -7, 10**18, 2**53 + 1, -(10**20)])
    if kind == 1:
        exponent = chance.randint(-20, 20)
        return chance.choice([chance.uniform(-1e6, 1e6), chance.random() * 10.0**exponent])
    if kind in (2, 3):
        return _text(chance)
    if kind == 4:
        return chance.choice([True, False, None, [], {}])
    if kind in (5, 6):
        return [_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    return {
        f"{_text(chance)}{place}": _value(chance, depth + 1) for place in range(chance.randrange(4))
    }
