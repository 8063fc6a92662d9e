"""What a server shows of a gateway before anybody has described it: tools called APP:TOOL."""

from __future__ import annotations

from ...support.text import listed_shortly, neutralise
from ...target import Target
from ..base.driver import Driver
from ..base.proposal import Proposal, ToRun
from .vocabulary import split_tool_name

_MOST = 6


def gates(target: Target) -> frozenset[str]:
    """The tools of apps, by their names."""
    return frozenset(name for name in Driver(target).listing() if split_tool_name(name) is not None)


def propose(target: Target) -> Proposal | None:
    """These tools, with arguments that fit their schemas."""
    listed, found = Driver(target).listing(), gates(target)
    names = [name for name in listed if name in found]
    if not names:
        return None
    shown = listed_shortly([neutralise(name, 40) for name in names], _MOST)
    return Proposal(
        f"{shown} (a consent page, if this is a gateway)",
        tools=[ToRun.listed(name, listed[name]) for name in names],
        notes=["More about apps, and about how a person decides: docs/gateway-consent.md"],
        gates=found,
    )
