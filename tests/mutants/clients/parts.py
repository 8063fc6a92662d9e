"""Broken clients: the reference client with one part of it replaced.

    @client_mutant(kills="sep2672/4.4.3-client-verbatim", because="a screen that ends")
    class Truncates(ReferenceClient):
        ...

A part may be the client, its connection, its screen or the whole program. They run in the process
of the test, with two text streams for a terminal.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from pytest_mcp_approval.reference_client.client import ReferenceClient
from pytest_mcp_approval.reference_client.connection import Connection
from pytest_mcp_approval.reference_client.program import Program
from pytest_mcp_approval.reference_client.screen import Screen
from pytest_mcp_approval.reference_client.transports import BrokenOff
from tests.mutants.registry import Mutant, register

_PARTS = {
    ReferenceClient: "client_class",
    Connection: "connection_class",
    Screen: "screen_class",
}


def client_mutant(
    *, kills: str, because: str, warned: bool = False
) -> Callable[[type], Callable[..., int]]:
    """Registers a broken part, and puts a client that has it in its place."""

    def decorate(part: type) -> Callable[..., int]:
        program = _program_with(part)

        def main(
            arguments: Sequence[str],
            *,
            stdin: TextIO,
            stdout: TextIO,
            environment: Mapping[str, str],
        ) -> int:
            made: Program = program(arguments, stdin=stdin, stdout=stdout, environment=environment)
            return made.run()

        words = inspect.getdoc(part) or "no words for it"
        register(
            Mutant(
                part.__name__, part.__module__, kills, because, words, warned=warned, client=True
            )
        )
        return main

    return decorate


@contextlib.contextmanager
def impatient(connection: Connection) -> Iterator[None]:
    """Meanwhile it waits for answers for a moment only."""
    usual, connection.transport.seconds = connection.transport.seconds, 0.3
    try:
        yield
    finally:
        connection.transport.seconds = usual


def timed_out(error: BrokenOff) -> bool:
    """Whether the client gave up, and not the server."""
    return isinstance(error.__cause__, TimeoutError)


def _program_with(part: type) -> Any:
    if issubclass(part, Program):
        return part
    for base, name in _PARTS.items():
        if issubclass(part, base):
            return type(part.__name__, (Program,), {name: part})
    raise TypeError(f"{part.__name__}: no part of a client")
