"""What a server shows of two-step tools before anybody has described it: pairs of names."""

from __future__ import annotations

from ...support.text import listed_shortly, neutralise
from ...target import Target
from ..base.proposal import Proposal, ToRun
from .driver import PrepareConfirm

_MOST = 6


def gates(target: Target) -> frozenset[str]:
    """The tools called prepare_x that have a confirm_x, and these."""
    pairs = PrepareConfirm(target).pairs()
    return frozenset(name for one in pairs for name in (one.prepare, one.confirm))


def propose(target: Target) -> Proposal | None:
    """The pairs, by their names."""
    driver = PrepareConfirm(target)
    listing, pairs = driver.listing(), driver.pairs()
    if not pairs:
        return None
    names = [f"{neutralise(one.prepare, 40)} / {neutralise(one.confirm, 40)}" for one in pairs]
    return Proposal(
        f"{listed_shortly(names, _MOST)} (a token of the preview)",
        tools=[ToRun.listed(one.prepare, listing[one.prepare]) for one in pairs],
        notes=[
            "Arguments of a prepare tool must be safe to prepare AND to confirm. If that uses up",
            "what they name, say how to bring it back: [prepare_confirm.pairs.NAME] restore = ...",
        ],
        gates=gates(target),
    )
