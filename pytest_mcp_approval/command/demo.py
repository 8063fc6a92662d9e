"""`mcp-approval demo`: a run against the reference server, to see what one looks like."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec

from ..config.program import command_program
from ..config.registry import built_in
from ..support.nearest import expected
from .console import say
from .parsing import Parser, WrongWordsError
from .running import REPORT, Run, run_suite

PROGRAM = "mcp-approval demo"
_USUAL = "sep2672"
_DESCRIPTION = f"""\
Check the reference server that comes with the suite, and write {REPORT}.
It keeps every rule, so nothing should fail. One family takes about half a minute."""
_MODULES = ("mcp", "webauthn", "uvicorn", "sqlalchemy", "keyring")


def run(words: Sequence[str]) -> int:
    parser = Parser(PROGRAM, _DESCRIPTION, usage=f"{PROGRAM} [--family NAME] [--all]")
    parser.add_argument(
        "--family", action="append", metavar="NAME", help=f"which (default: {_USUAL}); repeatable"
    )
    parser.add_argument("--all", action="store_true", help="every family; takes some minutes")
    parser.add_argument("--page", action="store_true", help="its page in a browser, too")
    given = parser.read(words)
    for name in given.family or ():
        if name not in built_in():
            raise WrongWordsError(f"--family: got {name!r}, {expected(name, built_in())}")
    missing = [name for name in _MODULES if find_spec(name) is None]
    if missing:
        raise WrongWordsError(
            f"the reference server needs {', '.join(missing)}: "
            "pip install 'pytest-mcp-approval[reference]'"
        )
    options: dict[str, object] = {"target": ["reference"]}
    if not given.all:
        options["family"] = given.family or [_USUAL]
    if not given.page:
        options["browser"] = "none"
    # As many as there are cores, where they can be had: one check waits while another works.
    workers = "auto" if find_spec("xdist") and (os.cpu_count() or 1) > 1 else None
    program = command_program(("mcp-approval", "check", "reference"), frozenset({"target"}))
    code = run_suite(Run(program, options, workers=workers))
    say()
    say(f"Open {REPORT}. Your own server: mcp-approval init http://localhost:3000/mcp")
    return code
