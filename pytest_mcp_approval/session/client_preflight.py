"""Before the first verdict on a client: does it run, which eras does it speak, what can it do?

One plain call in each era shows the first two. Each family then looks for itself
(`families/<family>/client_preflight.py`); one that the client does not have is left out, unless the
user asked for it by name.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from ..clients.messages import ClientError
from ..clients.opened import OpenedClient
from ..clients.person import ClientPrompt
from ..config.registry import registered
from ..config.settings import PREFIX, Settings
from ..families.base.preflight import NotOffered, Preflight, PreflightError
from ..support.text import neutralise
from ..wire.eras import Era
from .client_use import open_client

_PART = "client_preflight"
_PLAIN = "list_things"
_BEFORE_A_CALL = (
    *("initialize", "notifications/initialized", "server/discover", "ping"),
    *("tools/list", "prompts/list", "resources/list", "resources/templates/list"),
    *("logging/setLevel", "notifications/cancelled", "subscriptions/listen"),
)
"""What clients send whether a tool is called or not."""


def client_preflight(settings: Settings, wanted: Sequence[str]) -> Preflight:
    """Look for these families in the client. Opens it and closes it again."""
    found = Preflight()
    with contextlib.closing(open_client(settings)) as opened:
        _find_eras(opened, found)
        _look_for_families(opened, found, settings, wanted)
    for name, why in found.not_approved.items():
        found.say("NOT" if found.approved else "approved", f"{name}: {neutralise(why, 200)}")
    return found


def _find_eras(opened: OpenedClient, found: Preflight) -> None:
    seen: dict[Era, str] = {}
    for era in Era:
        with opened.client(era) as client:
            client.server.tools = [{"name": _PLAIN, "inputSchema": {"type": "object"}}]
            try:
                client.person.calls(_PLAIN, {})
                end = client.person.answers(opened.description.agree)
                # A client that does something else first, instead of the call, breaks a rule.
                called = any(one.method not in _BEFORE_A_CALL for one in client.server.received)
                shown = client.person.all_shown
                if not called and end.prompt is ClientPrompt.NOTHING:
                    shown += f" (and shows nothing of what {PREFIX}client describes)"
            except ClientError as error:
                called, shown = False, str(error)
            seen[era] = "" if called else shown
    opened.eras = tuple(era for era in Era if not seen[era])
    if not opened.eras:
        told = " ".join(max(seen.values(), key=len).split())
        raise PreflightError(
            f"the client called no tool of the suite's server: {neutralise(told[-300:], 320)}",
            f"Run it by hand: {neutralise(opened.description.command or '', 200)}",
            "What it shows and takes is described in [client] (docs/clients.md).",
        )
    found.eras = [era.value for era in opened.eras]
    found.say("client", neutralise(opened.description.name, 100))
    others = [era.value for era in Era if era not in opened.eras]
    not_spoken = f"  (not spoken: {', '.join(others)})" if others else ""
    way = "stdio" if opened.description.over_stdio else "HTTP"
    found.say("speaks", f"{', '.join(found.eras)}, over {way}{not_spoken}")


def _look_for_families(
    opened: OpenedClient, found: Preflight, settings: Settings, wanted: Sequence[str]
) -> None:
    absent: dict[str, NotOffered] = {}
    for name in wanted:
        family = registered(name)
        if not family.has(_PART):
            continue
        try:
            family.part(_PART).look_at_client(opened, found)
            found.offered.append(name)
        except NotOffered as error:
            if name in settings.families:
                raise
            absent[name] = error
    if not found.offered:
        raise PreflightError(
            "nothing to check: this client takes part in no approval that the suite knows",
            *(f"{name}: {error.what}" for name, error in absent.items()),
            f"If it should, name the family: {PREFIX}family=NAME",
        )
    if absent:
        found.say("families", f"{', '.join(found.offered)}  (not here: {', '.join(absent)})")
    if found.approved:
        found.say("approved", f"once, honestly: {', '.join(found.approved)}")
