"""What a server shows of SEP-2672 before anybody has described it: gated tools, and its RP ID."""

from __future__ import annotations

from ...support.text import listed_shortly, neutralise
from ...target import Target
from ..base.driver import Driver, DriverError
from ..base.proposal import Proposal, ToRun, Wanted
from . import vocabulary as words
from .driver import Approval

_MOST = 8


def gates(target: Target) -> frozenset[str]:
    """The gated tools, by what their entries say."""
    return frozenset(
        name
        for name, listing in Driver(target).listing().items()
        if isinstance(listing.get("_meta"), dict) and words.META_KEY in listing["_meta"]
    )


def propose(target: Target) -> Proposal | None:
    """These. Begins an enrollment, and never finishes it: the options name the RP ID."""
    approval, found = Approval(target), gates(target)
    if not found:
        return None
    gated = [(name, listing) for name, listing in approval.listing().items() if name in found]
    names = listed_shortly([neutralise(name, 40) for name, _ in gated], _MOST)
    return Proposal(
        f"{names} (a passkey signature over the call)",
        tools=[ToRun.listed(name, listing) for name, listing in gated],
        wanted=[_origin(approval)],
        gates=found,
    )


def _origin(approval: Approval) -> Wanted:
    question = "the page that your users approve on, as scheme://host:port"
    try:
        options = approval.begin_options()
    except DriverError:
        return Wanted("origin", question, example="http://localhost:5173")
    rp = options.get("rp")
    rp_id = rp.get("id") if isinstance(rp, dict) else None
    shown = neutralise(str(rp_id or "not given"), 60)
    return Wanted("origin", f"{question} (the RP ID is {shown})", approval.origin_for(options))
