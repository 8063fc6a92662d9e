"""Ways to write a secret, and how much of it a text shows: for tests that nothing leaks."""

from __future__ import annotations

import base64
import html
import json
import shlex
from collections.abc import Callable
from functools import cache
from urllib.parse import quote


def percent(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


def units(text: str) -> str:
    data = text.encode("utf-16-be")
    return "".join(f"\\u{data[n] << 8 | data[n + 1]:04x}" for n in range(0, len(data), 2))


def after(number: int, encode: Callable[[bytes], str]) -> Callable[[str], str]:
    """The text after `number` bytes of something else, encoded together."""
    return lambda text: encode(b"." * number + text.encode())


SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "JSON": json.dumps,
    "JSON with slashes escaped": lambda text: json.dumps(text).replace("/", "\\/"),
    "JSON without ASCII": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON in JSON": lambda text: json.dumps(json.dumps(text)),
    "JSON in JSON in JSON": lambda text: json.dumps(json.dumps(json.dumps(text))),
    "every unit of UTF-16": units,
    "every third unit": lambda text: "".join(
        units(one) if number % 3 == 0 else json.dumps(one)[1:-1] for number, one in enumerate(text)
    ),
    "percent": lambda text: quote(text, safe=""),
    "percent, some": lambda text: quote(text, safe="/&<>\"'\\"),
    "percent, all and in small letters": percent,
    "percent twice": lambda text: quote(quote(text, safe=""), safe=""),
    "percent in JSON": lambda text: json.dumps({"to": f"/?t={quote(text)}"}),
    "HTML": html.escape,
    "HTML in numbers": lambda text: "".join(f"&#{ord(one)};" for one in text),
    "HTML in hexadecimal numbers": lambda text: "".join(f"&#x{ord(one):X};" for one in text),
    "HTML in JSON": lambda text: json.dumps(html.escape(text)),
    "Python": repr,
    "bytes of Python": lambda text: repr(text.encode()),
    "a shell's word": shlex.quote,
    "hexadecimal digits": lambda text: text.encode().hex(),
    "folded": lambda text: f"{text[:9]}\r\n   {text[9:]}",
    "folded in JSON": lambda text: json.dumps(f"{text[:9]}\n{text[9:]}"),
    **{
        f"{name} after {before} bytes": after(before, encode)
        for before in range(4)
        for name, encode in {
            "base64": lambda data: base64.b64encode(data + b"...").decode(),
            "base64 for URLs": lambda data: base64.urlsafe_b64encode(data).decode().rstrip("="),
            "base64 in lines": lambda data: base64.encodebytes(b"." * 60 + data).decode(),
            "base64 in JSON in lines": lambda data: json.dumps(
                base64.encodebytes(b"." * 60 + data).decode()
            ),
        }.items()
    },
    "JSON in base64": lambda text: base64.b64encode(json.dumps({"a": text}).encode()).decode(),
}


def alike(one: str, other: str) -> int:
    """How many characters two texts have in common from their beginning."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)


@cache
def pieces(spelling: str, secret: str, worth: int = 5) -> frozenset[str]:
    """All pieces of a spelled secret that reveal `worth` characters of it."""
    spell = SPELLINGS[spelling]
    spelled, others = spell(secret), spell("".join(chr(ord(one) ^ 1) for one in secret))
    # Parts that are the same for another secret (quotation marks, what is around it) reveal
    # nothing.
    lead = alike(spelled, others)
    trail = alike(spelled[lead:][::-1], others[lead:][::-1])
    told = spelled[lead : len(spelled) - trail]
    size = worth * len(told) // len(secret) + 1
    return frozenset(told[at : at + size] for at in range(len(told) - size + 1))


def leaks(shown: str, spelling: str, secret: str) -> list[str]:
    """The visible pieces of a spelled secret that reveal five characters of it."""
    return sorted(piece for piece in pieces(spelling, secret) if piece in shown)
