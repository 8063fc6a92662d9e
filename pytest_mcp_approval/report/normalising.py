"""The gist of an answer: without anything that differs in every run or variant of a check.

Two answers with the same gist count as the same answer: numbers, identifiers, instants and
repetitions of what was sent do not count. The code, the reason and the effect (run or not run)
always do. Knows no family and no report.
"""

from __future__ import annotations

import re
from itertools import pairwise

_GAP = "…"
_GRADE = " (refused, but in other words)"
"""What a scenario adds to an answer."""
_KEPT = re.compile(
    r"""(?x)
      \berror\ -?\d+                                  # the code of a JSON-RPC error
    | (?<![\w.])-3\d{4}\b                             # the same, as an expectation names it
    | \bHTTP\ \d{3}\b
    | \brun\ \d+\ time(?:s\b|\(s\))                   # the effect
    | \b[01]\ (?:ran|runs?|executions?)\b
    | "(?:reason|code|error|status)"\s*:\s*(?:"[^"]{0,80}"|-?\d+)
    """
)
"""What always counts, including its numbers."""
_REFUSAL = re.compile(
    r"error (?P<code>-?\d+)\b.*?\"reason\"\s*:\s*\"(?P<reason>[^\"]{1,80})\"[^}]{0,200}\}?"
)
_INSTANT = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.]*(?:\ ?Z|\ ?[+-]\d\d:?\d\d)?"
    r"|\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"
)
_LONG_TOKEN = re.compile(r"[A-Za-z0-9_+/=-]{16,}")
_HEX = re.compile(r"\b(?=[a-f-]*\d)(?=[\d-]*[a-f])[0-9a-f][0-9a-f-]{6,}[0-9a-f]\b", re.IGNORECASE)
_QUOTED = re.compile(r'\\?"([^"]{0,200}?)\\?"|(?<!\w)\'([^\']{0,200})\'(?!\w)|`([^`]{0,200})`')
_PATH = re.compile(r"\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\])+")
_KIND = re.compile(
    r"\b(expected|received|got|given|found|instead of|is|was|not)(:?) (an? )?"
    r"(?:string|str|text|number|integer|int|float|boolean|bool|null|None|NoneType|undefined|nan|NaN"
    r"|array|list|object|dict)\b"
)
"""Which kind of value it was: that, too, repeats what was sent."""
_NUMBER = re.compile(r"(?<![\w.])[+-]?\d+(?:[.,]\d+)*(?:[eE][+-]?\d+)?(?: ?(?:ms|s))?(?!\w)")
_LONGEST = 4_000


def gist(text: str, sent: str = "") -> str:
    """What `text` says, without its numbers and identifiers; `sent` is what it may repeat."""
    text = " ".join(text[:_LONGEST].split()).replace(_GRADE, "")
    refusal = _REFUSAL.search(text)
    if refusal:
        # The reason is enough: the message says the same in varying words.
        before = _general(text[: refusal.start()], sent)
        after = _general(text[refusal.end() :], sent)
        return f"{before}error {refusal['code']} {refusal['reason']}{after}"
    parts: list[str] = []
    at = 0
    for kept in _KEPT.finditer(text):
        parts += [_general(text[at : kept.start()], sent), kept.group()]
        at = kept.end()
    return "".join([*parts, _general(text[at:], sent)])


def _general(text: str, sent: str) -> str:
    text = _INSTANT.sub(_GAP, text)
    text = _QUOTED.sub(lambda found: _quoted(found, sent), text)
    text = _LONG_TOKEN.sub(lambda found: _GAP if _is_random(found[0]) else found[0], text)
    text = _HEX.sub(_GAP, text)
    text = _PATH.sub(_GAP, text)
    text = _KIND.sub(rf"\1\2 {_GAP}", text)
    return _NUMBER.sub(_GAP, text)


def _quoted(found: re.Match[str], sent: str) -> str:
    """A name in quotes is one of what was sent, or of where it stood; a sentence says something."""
    inside = next(group for group in found.groups() if group is not None)
    return _GAP if " " not in inside or (sent and inside in sent) else found[0]


def _is_random(token: str) -> bool:
    """Whether it looks like base64, hexadecimal digits or a UUID, and not like words."""
    if any(letter.isdigit() for letter in token):
        return True
    turns = sum(a.islower() and b.isupper() for a, b in pairwise(token))
    return turns * 6 > len(token)
