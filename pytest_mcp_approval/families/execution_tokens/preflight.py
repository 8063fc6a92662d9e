"""Before the first verdict: is there a verifier of execution tokens, and does honest use work?

On a server only what the user named is executed; a command and a callable get contents that do
nothing.
"""

from __future__ import annotations

import datetime

from ...support.text import neutralise
from ...target import EffectsError, Target, TargetError
from ..base.driver import DriverError
from ..base.preflight import NotOffered, Preflight, PreflightError, check_named, in_one_line
from .command_verifier import CommandVerifier
from .driver import ExecutionTokens
from .mcp_verifier import McpVerifier
from .token_making import written
from .vocabulary import EXPIRES_AT, FAMILY

WITHOUT_MCP = True
"""This family can also be checked without an MCP server."""
_HOUR = datetime.timedelta(hours=1)


def look(target: Target, found: Preflight) -> None:
    """Execute once on an honest token, and say what there is to judge."""
    with in_one_line():
        driver = ExecutionTokens(target)
    if isinstance(driver.verifier, McpVerifier):
        _find_tool(driver, driver.verifier)
        found.gated.append(driver.table.tool)
    try:
        _look(driver, found)
    finally:
        driver.close()


def _find_tool(driver: ExecutionTokens, verifier: McpVerifier) -> None:
    with in_one_line():
        listed = verifier.listed()
    tool = driver.table.tool
    if tool in listed:
        return
    if "tool" in driver.target.settings.family_settings.get(FAMILY, {}):
        check_named(FAMILY, [tool], listed)
    raise NotOffered(
        f"this server has no tool {tool!r} that executes on a token",
        f"If it has another name, say so: [{FAMILY}] tool = ... (docs/execution-tokens.md).",
    )


def _look(driver: ExecutionTokens, found: Preflight) -> None:
    target = driver.target
    if not driver.table.contents:
        found.missing.append(f"contents that are safe to execute ([{FAMILY}] contents)")
        return
    if driver.secret is None:
        found.say("secret", f"not known: tokens come from the arbiter ([{FAMILY}] secret)")
    try:
        answer = driver.execute(driver.token())
    except (DriverError, EffectsError) as error:
        if not target.speaks_mcp:
            raise PreflightError(
                f"the verifier cannot be asked: {neutralise(str(error), 300)}"
            ) from None
        found.say("execute", f"not possible: {neutralise(str(error), 160)}")
        return
    except TargetError as error:
        raise PreflightError(neutralise(str(error), 300)) from None
    if answer.accepted:
        found.say("execute", "an honest token was accepted")
    else:
        found.say("execute", f"an honest token was refused: {answer.describe()}")
    if isinstance(driver.verifier, CommandVerifier) and not driver.verifier.shows_runs:
        found.say("executed", "not seen: answers are believed ({runner} in the command shows it)")
    start = driver.now()
    found.check_clock(target.clock, lambda: _expiry(driver, start, honest=answer.accepted))


def _expiry(
    driver: ExecutionTokens, start: datetime.datetime, *, honest: bool
) -> datetime.datetime:
    """When a token that is issued now expires. If nobody issues any: an instant that moves with the
    verifier's clock, found by what it treats as expired."""
    token = driver.verifier.approve(driver.content, driver.table.action, [driver.table.host], 300)
    if token is not None:
        return datetime.datetime.fromisoformat(str(token.get(driver.table.names[EXPIRES_AT])))
    past, soon = written(start - _HOUR), written(start + _HOUR / 2)
    if not honest or driver.execute(driver.token(expires_at=past)).accepted:
        raise DriverError("what it treats as expired does not show its time")
    return start if driver.execute(driver.token(expires_at=soon)).accepted else start + _HOUR
