"""Names of clients and secrets of OAuth that are nearly another one, beside those of all families.

Knows no rule.
"""

from __future__ import annotations

import base64
import re
from urllib.parse import quote, quote_plus

from ..base.look_alikes import (
    ALL_ESCAPED,
    BLANK_BEFORE,
    BLANK_BEHIND,
    CUT_AT_ITS_BEGINNING,
    CUT_AT_ITS_END,
    IN_ANOTHER_CASE,
    LINE_END_BEHIND,
    PADDING_BEHIND,
    Near,
    some,
)

_HEXADECIMAL = re.compile(r"[0-9A-Fa-f-]+")


def _half(text: str) -> int:
    return len(text) // 2


NAMES: Near = {
    **some("in capitals", CUT_AT_ITS_END, CUT_AT_ITS_BEGINNING, "in quotes"),
    "folded": str.casefold,
    "a Kelvin sign for its K": lambda name: name.replace("K", "\u212a", 1),
    "ss for a sharp s": lambda name: name.replace("\u00df", "ss"),
    "two blanks for one": lambda name: name.replace(" ", "  ", 1),
    "a tab for a blank": lambda name: name.replace(" ", "\t", 1),
    "a no-break space for a blank": lambda name: name.replace(" ", "\u00a0", 1),
    "without blanks": lambda name: name.replace(" ", ""),
    "hyphens for blanks": lambda name: name.replace(" ", "-"),
    "underscores for blanks": lambda name: name.replace(" ", "_"),
    "another last digit": lambda name: f"{name[:-1]}2",
    "a digit more": lambda name: f"{name}0",
    "its number as a fraction": lambda name: f"{name}.0",
    "a superscript digit": lambda name: f"{name[:-1]}\u00b9",
    "an Arabic digit": lambda name: f"{name[:-1]}\u0661",
    "a word before it": lambda name: f"My {name}",
    "a word behind it": lambda name: f"{name} (beta)",
    "escaped for a URL": quote,
    "escaped for a form": quote_plus,
    "an entity of HTML": lambda name: f"{name[:-1]}&#49;",
    "an escape of JSON": lambda name: f"{name[:-1]}\\u0031",
    "in base64": lambda name: base64.b64encode(name.encode()).decode(),
    "a line end behind it": lambda name: f"{name}\r\nx",
    **some("with a soft hyphen inside"),
    "a joiner behind it": lambda name: f"{name}\u200dx",
    "a comment behind it": lambda name: f"{name}'--",
    "an index behind it": lambda name: f"{name}[0]",
}
"""Other names than `NAMED`, each of them. Blanks at the ends are left out, and what some languages
take for one (U+FEFF, NUL): a reading allows to take them off."""
NAMED = "Kiosk Stra\u00dfe {} 1"
"""A name of which all of those are different; in braces what makes it new."""

PAIRS: dict[str, tuple[str, str]] = {
    "a longer name": ("Cursor {mark}", "Cursor {mark} 2"),
    "a Cyrillic letter": ("Cursor {mark}", "\u0421ursor {mark}"),
    "another Unicode form": ("Caf\u00e9 {mark}", "Cafe\u0301 {mark}"),
    "full-width letters": ("Cursor {mark}", "\uff23ursor {mark}"),
    "a zero-width space": ("Cursor {mark}", "Cur\u200bsor {mark}"),
    "a direction mark": ("Cursor {mark}", "\u202eCursor {mark}"),
    "a wildcard": ("Cursor {mark}", "* {mark}"),
    "a pattern": ("Cursor {mark}", "Cursor% {mark}"),
    "a path": ("Cursor {mark}", "../Cursor {mark}"),
    "a NUL in it": ("Cursor {mark}", "Cursor {mark}\x00x"),
    "a line break": ("Cursor {mark}", "Cursor {mark}\nClaude"),
    "markup": ("Cursor {mark}", "<b>Cursor {mark}</b>"),
    "an entity of HTML": ("R&D {mark}", "R&amp;D {mark}"),
    "a colon for a slash": ("a/b {mark}", "a:b {mark}"),
    "a path that leads back": ("Cursor {mark}", "x/../Cursor {mark}"),
    "other letters beyond ASCII": (
        "\u041a\u043b\u0438\u0435\u043d\u0442 {mark}",
        "\u041a\u043b\u0438\u0435\u043d\u0432 {mark}",
    ),
    "an emoji behind it": ("Claude {mark}", "Claude {mark}\U0001f600"),
    "a star in the first": ("Wind* {mark}", "Windsurf {mark}"),
    "a per cent sign in the first": ("Zed% {mark}", "Zedit {mark}"),
    "a dot in the first": ("Go.se {mark}", "Goose {mark}"),
    "a dot in the second": ("Cursor {mark}", "Cu.sor {mark}"),
    "one hash code in Java": ("AaAa {mark}", "BBBB {mark}"),
    "a number as a fraction": ("{number}", "{number}.0"),
    "a number with an exponent": ("{number}", "{number}e0"),
    "a number with a nought before it": ("{number}", "0{number}"),
}
"""Two names each that become one if they are read as something else."""

SECRETS: Near = {
    CUT_AT_ITS_END: lambda text: text.rstrip("=")[:-1],  # padding counts for nothing
    **some(CUT_AT_ITS_BEGINNING, IN_ANOTHER_CASE, "with more behind it", "its first half"),
    "with another beginning": lambda text: f"{'A' * _half(text)}{text[_half(text) :]}",
    "with another end": lambda text: f"{text[: _half(text)]}{'A' * (len(text) - _half(text))}",
    "with another middle": lambda text: f"{text[:8]}{'A' * (len(text) - 16)}{text[-8:]}",
    "a wildcard": lambda _: "*",
    "a pattern": lambda text: f"{text[:4]}%",
    "null": lambda _: "null",
    "__proto__": lambda _: "__proto__",
}
"""Not a code, token, verifier or state, though nearly."""
WHOLE_SECRETS: Near = some(BLANK_BEFORE, BLANK_BEHIND, LINE_END_BEHIND, PADDING_BEHIND, ALL_ESCAPED)
"""Whoever has one of these has the whole secret: to take it for that is a warning."""


def is_whole(what: str, secret: str) -> bool:
    """Whether that is still the whole secret: a number in hexadecimal, or a UUID, is the same in
    either case."""
    hexadecimal = bool(_HEXADECIMAL.fullmatch(secret))
    return what in WHOLE_SECRETS or (what == IN_ANOTHER_CASE and hexadecimal)
