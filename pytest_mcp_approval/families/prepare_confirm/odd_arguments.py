"""Arguments as careless or hostile callers write them, made of those that the user named as safe.

Each is to be refused, or shown for what it is. Knows no server and no verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...wire import RawJson

_SPECIAL = ("__proto__", "constructor", "hasOwnProperty", "__class__", "$type", "a[b]", "'; --", "")
"""Members that mean something to JavaScript, Python, Java, PHP or a database."""
_NO: dict[str, Any] = {
    "the word false": "false",
    "the word no": "no",
    "the text 0": "0",
    "nought": 0,
    "an empty text": "",
    "null": None,
    "an empty list": [],
}
"""What may be meant by no."""
BEYOND_DOUBLES = "a number beyond all doubles"
_DEEP = 60


class OddCall(NamedTuple):
    name: str
    arguments: Mapping[str, Any]
    means: Mapping[str, bool]
    """The flags that it sets, where they are clear."""


def odd_calls(arguments: Mapping[str, Any], defaults: Mapping[str, Any]) -> Iterator[OddCall]:
    """Each member in turn is left out or odd; `defaults` are those that the tool declares."""
    flags = {name: value for name, value in arguments.items() if isinstance(value, bool)}
    for name, value in arguments.items():
        left = {one: arguments[one] for one in arguments if one != name}
        means = flags
        if isinstance(value, bool):
            means = {**flags, name: defaults.get(name) is True}
        yield OddCall(f"without {name}", left, means)
        for what, odd in _odd(value).items():
            means = {**flags, name: False} if isinstance(value, bool) else flags
            yield OddCall(f"with {what} for {name}", {**arguments, name: odd}, means)
    turned = {name: not value for name, value in flags.items()} or {"force": True}
    special = dict.fromkeys(_SPECIAL, turned)
    yield OddCall("with special members beside", {**arguments, **special}, flags)


def _odd(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return _NO
    common: dict[str, Any] = {
        "null": None,
        "a number": 7,
        BEYOND_DOUBLES: RawJson("1e400"),
        "true": True,
        "an object": {"0": value},
        "deep lists": _nested(value),
    }
    if isinstance(value, str):
        return {**common, "an empty text": "", "a list": [value], **_odd_texts(value)}
    if isinstance(value, list) and value and isinstance(value[0], str):
        entries = {
            f"{what} for its first entry": [odd, *value[1:]]
            for what, odd in _odd_texts(value[0]).items()
        }
        return {
            **common,
            **entries,
            "an empty list": [],
            "its first entry twice": [*value, value[0]],
            "a list in a list": [value],
            "a text": value[0],
            "its entries as one text": ",".join(map(str, value)),
            "null among its entries": [*value, None],
            "a number among its entries": [*value, 7],
            "an empty text among its entries": [*value, ""],
        }
    return common


def _odd_texts(text: str) -> dict[str, Any]:
    return {
        "other capitals": text.swapcase(),
        "blanks around": f" {text} ",
        "a zero byte and more": f"{text}\0more",
        "all but its last character": text[:-1],
        "an asterisk": "*",
        "a percent sign": "%",
        "a path": f"./{text}",
        "a condition": "' OR '1'='1",
    }


def _nested(value: Any) -> Any:
    for _ in range(_DEEP):
        value = [value]
    return value
