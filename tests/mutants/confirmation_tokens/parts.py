"""How a broken part of the confirmation gate becomes a broken server; no mutants of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_mcp_approval.reference_server.confirmation_tokens.extension import ConfirmationExtension
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.minting import (
    SignedTokens,
    StoredTokens,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.settings import SettingsReader
from pytest_mcp_approval.reference_server.confirmation_tokens.store import TokenStore
from tests.mutants.registry import mutant


def broken(
    *, kills: str, because: str, warned: bool = False, protocol: str | None = None
) -> Callable[[Any], Any]:
    """`mutant` for a gate, a way to make tokens, a store, a reader of settings or an extension."""

    def decorate(part: type) -> Any:
        register = mutant(
            kills=f"confirmation_tokens/{kills}", because=because, warned=warned, protocol=protocol
        )
        return register(_extension(part))

    return decorate


def _extension(part: type) -> type[ConfirmationExtension]:
    if issubclass(part, ConfirmationExtension):
        return part
    if issubclass(part, SettingsReader):
        members: dict[str, Any] = {"reader_class": part}
    elif issubclass(part, TokenStore):
        members = {"store_class": part}
    else:
        members = {"gate_class": _gate(part)}
    return type(
        part.__name__,
        (ConfirmationExtension,),
        {**members, "__module__": part.__module__, "__doc__": part.__doc__},
    )


def _gate(part: type) -> type[ConfirmationGate]:
    if issubclass(part, ConfirmationGate):
        return part
    if issubclass(part, StoredTokens):
        return type("Gate", (ConfirmationGate,), {"stored_tokens": lambda gate: part(gate.store)})
    assert issubclass(part, SignedTokens), part
    return type(
        "Gate",
        (ConfirmationGate,),
        {
            "signed_tokens": lambda gate: part(
                gate.store, gate.adapter_name, gate.settings.signing_key
            )
        },
    )
