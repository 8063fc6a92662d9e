"""Verifiers that take a neighbour of a name for the name itself."""

from __future__ import annotations

import re

from tests.mutants.execution_tokens.parts import (
    TAKEN,
    FittingActions,
    FittingHosts,
    RewritingUrls,
    in_extension,
)
from tests.mutants.registry import mutant

ACTION = "execution_tokens/scope-action"

HOST = "execution_tokens/scope-host"


@mutant(kills=HOST, because=f"with a star in its scope{TAKEN}")
@in_extension
class TakesAStarForAnyHost(FittingHosts):
    """Knows a host that means all of them."""

    def fits(self, authority: str, allowed: str) -> bool:
        return allowed == "*" and bool(authority)


@mutant(kills=ACTION, because=f"with a point after its action type{TAKEN}")
@in_extension
class TakesSubordinateActions(FittingActions):
    """Takes what stands below the approved action type, as permissions with dots have it."""

    def fits(self, asked: str, approved: str) -> bool:
        return asked.startswith(tuple(approved + mark for mark in ".:/"))


@mutant(kills=ACTION, because=f"with an action that only reads{TAKEN}")
@in_extension
class LetsReadingActionsPass(FittingActions):
    """Thinks that actions which only read, by their names, are allowed with every token."""

    def fits(self, asked: str, approved: str) -> bool:
        return asked.startswith(("read", "get", "list"))


@mutant(kills=HOST, because=f"a star and the domain above in its scope,{TAKEN}")
@in_extension
class ExpandsStarsInHosts(FittingHosts):
    """Takes a star in an allowed host for any label, as certificates have it."""

    def fits(self, authority: str, allowed: str) -> bool:
        return allowed.startswith("*.") and authority.partition(".")[2] == allowed[2:]


@mutant(kills=HOST, because=f"a dot and the domain above in its scope,{TAKEN}")
@in_extension
class TakesADotForSubdomains(FittingHosts):
    """Takes an allowed host with a dot before it for a whole domain, as cookies have it."""

    def fits(self, authority: str, allowed: str) -> bool:
        return allowed.startswith(".") and authority.endswith(allowed)


@mutant(kills=HOST, because=f"with www before the allowed host{TAKEN}")
@in_extension
class DropsWww(RewritingUrls):
    """Takes a host with www. before it for the same."""

    def rewritten(self, url: str) -> str:
        return re.sub(r"^(https?://)?www\.", r"\1", url)


@mutant(kills=HOST, because=f"with a numbered neighbour{TAKEN}")
@in_extension
class TakesNumberedNeighbours(FittingHosts):
    """Takes numbered machines for the same, as they stand behind a balancer."""

    def fits(self, authority: str, allowed: str) -> bool:
        machine, dot, domain = authority.partition(".")
        return machine.rstrip("0123456789") + dot + domain == allowed


@mutant(kills=HOST, because=f"with a neighbour with a hyphen{TAKEN}")
@in_extension
class TakesStagingNeighbours(FittingHosts):
    """Takes what follows a hyphen in the first label for the stage of the same machine."""

    def fits(self, authority: str, allowed: str) -> bool:
        machine, dot, domain = authority.partition(".")
        return machine.partition("-")[0] + dot + domain == allowed
