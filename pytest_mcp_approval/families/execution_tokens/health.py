"""One whole honest approval: a fresh token, and its content executed. Says where it failed.

Executes only what is safe: on a server the user's contents, with a command or a callable contents
that do nothing. Knows no rule and no verdict.
"""

from __future__ import annotations

from ...catalogue import NotVerified
from ...target import Target
from ..base.driver import DriverError
from .driver import ExecutionTokens
from .verifier_access import VerifierError
from .vocabulary import FAMILY


def honest_approval(target: Target) -> str:
    """An empty text if the content was executed, else one line: the step, and what came back.

    `NotVerified` if nothing may be executed, or if nobody can make a token.
    """
    driver = ExecutionTokens(target)
    try:
        if not driver.table.contents:
            raise NotVerified(f"needs contents that are safe to execute: [{FAMILY}] contents")
        try:
            token = driver.token()
        except VerifierError as error:
            return str(error)
        except DriverError as error:
            raise NotVerified(str(error)) from error
        try:
            answer = driver.execute(token)
        except DriverError as error:
            return f"{driver.table.tool}: {error}"
        served = answer.accepted and answer.ran != ()
        return "" if served else f"an honest token, {answer.describe()}"
    finally:
        driver.close()
