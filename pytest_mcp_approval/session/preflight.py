"""Before the first verdict: is there something to check, and with what?

Most user errors are in the configuration, so these are looked for first, in the order in which they
would show. Anything that makes every verdict meaningless is a `PreflightError`: one line says what
is wrong, the next one what to do. Anything that merely narrows the run is a line of the header.
Each family looks for itself (`families.base.preflight`); a family that the server does not have is
left out, unless the user asked for it by name.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from ..catalogue import catalogue, families
from ..config.reader import Place
from ..config.registry import FamilyError, registered
from ..config.settings import (
    NO_BROWSER,
    PREFIX,
    Settings,
    SettingsError,
    check_family_tables,
)
from ..families.base.driver import DriverError
from ..families.base.preflight import NotOffered, Preflight, PreflightError, few
from ..families.base.survey import ASK_NOBODY, SILENT, named_by_reason, silent_tools
from ..support.nearest import meant
from ..support.text import neutralise
from ..target import EffectsError, Target, TargetError, examine, open_target
from ..wire import ListingError, WireError
from .collection import ON_A_PAGE
from .honest_approvals import approve_honestly

__all__ = ["Preflight", "PreflightError", "preflight"]


def preflight(settings: Settings, wanted: Sequence[str]) -> Preflight:
    """Look for these families in the target. Opens the target and closes it again."""
    found = Preflight()
    _check_browser(settings)
    _check_tables(settings)
    try:
        for name in wanted:
            registered(name).check()
        target = open_target(settings.targets[0], settings)
    except (FamilyError, TargetError) as error:
        raise PreflightError(str(error)) from None
    try:
        with contextlib.closing(target):
            _look(target, found, wanted)
    except (WireError, TargetError) as error:
        raise PreflightError(
            f"cannot speak to the target: {error}", advice_for(target, error)
        ) from None
    return found


def _check_browser(settings: Settings) -> None:
    """A browser that the user named must exist, whether it is needed or not."""
    if settings.browser in (None, NO_BROWSER):
        return
    from ..browser.errors import NoBrowserError
    from ..browser.finding import NAMES, find_browser

    try:
        find_browser(settings.browser)
    except NoBrowserError as error:
        raise PreflightError(f"{error}{meant(settings.browser or '', NAMES)}") from None


def _check_tables(settings: Settings) -> None:
    try:
        check_family_tables(settings.family_settings, settings.sources)
    except SettingsError as error:
        raise PreflightError(neutralise(str(error), 600)) from None


def _check_names(target: Target) -> None:
    """Tools that the user named must exist, and the effects probe must work."""
    settings = target.settings
    try:
        listed = [str(tool.get("name")) for tool in target.session().list_tools()]
    except ListingError:
        return  # the families say what that means for them
    for name in settings.tools:
        on_the_line = ("tool", name) in settings.sources.line
        place = f"{PREFIX}tool" if on_the_line else Place(("tool",), settings.sources).table
        # Tools behind one tool of a gateway are not in its list.
        behind = ":" in name and not any(":" in one for one in listed)
        if name not in listed and not behind:
            raise _not_listed(place, name, name, listed)
    probe = target.effects()
    if probe is None:
        return
    try:
        probe.look()
    except EffectsError as error:
        kind, _, name = (settings.effects or "").partition(":")
        if kind == "tool" and name not in listed:
            raise _not_listed(f"{PREFIX}effects", str(settings.effects), name, listed) from None
        raise PreflightError(
            f"{PREFIX}effects cannot be read: {neutralise(str(error), 300)}",
            "It shows whether a tool ran. Is the program that serves it running, at this address? "
            "It has to answer with JSON.",
        ) from None


def _not_listed(place: str, given: str, name: str, listed: Sequence[str]) -> PreflightError:
    like = neutralise(meant(name, listed), 100)
    return PreflightError(
        f"{place}: got {given!r}, which the server does not list{like}",
        f"It lists {few(sorted(listed), 12) or 'no tool'}",
    )


def advice_for(target: Target, error: WireError | TargetError) -> str:
    """What to do if nobody can speak to a target."""
    problem, kind = str(error), target.spec.kind
    reply = error.reply if isinstance(error, WireError) else None
    if reply is not None and reply.advice:
        names = ", ".join(neutralise(name, 40) for name in target.settings.headers)
        return f"Headers of yours that were sent: {names or 'none'}. Nothing was checked."
    if target.settings.launch is not None and "launch" in problem:
        return "Run the command by hand: it has to stay in the foreground and serve the URL."
    if kind == "http":
        return (
            f"Is the server running, and is {neutralise(target.spec.url)} the address of its MCP "
            "endpoint (often .../mcp)?"
        )
    if kind == "stdio":
        if "ModuleNotFoundError" in problem and _is_our_python(target.spec.command[0]):
            return (
                f"Its {neutralise(target.spec.command[0], 40)} is the one that runs this suite "
                "(uvx puts that first on PATH); name your own: stdio:.venv/bin/python ..."
            )
        advice = "Run the command by hand: it has to speak MCP on standard input and output."
        if target.clock.kind == "faketime":
            advice += f" (Here it runs under libfaketime; {PREFIX}clock=none starts it without.)"
        return advice
    if "factory" in problem:
        return f"{PREFIX}target=python:<module>:<factory> needs a callable that makes an ASGI app."
    return "Nothing was checked."


def _is_our_python(program: str) -> bool:
    """Whether a name means the Python of this process, and not one that the user has in mind."""
    found = shutil.which(program)
    return (
        Path(program).name == program  # not a path
        and found is not None
        and Path(found).name.startswith("python")
        and Path(found).parent == Path(sys.executable).parent
    )


def _look(target: Target, found: Preflight, wanted: Sequence[str]) -> None:
    if target.speaks_mcp:
        _say_server(target, found)
        _check_names(target)
    else:
        found.say("target", f"{neutralise(target.spec.text, 90)}  (no server)")
    _look_for_families(target, found, wanted)
    if target.speaks_mcp:
        _survey(target, found, wanted)
        _examine_effects(target, found)
    approve_honestly(target, found)
    _say_settings(target.settings, found)
    _say_clock(target, found)
    if target.speaks_mcp:
        _say_page(target, found)
        _say_effects(target, found)
    _say_missing(target, found)


def _say_server(target: Target, found: Preflight) -> None:
    session = target.session()
    said = (session.server_info.get(key) for key in ("name", "version"))
    who = " ".join(neutralise(str(one), 40) for one in said if one) or "no name"
    place = neutralise(target.spec.text, 70)
    found.say("target", f"{place}  ({session.era.value} era, {session.revision}; {who})")
    if target.settings.launch is not None:
        found.say("launch", neutralise(target.settings.launch, 100))


def _say_effects(target: Target, found: Preflight) -> None:
    probe = target.effects()
    if found.effects_doubt:
        return  # already reported
    if probe is None:
        found.say("effects", f"none: the server's answers are believed ({PREFIX}effects)")
    elif not any(name == "effects" for name, _ in found.lines):
        found.say("effects", neutralise(probe.description, 70))


def _examine_effects(target: Target, found: Preflight) -> None:
    """A probe that cannot tell whether a tool ran is reported, and not used."""
    probe = target.effects()
    if probe is None:
        return
    with contextlib.suppress(EffectsError, TargetError, WireError):  # said elsewhere
        found.effects_doubt = examine(probe)
    if found.effects_doubt:
        target.doubt_effects(found.effects_doubt)
        found.lines[:] = [line for line in found.lines if line[0] != "effects"]
        found.say(
            "effects",
            f"{neutralise(probe.description, 70)} cannot tell: {found.effects_doubt}; it is not "
            f"used, the server's answers are believed ({PREFIX}effects)",
        )


def _look_for_families(target: Target, found: Preflight, wanted: Sequence[str]) -> None:
    """Which of these the server has. It must have a family that the user named."""
    absent: dict[str, NotOffered] = {}
    for name in wanted:
        own = registered(name).part("preflight")
        try:
            if not target.speaks_mcp and not getattr(own, "WITHOUT_MCP", False):
                raise NotOffered(f"{name} needs an MCP server, and this target is none")
            own.look(target, found)
            found.offered.append(name)
        except NotOffered as error:
            if name in target.settings.families:
                raise
            absent[name] = error
    if not found.offered:
        if len(absent) == 1:
            raise next(iter(absent.values()))
        raise PreflightError(
            "nothing to check: this server asks for no approval in any way that the suite knows",
            *(f"{name}: {error.what}" for name, error in absent.items()),
            *_tools_that_may_ask(target),
            f"If it does, name the family: {PREFIX}family=NAME, with its settings.",
        )
    if absent:
        found.say("families", f"{', '.join(found.offered)}  (not here: {', '.join(absent)})")


def _tools_that_may_ask(target: Target) -> list[str]:
    """What to try first on a server that shows nothing: no list tells who asks by elicitation."""
    found: list[tuple[str, str]] = []
    with contextlib.suppress(ListingError):
        if target.speaks_mcp:
            # Those that are named have been called.
            found = silent_tools(target.session().list_tools(), target.settings.tools)
    if not found:
        return []
    return [
        f"Does {few([name for name, _ in found], 3)} ask by elicitation? That shows only when it "
        f"is called: name it with arguments that are safe to run, {PREFIX}tool "
        f"'{found[0][0]}={{...}}', or under [tool]."
    ]


def _survey(target: Target, found: Preflight, wanted: Sequence[str]) -> None:
    """List tools that look destructive and that no family found gated. Calls none of them."""
    others = set(families()) - set(wanted)
    with contextlib.suppress(ListingError):  # said elsewhere
        gated = {*found.gated, *_gated_elsewhere(target, others)}
        found.silent = silent_tools(target.session().list_tools(), gated)
    if found.silent:
        # A tool may be gated in a way that was not looked for, and that no list shows.
        only = f" (looked for: {', '.join(wanted)})" if others else ""
        found.say(SILENT, f"{named_by_reason(found.silent)}{ASK_NOBODY}{only}")


def _gated_elsewhere(target: Target, others: Collection[str]) -> set[str]:
    """Tools that belong to families outside this run, as far as the server's list and the settings
    show it: they are not accused of asking nobody."""
    found: set[str] = set()
    for family in map(registered, others):
        with contextlib.suppress(DriverError, SettingsError):
            if family.has("proposal"):
                gates = getattr(family.part("proposal"), "gates", None)
                found |= set(gates(target)) if callable(gates) else set()
    return found


def _say_page(target: Target, found: Preflight) -> None:
    """Say whether there is a page, and a browser for it. Starts no browser."""
    files = (registered(name).scenarios.glob(f"{ON_A_PAGE}*.py") for name in found.offered)
    if not any(any(found_there) for found_there in files):
        return
    if target.settings.browser == NO_BROWSER:
        found.say("page", f"not checked, because of {PREFIX}browser={NO_BROWSER}")
        return
    if not target.has_page:
        found.say("page", f"none: nothing is checked in a browser ({PREFIX}page=URL)")
        return
    found.with_page = True
    from ..browser.errors import NoBrowserError
    from ..browser.finding import find_browser

    named = target.named_page
    page = neutralise(named, 90) if named else "the server's own"
    try:
        found.say("page", f"{page}  (in {find_browser(target.settings.browser)})")
    except NoBrowserError as error:
        found.say("page", f"{page}; {error}")
        found.missing.append("browser")


def _say_clock(target: Target, found: Preflight) -> None:
    clock = target.clock
    if not clock.movable:
        found.say("clock", f"none: {clock.why_not}")
        found.missing.append("clock")
    elif not found.clock_checked and not any(name == "clock" for name, _ in found.lines):
        found.say("clock", f"{clock.kind}, not tried")


def _say_settings(settings: Settings, found: Preflight) -> None:
    """Report tables that came from two places, and old spellings, in one line."""
    for name, told in settings.additions:
        found.say(name, neutralise(told, 160))
    if settings.sources.old:
        found.say("settings", f"write {neutralise('; '.join(settings.sources.old), 300)}")


def _say_missing(target: Target, found: Preflight) -> None:
    if not target.can_restart:
        found.missing.append("restart")
    if not found.missing:
        return
    needing = sum(
        1
        for name in found.offered
        for rule in catalogue(name)
        if rule.party == "server" and {"clock", "restart"} & set(rule.needs) & set(found.missing)
    )
    # Only the scenarios know how many depend on other things, such as a tool's arguments.
    rules = f"{needing} or more rules" if needing else "some rules"
    found.say("missing", f"{', '.join(found.missing)}: {rules} will be 'not verified'")
