"""Makes untrusted text safe for a terminal, a log or a report.

The server under test writes the messages that we print: it could colour the screen, move the
cursor, write right to left, fill the log or repeat a secret. Secrets are hidden before anything is
cut: half a secret may not be found any more.
"""

import re
from collections.abc import Sequence

from pytest_mcp_approval.support.secrets import beginning, hide, reach

_ESCAPE_CUT_SHORT = re.compile(r"\\(u[0-9a-f]{0,3}|U[0-9a-f]{0,7}|x[0-9a-f]?)?$")
_SENTENCE_END = re.compile(r"[.!?](?= )")
_SHORTEST_SENTENCE = 8
"""Characters: an earlier full stop belongs to an abbreviation."""
_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Characters that count as printable but are invisible."""
_LOOKED_AT = 64 * 1024
"""How much of an endless text is searched for its first or last lines."""


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
    # Look only at what can be shown: a hostile text may be megabytes long.
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


def number_of(count: int, thing: str) -> str:
    """For example "1 rule" or "2 rules"."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def listed_shortly(texts: Sequence[str], most: int) -> str:
    """The first of some texts that are safe to print, and how many more there are."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def first_line(text: str | bytes, limit: int = 200) -> str:
    """The first line that says something, neutralised."""
    lines = _hidden(text.lstrip()[:_LOOKED_AT]).splitlines() or [""]
    return neutralise(lines[0], limit)


def first_sentence(text: str, limit: int = 200) -> str:
    """The text up to the end of its first sentence, line breaks as spaces, neutralised."""
    # Most of it may be white space; only a limited part is looked at.
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
    """Hide secrets before splitting into lines: a secret may have several lines."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    return hide(text)
