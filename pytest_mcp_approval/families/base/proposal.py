"""What a family sees in a server that nobody has described yet, for a first settings file.

A family may have a module `proposal` with two functions. `propose(target)` returns a `Proposal`, or
None if nothing shows that the server has the family; it lists and asks, and runs no tool but those
that the user named as safe. `gates(target)` returns the names of the tools that the family knows by
the server's list and the settings alone; it calls nothing. Knows no specification.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...target.arguments import example_arguments


@dataclass(frozen=True)
class Wanted:
    """A setting that only the user can know."""

    key: str
    """In the family's table."""
    question: str
    """In a few words, for somebody who looks at a prompt."""
    usual: str = ""
    """What it is if the user does not say anything; "" if nothing can be assumed."""
    example: str = ""
    """How an answer might look; as it stands in the file."""
    is_text: bool = True
    """Whether the answer is text; else it is written as TOML."""


@dataclass(frozen=True)
class ToRun:
    """A tool that the suite must run to prove anything, with arguments that only the user can
    choose."""

    name: str
    example: Mapping[str, Any] | None = None
    """Arguments that fit its schema: whether they are safe, nobody knows."""

    @classmethod
    def listed(cls, name: str, listing: Mapping[str, Any]) -> ToRun:
        return cls(name, example_arguments(listing.get("inputSchema")))


@dataclass(frozen=True)
class Proposal:
    """What one family found."""

    asks: str
    """Which tools ask for approval, and how: a line for people."""
    tools: Sequence[ToRun] = ()
    wanted: Sequence[Wanted] = ()
    notes: Sequence[str] = ()
    """More lines for the file, as comments at the beginning of the family's table."""
    gates: frozenset[str] = field(default_factory=frozenset)
    """All tools that take part, by name."""
