"""The broken servers: each the healthy reference with one defect, a few lines over it.

    @mutant(kills="sep2672/4.8-03-method", because="evidence.method 'WebAuthn'")
    class FoldsCase(ApprovalGate):
        ...

`kills` is the rule whose scenarios must find the defect, `because` a pattern in what they report.
A mutant may be a server, an extension, a gate, relying party or store of SEP-2672, or any function
that takes the options of `reference_server.build` and gives a server.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_mcp_approval.catalogue import Requirement, Verdict, catalogue
from pytest_mcp_approval.reference_server.assembly import build
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.relying_party import RelyingParty
from pytest_mcp_approval.reference_server.sep2672.store import ApprovalStore
from pytest_mcp_approval.reference_server.server.extension import Extension
from pytest_mcp_approval.reference_server.server.mcp_server import ReferenceServer
from pytest_mcp_approval.target.reference import ReferenceTarget


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
    protocol: str | None = None
    """The revision of MCP in which it shows, if that is not the one that the suite chooses."""
    command: Callable[[Path], str] | None = None
    """For what is no server: makes the broken command in a folder, and gives its command line."""

    client: bool = False
    """Whether it is a client, for which the suite plays the server."""
    timeout: float | None = None
    """Seconds that the suite waits for an answer of a server that gives none."""

    def target_in(self, folder: Path) -> str:
        """As --mcp-approval-target names it; what has to be made for that is made in `folder`."""
        if self.command is not None:
            return f"command:{self.command(folder)}"
        return f"python:{self.module}:{self.name}"

    @property
    def client_command(self) -> str:
        """As --mcp-approval-client names it."""
        return f"python:{self.module}:{self.name} {{url}} --authenticator={{authenticator}}"


_PARTS_OF_SEP2672 = {
    ApprovalGate: "gate_class",
    RelyingParty: "relying_party_class",
    ApprovalStore: "store_class",
}
MUTANTS: dict[str, Mutant] = {}


def register(mutant: Mutant) -> None:
    known = MUTANTS.get(mutant.name)
    # An inner run of pytest forgets modules that it imported, and the next one imports them anew.
    assert known is None or known.module == mutant.module, f"two mutants are called {mutant.name}"
    MUTANTS[mutant.name] = mutant


def load_mutants() -> dict[str, Mutant]:
    """All of them, by name."""
    for path in sorted(Path(__file__).parent.glob("*/*.py")):
        importlib.import_module(f"tests.mutants.{path.parent.name}.{path.stem}")
    return MUTANTS


def rule_of(mutant: Mutant) -> Requirement:
    return catalogue(mutant.kills.partition("/")[0])[mutant.kills]


def wanted_verdict(mutant: Mutant) -> Verdict:
    """What its scenarios have to say: a warning for a SHOULD, and for what is left open."""
    must = rule_of(mutant).level == "MUST" and not mutant.warned
    return Verdict.FAILED if must else Verdict.WARNING


def is_warned(mutant: Mutant) -> bool:
    return wanted_verdict(mutant) is Verdict.WARNING


def mutant(
    *,
    kills: str,
    because: str,
    warned: bool = False,
    protocol: str | None = None,
    timeout: float | None = None,
) -> Callable[[Any], Any]:
    """Registers a broken part, and puts the factory of a server that has it in its place."""

    def decorate(part: Any) -> Any:
        made = factory_of(part)
        made.part = part
        words = inspect.getdoc(part) or "no words for it"
        name, module = part.__name__, part.__module__
        register(Mutant(name, module, kills, because, words, warned, protocol, timeout=timeout))
        return made

    return decorate


def having(part: type, options: Mapping[str, Any]) -> ReferenceServer:
    """The server that these options of `build` make, with a broken part in the place of its own."""
    if issubclass(part, ReferenceServer):
        return build(**{**options, "server_class": part})
    extension = part if issubclass(part, Extension) else _of_sep2672(part)
    others = options.get("extensions", {})
    return build(**{**options, "extensions": {**others, extension.family: extension}})


def told(options: Mapping[str, Any], **settings: Any) -> ReferenceServer:
    """The server that these options make, with other settings of SEP-2672."""
    given = options.get("settings", {})
    own = {**given.get("sep2672", {}), **settings}
    return build(**{**options, "settings": {**given, "sep2672": own}})


def _of_sep2672(part: type) -> type[Extension]:
    for base, name in _PARTS_OF_SEP2672.items():
        if issubclass(part, base):
            return type(part.__name__, (Sep2672Extension,), {name: part})
    raise TypeError(f"{part.__name__}: no part of a server")


def factory_of(part: Any) -> Any:
    """What makes a server that has this part; the suite opens it as the reference."""

    def factory(**options: Any) -> ReferenceServer:
        return having(part, options) if inspect.isclass(part) else part(**options)

    factory.__name__ = part.__name__
    factory.__dict__["mcp_approval_target"] = ReferenceTarget
    return factory
