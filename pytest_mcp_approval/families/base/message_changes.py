"""Changes of messages, as data: what a careless parser, language or library may stumble over.

A change is a small object, so that a walk with it can be kept and run again. Applied to the params
of an honest request it gives other params, where they differ, and in words what was done. Knows no
specification: whether the changed message may still be served is for a family to say.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...support.json_reading import JsonError, read_json
from ...wire import RawJson
from ...wire.messages import to_json
from .hostile_values import SPECIAL_NAMES

Path = tuple[str | int, ...]

ODD_VALUES: tuple[str, ...] = (
    *("null", "true", "false", "0", "-0", "-1", "1.5", "1e400", "-1e400", "1e-400", "NaN"),
    *("9007199254740993", "18446744073709551616", "-9223372036854775809", "1" + "0" * 400),
    *('""', '" "', '"\\u0000"', '"\\ud800"', '"\\udfff\\ud800"', '"\\u202e"', '"\\ufeff"'),
    *('"e\\u0301"', '"\\u2028"', '"__proto__"', '"null"', '"0"', '"true"', '"{}"', '"../"'),
    *("[]", "[null]", "[[]]", "{}", '{"__proto__":{"a":1}}', '{"constructor":1}', '{"":null}'),
    *('{"toString":1}', '{"$ne":null}', '{"then":1}', '{"length":-1}', '{"toJSON":"x"}'),
)
"""JSON texts; some are numbers or texts that not every reader takes."""
DEPTHS = (1, 30, 400, 5_000)
LENGTHS = (300, 5_000, 100_000)
KINDS = (
    *("drop", "replace", "retype", "rename", "add", "double", "nest", "text", "bytes", "inside"),
    "body",
)


@dataclass(frozen=True)
class Changed:
    """What became of a message."""

    params: Any
    path: Path
    words: str
    ambiguous: bool = False
    """Readers may rightly differ on what it says: a member stands twice, say."""


class CannotChangeError(ValueError):
    """This change does not fit the message."""


def change_params(params: Any, change: Mapping[str, Any], *, deepest: int = DEPTHS[-1]) -> Changed:
    """`params` with this change; raises `CannotChangeError` if there is nothing to change.
    Nothing is nested deeper than `deepest`."""
    kind, at = str(change.get("kind")), int(change.get("at", 0))
    apply = _KINDS.get(kind)
    if apply is None:
        raise CannotChangeError(f"kind: got {kind!r}, expected one of {', '.join(_KINDS)}")
    places = [path for path, value in places_in(params) if _fits(kind, path, value)]
    if not places:
        raise CannotChangeError(f"nothing in this message can be changed by {kind!r}")
    path = places[int(change.get("place", 0)) % len(places)]
    if kind == "nest":
        return _nest(params, path, at, deepest)
    return apply(params, path, at)


def change_body(body: bytes, change: Mapping[str, Any]) -> tuple[bytes, str]:
    """The bytes of a whole message, with one change of them."""
    at, place = int(change.get("at", 0)), int(change.get("place", 0)) % max(1, len(body))
    way = at % 6
    if way == 0:
        return body[:place], f"cut after {place} bytes"
    if way == 1:
        changed = bytes([body[place] ^ (1 << (at // 6 % 8))])
        return body[:place] + changed + body[place + 1 :], f"a bit of byte {place} flipped"
    if way == 2:
        odd = _ODD_BYTES[at // 6 % len(_ODD_BYTES)]
        return body[:place] + odd + body[place:], f"{odd!r} before byte {place}"
    if way == 3:
        return body + body, "the whole message twice"
    if way == 4:
        encoding = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf-7")[at // 6 % 5]
        return body.decode("utf-8", "replace").encode(encoding), f"written in {encoding}"
    return b"[" + body + b"]", "the message in a list"


_ODD_BYTES = (b"\x00", b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\\", b'"')


def places_in(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Everything inside a JSON value, with its place, outer things first."""
    if path:
        yield path, value
    inside: Iterator[tuple[str | int, Any]] = iter(())
    if isinstance(value, Mapping):
        inside = iter(value.items())
    elif isinstance(value, list):
        inside = iter(enumerate(value))
    for name, one in inside:
        yield from places_in(one, (*path, name))


def in_words(path: Path) -> str:
    return ".".join(map(str, path)) or "params"


def bytes_in(text: Any) -> bytes | None:
    """The bytes of a base64 text in any of its alphabets, as lenient readers see them; None if it
    is no such text."""
    if not isinstance(text, str):
        return None
    kept = "".join(one for one in text if one.isascii() and (one.isalnum() or one in "+/-_"))
    plain = kept.replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain[: len(plain) - (len(plain) % 4 == 1)] + "==")
    except (ValueError, binascii.Error):
        return None


def clearly_another(honest: Any, changed: Any) -> bool:
    """Whether a value in the honest params became another that no reader takes for the same: not
    one that is left out, of another type, or spelled otherwise."""
    if isinstance(honest, Mapping) and isinstance(changed, Mapping):
        return any(
            name != "_meta" and name in changed and clearly_another(one, changed[name])
            for name, one in honest.items()
        )
    if isinstance(honest, list) and isinstance(changed, list):
        pairs = zip(honest, changed, strict=False)
        return any(clearly_another(one, other) for one, other in pairs)
    if isinstance(honest, bool) or isinstance(changed, bool):
        return isinstance(honest, bool) and isinstance(changed, bool) and honest != changed
    if isinstance(honest, (int, float)) and isinstance(changed, (int, float)):
        return honest != changed
    if isinstance(honest, str) and isinstance(changed, str):
        return _folded(honest) != _folded(changed)
    return False


def _folded(text: str) -> str:
    return "".join(one for one in text.casefold() if one.isalnum())


def another_value(value: Any) -> Any:
    """One that nobody approved, of the same type if there is one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    return f"{value}x" if isinstance(value, str) else [value]


def _fits(kind: str, path: Path, value: Any) -> bool:
    if kind in ("rename", "double"):
        return isinstance(path[-1], str)
    if kind == "add":
        return isinstance(value, (dict, list))
    if kind == "text":
        return isinstance(value, str)
    if kind == "inside":
        return isinstance(_object_in(value), dict)
    if kind == "bytes":
        return isinstance(value, str) and len(value) > 15 and bool(bytes_in(value))
    return True


# ---- the kinds


def _replaced(value: Any, path: Path, new: Callable[[Any], Any]) -> Any:
    """The value with what is at `path` replaced."""
    if not path:
        return new(value)
    name, rest = path[0], path[1:]
    if isinstance(value, list):
        assert isinstance(name, int)
        return [*value[:name], _replaced(value[name], rest, new), *value[name + 1 :]]
    return {**value, str(name): _replaced(value[name], rest, new)}


def _drop(params: Any, path: Path, _at: int) -> Changed:
    name = path[-1]

    def without(holder: Any) -> Any:
        if isinstance(holder, list):
            assert isinstance(name, int)
            return [*holder[:name], *holder[name + 1 :]]
        return {key: one for key, one in holder.items() if key != name}

    return Changed(_replaced(params, path[:-1], without), path, f"without {in_words(path)}")


def _replace(params: Any, path: Path, at: int) -> Changed:
    text = ODD_VALUES[at % len(ODD_VALUES)]
    shown = text if len(text) < 40 else f"{text[:20]}... ({len(text)} characters)"
    return Changed(
        _replaced(params, path, lambda _: RawJson(text)), path, f"{in_words(path)} = {shown}"
    )


def _retype(params: Any, path: Path, at: int) -> Changed:
    ways: tuple[tuple[str, Callable[[Any], Any]], ...] = (
        ("as text", lambda value: json.dumps(value) if not isinstance(value, str) else f"{value} "),
        ("in a list", lambda value: [value]),
        ("in an object", lambda value: {"value": value}),
        ("as a list of its characters", lambda value: list(str(value))[:400]),
        ("as its length", lambda value: len(str(value))),
    )
    words, way = ways[at % len(ways)]
    return Changed(_replaced(params, path, way), path, f"{in_words(path)} {words}")


def _rename(params: Any, path: Path, at: int) -> Changed:
    old = path[-1]
    new = (*SPECIAL_NAMES, str(old).upper(), f"{old} ", f"{old}\0")[at % (len(SPECIAL_NAMES) + 3)]

    def renamed(holder: Any) -> Any:
        return {(new if key == old else key): one for key, one in holder.items()}

    words = f"{in_words(path)} renamed to {new!r}"
    return Changed(_replaced(params, path[:-1], renamed), path, words)


def _add(params: Any, path: Path, at: int) -> Changed:
    name, text = SPECIAL_NAMES[at % len(SPECIAL_NAMES)], ODD_VALUES[at % len(ODD_VALUES)]

    def added(holder: Any) -> Any:
        if isinstance(holder, list):
            return [*holder, RawJson(text)]
        return {**holder, name: RawJson(text)}

    return Changed(_replaced(params, path, added), path, f"{in_words(path)} with {name!r} more")


def _double(params: Any, path: Path, at: int) -> Changed:
    name = path[-1]
    other = ODD_VALUES[at // 2 % len(ODD_VALUES)]

    def doubled(holder: Any) -> Any:
        genuine = to_json(holder)
        more = f"{json.dumps(name)}:{other}".encode()
        inside = genuine[1:-1]
        whole = inside + b"," + more if at % 2 else more + b"," + inside
        return RawJson(b"{" + whole + b"}")

    return Changed(
        _replaced(params, path[:-1], doubled), path, f"{in_words(path)} twice", ambiguous=True
    )


def _nest(params: Any, path: Path, at: int, deepest: int = DEPTHS[-1]) -> Changed:
    depth = min(deepest, DEPTHS[at % len(DEPTHS)])
    brackets = (b"[", b"]") if at // len(DEPTHS) % 2 else (b'{"a":', b"}")

    def nested(value: Any) -> Any:
        return RawJson(brackets[0] * depth + to_json(value) + brackets[1] * depth)

    return Changed(_replaced(params, path, nested), path, f"{in_words(path)} {depth} levels deep")


def _text(params: Any, path: Path, at: int) -> Changed:
    length = LENGTHS[at // 10 % len(LENGTHS)]
    ways: tuple[tuple[str, Callable[[str], str]], ...] = (
        ("with a blank behind it", lambda text: f"{text} "),
        ("with a blank before it", lambda text: f" {text}"),
        ("with a line end behind it", lambda text: f"{text}\n"),
        ("with a zero byte behind it", lambda text: f"{text}\0"),
        ("with a zero-width space inside", lambda text: f"{text[:1]}\u200b{text[1:]}"),
        ("without its last character", lambda text: text[:-1]),
        ("in the other case", lambda text: text.swapcase()),
        ("backwards", lambda text: text[::-1]),
        ("with half a pair behind it", lambda text: f"{text}\ud800"),
        (f"{length} times", lambda text: (text or "a") * (length // max(1, len(text)) + 1)),
    )
    words, way = ways[at % len(ways)]
    return Changed(_replaced(params, path, way), path, f"{in_words(path)} {words}")


def _bytes(params: Any, path: Path, at: int) -> Changed:
    def changed(text: str) -> str:
        data = bytes_in(text) or b""
        place = at // 4 % max(1, len(data))
        ways = (
            data[:place],
            data[:place] + bytes([data[place] ^ (1 << at % 8)]) + data[place + 1 :],
            data[:place] + b"\xff" + data[place:],
            data + data,
        )
        return base64.urlsafe_b64encode(ways[at % 4]).rstrip(b"=").decode("ascii")

    way = ("cut", "with a bit flipped", "with a byte more", "twice")[at % 4]
    return Changed(_replaced(params, path, changed), path, f"the bytes of {in_words(path)} {way}")


def _object_in(text: Any) -> Any:
    """The JSON that a base64 text carries, as WebAuthn's client data is carried; None if none."""
    data = bytes_in(text) or b""
    if not data.startswith(b"{"):
        return None
    try:
        return read_json(data)
    except JsonError:
        return None


def _inside(params: Any, path: Path, at: int) -> Changed:
    """A change of the JSON inside a base64 text."""
    inner_kinds = ("drop", "replace", "retype", "text", "rename")
    inner = {"kind": inner_kinds[at % 5], "place": at // 5 % 8, "at": at // 5}
    told: list[str] = []

    def changed(text: str) -> str:
        found = change_params(_object_in(text), inner)
        told.append(found.words)
        return base64.urlsafe_b64encode(to_json(found.params)).rstrip(b"=").decode("ascii")

    changed_params = _replaced(params, path, changed)
    return Changed(changed_params, path, f"inside {in_words(path)}: {told[0]}")


_KINDS: Mapping[str, Callable[[Any, Path, int], Changed]] = {
    "drop": _drop,
    "replace": _replace,
    "retype": _retype,
    "rename": _rename,
    "add": _add,
    "double": _double,
    "nest": _nest,
    "text": _text,
    "bytes": _bytes,
    "inside": _inside,
}
