"""Before the first verdict: is this a gateway, and is its person there to decide?

Nothing is run: an unknown client calls one of the tools that may be run, which a gateway answers
with a question. Without such a tool, or a table, nothing is called at all.
"""

from __future__ import annotations

import secrets

from ...config.settings import PREFIX
from ...support.text import listed_shortly, neutralise
from ...target import EffectsError, Target
from ...wire import WireError
from ..base.driver import DriverError
from ..base.preflight import NotOffered, Preflight, check_named, in_one_line
from .driver import GatewayConsent
from .outcome import hint_of_codes
from .settings import PAGE, SafeTool, missing_tools
from .vocabulary import FAMILY, Kind


def look(target: Target, found: Preflight) -> None:
    """Say what there is to judge."""
    with in_one_line():
        driver = GatewayConsent(target)
        listed = list(driver.listing())
        tools = driver.tools()
    if "tools" in target.settings.family_settings.get(FAMILY, {}):
        check_named(FAMILY, missing_tools(driver.table, listed), listed)
    if not tools:
        raise NotOffered(
            "no tool of an app behind a gateway is named",
            f"If this is a gateway, name tools that may be run: [{FAMILY}.tools.'NAME'], "
            f"or {PREFIX}tool 'APP:TOOL=JSON'",
        )
    try:
        # If the table names tools, the user says that this is a gateway: then it is checked.
        named = FAMILY in target.settings.families or bool(driver.table.tools)
        _try(driver, tools, found, asked_for=named)
    finally:
        driver.close()
    # A gateway asks before any tool of an app, whether the user named it or not.
    found.gated += [driver.table.call.tool, *(tool.name for tool in tools)]
    found.gated += [name for name in listed if ":" in name]


def _try(
    driver: GatewayConsent, tools: list[SafeTool], found: Preflight, *, asked_for: bool
) -> None:
    try:
        answer = driver.client(f"preflight {secrets.token_hex(4)}").call(tools[0])
    except (DriverError, EffectsError, WireError) as error:
        found.say("consent", f"not tried: {neutralise(str(error), 140)}")
        _say_tools(tools, found)
        return
    if not answer.needs_consent and not asked_for:
        raise NotOffered(
            f"not a gateway: a first call of {neutralise(tools[0].name, 60)} brought no "
            f"CONSENT_REQUIRED but {neutralise(answer.describe(), 100)}{hint_of_codes(answer)}"
        )
    _say_tools(tools, found)
    came = f"{neutralise(answer.describe(), 120)}{hint_of_codes(answer)}"
    found.say("consent", f"{neutralise(tools[0].name, 60)}: {came}")
    person = driver.table.person
    in_words = {PAGE: "at the consent page, by plain HTTP"}
    found.say("person", in_words.get(person, neutralise(person, 100)))
    if driver.effects is not None and not any(name == "effects" for name, _ in found.lines):
        found.say("effects", neutralise(driver.effects.description, 70))


def _say_tools(tools: list[SafeTool], found: Preflight) -> None:
    shown = [f"{neutralise(tool.name, 50)} ({tool.kind or 'of what kind?'})" for tool in tools]
    found.say("tools", listed_shortly(shown, 6))
    absent = [kind.value for kind in Kind if not any(tool.kind is kind for tool in tools)]
    if absent:
        found.missing.append(f"a tool of a {', '.join(absent)} app")
