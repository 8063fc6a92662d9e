"""What a server shows of elicitation before anybody has described it: nothing, until it is called.

So only tools that the user named, with arguments that are safe to run, are called, once each; and
their questions are left unanswered.
"""

from __future__ import annotations

import contextlib

from ...support.text import listed_shortly, neutralise
from ...target import EffectsError, Target
from ...wire import WireError
from ..base.driver import Driver, DriverError, table_of
from ..base.proposal import Proposal, ToRun
from .driver import Elicitation
from .outcome import AskedQuestion
from .preflight import how_asked
from .vocabulary import FAMILY, Mode

_MOST = 6
_PAGE = "Who decides on the page of a question in url mode: docs/elicitation.md"


def gates(target: Target) -> frozenset[str]:
    """The tools that the settings say ask."""
    named = table_of(target, FAMILY).get("tools", {})
    return frozenset(named if isinstance(named, dict) else ()) & set(Driver(target).listing())


def propose(target: Target) -> Proposal | None:
    """The named tools that ask, with the mode of their question and the member that approves."""
    asking: list[tuple[str, AskedQuestion]] = []
    with contextlib.closing(Elicitation(target)) as driver:
        listed = driver.listing()
        for tool in driver.tools():
            if tool.arguments is None:
                continue
            with contextlib.suppress(DriverError, EffectsError, WireError):
                asked = driver.ask(tool)
                if isinstance(asked, AskedQuestion):
                    asking.append((tool.name, asked))
                    driver.leave(asked)
    if not asking:
        return None
    shown = [f"{neutralise(name, 40)} ({how_asked(asked)})" for name, asked in asking]
    return Proposal(
        listed_shortly(shown, _MOST),
        tools=[ToRun.listed(name, listed[name]) for name, _ in asking],
        notes=[_PAGE] if any(asked.mode is Mode.URL for _, asked in asking) else [],
        gates=frozenset(name for name, _ in asking),
    )
