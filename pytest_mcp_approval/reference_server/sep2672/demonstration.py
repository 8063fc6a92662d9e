"""The demonstration tools: one of every case that SEP-2672 tells apart.

Each writes what it did into the effects, with the arguments exactly as they came: nothing is filled
in, coerced or dropped after a person has signed. A tool knows its arguments; it does not know
whether it is gated, by whom it was approved, or what carries its call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...families.sep2672.vocabulary import AuthenticatorClass
from ..server.answers import InvalidParamsError, tool_listing
from ..server.effects import RecordedEffects
from .records import GatedTool

Run = Callable[[Mapping[str, Any], RecordedEffects], Mapping[str, Any]]


@dataclass(frozen=True)
class Tool:
    """A tool as it is listed and run; `gate` is its approval, None for a tool that needs none."""

    name: str
    title: str
    description: str
    run: Run
    properties: Mapping[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    read_only: bool = False
    gate: GatedTool | None = None

    def listing(self) -> dict[str, Any]:
        """The entry in `tools/list`."""
        entry = tool_listing(
            self.name,
            self.title,
            self.description,
            self.properties,
            self.required,
            read_only=self.read_only,
        )
        if self.gate is not None:
            entry["_meta"] = self.gate.listing_meta
        return entry


_TEXT = {"type": "string", "minLength": 1}
_WHOLE = {"type": "integer", "minimum": 1}


def text(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidParamsError(f"{name}: got {_shown(value)}, expected text")
    return value


def whole(arguments: Mapping[str, Any], name: str) -> int:
    """10 and 10.0 are the same number (RFC 8785 writes them alike)."""
    value = arguments.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value):
        raise InvalidParamsError(f"{name}: got {_shown(value)}, expected a whole number")
    if value < 1:
        raise InvalidParamsError(f"{name}: got {_shown(value)}, expected 1 or more")
    return int(value)


def _shown(value: Any) -> str:
    return ascii(value)[:40]


def _recording(name: str, check: Callable[[Mapping[str, Any]], object]) -> Run:
    def run(arguments: Mapping[str, Any], effects: RecordedEffects) -> Mapping[str, Any]:
        check(arguments)
        return {"executed": effects.record(name, arguments)}

    return run


def _check_trade(arguments: Mapping[str, Any]) -> None:
    text(arguments, "symbol")
    whole(arguments, "quantity")
    if arguments.get("side", "buy") not in ("buy", "sell"):
        raise InvalidParamsError(f"side: got {_shown(arguments['side'])}, expected buy or sell")


def _describe_trade(arguments: Mapping[str, Any]) -> str:
    verb = {"buy": "Buy", "sell": "Sell"}.get(arguments.get("side", ""), "Place an order for")
    return f"{verb} {whole(arguments, 'quantity')} of {text(arguments, 'symbol')}"


def _check_transfer(arguments: Mapping[str, Any]) -> None:
    text(arguments, "account")
    whole(arguments, "amount")


def _quote(arguments: Mapping[str, Any], effects: RecordedEffects) -> Mapping[str, Any]:  # noqa: ARG001
    symbol = text(arguments, "symbol")
    return {"symbol": symbol, "price": 100 + sum(symbol.encode()) % 100}


PLACE_TRADE = Tool(
    name="place_trade",
    title="Place a trade",
    description="Place an order. Needs a credential that can be on another device.",
    properties={
        "symbol": _TEXT,
        "quantity": _WHOLE,
        "side": {"type": "string", "enum": ["buy", "sell"]},
        "memo": {"description": "Anything at all, kept with the order"},
    },
    required=("symbol", "quantity"),
    run=_recording("place_trade", _check_trade),
    gate=GatedTool("place_trade", _describe_trade, AuthenticatorClass.CROSS_PLATFORM),
)
TRANSFER_FUNDS = Tool(
    name="transfer_funds",
    title="Transfer funds",
    description="Transfer money. Names no class, which means the same as cross-platform.",
    properties={"account": _TEXT, "amount": _WHOLE},
    required=("account", "amount"),
    run=_recording("transfer_funds", _check_transfer),
    gate=GatedTool(
        "transfer_funds",
        lambda arguments: f"Transfer {whole(arguments, 'amount')} to {text(arguments, 'account')}",
    ),
)
WIPE_CACHE = Tool(
    name="wipe_cache",
    title="Wipe the cache",
    description="Empty the cache. Any enrolled credential will do.",
    run=_recording("wipe_cache", dict),
    gate=GatedTool("wipe_cache", lambda _: "Empty the whole cache", AuthenticatorClass.PLATFORM),
)
DELETE_RESOURCE = Tool(
    name="delete_resource",
    title="Delete a resource",
    description="Delete a resource for ever. Any enrolled credential will do.",
    properties={"resourceId": _TEXT},
    required=("resourceId",),
    run=_recording("delete_resource", lambda arguments: text(arguments, "resourceId")),
    gate=GatedTool(
        "delete_resource",
        lambda arguments: f"Delete the resource {text(arguments, 'resourceId')} for ever",
        AuthenticatorClass.PLATFORM,
    ),
)
RESTART_SERVICE = Tool(
    name="restart_service",
    title="Restart a service",
    description="Restart a service. Its schema has a default, which nobody signs (section 8.3.3).",
    properties={"service": _TEXT, "force": {"type": "boolean", "default": False}},
    required=("service",),
    run=_recording("restart_service", lambda arguments: text(arguments, "service")),
    gate=GatedTool(
        "restart_service",
        lambda arguments: f"Restart {text(arguments, 'service')}",
        AuthenticatorClass.CROSS_PLATFORM,
    ),
)
GET_QUOTE = Tool(
    name="get_quote",
    title="Get a quote",
    description="What a share costs. Needs no approval.",
    properties={"symbol": _TEXT},
    required=("symbol",),
    run=_quote,
    read_only=True,
)

DEMONSTRATION_TOOLS = (
    PLACE_TRADE,
    TRANSFER_FUNDS,
    WIPE_CACHE,
    DELETE_RESOURCE,
    GET_QUOTE,
)
"""Every case but the schema default, which section 8.3.3 warns of: add `RESTART_SERVICE` for it."""
