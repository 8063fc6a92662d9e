"""Scopes that languages write differently: nesting, orders, escapes, letters, numbers, emptiness.

The same on every machine and in every run: a seed decides. Knows no token and no target.
"""

from __future__ import annotations

import random
from typing import Any


def _nested(levels: int, inmost: Any) -> Any:
    for _ in range(levels):
        inmost = {"down": inmost}
    return inmost


NAMED: dict[str, dict[str, Any]] = {
    "keys in another order, at every depth": {
        "z": {"b": 1, "a": {"d": [{"y": 1, "x": 2}], "c": 3}},
        "A": {"b": 1, "B": 2, "_": 3, "a": 4},
    },
    "letters beyond ASCII": {"note": "Größe 漢字 \u2028 \x7f", "ключ": "значение"},
    "letters beyond the first plane": {"\U0001f600": 1, "\uffff": 2, "face": "\U0001f600"},
    "what JSON escapes": {
        "note": 'quote " backslash \\ slash / tab \t line \n bell \x07 backspace \b form feed \f'
    },
    "what HTML escapes": {"note": "<a href='x'>R&D</a>", "</script>": "&lt;"},
    "letters in two parts, and blanks around": {"note": " e\u0301 \u00a0", " a ": "\u212a\t"},
    "a long text": {"note": "x" * 6000, "z": "end"},
    "nothing at all": {"list": [], "object": {}, "text": "", "null": None},
    "truth": {"yes": True, "no": False, "list": [True, None, False]},
    "whole numbers beyond a double": {"n": [0, -1, 2**53 + 1, 10**30, -(10**25)]},
    "numbers with a fraction": {"n": [0.1, 1.0, -0.0, 1e16, 1e22, 1.5e300, 5e-324, 1e-05, 0.0001]},
    "what looks like separators": {"a": 'x", "y": "z', "b": "{, : }", "c:d": ":"},
    "hosts, none of them": {"allowed_hosts_note": [], "deep": [[[[[[]]]]]]},
    "names that mean something elsewhere": {
        "__proto__": {"limit": 1},
        "constructor": {"prototype": {"__class__": 2}},
        "hasOwnProperty": 3,
        "$type": "System.Object",
        "a[b]": 4,
        "a.b": 5,
        "'; --": 6,
        "": 7,
        "length": 8,
    },
    "names that are numbers": {"10": 1, "9": 2, "01": 3, "-1": 4, "0": {"1": "b", "0": "a"}},
    "many members, and many levels": {
        **{f"member {number}": number for number in range(70)},
        "deep": _nested(20, {"z": 1, "a": 2}),
    },
}
_LONG = "x" * 5000
LOOK_ALIKES: dict[str, tuple[Any, Any]] = {
    "a number and its text": (1, "1"),
    "one and true": (1, True),
    "zero and false": (0, False),
    "zero and null": (0, None),
    "empty text and null": ("", None),
    "an empty list and an empty object": ([], {}),
    "an empty list and null": ([], None),
    "a list of one and its entry": (["a"], "a"),
    "a list and its entries with commas": (["a", "b"], "a,b"),
    "a list and the same turned round": (["a", "b"], ["b", "a"]),
    "a list and one without its double": (["a", "a"], ["a"]),
    "a list and an object with its places": (["a"], {"0": "a"}),
    "a member that is null and none": ({"a": None}, {}),
    "a name with brackets and a level": ({"a[b]": 1}, {"a": {"b": 1}}),
    "a name with a dot and a level": ({"a.b": 1}, {"a": {"b": 1}}),
    "two values of __proto__": ({"__proto__": 1}, {"__proto__": 2}),
    "two values of constructor": ({"constructor": 1}, {"constructor": 2}),
    "two values of a name that is empty": ({"": 1}, {"": 2}),
    "two names that differ in case": ({"Max": 1}, {"max": 1}),
    "an object and its text": ({"a": 1}, '{"a": 1}'),
    "small and capital letters": ("limit", "LIMIT"),
    "a blank more": ("limit", "limit "),
    "a line end more": ("limit", "limit\n"),
    "a letter and its composed form": ("e\u0301", "\u00e9"),
    "a letter and its wide form": ("K", "\uff2b"),
    "the Kelvin sign and a K": ("\u212a", "K"),
    "a letter beyond ASCII and a question mark": ("\u00fc", "?"),
    "two halves of surrogate pairs": ("\ud800", "\udbff"),
    "what comes after a null byte": ("a\0b", "a\0c"),
    "an escape and its letter": ("%61", "a"),
    "an entity and its sign": ("&amp;", "&"),
    "the end of a long text": (f"{_LONG}1", f"{_LONG}2"),
    "the end of a long list": ([*range(300), 1], [*range(300), 2]),
    "the bottom of many levels": (_nested(20, 1), _nested(20, 2)),
    "the last of many members": (
        {**dict.fromkeys(map(str, range(100)), 0), "~": 1},
        {**dict.fromkeys(map(str, range(100)), 0), "~": 2},
    ),
}
"""Pairs of values that a careless reader takes for the same. They are written differently, so each
has a signature of its own."""
LOOK_ALIKE_NUMBERS: dict[str, tuple[Any, Any]] = {
    "a whole number and one with a point": (1, 1.0),
    "two numbers beyond a double": (2**53, 2**53 + 1),
    "two numbers of thirty digits": (10**30, 10**30 + 1),
    "two neighbours among the doubles": (0.1, 0.10000000000000002),
    "zero with and without a sign": (0.0, -0.0),
    "two numbers that overflow 32 bits": (2**32 + 5, 5),
}
"""The same, for tokens whose numbers come as they were written."""
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
