"""Whether a client can ask its person at all, and one honest yes, before the first verdict."""

from __future__ import annotations

from ...catalogue import Finding, NotVerified
from ...clients.messages import ClientError
from ...clients.opened import OpenedClient
from ..base.client_scenario import client_for
from ..base.preflight import NotOffered, Preflight
from .client_scenario import AskedClient
from .vocabulary import FAMILY, Action


def look_at_client(opened: OpenedClient, found: Preflight) -> None:
    modes: set[str] = set()
    problems = []
    for era in opened.eras:
        with client_for(opened, era) as client:
            asked = AskedClient(client, lambda _: None)
            try:
                asked.calls_plainly()
                declared = asked.script.modes
                modes |= {str(mode) for mode in declared}
                if declared:
                    asked.is_asked()
                    answered = asked.agrees()
                    if answered.action != Action.ACCEPT:
                        problems.append(f"the person agreed, and got {answered.describe()}")
                    elif FAMILY not in found.approved:
                        found.approved.append(FAMILY)
            except (ClientError, Finding, NotVerified) as error:
                problems.append(str(getattr(error, "msg", error)))
    if not modes:
        raise NotOffered(
            f"the client declares no {FAMILY}: no server can ask its person",
            "A client declares it in initialize, or in _meta of each request since 2026-07-28.",
        )
    found.say("asks", f"its person, by {' and '.join(sorted(modes))}")
    if FAMILY not in found.approved:
        found.not_approved[FAMILY] = problems[0] if problems else "nobody was asked"
