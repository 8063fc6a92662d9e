"""Verifiers that take a neighbour of a name for the name itself."""

from __future__ import annotations

from tests.mutants.execution_tokens.parts import (
    TAKEN,
    FittingHosts,
    in_extension,
)
from tests.mutants.registry import mutant

HOST = "execution_tokens/scope-host"


@mutant(kills=HOST, because=f"with a star in its scope{TAKEN}")
@in_extension
class TakesAStarForAnyHost(FittingHosts):
    """Knows a host that means all of them."""

    def fits(self, authority: str, allowed: str) -> bool:
        return allowed == "*" and bool(authority)
