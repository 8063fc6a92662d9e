"""What a server shows of confirmation tokens before anybody has described it: a tool by its name.
Its operations are not listed, so their names can only come from the user."""

from __future__ import annotations

from ...target import Target
from ..base.driver import Driver, table_of
from ..base.proposal import Proposal, Wanted
from .settings import FAMILY, ConfirmationTokensTable, read_table


def gates(target: Target) -> frozenset[str]:
    """The tool of the document or of the settings, and those of other adapters, if listed."""
    table = read_table(table_of(target, FAMILY), target.settings.sources)
    return frozenset({table.tool, *table.other_adapter.values()} & set(Driver(target).listing()))


def propose(target: Target) -> Proposal | None:
    """The tool, whose operations only the user knows."""
    tool, found = ConfirmationTokensTable().tool, gates(target)
    if tool not in found:
        return None
    return Proposal(
        f"operations of {tool} (a short-lived token)",
        wanted=[
            Wanted(
                "operations",
                "an operation that needs confirmation, its danger (2 to 4), and safe parameters",
                example='[{ name = "delete_item", danger = 2, params = { id = "test-1" } }]',
                is_text=False,
            ),
        ],
        gates=found,
    )
