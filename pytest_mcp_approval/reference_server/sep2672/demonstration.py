"""The demonstration tools: one for every case that SEP-2672 distinguishes.

Each records what it did in the effects, with the arguments exactly as they came: nothing is filled
in, converted or dropped after a person has signed. A tool knows its arguments; it does not know
whether it is gated, who approved it, or which transport is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...families.sep2672.vocabulary import AuthenticatorClass
from ..server.answers import invalid, tool_listing
from ..server.effects import RecordedEffects
from .records import Describe, GatedTool

Run = Callable[[Mapping[str, Any], RecordedEffects], Mapping[str, Any]]


@dataclass(frozen=True)
class Tool:
    """A tool as it is listed and run; `gate` is its approval, None for a tool that needs none."""

    entry: Mapping[str, Any]
    run: Run
    gate: GatedTool | None = None

    @property
    def name(self) -> str:
        return str(self.entry["name"])

    def listing(self) -> dict[str, Any]:
        """The entry in `tools/list`."""
        return {**self.entry, **({"_meta": self.gate.listing_meta} if self.gate else {})}


_TEXT = {"type": "string", "minLength": 1}
_WHOLE = {"type": "integer", "minimum": 1}


def text(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value:
        invalid(name, value, "text")
    return value


def whole(arguments: Mapping[str, Any], name: str) -> int:
    """10 and 10.0 are the same number (RFC 8785 writes them alike)."""
    value = arguments.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value):
        invalid(name, value, "a whole number")
    if value < 1:
        invalid(name, value, "1 or more")
    return int(value)


def _gated(
    name: str,
    title: str,
    description: str,
    sentence: Describe,
    authenticator_class: AuthenticatorClass | None = None,
    *,
    check: Callable[[Mapping[str, Any]], object] | None = None,
    **schema: Any,
) -> Tool:
    """A tool that only leaves a trace. Its arguments are valid if `describe` can use them, unless
    `check` looks closer."""

    def run(arguments: Mapping[str, Any], effects: RecordedEffects) -> Mapping[str, Any]:
        (check or sentence)(arguments)
        return {"executed": effects.record(name, arguments)}

    gate = GatedTool(name, sentence, authenticator_class)
    return Tool(tool_listing(name, title, description, **schema), run, gate)


def _check_trade(arguments: Mapping[str, Any]) -> None:
    if arguments.get("side", "buy") not in ("buy", "sell"):
        invalid("side", arguments["side"], "buy or sell")
    _describe_trade(arguments)


def _describe_trade(arguments: Mapping[str, Any]) -> str:
    verb = {"buy": "Buy", "sell": "Sell"}.get(arguments.get("side", ""), "Place an order for")
    return f"{verb} {whole(arguments, 'quantity')} of {text(arguments, 'symbol')}"


def _describe_transfer(arguments: Mapping[str, Any]) -> str:
    urgent = arguments.get("urgent", False)
    if not isinstance(urgent, bool):
        invalid("urgent", urgent, "true or false")
    how = "At once transfer" if urgent else "Transfer"
    return f"{how} {whole(arguments, 'amount')} to {text(arguments, 'account')}"


def _quote(arguments: Mapping[str, Any], effects: RecordedEffects) -> Mapping[str, Any]:  # noqa: ARG001
    symbol = text(arguments, "symbol")
    return {"symbol": symbol, "price": 100 + sum(symbol.encode()) % 100}


PLACE_TRADE = _gated(
    "place_trade",
    "Place a trade",
    "Place an order. Needs a credential that can be on another device.",
    _describe_trade,
    AuthenticatorClass.CROSS_PLATFORM,
    check=_check_trade,
    properties={
        "symbol": _TEXT,
        "quantity": _WHOLE,
        "side": {"type": "string", "enum": ["buy", "sell"]},
        "memo": {"description": "Anything at all, kept with the order"},
    },
    required=("symbol", "quantity"),
)
TRANSFER_FUNDS = _gated(
    "transfer_funds",
    "Transfer funds",
    "Transfer money. Names no class, which means the same as cross-platform.",
    _describe_transfer,
    properties={"account": _TEXT, "amount": _WHOLE, "urgent": {"type": "boolean"}},
    required=("account", "amount"),
)
WIPE_CACHE = _gated(
    "wipe_cache",
    "Wipe the cache",
    "Empty the cache. Any enrolled credential will do.",
    lambda _: "Empty the whole cache",
    AuthenticatorClass.PLATFORM,
)
DELETE_RESOURCE = _gated(
    "delete_resource",
    "Delete a resource",
    "Delete a resource for ever. Any enrolled credential will do.",
    lambda arguments: f"Delete the resource {text(arguments, 'resourceId')} for ever",
    AuthenticatorClass.PLATFORM,
    properties={"resourceId": _TEXT},
    required=("resourceId",),
)
RESTART_SERVICE = _gated(
    "restart_service",
    "Restart a service",
    "Restart a service. Its schema has a default, which nobody signs (section 8.3.3).",
    lambda arguments: f"Restart {text(arguments, 'service')}",
    AuthenticatorClass.CROSS_PLATFORM,
    properties={"service": _TEXT, "force": {"type": "boolean", "default": False}},
    required=("service",),
)
GET_QUOTE = Tool(
    tool_listing(
        "get_quote",
        "Get a quote",
        "What a share costs. Needs no approval.",
        {"symbol": _TEXT},
        ("symbol",),
        read_only=True,
    ),
    _quote,
)

DEMONSTRATION_TOOLS = (
    PLACE_TRADE,
    TRANSFER_FUNDS,
    WIPE_CACHE,
    DELETE_RESOURCE,
    GET_QUOTE,
)
"""Every case but the schema default, which section 8.3.3 warns about: see `RESTART_SERVICE`."""
