"""Texts that are nearly another one: what a loose or partial comparison takes for the same.

Each is made from the text by a function, under words that follow it in a finding ("a code, in
another case"). Knows no rule: which of them are other texts to a family, its scenarios say.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping

Near = Mapping[str, Callable[[str], str]]


def _full_width(text: str) -> str:
    last = text[-1:]
    wide = chr(ord(last) + 0xFEE0) if last and "!" <= last <= "~" else "\uff41"
    assert unicodedata.normalize("NFKC", wide) != wide
    return f"{text[:-1]}{wide}"


def _other(text: str, place: int) -> str:
    """With another character there."""
    return f"{text[:place]}{'y' if text[place : place + 1] == 'x' else 'x'}{text[place + 1 :]}"


def _half(text: str) -> int:
    return len(text) // 2


IN_ANOTHER_CASE = "in another case"
BLANK_BEHIND, BLANK_BEFORE = "with a blank behind it", "with a blank before it"
LINE_END_BEHIND, PADDING_BEHIND = "with a line end behind it", "with padding behind it"
ALL_ESCAPED = "with every character as a percent escape"
CUT_AT_ITS_END, CUT_AT_ITS_BEGINNING = "without its last character", "without its first character"

LOOK_ALIKES: Near = {
    "in capitals": str.upper,
    "in small letters": str.lower,
    IN_ANOTHER_CASE: str.swapcase,
    BLANK_BEHIND: lambda text: f"{text} ",
    BLANK_BEFORE: lambda text: f" {text}",
    "with a tab behind it": lambda text: f"{text}\t",
    LINE_END_BEHIND: lambda text: f"{text}\n",
    "with a carriage return behind it": lambda text: f"{text}\r",
    "with a no-break space behind it": lambda text: f"{text}\u00a0",
    "with a zero byte behind it": lambda text: f"{text}\0",
    "with a zero byte and more behind it": lambda text: f"{text}\0x",
    "with a zero-width space behind it": lambda text: f"{text}\u200b",
    "with a zero-width space inside": lambda text: f"{text[:1]}\u200b{text[1:]}",
    "with a soft hyphen inside": lambda text: f"{text[:3]}\u00ad{text[3:]}",
    "with a byte order mark before it": lambda text: f"\ufeff{text}",
    "with a full-width character": _full_width,
    "with a percent escape": lambda text: f"%{ord(text[:1] or 'a'):02x}{text[1:]}",
    ALL_ESCAPED: lambda text: "".join(f"%{ord(one):02X}" for one in text),
    "with an entity of HTML": lambda text: f"&#{ord(text[:1] or 'a')};{text[1:]}",
    "with hyphens for underscores": lambda text: text.replace("_", "-"),
    "with underscores for hyphens": lambda text: text.replace("-", "_"),
    "without its underscores": lambda text: text.replace("_", ""),
    "in quotes": lambda text: f'"{text}"',
    "in brackets": lambda text: f"[{text}]",
    "with a full stop behind it": lambda text: f"{text}.",
    "with a slash behind it": lambda text: f"{text}/",
    "with a comma behind it": lambda text: f"{text},",
    PADDING_BEHIND: lambda text: f"{text}=",
    "with a per cent sign behind it": lambda text: f"{text}%",
    "with a per cent sign for its end": lambda text: f"{text[:-1]}%",
    "with an underscore for its last character": lambda text: f"{text[:-1]}_",
    "with a star for its end": lambda text: f"{text[:-1]}*",
    CUT_AT_ITS_END: lambda text: text[:-1],
    CUT_AT_ITS_BEGINNING: lambda text: text[1:],
    "its first half": lambda text: text[: _half(text)],
    "with more behind it": lambda text: f"{text}x",
    "with more before it": lambda text: f"x{text}",
    "twice": lambda text: f"{text}{text}",
    "backwards": lambda text: text[::-1],
    "with another last character": lambda text: _other(text, len(text) - 1),
    "with another character in its middle": lambda text: _other(text, _half(text)),
    "with another first character": lambda text: _other(text, 0),
}


def some(*names: str) -> dict[str, Callable[[str], str]]:
    """Of the table, these."""
    return {name: LOOK_ALIKES[name] for name in names}


def nearly(text: str, kinds: Near = LOOK_ALIKES) -> dict[str, str]:
    """What these make of a text, each once: a short one, or one of digits, can come out as itself,
    or as nothing."""
    made: dict[str, str] = {}
    for what, near in kinds.items():
        other = near(text)
        if other not in ("", text, *made.values()):
            made[what] = other
    return made
