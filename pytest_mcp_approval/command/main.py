"""`mcp-approval WORD ...`: which word it is. Each word is a module, imported only if it was said,
with `SUMMARY`, `run(words)` and, where it has several, words of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from ..config.reader import SettingsError
from ..support.nearest import nearest
from ..support.text import neutralise
from ..support.version import own_version
from .console import be_readable, complain, say
from .parsing import USAGE, WrongWordsError

PROGRAM = "mcp-approval"
WORDS = {
    "check": "check a server by every rule of the approval specifications that it implements",
    "init": "look at a server, and write a settings file for it",
    "explain": "what a rule asks for, how it is tested, and what usually breaks it",
    "report": "merge the reports of several jobs, or compare two runs",
    "demo": "check the reference server, to see what a run looks like",
    "serve": "run the reference server, to try things out on it",
    "lint": "check settings files and baselines, without a server",
    "schema": "print the JSON Schema of mcp-approval.toml, for editors",
}
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: that of the run for `check`, 4 for words that make no sense."""
    be_readable()
    word, *rest = [*(sys.argv[1:] if arguments is None else arguments)] or ["--help"]
    program = PROGRAM
    try:
        if word in ("-h", "--help", "help"):
            _say_help()
            return 0
        if word in ("-V", "--version"):
            say(f"{PROGRAM} {own_version() or '(not installed)'}")
            return 0
        if word not in WORDS:
            raise WrongWordsError(_unknown(word))
        program = f"{PROGRAM} {word}"
        return int(import_module(f".{word}", __package__).run(rest))
    except (WrongWordsError, SettingsError) as error:
        complain(f"{program}: {error}")
        return USAGE
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # somebody has read enough, as in `mcp-approval explain ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0


def _say_help() -> None:
    say(f"{PROGRAM}: does your MCP server really ask a human first? A verdict for every rule.")
    say()
    for word, summary in WORDS.items():
        say(f"  {word:<9}{summary}")
    say()
    say(f"First steps:   {PROGRAM} init http://localhost:3000/mcp      (or stdio:<command line>)")
    say(f"               {PROGRAM} check")
    say(f"More about a word: {PROGRAM} check --help")


def _unknown(word: str) -> str:
    shown = repr(neutralise(word, 100))
    if word.startswith(("http://", "https://", "stdio:")) or word.endswith(".json"):
        return f"got {shown}, did you mean {PROGRAM} check {neutralise(word, 100)}?"
    guess = nearest(word, WORDS)
    meant = f"did you mean {guess!r}? " if guess else ""
    return f"got {shown}, {meant}expected one of {', '.join(WORDS)}"
