"""States that the server did not make: its own, changed as text, and ones made from what it shows.

A state is opaque, so it is changed character by character, cut, lengthened and spelled otherwise.
Where anybody can read it, it is also rewritten: what has no seal takes that for its own. Knows no
server and no verdicts.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

SAME_BYTES = "the same bytes in another spelling"
_POSITIONS = 40
_BASE64 = re.compile(r"[A-Za-z0-9+/_=-]+")
_HEXADECIMAL = re.compile(r"(?:[0-9a-fA-F]{2})+")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@dataclass(frozen=True)
class Spelling:
    """How a part of a state is written, and what it says when it is read."""

    name: str
    data: bytes

    def write(self, data: bytes, like: str) -> str:
        if self.name == "hexadecimal":
            return data.hex() if like == like.lower() else data.hex().upper()
        if self.name == "plain":
            return data.decode("utf-8", "replace")
        altchars = b"-_" if self.name == "base64url" else b"+/"
        text = base64.b64encode(data, altchars).decode()
        return text if like.endswith("=") or len(like) % 4 == 0 else text.rstrip("=")


def spelling_of(text: str) -> Spelling | None:
    """How a text can be read: hexadecimal, base64 of either alphabet, or as it is."""
    if _HEXADECIMAL.fullmatch(text) and len(text) > 8:
        return Spelling("hexadecimal", bytes.fromhex(text))
    if _BASE64.fullmatch(text) and len(text) > 3:
        name = "base64" if re.search(r"[+/]", text) else "base64url"
        altchars = b"+/" if name == "base64" else b"-_"
        padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
        try:
            return Spelling(name, base64.b64decode(padded, altchars, validate=True))
        except (binascii.Error, ValueError):
            return None
    return Spelling("plain", text.encode("utf-8", "replace")) if text[:1] in "{[" else None


def same_bytes(state: str, changed: str) -> bool:
    """Whether a change leaves every part of it the same when it is read."""
    if state.strip() == changed.strip() or state.rstrip("=") == changed.rstrip("="):
        return True
    parts, others = re.split(r"[.:|~]", state), re.split(r"[.:|~]", changed)
    if len(parts) != len(others):
        return False
    for one, other in zip(parts, others, strict=True):
        if one != other:
            if _UUID.fullmatch(one) and one.lower() == other.lower():
                continue
            read, again = spelling_of(one), spelling_of(other)
            if read is None or again is None or read.data != again.data:
                return False
    return True


def changed_states(state: str) -> dict[str, str]:
    """Every change, by what it is; the state itself is not among them."""
    found: dict[str, str] = {}
    for name, text in _changes(state):
        if text != state and text not in found.values():
            found[name] = text
    return found


def _changes(state: str) -> Iterator[tuple[str, str]]:
    for at in _positions(len(state)):
        yield f"character {at} changed", f"{state[:at]}{_another(state[at])}{state[at + 1 :]}"
    half = len(state) // 2
    yield "in another case", state.swapcase()
    yield "its second half in another case", f"{state[:half]}{state[half:].swapcase()}"
    yield "its first character left out", state[1:]
    yield "its last character left out", state[:-1]
    yield "its last eight left out", state[:-8]
    yield "its first half", state[:half]
    yield "its second half", state[half:]
    yield "one character more", f"{state}A"
    yield "one character in front", f"A{state}"
    yield "doubled", f"{state}{state}"
    yield "backwards", state[::-1]
    yield (
        "two characters exchanged",
        f"{state[: half - 1]}{state[half : half - 2 : -1]}{state[half + 1 :]}",
    )
    yield "a zero byte behind it", f"{state}\0"
    yield "a blank behind it", f"{state} "
    yield "padding behind it", f"{state}="
    yield "encoded once more", base64.urlsafe_b64encode(state.encode()).decode()
    yield "its beginning replaced", f"{'A' * half}{state[half:]}"
    yield "its end replaced", f"{state[:half]}{'A' * (len(state) - half)}"
    yield from _without_seals(state)
    yield from _of_tokens(state)
    # What anybody can read, written anew with a blank or a member more: no seal, no refusal.
    yield from rewritings(state, {})


def _positions(length: int) -> list[int]:
    """All of a short one; of a long one both ends, and places all over it."""
    if length <= _POSITIONS:
        return list(range(length))
    step = (length - 1) / (_POSITIONS - 1)
    spread = {round(number * step) for number in range(_POSITIONS)}
    return sorted(spread | {0, 1, 2, length - 3, length - 2, length - 1})


def _another(character: str) -> str:
    """Another one of the same kind, which differs in a bit that counts."""
    if character.isdigit():
        return str((int(character) + 5) % 10)
    if character.isalpha() and character.isascii():
        first = ord("a") if character.islower() else ord("A")
        return chr(first + (ord(character) - first + 13) % 26)
    return {"-": "A", "_": "B", "+": "A", "/": "B", "=": "A"}.get(character, "A")


def _without_seals(state: str) -> Iterator[tuple[str, str]]:
    """Where parts are set off by a mark: without each of them, with an empty one, with one in
    another case, and with one more."""
    for mark in ".:|~":
        parts = state.split(mark)
        if 1 < len(parts) <= 6:
            for at in range(len(parts)):
                rest = [*parts[:at], *parts[at + 1 :]]
                yield f"without its part {at + 1}", mark.join(rest)
                yield f"its part {at + 1} empty", mark.join([*parts[:at], "", *parts[at + 1 :]])
                folded = [*parts[:at], parts[at].swapcase(), *parts[at + 1 :]]
                yield f"its part {at + 1} in another case", mark.join(folded)
            yield "one part more", f"{state}{mark}AAAA"
            yield "one part more, in front", f"AAAA{mark}{state}"
            yield "its parts exchanged", mark.join(reversed(parts))


def _of_tokens(state: str) -> Iterator[tuple[str, str]]:
    """A JSON Web Token with another algorithm, or none, or no signature."""
    parts = state.split(".")
    if len(parts) != 3:
        return
    header = _object(parts[0])
    if header is None or "alg" not in header:
        return
    for algorithm in ("none", "None", "NONE", "nOnE", "", "HS256"):
        other = _encoded({**header, "alg": algorithm})
        yield f"algorithm {algorithm!r}, no signature", f"{other}.{parts[1]}."
        yield f"algorithm {algorithm!r}, the old signature", f"{other}.{parts[1]}.{parts[2]}"


def rewritings(state: str, replaced: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The state with texts inside it replaced, and with another spelling of its JSON."""
    for mark, parts in _parted(state):
        for at, part in enumerate(parts):
            spelling = spelling_of(part)
            if spelling is None or not _readable(spelling.data):
                continue
            for name, data in _other_texts(spelling.data, replaced):
                written = [*parts[:at], spelling.write(data, part), *parts[at + 1 :]]
                yield f"rewritten ({name})", mark.join(written)


def _parted(state: str) -> Iterator[tuple[str, list[str]]]:
    yield "", [state]
    for mark in ".|~":
        if mark in state:
            yield mark, state.split(mark)


def _readable(data: bytes) -> bool:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return len(text) > 3 and all(one.isprintable() or one.isspace() for one in text)


def _other_texts(data: bytes, replaced: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    text = data.decode("utf-8")
    swapped = text
    for old, new in replaced.items():
        swapped = swapped.replace(old, new)
    if swapped != text:
        yield "other arguments", swapped.encode()
    if replaced:
        return
    try:
        value = json.loads(text)
    except ValueError:
        return
    if isinstance(value, dict):
        yield "a blank in it", text.replace("{", "{ ", 1).encode()
        yield "a member more", json.dumps({**value, "more": 1}).encode()
        yield "a yes in it", json.dumps({**value, "approved": True, "confirmed": True}).encode()


def _object(part: str) -> dict[str, Any] | None:
    spelling = spelling_of(part)
    try:
        found = json.loads(spelling.data) if spelling is not None else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _encoded(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")
