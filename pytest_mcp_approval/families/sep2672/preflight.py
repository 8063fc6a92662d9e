"""Before the first verdict: does this server have SEP-2672, and does honest use of it work?"""

from __future__ import annotations

from ...config.settings import PREFIX
from ...support.text import listed_shortly, neutralise
from ...target import Target
from ..base.driver import DriverError
from ..base.preflight import NotOffered, Preflight, PreflightError, in_one_line
from . import vocabulary as words
from .driver import Approval, ListedTool, Passkey, confirmed_enrolment
from .outcome import reason_in


def look(target: Target, found: Preflight) -> None:
    """Enrol and approve once, and say what there is to judge."""
    with in_one_line():
        approval = Approval(target)
    extensions = target.session().capabilities.get("extensions")
    declared = isinstance(extensions, dict) and words.CAPABILITY_KEY in extensions
    with in_one_line():
        tools = approval.tools()
    gated = [tool for tool in tools if words.META_KEY in (tool.listing.get("_meta") or {})]
    if not gated and not declared:
        raise NotOffered(
            "this server asks for no approval: it declares no capability "
            f"extensions.{words.CAPABILITY_KEY} and lists no gated tool",
            f"A gated tool carries _meta[{words.META_KEY!r}] (SEP-2672 section 4.2).",
        )
    found.gated += [tool.name for tool in gated]
    runnable = _say_gated(gated, found)
    passkey = _honest_enrolment(approval, found)
    if passkey is not None and runnable:
        tool = runnable[0]
        found.check_clock(
            target.clock, lambda: approval.challenge(tool.name, tool.arguments).expires_at
        )
    if not runnable:
        found.missing.append(f"arguments for a gated tool ({PREFIX}tool NAME=JSON)")


def _say_gated(gated: list[ListedTool], found: Preflight) -> list[ListedTool]:
    shown = []
    for tool in gated:
        kind = "?"
        if tool.annotation is not None:
            kind = str(tool.annotation.authenticator_class)
            if not tool.annotation.class_is_given:
                kind += " by default"
        held_back = "" if tool.arguments is not None else ", never run"
        shown.append(f"{neutralise(tool.name, 40)} ({kind}{held_back})")
    found.say("gated", listed_shortly(shown, 8) or "none listed")
    return [tool for tool in gated if tool.gated and tool.arguments is not None]


def _honest_enrolment(approval: Approval, found: Preflight) -> Passkey | None:
    """An enrolment must succeed, or hardly anything can be judged."""
    try:
        options = approval.begin_options()
        device, page, response = approval.register("security-key", options)
    except DriverError as error:
        found.say("enrol", f"not possible: {neutralise(str(error), 160)}")
        return None
    reply = approval.finish(response)
    if confirmed_enrolment(reply):
        found.say("enrol", f"a security key, on the page {page}")
        return Passkey(device, page, response)
    rp = options.get("rp")
    rp_id = neutralise(str(rp.get("id")), 60) if isinstance(rp, dict) else "?"
    if reason_in(reply) == words.Reason.VERIFICATION_FAILED:
        raise PreflightError(
            f"the server refused an honest enrollment: {reply.describe()}",
            f"most likely the origin: the suite signed as {page}, rp.id is {rp_id}.",
            "Say which page your users enroll on: "
            f"{PREFIX}origin=http://localhost:5173 (or what it is)",
        )
    found.say("enrol", f"refused: {reply.describe()}")
    return None
