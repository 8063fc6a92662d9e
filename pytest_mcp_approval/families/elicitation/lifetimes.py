"""How long a question can be answered: found out by moving the server's clock and answering late.

Each trial asks anew and runs the tool at most once. The state is opaque, so nothing but a late
answer tells. Knows no verdicts.
"""

from __future__ import annotations

import contextlib

from ...clock import ClockError
from ..base.driver import DriverError
from .driver import Elicitation
from .outcome import AskedQuestion
from .settings import ElicitingTool

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
SHORT = 15 * MINUTE
"""Up to here a lifetime is short."""
TOLERABLE = DAY
"""Up to here it is a warning; beyond, the SHOULD is broken."""
_STEPS = (MINUTE, 5 * MINUTE, SHORT, HOUR, DAY + 1)


def in_words(seconds: float) -> str:
    for unit, name in ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")):
        if seconds >= unit and seconds % unit == 0:
            count = int(seconds // unit)
            return f"{count} {name}{'' if count == 1 else 's'}"
    return f"{seconds:g} seconds"


def serves_after(driver: Elicitation, tool: ElicitingTool, seconds: float) -> bool:
    """Whether an honest answer, so many seconds after the question, runs the call."""
    asked = driver.ask(tool)
    if not isinstance(asked, AskedQuestion):
        raise DriverError(f"{tool.name}: expected a question, got {asked.describe()}", asked.reply)
    driver.target.clock.advance(seconds)
    outcome = driver.approve(asked)
    # A server may ask anew what came too late; only a later question shows that it was taken.
    if outcome.question is not None and driver.seen.is_later_question(outcome.question):
        outcome = driver.finish(outcome.question)
    return outcome.executed


def bracket(driver: Elicitation, tool: ElicitingTool) -> tuple[float, float | None]:
    """A time at which an answer is still taken, and a later one at which it is not (None: it is
    always taken)."""
    alive = 0.0
    for seconds in _STEPS:
        if not serves_after(driver, tool, seconds):
            return alive, seconds
        alive = seconds
    return alive, None


def to_the_second(
    driver: Elicitation, tool: ElicitingTool, alive: float, dead: float
) -> tuple[float, float]:
    """The same, a second apart."""
    while dead - alive > 1:
        middle = (alive + dead) // 2
        if serves_after(driver, tool, middle):
            alive = middle
        else:
            dead = middle
    return alive, dead


def observed_lifetime(driver: Elicitation, tool: ElicitingTool) -> str:
    """For the header of a run: roughly how long a question can be answered."""
    clock = driver.target.clock
    if not clock.movable or not clock.stops:
        return "how long an answer is taken is not known: the clock cannot be moved"
    try:
        alive, dead = bracket(driver, tool)
    except ClockError as error:
        return f"how long an answer is taken is not known: {error}"
    finally:
        with contextlib.suppress(ClockError):
            clock.release()
    if dead is None:
        return f"answers are still taken after {in_words(DAY)}"
    if not alive:
        return f"answers are taken for less than {in_words(dead)}"
    return f"answers are taken for {in_words(alive)} or more, and not for {in_words(dead)}"
