"""`mcp-approval check`: the suite against one server, with short options and sensible defaults."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..config.files import settings_folder
from ..config.options import FILE, OPTIONS, PREFIX, SET, TABLE
from ..config.program import command_program
from ..support.text import neutralise
from .parsing import Parser, WrongWordsError
from .running import REPORT, Run, run_suite
from .server_files import read_server

PROGRAM = "mcp-approval check"
KINDS = ("http://", "https://", "stdio:", "python:", "command:", "verifier:", "reference")
_SCENARIOS = "mcp-approval/"
_WITHOUT_VALUE = {
    f"--{option.name}": option.optional for option in OPTIONS if option.optional is not None
}
_DESCRIPTION = """\
Check a server by every rule of the approval specifications that it implements.

  mcp-approval check                              the target of mcp-approval.toml, in this folder
  mcp-approval check http://localhost:3000/mcp    a server that is running
  mcp-approval check 'stdio:node server.js'       a command that the suite starts
  mcp-approval check .mcp.json --server shop      a server of a file with "mcpServers"
  mcp-approval check --client 'my-client {url}'   a client, whose server the suite plays

Only tools that you name with safe arguments (--tool) are ever run."""
_EPILOG = f"""\
Messages spell options as pytest has them (--mcp-approval-effects): that works here, too.
What follows -- goes to pytest. A report is written to {REPORT}, unless you name another.
Exit code 0: no MUST is broken. 1: one is. 4: wrong words or settings. 10: nothing is proved, as
no honest approval succeeded. 11: the server died or hung on the way."""


def parser() -> Parser:
    found = Parser(PROGRAM, _DESCRIPTION, epilog=_EPILOG, usage=f"{PROGRAM} [SERVER] [options]")
    found.add_argument("servers", metavar="SERVER", nargs="*", help="see above; several: replicas")
    found.add_argument("--server", metavar="NAME", help="which server of the JSON file")
    run = found.add_argument_group("the run")
    run.add_argument("-n", "--workers", metavar="N", help="in N processes, or auto (pytest-xdist)")
    run.add_argument("-x", action="store_true", help="stop at the first failure")
    run.add_argument("-k", metavar="WORDS", help="only checks whose names match, as in pytest")
    run.add_argument("-q", action="store_true", help="say less")
    run.add_argument("-v", action="count", default=0, help="say more; -vv: every check in full")
    run.add_argument("--junitxml", metavar="PATH", help="write JUnit's XML, too")
    run.add_argument("--color", choices=("yes", "no", "auto"), help=argparse.SUPPRESS)
    rest = found.add_argument_group("the suite")
    for option in OPTIONS:
        if option.name != "target":
            _add(rest, option)
    return found


def _add(group: Any, option: Any) -> None:
    keywords: dict[str, Any] = {"dest": option.destination, "help": option.help, "default": None}
    if option.flag:
        keywords["action"] = "store_true"
    else:
        keywords["metavar"] = option.metavar.replace("%", "%%")
        keywords["action"] = "append" if option.repeatable else "store"
    group.add_argument(f"--{option.name}", **keywords)


def run(words: Sequence[str]) -> int:
    """The exit code of the run."""
    own, after = _split(words)
    given = parser().read(list(map(_in_our_spelling, own)))
    ids = [one for one in given.servers if one.startswith(_SCENARIOS)]
    named = [one for one in given.servers if one not in ids]
    options = {
        option.name: value
        for option in OPTIONS
        if (value := getattr(given, option.destination, None)) not in (None, False)
    }
    said: frozenset[str] = frozenset()
    if named or given.server:
        everything = server_options(named, given.server, options)
        said = frozenset({"target", *(set(everything) - set(options))})
        options = everything
        named += ["--server", given.server] if given.server else []
    elif (
        not {"replay", "client", "client-page"} & options.keys()
        and settings_folder(Path.cwd(), Path.cwd()) is None
    ):
        raise WrongWordsError(
            f"name a server: a URL, stdio:<command line> or a JSON file with mcpServers. There is "
            f"no {FILE} here (and no [tool.{TABLE}]); mcp-approval init SERVER writes one"
        )
    program = command_program(("mcp-approval", "check", *named), said)
    return run_suite(Run(program, options, ids, _pytests(given, after), given.workers))


def server_options(
    named: Sequence[str], server: str | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """The options with those that name the server: by its address, or by a file that has it."""
    if any(_is_file(one) for one in named):
        if len(named) > 1:
            raise WrongWordsError(f"got {len(named)} servers, expected one JSON file, or addresses")
        return _added(read_server(Path(named[0]), server).options, options)
    if server is not None:
        raise WrongWordsError(f"--server: got {server!r} without a JSON file that has it")
    return {**options, "target": [_address(one) for one in named]}


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words before and after `--`."""
    place = list(words).index("--") if "--" in words else len(words)
    return list(words[:place]), list(words[place + 1 :])


def _in_our_spelling(word: str) -> str:
    """Options as messages spell them are ours with a longer name. One that needs no value gets its
    usual one here: else it would take the next word."""
    name, equals, value = word.partition("=")
    if name.startswith(PREFIX):
        name = f"--{name.removeprefix(PREFIX)}"
    if not equals and name in _WITHOUT_VALUE:
        return f"{name}={_WITHOUT_VALUE[name]}"
    return f"{name}{equals}{value}"


def _added(found: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What the command line says counts more; of a list both parts count, the file's first."""
    both = {**found, **given}
    for name in {*found} & {*given}:
        if isinstance(found[name], list) and name not in ("target", SET.name):
            both[name] = [*found[name], *given[name]]
    return both


def _is_file(word: str) -> bool:
    return not word.startswith(KINDS) and (word.endswith(".json") or Path(word).is_file())


def _address(word: str) -> str:
    """The target, if it is one; what else it looks like is told in one line."""
    if word.startswith(KINDS):
        return word
    shown = neutralise(word, 100)
    host = word.partition("/")[0].partition(":")[0]
    if "." in host or host == "localhost":
        raise WrongWordsError(f"got {shown!r}, did you mean 'http://{shown}'?")
    raise WrongWordsError(
        f"got {shown!r}, expected a URL (http://...), stdio:<command line>, or a JSON file with "
        "mcpServers that is there"
    )


def _pytests(given: argparse.Namespace, after: Sequence[str]) -> list[str]:
    words = [*(["-x"] if given.x else []), *(["-q"] if given.q else []), *["-v"] * given.v]
    words += ["-k", given.k] if given.k else []
    words += [f"--junitxml={given.junitxml}"] if given.junitxml else []
    words += [f"--color={given.color}"] if given.color else []
    return [*words, *after]
