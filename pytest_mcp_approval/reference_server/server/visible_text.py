"""Makes text safe to show to a person who is about to approve something.

What cannot be seen, or changes how its neighbours are seen, is written as an escape instead.
Knows no tool and no specification.
"""

from __future__ import annotations

import unicodedata

# Invisible although their category is that of a letter or a mark (Unicode: default ignorable).
_IGNORABLE = (
    frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
    | {chr(code) for code in range(0x180B, 0x1810)}
    | {chr(code) for code in range(0xFE00, 0xFE10)}
    | {chr(code) for code in range(0xE0100, 0xE01F0)}
)
# Control, format (bidi and zero-width among them), surrogate, private, unassigned; separators.
_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"))


def visible(text: str) -> str:
    """The text on one line, with every character visible."""
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character == " ":
        return character
    if character not in _IGNORABLE and unicodedata.category(character) not in _CATEGORIES:
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
