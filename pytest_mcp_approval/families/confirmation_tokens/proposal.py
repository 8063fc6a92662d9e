"""What a server shows of confirmation tokens before anybody has described it: a tool by its name.
Its operations are not listed, so their names can only come from the user."""

from __future__ import annotations

from ...target import Target
from ..base.driver import Driver
from ..base.proposal import Proposal, Wanted
from .settings import ConfirmationTokensTable


def propose(target: Target) -> Proposal | None:
    """The tool of the document, if the server lists it."""
    tool = ConfirmationTokensTable().tool
    if tool not in Driver(target).listing():
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
        gates=frozenset({tool}),
    )
