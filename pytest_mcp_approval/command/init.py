"""`mcp-approval init`: looks at a server and writes its first settings file. Runs no tool but those
that the user named as safe: whether one asks by elicitation shows only when it is called."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..config.options import FILE, OPTIONS
from ..config.settings import check_file, settings_of_line
from ..families.base.survey import ASK_NOBODY, named_by_reason, silent_tools
from ..report.files import write_whole
from ..support.guard import TemporaryFolder
from ..support.text import listed_shortly, neutralise, number_of
from .asking import ask_all, ask_to_try, confirmed
from .check import server_options
from .console import complain, is_terminal, say, say_row
from .looking import NothingSeenError, Seen, look_at
from .parsing import Parser, WrongWordsError
from .settings_text import Answers, missing_in, settings_text

PROGRAM = "mcp-approval init"
NOTHING_SEEN = 10
_DESCRIPTION = f"""\
Look at a server, and write a settings file for it: {FILE}.

  mcp-approval init http://localhost:3000/mcp
  mcp-approval init 'stdio:node server.js'
  mcp-approval init .mcp.json --server shop

  mcp-approval init http://localhost:3000/mcp --tool 'delete_user={{"id": "test-1"}}'

It lists and asks, and runs no tool but those that you name, with arguments that are safe: whether
a tool asks by elicitation shows only when it is called. On a terminal it asks what it cannot find
out; else it writes what it found, and says in comments what is missing."""
_TAKEN = (
    *("header", "header-from", "environment", "environment-from", "directory", "timeout"),
    "tool",
)
_MOST = 8
_STDOUT = Path("-")


def run(words: Sequence[str]) -> int:
    given = _parser().read(words)
    if given.output != _STDOUT and not given.output.parent.is_dir():
        raise WrongWordsError(f"--output: there is no folder {str(given.output.parent)!r}")
    asks = is_terminal() and not given.no_input and given.output != _STDOUT
    if not _may_write(given.output, given.force, asks):
        return 1
    own = {option.name: getattr(given, option.destination, None) for option in OPTIONS}
    options = server_options([given.target], given.server, {k: v for k, v in own.items() if v})
    settings = settings_of_line(options, Path.cwd())
    try:
        seen = look_at(settings)
    except NothingSeenError as error:
        complain(f"{PROGRAM}: {neutralise(str(error), 600)}")
        if error.advice:
            complain(f"{'':14}{error.advice}")
        return NOTHING_SEEN
    answers = Answers(
        settings.targets[0],
        tools=dict(settings.tools),
        headers_from=_drawn(options, "header", ":"),
        environment_from=_drawn(options, "environment", "="),
        directory=str(options.get("directory") or ""),
    )
    if given.output == _STDOUT:
        print(settings_text(seen, answers), end="")
        return 0
    _say_seen(seen, settings.tools)
    if asks:
        if ask_to_try(seen, answers):
            seen = look_at(replace(settings, tools=answers.tools))
            _say_families(seen, answers.tools)
        ask_all(seen, answers)
    text = settings_text(seen, answers)
    _check(text)
    write_whole(given.output, text)
    _say_written(given.output, text, runs_something=bool(answers.tools))
    return 0


def _parser() -> Parser:
    found = Parser(PROGRAM, _DESCRIPTION, usage=f"{PROGRAM} SERVER [options]")
    found.add_argument("target", metavar="SERVER", help="see above")
    found.add_argument("--server", metavar="NAME", help="which server of the JSON file")
    found.add_argument(
        "--output", metavar="PATH", type=Path, default=Path(FILE), help="another file; -: print it"
    )
    found.add_argument("--force", action="store_true", help="replace a file that is there")
    found.add_argument("--no-input", action="store_true", help="ask nothing")
    for option in OPTIONS:
        if option.name in _TAKEN:
            action = "append" if option.repeatable else "store"
            found.add_argument(
                f"--{option.name}",
                dest=option.destination,
                metavar=option.metavar,
                action=action,
                help=option.help,
            )
    return found


def _may_write(path: Path, force: bool, asks: bool) -> bool:
    """Never over somebody's file, unless that was said."""
    if path == _STDOUT or force or not path.exists():
        return True
    if asks:
        return confirmed(f"{path} is there already. Replace it?")
    raise WrongWordsError(f"{path} is there already: --force replaces it, --output names another")


def _drawn(options: Mapping[str, Any], name: str, sign: str) -> dict[str, str]:
    """Headers or variables for the file. Values may be secret, so the file has only the name of a
    variable to take each from."""
    found: dict[str, str] = {}
    for text in options.get(name) or ():
        key = text.partition(sign)[0].strip()
        found[key] = f"{{env:{re.sub(r'[^A-Za-z0-9]+', '_', key).upper()}}}"
    for text in options.get(f"{name}-from") or ():
        key, _, value = text.partition(sign)
        found[key.strip()] = value.strip()
    return found


def _say_seen(seen: Seen, tried: Collection[str]) -> None:
    tools = number_of(len(seen.tools), "tool")
    say_row("looking", f"{seen.server}, MCP {seen.revision} ({seen.era} era), {tools}")
    _say_families(seen, tried)
    say_row("clock", f"{seen.clock}" if seen.clock else f"none: {seen.why_no_clock}")
    for problem in seen.problems:
        say_row("note", problem, "yellow")


def _say_families(seen: Seen, tried: Collection[str]) -> None:
    for family, proposal in seen.proposals.items():
        say_row("asks", f"{family}: {proposal.asks}")
    if seen.only_in:
        told = f"it asks in MCP {seen.only_in}, and not in the newer revision that it speaks, too"
        say_row("note", told, "yellow")
    called = [neutralise(name, 40) for name in tried if name not in seen.gated]
    if called:
        say_row("called", f"{listed_shortly(called, _MOST)}: no question came", "yellow")
    elif not seen.proposals:
        say_row(
            "asks",
            "nothing that it lists shows how it asks for approval; the families: "
            "mcp-approval explain",
            "yellow",
        )
    silent = silent_tools(seen.tools, seen.gated)
    if silent:
        say_row("silent", f"{named_by_reason(silent, _MOST)}{ASK_NOBODY}", "yellow")


def _check(text: str) -> None:
    """What we write must be readable: an error here is ours."""
    with TemporaryFolder() as folder:
        (Path(folder) / FILE).write_text(text, encoding="utf-8")
        check_file(Path(folder))


def _say_written(path: Path, text: str, *, runs_something: bool) -> None:
    lines = number_of(len(text.splitlines()), "line")
    missing = missing_in(text)
    told = f"{path} ({lines})."
    if missing:
        told += f" It says what is missing ({number_of(missing, 'place')} marked MISSING)."
    say_row("wrote", told)
    word = "mcp-approval check" if path == Path(FILE) else f"(named {FILE}) mcp-approval check"
    if not runs_something:
        # Without this, a check has nothing to run, and says so.
        say_row("first", f"in {path}, name a tool that asks, with arguments that are safe to run")
    say_row("next", word)
    say()
