"""What the command prints: plain lines, in colour only where somebody looks at a terminal that
shows it, and readable where the terminal knows no Unicode. Knows no word of the command."""

from __future__ import annotations

import codecs
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import TextIO

_HANDLER = "mcp-approval"
_PLAIN = {
    "●": "+",
    "✗": "x",
    "○": "o",
    "·": "|",
    "…": "...",
    "→": "->",
    "§": "section ",
    "≥": ">=",
    "≤": "<=",
    "\u00d7": "x",
    "\u2013": "-",
    "\u2014": "-",
    "\u2018": "'",
    "\u2019": "'",
    "\u201c": '"',
    "\u201d": '"',
}
_COLOURS = {"red": "31", "green": "32", "yellow": "33", "bold": "1"}
_NARROWEST, _WIDEST = 40, 110


def be_readable() -> None:
    """Let output in an old encoding have substitutes for what it lacks, instead of failing."""
    codecs.register_error(_HANDLER, _substitute)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=_HANDLER)


def _substitute(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(_PLAIN.get(one, "?") for one in lost), error.end


def say(line: str = "", colour: str = "") -> None:
    """One line of output."""
    _write(sys.stdout, line, colour)


def complain(line: str) -> None:
    """One line about something that went wrong."""
    _write(sys.stderr, line, "red")


def say_row(name: str, text: str, colour: str = "") -> None:
    """A line with its name before it, wrapped to the width of the terminal."""
    for number, line in enumerate(wrapped(text, 11 + 2)):
        say(f"  {name if number == 0 else '':<11}{line}", colour)


def wrapped(text: str, indent: int = 0) -> list[str]:
    """The text in lines that fit beside an indentation."""
    width = max(_NARROWEST, columns() - indent)
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def columns() -> int:
    """The width of the terminal, but no more than can be read."""
    return min(_WIDEST, shutil.get_terminal_size((100, 24)).columns)


def say_all(lines: Iterable[str]) -> None:
    for line in lines:
        say(line)


def is_terminal() -> bool:
    """Whether somebody can be asked something."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def _write(stream: TextIO, line: str, colour: str) -> None:
    if colour and _shows_colour(stream):
        line = f"\x1b[{_COLOURS[colour]}m{line}\x1b[0m"
    print(line, file=stream, flush=True)


def _shows_colour(stream: TextIO) -> bool:
    """See no-color.org; an empty variable does not count."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()
