"""Text of a stranger, made fit for a terminal, a log or a report.

Knows nothing of where the text came from. A server under test writes the messages that we print: it
could colour the screen, move the cursor, write right to left, fill the log or repeat what it was
told in confidence. The last is hidden first: half a secret is not found any more.
"""

import re

from pytest_mcp_approval.support.secrets import beginning, hide, reach

_ESCAPE_CUT_SHORT = re.compile(r"\\(u[0-9a-f]{0,3}|U[0-9a-f]{0,7}|x[0-9a-f]?)?$")
_SENTENCE_END = re.compile(r"[.!?](?= )")
_SHORTEST_SENTENCE = 8
"""Characters: a full stop before that belongs to an abbreviation."""
_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Characters that count as printable, and show nothing."""
_LOOKED_AT = 64 * 1024
"""Where the first or last lines of something endless are looked for."""


def _spell(character: str) -> str:
    if character.isprintable() and character not in _BLANK_LETTERS:
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def neutralise(text: str | bytes, limit: int = 200) -> str:
    """`text` on one line with every control, format, bidi and invisible character spelled as
    \\uXXXX.

    At most about `limit` characters; what is left out is counted. Bytes that are not UTF-8 are
    shown as \\xNN.
    """
    # Only what can be shown is looked at: a hostile text may be megabytes long.
    if isinstance(text, bytes):
        seen = text[: limit * 4 + 4 * reach()].decode("utf-8", "backslashreplace")
        whole, unit = len(text) <= limit * 4, "bytes"
    else:
        seen = text[: limit + 1 + reach()]
        whole, unit = len(text) <= limit, "characters"
    shown = hide(seen, cut=not whole)[: limit * 4]
    if not (shown.isascii() and shown.isprintable()):
        shown = "".join(map(_spell, shown[: limit + 1]))
    if whole and len(shown) <= limit:
        return shown
    return f"{_ESCAPE_CUT_SHORT.sub('', shown[:limit])}… ({len(text)} {unit})"


def first_line(text: str | bytes, limit: int = 200) -> str:
    """The first line that says something, neutralised."""
    lines = _hidden(text.lstrip()[:_LOOKED_AT]).splitlines() or [""]
    return neutralise(lines[0], limit)


def first_sentence(text: str, limit: int = 200) -> str:
    """To the end of the first sentence, line breaks as spaces, neutralised."""
    # White space may be most of it; only so much is looked at.
    seen = beginning(text, limit * 8)
    words = " ".join(seen.split())
    end = _SENTENCE_END.search(words, _SHORTEST_SENTENCE)
    if words and end is None and len(seen) < len(text):
        return neutralise(words, limit).partition("… (")[0] + f"… ({len(text)} characters)"
    return neutralise(words[: end.end()] if end else words, limit)


def last_lines(text: str | bytes, lines: int = 3, limit: int = 300) -> str:
    """The last lines that say something, neutralised and joined by " | "."""
    said = _hidden(text[-_LOOKED_AT:]).splitlines()
    found = [line.strip() for line in said if line.strip()][-lines:]
    return " | ".join(neutralise(line, limit // max(1, len(found))) for line in found)


def _hidden(text: str | bytes) -> str:
    """Before it is divided into lines: a secret may have several."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    return hide(text)
