"""Before the first verdict: does this server have two-step tools, and does honest use of them work?

Only pairs whose arguments the user named as safe are run; of others nothing but their names is
looked at.
"""

from __future__ import annotations

from ...settings import PREFIX, SettingsError
from ...target import EffectsError, Target
from ...wire import ListingError
from ...wire.text import neutralise
from ..looking import NotOffered, Preflight, PreflightError
from .driver import DriverError, PrepareConfirm
from .table import Pair, missing_tools
from .vocabulary import CONFIRM, FAMILY, PREPARE


def look(target: Target, found: Preflight) -> None:
    """Prepare and confirm once, and say what there is to judge."""
    try:
        driver = PrepareConfirm(target)
        listed = driver.listed()
        pairs = driver.pairs()
    except SettingsError as error:
        raise PreflightError(str(error)) from None
    except ListingError as error:
        raise PreflightError(f"the tools cannot be listed: {error}") from None
    given = target.settings.family_settings.get(FAMILY, {})
    missing = missing_tools(driver.table, listed)
    if missing and given.get("pairs"):
        raise PreflightError(
            f"[{FAMILY}] names tools that the server does not list: "
            f"{', '.join(neutralise(one, 60) for one in missing[:6])}",
            f"It lists {', '.join(neutralise(one, 40) for one in listed[:12])}",
        )
    if not pairs:
        raise NotOffered(
            f"this server has no two-step tools: it lists no {PREPARE}x with a {CONFIRM}x",
            f"If they have other names, say so: [{FAMILY}.pairs.x] prepare = ..., confirm = ...",
        )
    _say_pairs(pairs, found)
    runnable = [pair for pair in pairs if pair.arguments is not None]
    if not runnable:
        found.missing.append(f"arguments for a pair ({PREFIX}tool {pairs[0].prepare}=JSON)")
        return
    _honest_use(driver, runnable[0], found)


def _say_pairs(pairs: list[Pair], found: Preflight) -> None:
    kinds = {True: "reversible", False: "irreversible", None: "reversible or not?"}
    shown = [
        f"{neutralise(pair.name, 40)} ({kinds[pair.reversible]}"
        f"{'' if pair.arguments is not None else ', never run'})"
        for pair in pairs[:8]
    ]
    more = f" and {len(pairs) - 8} more" if len(pairs) > 8 else ""
    found.say("pairs", ", ".join(shown) + more)


def _honest_use(driver: PrepareConfirm, pair: Pair, found: Preflight) -> None:
    try:
        driver.make(pair.restore)
        driver.prepare(pair)
        found.check_clock(driver.target.clock, lambda: driver.prepare(pair).expires_at)
        driver.forget()
        outcome = driver.confirm(driver.prepare(pair))
    except (DriverError, EffectsError, ValueError) as error:
        found.say("confirm", f"not possible: {neutralise(str(error), 160)}")
        return
    if not outcome.succeeded:
        found.say("confirm", f"an honest confirmation was refused: {outcome.describe()}")
    else:
        found.say("confirm", f"{neutralise(pair.name, 40)}, done once with its safe arguments")
    if driver.effects is not None and not any(name == "effects" for name, _ in found.lines):
        shows = outcome.executed
        note = "" if shows else " (does NOT show what was done: is it the right one?)"
        found.say("effects", f"{neutralise(driver.effects.description, 70)}{note}")
