"""One whole honest approval: ask for a token, confirm with it. Says where it failed.

Runs the first usual operation of the user's table with its safe parameters. Knows no rule and no
verdict.
"""

from __future__ import annotations

from ...catalogue import NotVerified
from ...target import Target
from ..base.driver import DriverError, table_of
from .driver import ConfirmationTokens
from .settings import FAMILY


def honest_approval(target: Target) -> str:
    """An empty text if the operation ran, else one line: the step, and what came back.

    `NotVerified` if no operation that needs confirmation is named.
    """
    driver = ConfirmationTokens(target) if table_of(target, FAMILY) else None
    usual = [one for one in driver.binding.table.operations if one.usual] if driver else []
    if driver is None or not usual:
        raise NotVerified(f"needs a gated operation: name one in [{FAMILY}] operations")
    operation = usual[0]
    try:
        outcome = driver.redeem(driver.issue(operation.name, operation.params))
    except DriverError as error:
        return str(error)
    return "" if outcome.served else f"{operation.name} with its token: {outcome.describe()}"
