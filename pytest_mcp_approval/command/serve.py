"""`mcp-approval serve`: the reference server. Its own command line reads the options."""

from __future__ import annotations

from collections.abc import Sequence

from ..reference_server.command_line import main

PROGRAM = "mcp-approval serve"


def run(words: Sequence[str]) -> int:
    return main(list(words), PROGRAM)
