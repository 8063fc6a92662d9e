"""Before the first verdict: which tools ask, how, and whether an answer arrives at all.

Only tools whose arguments the user named as safe are called. Endless questions, a form that nobody
can answer, a question in a mode that was not declared and an answer that never arrives are told
here in one line each.
"""

from __future__ import annotations

import contextlib

from ...config.settings import PREFIX
from ...support.text import listed_shortly, neutralise
from ...target import EffectsError, Target
from ...wire import HANDSHAKE_REVISIONS, Era, Outcome, WireError
from ..base.driver import DriverError
from ..base.preflight import NotOffered, Preflight, check_named, in_one_line
from .driver import Elicitation
from .form_answers import CannotAnswerError, honest_content
from .lifetimes import observed_lifetime
from .outcome import AskedQuestion, ElicitationOutcome
from .settings import ElicitingTool, missing_tools
from .vocabulary import FAMILY, Mode

_WHO = (
    "a client can invent an accept, and no server can tell; what is checked is that it counts for "
    "one question, caller and call"
)


def look(target: Target, found: Preflight) -> None:
    """Call each tool once, say what it asks, and answer one of them."""
    with in_one_line(), contextlib.closing(Elicitation(target)) as driver:
        listed = list(driver.listing())
        if "tools" in target.settings.family_settings.get(FAMILY, {}):
            check_named(FAMILY, missing_tools(driver.table, listed), listed)
        tools = driver.tools()
        if not tools and driver.asked_nobody:
            shown = [
                f"{neutralise(name, 40)} (called with your arguments: {neutralise(came, 120)})"
                for name, came in driver.asked_nobody.items()
            ]
            elsewhere = ""
            if driver.era is Era.SESSIONLESS and target.settings.protocol == "auto":
                older = HANDSHAKE_REVISIONS[-1]
                elsewhere = f"; perhaps it asks in the older era: {PREFIX}protocol={older}"
            raise NotOffered(f"no question came from {listed_shortly(shown, 4)}{elsewhere}")
        if not tools:
            raise NotOffered(
                "no tool that asks by elicitation is named",
                f"If one asks, name it with arguments that are safe to run: {PREFIX}tool "
                f"'NAME=JSON', or [{FAMILY}.tools.NAME]",
            )
        _look(driver, tools, found)


def _look(driver: Elicitation, tools: list[ElicitingTool], found: Preflight) -> None:
    asking: list[AskedQuestion] = []
    shown: list[str] = []
    for tool in tools:
        name = neutralise(tool.name, 40)
        if tool.arguments is None:
            shown.append(f"{name} (never called: it has no arguments)")
            found.missing.append(f"arguments for {name} ({PREFIX}tool {name}=JSON)")
            found.gated.append(tool.name)  # as the user says
            continue
        try:
            asked = driver.ask(tool)
        except (DriverError, EffectsError, WireError) as error:
            shown.append(f"{name} (not tried: {neutralise(str(error), 80)})")
            continue
        if isinstance(asked, ElicitationOutcome):
            shown.append(f"{name} (ASKS NOBODY: {neutralise(asked.describe(), 80)})")
            continue
        asking.append(asked)
        found.gated.append(tool.name)
        shown.append(f"{name} ({how_asked(asked)})")
        driver.leave(asked)
    found.say("asks", listed_shortly(shown, 8))
    if any(asked.mode is Mode.FORM for asked in asking):
        found.say("who", _WHO)
    if asking:
        _answer(driver, asking[0].tool, found)


def how_asked(asked: AskedQuestion) -> str:
    """How it asks, and who can answer it."""
    if not asked.declared:
        kind = asked.mode.value if asked.mode else "an unknown mode"
        return f"in {kind}, WHICH WAS NOT DECLARED"
    if asked.mode is Mode.URL:
        return "url"
    try:
        honest_content(asked.schema, asked.tool)
    except CannotAnswerError as error:
        return f"form that NOBODY CAN ANSWER: {error}"
    approving = asked.approving
    return f"form: {approving.in_words() if approving else 'accept alone approves'}"


def _answer(driver: Elicitation, tool: ElicitingTool, found: Preflight) -> None:
    """Whether an answer arrives: a server without sessions asks and can never be answered."""
    try:
        asked = driver.ask(tool)
        if not isinstance(asked, AskedQuestion):
            return
        outcome = asked.decline()
    except (DriverError, EffectsError, WireError) as error:
        found.say("answers", f"not tried: {neutralise(str(error), 140)}")
        return
    if outcome.reply.outcome is Outcome.NO_ANSWER and not outcome.asks_again:
        why = "a server without sessions cannot be answered"
        if driver.target.clock.kind == "faketime":
            # Waits with a timeout, in threads of some languages, do not end under it.
            why += f"; or libfaketime stops its waits: {PREFIX}clock=none starts it without"
        found.say(
            "answers",
            f"NEVER ARRIVE: {neutralise(tool.name, 40)} asked, a decline was sent, and the call "
            f"did not end within {driver.timeout:g} s ({why})",
        )
        return
    if driver.era is Era.SESSIONLESS:
        with contextlib.suppress(DriverError, EffectsError, WireError):
            found.say("state", observed_lifetime(driver, tool))
