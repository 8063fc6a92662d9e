"""One whole honest approval: put things in place, prepare, confirm. Says where it failed.

Runs nothing but the first pair whose arguments the user named as safe. Knows no rule and no
verdict.
"""

from __future__ import annotations

from ...catalogue import NotVerified
from ...config.settings import PREFIX
from ...support.text import neutralise
from ...target import Target
from ..base.driver import DriverError
from .driver import PrepareConfirm
from .vocabulary import FAMILY


def honest_approval(target: Target) -> str:
    """An empty text if the tool ran, else one line: the step, and what came back.

    `NotVerified` if nothing may be run, or if the things that the arguments name may be gone
    because the table does not say how to put them back.
    """
    driver = PrepareConfirm(target)
    pair = next((one for one in driver.pairs() if one.arguments is not None), None)
    if pair is None:
        raise NotVerified(
            f"needs a pair that may be run: {PREFIX}tool prepare_NAME=JSON, with arguments that "
            "are safe to prepare and to confirm"
        )
    may_be_gone = driver.may_be_gone(pair)
    try:
        driver.make(pair.restore)
    except DriverError as error:
        return f"restore of {pair.name}: {error}"
    driver.forget()
    try:
        outcome = driver.confirm(driver.prepare(pair))
        failed = "" if outcome.succeeded else f"{pair.confirm}: {outcome.describe()}"
    except DriverError as error:
        failed = str(error)
    if failed and may_be_gone:
        raise NotVerified(
            f"needs restore in [{FAMILY}] pairs.{pair.name}: what its arguments name may be gone "
            f"since it was confirmed before ({neutralise(failed, 120)})"
        )
    if not failed and not outcome.executed:
        failed = f"{pair.confirm}: {outcome.describe()}"
    return failed
