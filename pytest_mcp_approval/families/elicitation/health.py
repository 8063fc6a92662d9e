"""One whole honest approval: a client calls, a person says yes, the tool runs.

Calls nothing but the first tool whose arguments the user named as safe. Knows no rule and no
verdict.
"""

from __future__ import annotations

import contextlib

from ...catalogue import NotVerified
from ...support.text import neutralise
from ...target import Target
from ..base.driver import DriverError
from .driver import Elicitation
from .outcome import AskedQuestion
from .settings import BROWSER, NO_TOOL, ElicitingTool
from .vocabulary import Mode

_LONGEST = 300


def honest_approval(target: Target) -> str:
    """An empty text if the tool ran, else one line: the step, and what came back.

    `NotVerified` if nothing may be run.
    """
    with contextlib.closing(Elicitation(target)) as driver:
        return neutralise(_approve(driver, _tool(driver)), _LONGEST)


def glance(target: Target) -> str:
    """Whether the first question still comes; it is left without an answer."""
    with contextlib.closing(Elicitation(target)) as driver:
        tool = _tool(driver)
        asked = driver.ask(tool, watch=False)
        if isinstance(asked, AskedQuestion):
            driver.leave(asked)
            return ""
        return neutralise(f"{tool.name}: expected a question, got {asked.describe()}", _LONGEST)


def _tool(driver: Elicitation) -> ElicitingTool:
    tool = next((one for one in driver.tools() if one.arguments is not None), None)
    if tool is None:
        raise NotVerified(NO_TOOL)
    return tool


def _approve(driver: Elicitation, tool: ElicitingTool) -> str:
    asked = driver.ask(tool)
    if not isinstance(asked, AskedQuestion):
        return f"{tool.name}: expected a question, got {asked.describe()}"
    if asked.mode is Mode.URL and driver.table.person.who == BROWSER:
        raise NotVerified("needs a browser, which is opened for the checks alone")
    try:
        outcome = driver.finish(asked)
    except DriverError as error:
        return str(error)
    return "" if outcome.served else f"{tool.name}, approved: {outcome.describe()}"
