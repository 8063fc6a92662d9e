"""Values that implementations confuse, at every depth of the arguments.

Each is legal JSON, and RFC 8785 writes all of them differently. Knows no request and no rule.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..base.hostile_values import SPECIAL_NAMES
from ..base.look_alikes import nearly

NAMES = (
    *SPECIAL_NAMES,
    # what the family itself uses, and the protocol around it
    *("_meta", "arguments", "toolName", "name", "params", "challengeId", "_", "id", "method"),
)

_NUMBERS = (
    *("0", "1", "-1", "10", "100", "1.5", "-1.5", "0.1", "0.3", "0.30000000000000004", "1e-7"),
    *("1.0000000000000002", "127", "128", "255", "256", "32768", "65535", "65536", "2147483647"),
    *("2147483648", "-2147483648", "4294967295", "4294967296", "4294967297", "16777217"),
    *("16777216", "9007199254740991", "9007199254740990", "-9007199254740991", "1e+21", "1e+300"),
    *("1e+301", "5e-324", "1.7976931348623157e+308"),
)
_TEXTS = (
    *("", " ", "  ", "a", "A", "a ", " a", "a\t", "a\n", "a\r\n", "a\u0000", "a\u0000b", "b", "aa"),
    *("a\u200b", "\ufeffa", "a\u00ad", "a\u202e", "\u0430", "\uff41", "\U0001d41a", "\u00e5"),
    *(
        "\\a",
        "a\\b",
        "ab",
        "%61",
        "&#97;",
        "\\u0061",
        "\\x61",
        "a%00",
        "a+b",
        "a b",
        "a%20b",
        "a\u00a0b",
        "a\u2028b",
    ),
    *("ss", "\u00df", "SS", "fi", "\ufb01", "I", "i", "\u0130", "\u0131", "K", "?"),
    *("\ufffd", "\U0001f600", "\U0001f601", "1", "1.0", "01", "+1", "-1", "1e0", "0x1", "1 ", " 1"),
    *("0", "-0", "1,0", "true", "True", "false", "null", "None", "undefined", "NaN", "Infinity"),
    *("[]", "{}", '""', '"a"', "'a'", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00+00:00"),
    *("2026-01-01T00:00:00.000Z", "2026-01-01", "${a}", "{{a}}", "<b>a</b>", "a--", "a/*", "a;b"),
)
_STRUCTURES = (
    *("true", "false", "null", "[]", "{}", "[[]]", "[{}]", "[null]", '[""]', "[0]", "[1]", "[[1]]"),
    *('["1"]', "[true]", "[1,1]", "[1,2]", "[2,1]", "[1,null]", "[null,1]", "[1,[2]]", "[[1],2]"),
    *('{"a":1}', '{"a":"1"}', '{"a":[1]}', '{"a":null}', '{"a":{}}', '{"a":{"b":1}}', '{"b":1}'),
    *('{"a":1,"b":null}', '{"a":1,"b":2}', '{"a":2,"b":1}', '{"__proto__":{"a":1}}'),
    *('{"constructor":{"prototype":{"a":1}}}', '{"0":1}', '{"0":1,"1":2}', '{"length":0}'),
)


A_FEW = (
    *(
        "0",
        "1",
        "2",
        "-1",
        "1.5",
        '""',
        '"1"',
        '"a"',
        '"A"',
        '"a "',
        '"b"',
        "null",
        "true",
        "false",
    ),
    *("[]", "{}", "[1]", "[2]", "[1,2]", "[2,1]", "[1,null]", '{"a":1}', '{"a":2}', '{"b":1}'),
    *('{"a":null}', '{"A":1}', '{"__proto__":1}', '{"a":{"b":1}}', '{"a.b":1}'),
)
"""Of each kind some, for places where the whole table would take too long."""


def values() -> list[str]:
    """Values as RFC 8785 writes them, no two alike."""
    texts = [json.dumps(one, ensure_ascii=False) for one in _TEXTS]
    named = [f"{{{json.dumps(name, ensure_ascii=False)}:1}}" for name in NAMES]
    long = [f'"{"x" * size}{end}"' for size in (40, 300, 5000) for end in "ab"]
    return list(dict.fromkeys((*_NUMBERS, *texts, *_STRUCTURES, *named, *long)))


PLACES: Mapping[str, Callable[[str], str]] = {
    "itself": lambda text: text,
    "in an object": lambda text: f'{{"a":{{"b":{text}}}}}',
    "in a list": lambda text: f"[0,[{text}]]",
    "in an object in a list": lambda text: f'[{{"a":[{{"b":{text}}}]}}]',
    "at the end of a long list": lambda text: f"[{'0,' * 300}{text}]",
    "behind a long text": lambda text: f'{{"a":"{"x" * 6000}","z":{text}}}',
    "as the last of many members": lambda text: (
        "{" + "".join(f'"m{number:03}":0,' for number in range(150)) + f'"z":{text}}}'
    ),
    "deep inside": lambda text: '{"a":' * 20 + text + "}" * 20,
}
"""Where in a value another one can stand; the text around it is canonical."""


def look_alikes(text: str) -> dict[str, str]:
    """Other texts that a loose comparison takes for this one, by what was done; also as clients
    write a tool of one of their servers."""
    behind = {"a slash": "/", "a full stop": ".", "a colon": ":"}
    named = {
        f"behind a server's name and {name}": f"server{by}{text}" for name, by in behind.items()
    }
    return {**nearly(text), **named}


def coerced(value: Any) -> Iterator[tuple[str, Any]]:
    """Other values that a comparison which converts takes for this one."""
    made: dict[str, Any] = {"in a list": [value], "in an object": {"value": value}, "null": None}
    if isinstance(value, str):
        made |= look_alikes(value)
        made["as the text of its JSON"] = json.dumps(value)
    elif isinstance(value, bool):
        made |= {"as a number": int(value), "as text": str(value).lower(), "the other": not value}
        made |= {"empty text": "", "as a number's text": str(int(value))}
    elif isinstance(value, int | float):
        made |= {"as text": str(value), "with a fraction": value + 0.5, "negative": -value}
        made |= {"larger by one": value + 1, "ten times": value * 10, "as a truth value": True}
        made |= {"with the least fraction": value * (1 + 2**-52), "beyond 32 bits": value + 2**32}
        made |= {"beyond 16 bits": value + 2**16, "as text with a blank": f"{value} "}
    return ((how, other) for how, other in made.items() if not _same(other, value))


def _same(one: Any, other: Any) -> bool:
    """Whether RFC 8785 writes both alike: 0, 0.0 and -0.0 are one number, True is none."""
    numbers = all(isinstance(each, int | float) for each in (one, other))
    truths = isinstance(one, bool), isinstance(other, bool)
    if numbers and truths == (False, False):
        return float(one) == float(other)
    return type(one) is type(other) and bool(one == other)
