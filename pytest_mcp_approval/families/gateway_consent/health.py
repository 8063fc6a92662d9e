"""One whole honest approval: a client asks, a person allows, the tool runs.

Shows whether a gateway serves honest people, before anything is judged and after each provocation.
Knows no rule and no verdict.
"""

from __future__ import annotations

import contextlib
import secrets

from ...catalogue import NotVerified
from ...support.text import neutralise
from ...target import Target
from ..base.driver import DriverError
from .driver import GatewayConsent
from .outcome import hint_of_codes
from .settings import NO_TOOL
from .vocabulary import Choice

_LONGEST = 300


def honest_approval(target: Target) -> str:
    """Allow a new client one call of a tool, and make the call.

    "" if it was served, else one line: the step that failed, and what came back. `NotVerified` if
    no tool may be run.
    """
    with contextlib.closing(GatewayConsent(target)) as driver:
        return neutralise(_approve(driver), _LONGEST)


def _approve(driver: GatewayConsent) -> str:
    # The first one runs on consent alone, if there is such a tool.
    tool = next(iter(driver.tools()), None)
    if tool is None:
        raise NotVerified(NO_TOOL)
    client = driver.client(f"Honest Client {secrets.token_hex(4)}")
    asked = client.call(tool)
    if not asked.needs_consent:
        return (
            f"a first call of {tool.name}: expected CONSENT_REQUIRED, got {asked.describe()}"
            f"{hint_of_codes(asked)}"
        )
    if asked.executed:
        return f"a first call of {tool.name}: asked, and ran without an answer"
    try:
        # For one call only, so that the gateway stores nothing.
        driver.decide(asked, Choice.TOOL, remember=False)
    except DriverError as error:
        return f"the decision on {tool.name}: {error}"
    answer = client.call(tool)
    if tool.own_authorisation and answer.needs_authorization:
        return ""
    if answer.served:
        return ""
    return f"{tool.name}, allowed for one call: {answer.describe()}"
