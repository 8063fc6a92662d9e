"""Whether a client knows SEP-2672 at all, and one honest approval, before the first verdict."""

from __future__ import annotations

from ...catalogue import Finding, NotVerified
from ...clients.messages import ClientError
from ...clients.opened import OpenedClient
from ..base.client_scenario import client_for
from ..base.preflight import NotOffered, Preflight
from .client_scenario import ApprovingClient
from .scripted_approvals import SuiteAuthenticator
from .settings import FAMILY
from .vocabulary import CHALLENGE_CREATE


def look_at_client(opened: OpenedClient, found: Preflight) -> None:
    problems: list[str] = []
    knows = ours = False
    for era in opened.eras:
        authenticator = SuiteAuthenticator(opened.description.origin)
        with client_for(opened, era, authenticator) as client:
            approving = ApprovingClient(client, authenticator, lambda _: None)
            try:
                done = approving.approves()
                if done.evidence is None:
                    problems.append(f"no evidence was sent: {done.describe()}")
                elif FAMILY not in found.approved:
                    found.approved.append(FAMILY)
            except (ClientError, Finding, NotVerified) as error:
                problems.append(str(getattr(error, "msg", error)))
            knows = knows or bool(client.server.of(CHALLENGE_CREATE))
            ours = ours or bool(authenticator.signed)
    if not knows:
        raise NotOffered(
            "the client asks for no challenge before a tool that needs a verified approval",
            f"It knows nothing of SEP-2672, or stopped before: {problems[0] if problems else ''}",
        )
    found.say("signs", "with the suite's authenticator" if ours else "by itself")
    if FAMILY not in found.approved:
        found.not_approved[FAMILY] = problems[0] if problems else "nothing was approved"
