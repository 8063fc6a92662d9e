"""Before the first verdict: does this server have two-step tools, and does a preview work?

Only pairs whose arguments the user named as safe are prepared; of the others only the names are
read. `health` finds out whether an honest confirmation works.
"""

from __future__ import annotations

from ...config.settings import PREFIX
from ...support.text import listed_shortly, neutralise
from ...target import EffectsError, Target
from ..base.driver import DriverError
from ..base.preflight import NotOffered, Preflight, check_named, in_one_line
from .driver import PrepareConfirm
from .settings import Pair, missing_tools
from .vocabulary import CONFIRM, FAMILY, PREPARE


def look(target: Target, found: Preflight) -> None:
    """Prepare once, and say what there is to check."""
    with in_one_line():
        driver = PrepareConfirm(target)
        listed = driver.listed()
        pairs = driver.pairs()
    if target.settings.family_settings.get(FAMILY, {}).get("pairs"):
        check_named(FAMILY, missing_tools(driver.table, listed), listed)
    if not pairs:
        raise NotOffered(
            f"this server has no two-step tools: it lists no {PREPARE}x with a {CONFIRM}x",
            f"If they have other names, say so: [{FAMILY}.pairs.x] prepare = ..., confirm = ...",
        )
    found.gated += [name for pair in pairs for name in (pair.prepare, pair.confirm)]
    _say_pairs(pairs, found)
    runnable = [pair for pair in pairs if pair.arguments is not None]
    if not runnable:
        found.missing.append(f"arguments for a pair ({PREFIX}tool {pairs[0].prepare}=JSON)")
        return
    _preview(driver, runnable[0], found)


def _say_pairs(pairs: list[Pair], found: Preflight) -> None:
    kinds = {True: "reversible", False: "irreversible", None: "reversible or not?"}
    shown = [
        f"{neutralise(pair.name, 40)} ({kinds[pair.reversible]}"
        f"{'' if pair.arguments is not None else ', never run'})"
        for pair in pairs
    ]
    found.say("pairs", listed_shortly(shown, 8))


def _preview(driver: PrepareConfirm, pair: Pair, found: Preflight) -> None:
    """Nothing is confirmed here: what the arguments name may be there only once."""
    try:
        driver.make(pair.restore)
        driver.prepare(pair)
        found.check_clock(driver.target.clock, lambda: driver.prepare(pair).expires_at)
    except (DriverError, EffectsError, ValueError) as error:
        found.say("prepare", f"not possible: {neutralise(str(error), 160)}")
