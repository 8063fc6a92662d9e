"""Before the first verdict: is the table right, and does an honest confirmation work?"""

from __future__ import annotations

from ...config.settings import FILE
from ...support.text import listed_shortly, neutralise
from ...target import Target
from ..base.driver import DriverError, table_of
from ..base.preflight import NotOffered, Preflight, PreflightError, check_named, in_one_line
from .driver import ConfirmationTokens
from .settings import FAMILY, ConfirmationTokensTable


def look(target: Target, found: Preflight) -> None:
    """Ask and confirm once, with what the user named as safe; say what there is to judge."""
    if not table_of(target, FAMILY):
        raise NotOffered(
            f"no operation that needs confirmation is named: [{FAMILY}] operations in {FILE}",
            "The suite runs nothing that you did not name (docs/confirmation-tokens.md).",
        )
    with in_one_line():
        driver = ConfirmationTokens(target)
    table = driver.binding.table
    usual = [one for one in table.operations if one.usual]
    if not usual:
        raise PreflightError(
            f"[{FAMILY}] operations: got none that is gated, expected one of danger 2 to 4"
        )
    if not table.hook and table.operation_at != "name":
        with in_one_line():
            listed = sorted(driver.listing())
        check_named(FAMILY, [table.tool] if table.tool not in listed else [], listed)
    try:
        issued = driver.issue(usual[0].name, usual[0].params)
    except DriverError as error:
        raise PreflightError(
            f"[{FAMILY}] {neutralise(str(error), 300)}",
            f"Where does your server put it? Say so in [{FAMILY}] fields, codes and answer "
            "(docs/confirmation-tokens.md).",
        ) from None
    found.gated += [table.tool, *table.other_adapter.values()]
    found.gated += [one.name for one in table.operations if one.gated]
    shown = [f"{neutralise(one.name, 30)} ({one.danger.word})" for one in usual]
    found.say("confirmed", listed_shortly(shown, 6))
    if issued.expiry is not None:
        found.check_clock(
            target.clock, lambda: driver.issue(usual[0].name, usual[0].params).expires_at
        )
    _say_rest(table, found)


def _say_rest(table: ConfirmationTokensTable, found: Preflight) -> None:
    tolerance = "not declared" if table.tolerance is None else f"{table.tolerance:g} s declared"
    found.say("skew", f"tolerance {tolerance}")
    renamed = [
        f"{' or '.join(codes)} = {own}" for own, codes in table.codes.items() if codes != (own,)
    ]
    if renamed:
        found.say("codes", neutralise(", ".join(renamed), 160))
    lacking = [name for name in ("audit", "log", "store") if name not in table.probes]
    lacking += [] if table.introspection else ["introspection"]
    if lacking:
        found.say("not shown", f"{', '.join(lacking)}: see [{FAMILY}]")
