"""What the server does: a small bank. Three of its tools need a person's passkey, two a person's
yes to a question, and three nothing.

Ordinary functions with type hints. What a person reads before they approve is made from the
arguments as the client sent them: they may be of any type, so `describe` must cope with that.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from pytest_mcp_approval.reference_server import ElicitedApproval, VerifiedApproval

Account = Annotated[str, Field(min_length=1, description="The number of an account")]
Cents = Annotated[int, Field(ge=1, description="An amount of money, in cents")]
READ_ONLY = ToolAnnotations(read_only_hint=True)
DESTRUCTIVE = ToolAnnotations(read_only_hint=False, destructive_hint=True)


class Bank:
    """Money, and what became of it. A demonstration: yours is in a database."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._journal: list[dict[str, Any]] = []

    def write(self, **entry: Any) -> dict[str, Any]:
        with self._lock:
            numbered = {"number": len(self._journal) + 1, **entry}
            self._journal.append(numbered)
            return numbered

    def entries(self) -> list[dict[str, Any]]:
        with self._lock:
            return list(self._journal)


def register(
    server: MCPServer[Any], approval: VerifiedApproval, question: ElicitedApproval, bank: Bank
) -> None:
    """Add the tools to the server."""

    @server.tool(annotations=READ_ONLY)
    def journal_length() -> int:
        """How many things were done so far."""
        return len(bank.entries())

    @server.tool(annotations=READ_ONLY)
    def paid_to(account: Account) -> int:
        """How many cents were paid to an account."""
        return sum(
            entry["cents"]
            for entry in bank.entries()
            if entry["what"] == "paid" and entry["account"] == account
        )

    @approval.tool(
        server,
        describe=describe_payment,
        authenticator_class="cross-platform",
        annotations=DESTRUCTIVE,
    )
    def pay(account: Account, cents: Cents, reference: str) -> dict[str, Any]:
        """Pay an amount to an account. Needs a credential that can be on another device."""
        return bank.write(what="paid", account=account, cents=cents, reference=reference)

    @approval.tool(
        server,
        describe=lambda arguments: f"Block the card {arguments.get('card')}",
        annotations=DESTRUCTIVE,
    )
    def block_card(card: Annotated[str, Field(min_length=1)]) -> dict[str, Any]:
        """Block a card. Names no class of credentials, which means the same as for payments."""
        return bank.write(what="blocked", card=card)

    @approval.tool(
        server,
        describe=lambda arguments: f"Close the account {arguments.get('account')} for ever",
        authenticator_class="platform",
        annotations=DESTRUCTIVE,
    )
    def close_account(account: Account) -> dict[str, Any]:
        """Close an account for ever. Any enrolled credential will do."""
        return bank.write(what="closed", account=account)

    @question.tool(
        server,
        describe=lambda arguments: f"Order a new card for the account {arguments.get('account')}.",
        annotations=DESTRUCTIVE,
    )
    def order_card(account: Account, address: str) -> dict[str, Any]:
        """Send a new card to an address. Needs a yes, whom the client asks."""
        return bank.write(what="card", account=account, address=address)

    @question.tool(
        server,
        describe=lambda arguments: f"Change where letters for {arguments.get('account')} go.",
        annotations=DESTRUCTIVE,
    )
    def change_address(account: Account, address: str) -> dict[str, Any]:
        """Send letters to another address from now on. Needs a yes, whom the client asks."""
        return bank.write(what="address", account=account, address=address)


def describe_payment(arguments: Mapping[str, Any]) -> str:
    """What a person reads before they approve a payment."""
    cents = arguments.get("cents")
    amount = f"{cents / 100:.2f}" if isinstance(cents, int) else f"{cents!r} cents"
    return f"Pay {amount} to the account {arguments.get('account')}"
