"""The broken servers: each the healthy reference with one defect, a few lines over it.

    @mutant(kills="sep2672/4.8-03-method", because="evidence.method 'WebAuthn'")
    class FoldsCase(ApprovalGate):
        ...

`kills` is the rule whose scenarios must find the defect, `because` a pattern in what they report.
A mutant may be a gate, a server, a relying party, a store, a wing, or any function that takes the
options of `reference_server.server.build` and gives a server.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_mcp_approval.reference_server.relying_party import RelyingParty
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.server import ReferenceServer, build
from pytest_mcp_approval.reference_server.stores.memory import MemoryStore
from pytest_mcp_approval.reference_server.wings import Wing


@dataclass(frozen=True)
class Mutant:
    """One broken server."""

    name: str
    module: str
    kills: str
    because: str
    fault: str
    """The defect, in the words of its docstring."""
    warned: bool = False
    """The document leaves it open: it is a warning, also of a MUST."""
    command: Callable[[Path], str] | None = None
    """For what is no server: makes the broken command in a folder, and gives its command line."""

    def target_in(self, folder: Path) -> str:
        """As --mcp-approval-target names it; what has to be made for that is made in `folder`."""
        if self.command is not None:
            return f"command:{self.command(folder)}"
        return f"python:{self.module}:{self.name}"


MUTANTS: dict[str, Mutant] = {}


def register(mutant: Mutant) -> None:
    known = MUTANTS.get(mutant.name)
    # An inner run of pytest forgets modules that it imported, and the next one imports them anew.
    assert known is None or known.module == mutant.module, f"two mutants are called {mutant.name}"
    MUTANTS[mutant.name] = mutant


def mutant(*, kills: str, because: str, warned: bool = False) -> Callable[[Any], Any]:
    """Registers a broken part, and puts the factory of a server that has it in its place."""

    def decorate(part: Any) -> Any:
        made = _factory(part)
        made.mcp_approval_reference = True  # the suite then treats it as the reference it is
        made.part = part
        words = inspect.getdoc(part) or "no words for it"
        register(Mutant(part.__name__, part.__module__, kills, because, words, warned))
        return made

    return decorate


def _factory(part: Any) -> Any:
    def factory(**options: Any) -> ReferenceServer:
        if not inspect.isclass(part):
            return part(**options)
        if issubclass(part, ApprovalGate):
            return build(gate_class=part, **options)
        if issubclass(part, ReferenceServer):
            return build(server_class=part, **options)
        if issubclass(part, RelyingParty):
            return build(relying_party=part(), **options)
        if issubclass(part, MemoryStore):
            return build(**{**options, "store": part()})
        if issubclass(part, Wing):
            return build(**{**options, "wings": {**options.get("wings", {}), part.family: part}})
        raise TypeError(f"{part.__name__}: no part of a server")

    factory.__name__ = part.__name__
    return factory
