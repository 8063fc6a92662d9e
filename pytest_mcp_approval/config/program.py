"""How the user started this run, for the commands that repeat it: as pytest, or as `mcp-approval
check`, whose options are shorter. Knows no pytest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from .options import PREFIX, START

STARTED_BY = f"{PREFIX}started-by"
"""The option by which the command tells pytest about itself; users never write it."""
STARTED_BY_DESTINATION = "mcp_approval_started_by"


@dataclass(frozen=True)
class Program:
    """The words of a command before its options."""

    words: tuple[str, ...] = ("pytest",)
    prefix: str = PREFIX
    """What its options begin with."""
    start: str = START
    """The option that checks the target of a settings file; "" if the words do that."""
    said: frozenset[str] = frozenset()
    """Options that the words stand for."""

    @property
    def told(self) -> str:
        """The same as a text, for `read_program`."""
        return json.dumps({"words": self.words, "said": sorted(self.said)})


def command_program(words: tuple[str, ...], said: frozenset[str]) -> Program:
    """The command `mcp-approval`."""
    return Program(words, "--", "", said)


def read_program(told: str | None) -> Program:
    """The program that is behind a run; pytest if nobody has said anything."""
    if not told:
        return Program()
    found: Mapping[str, list[str]] = json.loads(told)
    return command_program(tuple(found["words"]), frozenset(found["said"]))
