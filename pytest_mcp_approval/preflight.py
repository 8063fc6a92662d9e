"""Before the first verdict: is there something to judge, and with what?

A user's errors are mostly configuration, so they are looked for first, in the order in which they
would show. What makes every verdict void is a `PreflightError`: one line says what is wrong, the
next one what to do. What merely narrows the run is a line of the header.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field

from .catalogue import catalogue
from .families.sep2672 import vocabulary as words
from .families.sep2672.driver import Approval, DriverError, ListedTool, Passkey
from .settings import PREFIX, Settings
from .target import EffectsError, Target, TargetError, open_target
from .wire import ListingError, WireError
from .wire.text import neutralise

_INDENT = " " * 14


class PreflightError(Exception):
    """Nothing can be judged."""

    def __init__(self, what: str, *advice: str) -> None:
        lines = [f"mcp-approval  {what}", *(f"{_INDENT}{line}" for line in advice)]
        super().__init__("\n".join(lines))


@dataclass
class Preflight:
    """What was found, as lines of (name, value)."""

    lines: list[tuple[str, str]] = field(default_factory=list)
    clock_stuck: str = ""
    """Why the clock is not to be trusted, if it was moved and the target did not notice."""

    def say(self, name: str, value: str) -> None:
        self.lines.append((name, value))


def preflight(settings: Settings) -> Preflight:
    """Look at the target. Opens it and closes it again."""
    found = Preflight()
    try:
        target = open_target(settings.targets[0], settings)
    except TargetError as error:
        raise PreflightError(str(error)) from None
    try:
        with contextlib.ExitStack() as stack:
            stack.callback(target.close)
            _look(target, found)
    except (WireError, TargetError) as error:
        raise PreflightError(
            f"cannot speak to the target: {error}", _advice_for(target, str(error))
        ) from None
    return found


def _advice_for(target: Target, problem: str) -> str:
    kind = target.spec.kind
    if kind == "http":
        return (
            f"Is the server running, and is {neutralise(target.spec.url)} the address of its MCP "
            "endpoint (often .../mcp)?"
        )
    if kind == "stdio":
        return "Run the command by hand: it has to speak MCP on standard input and output."
    if "factory" in problem:
        return f"{PREFIX}target=python:<module>:<factory> needs a callable that gives an ASGI app."
    return "Nothing was judged."


def _look(target: Target, found: Preflight) -> None:
    session = target.session()
    info = session.server_info
    who = (
        " ".join(neutralise(str(info[key]), 40) for key in ("name", "version") if info.get(key))
        or "no name"
    )
    place = neutralise(target.spec.text, 70)
    found.say("target", f"{place}  ({session.era.value} era, {session.revision}; {who})")
    approval = Approval(target)
    extensions = session.capabilities.get("extensions")
    declared = isinstance(extensions, dict) and words.CAPABILITY_KEY in extensions
    try:
        tools = approval.tools()
    except ListingError as error:
        raise PreflightError(f"the tools cannot be listed: {error}") from None
    gated = [tool for tool in tools if words.META_KEY in (tool.listing.get("_meta") or {})]
    if not gated and not declared:
        raise PreflightError(
            "this server asks for no approval: it declares no capability "
            f"extensions.{words.CAPABILITY_KEY} and lists no gated tool",
            f"A gated tool carries _meta[{words.META_KEY!r}] (SEP-2672 section 4.2).",
        )
    runnable = _say_gated(gated, found)
    missing = []
    passkey = _honest_enrolment(approval, found)
    _say_clock(approval, passkey, runnable, found)
    if target.effects() is None:
        found.say("effects", f"none: the answer is taken at its word ({PREFIX}effects)")
    if passkey is not None and runnable:
        _honest_approval(approval, passkey, runnable[0], found)
    if not runnable:
        missing.append(f"arguments for a gated tool ({PREFIX}tool NAME=JSON)")
    if not target.clock.movable:
        missing.append("clock")
    if not target.can_restart:
        missing.append("restart")
    if missing:
        needing = sum(
            1
            for rule in catalogue("sep2672")
            if rule.party == "server" and {"clock", "restart"} & set(rule.needs) & set(missing)
        )
        found.say(
            "missing", f"{', '.join(missing)}: {needing} or more rules will be 'not verified'"
        )


def _say_gated(gated: list[ListedTool], found: Preflight) -> list[ListedTool]:
    shown = []
    for tool in gated[:8]:
        kind = "?"
        if tool.annotation is not None:
            kind = str(tool.annotation.authenticator_class)
            if not tool.annotation.class_is_given:
                kind += " by default"
        held_back = "" if tool.arguments is not None else ", never run"
        shown.append(f"{neutralise(tool.name, 40)} ({kind}{held_back})")
    more = f" and {len(gated) - 8} more" if len(gated) > 8 else ""
    found.say("gated", ", ".join(shown) + more if shown else "none listed")
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
    if isinstance(reply.result, dict) and reply.result.get("success") is True:
        found.say("enrol", f"a security key, on the page {page}")
        return Passkey(device, page, response)
    rp = options.get("rp")
    rp_id = neutralise(str(rp.get("id")), 60) if isinstance(rp, dict) else "?"
    data = reply.error.data if reply.error is not None else None
    reason = data.get("reason") if isinstance(data, dict) else None
    if reason == words.Reason.VERIFICATION_FAILED:
        raise PreflightError(
            f"the server refused an honest enrolment: {reply.describe()}",
            f"most likely the origin: the suite signed as {page}, rp.id is {rp_id}.",
            "Say which page your users enrol on: "
            f"{PREFIX}origin=http://localhost:5173 (or what it is)",
        )
    found.say("enrol", f"refused: {reply.describe()}")
    return None


def _say_clock(
    approval: Approval, passkey: Passkey | None, runnable: list[ListedTool], found: Preflight
) -> None:
    """Time is moved by an hour, and an expiry has to follow: what is not seen is not trusted."""
    clock = approval.target.clock
    if not clock.movable:
        found.say("clock", f"none: {clock.why_not}")
        return
    if passkey is None or not runnable:
        found.say("clock", f"{clock.kind}, not tried")
        return
    tool = runnable[0]
    try:
        before = approval.challenge(tool.name, tool.arguments).expires_at
        clock.advance(3600)
        after = approval.challenge(tool.name, tool.arguments).expires_at
    except (DriverError, ValueError) as error:
        found.say("clock", f"{clock.kind}, not tried: {neutralise(str(error), 100)}")
        return
    finally:
        clock.release()
    moved = (after - before).total_seconds()
    if 3595 <= moved <= 3660:
        found.say("clock", f"{clock.kind}, moves (checked +3600 s)")
    else:
        found.clock_stuck = f"{clock.kind} does not move it: +3600 s became {moved:+.0f} s"
        found.say("clock", f"none: {found.clock_stuck}")


def _honest_approval(
    approval: Approval,
    passkey: Passkey,
    tool: ListedTool,
    found: Preflight,
) -> None:
    try:
        challenge = approval.challenge(tool.name, tool.arguments)
        outcome = approval.call(challenge, passkey.sign(challenge))
    except (DriverError, EffectsError, ValueError) as error:
        found.say("approve", f"not possible: {neutralise(str(error), 160)}")
        return
    if not outcome.answered_with_result:
        found.say("approve", f"an honest call was refused: {outcome.describe()}")
    else:
        found.say("approve", f"{neutralise(tool.name, 40)}, run once with its safe arguments")
    if approval.effects is not None:
        shows = outcome.runs == 1 or (outcome.runs is None and outcome.probed)
        note = "" if shows else " (does NOT show the run: is it the right one?)"
        found.say("effects", f"{neutralise(approval.effects.description, 70)}{note}")
