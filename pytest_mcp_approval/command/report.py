"""`mcp-approval report merge` and `compare`: what can be done with reports that runs have left."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..config.report_files import FORMATS
from ..report.comparison import compare, read_earlier
from ..report.merged_files import merge_files
from ..report.terminal import comparison_lines
from ..support.nearest import expected
from ..support.text import neutralise
from .console import columns, complain, say
from .parsing import Parser, WrongWordsError

PROGRAM = "mcp-approval report"
_WORDS = ("merge", "compare")
_MERGE = """\
Make one report of the JSON reports of several jobs: of a run that was split by --family or
--select, or of several servers. A check that occurs twice counts by its worst verdict.

  mcp-approval report merge job-*/approval.json -o approval.html -o approval.json"""
_COMPARE = """\
Show what got better and what got worse between two runs, by their JSON reports.

  mcp-approval report compare main.json mine.json"""


def run(words: Sequence[str]) -> int:
    word, *rest = [*words] or ["--help"]
    if word in ("-h", "--help"):
        say(f"usage: {PROGRAM} merge REPORT.json ... -o PATH     one report of several")
        say(f"       {PROGRAM} compare OLD.json NEW.json      what got better and worse")
        return 0
    if word not in _WORDS:
        raise WrongWordsError(f"got {neutralise(word, 100)!r}, {expected(word, _WORDS)}")
    return _merge(rest) if word == "merge" else _compare(rest)


def _merge(words: Sequence[str]) -> int:
    parser = Parser(
        f"{PROGRAM} merge",
        _MERGE,
        usage=f"{PROGRAM} merge REPORT.json ... [-o PATH] ...",
        epilog="Exit code 1 if a MUST is broken in any of them (or a SHOULD, in a strict run).",
    )
    parser.add_argument("reports", metavar="REPORT.json", nargs="+", type=Path, help="of the jobs")
    parser.add_argument(
        *("-o", "--report"),
        action="append",
        default=[],
        metavar="PATH",
        type=Path,
        help=f"write the merged report: {', '.join(FORMATS)}; repeatable",
    )
    given = parser.read(words)
    for path in given.report:
        if path.suffix.lower() not in FORMATS:
            raise WrongWordsError(
                f"-o: got {str(path)!r}, expected an ending of {', '.join(FORMATS)}"
            )
        if not path.parent.is_dir():
            raise WrongWordsError(f"-o: there is no folder {str(path.parent)!r}")
    return merge_files(given.reports, given.report, width=columns(), say=say, complain=complain)


def _compare(words: Sequence[str]) -> int:
    parser = Parser(
        f"{PROGRAM} compare",
        _COMPARE,
        usage=f"{PROGRAM} compare OLD.json NEW.json",
        epilog="Exit code 1 if a rule got worse.",
    )
    parser.add_argument("old", metavar="OLD.json", type=Path)
    parser.add_argument("new", metavar="NEW.json", type=Path)
    given = parser.read(words)
    label = "compare"
    old, new = (read_earlier(path, str(path), label) for path in (given.old, given.new))
    found = compare(old, new.rules)
    for line in comparison_lines(found):
        say(neutralise(line, 400))
    return 1 if found.worse else 0
