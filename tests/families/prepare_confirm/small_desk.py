"""Small servers with two-step tools, each of another shape than the reference: the source of false
alarms. Things are gone once they were deleted; a confirmation is one mutation for all of them.

Shares nothing with the reference server.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tests.families.least_server import Application, serve

ORDERS = ("o-1", "o-2")


class Desk:
    """Deletes orders; its previews show whatever they are asked for, there or not."""

    def __init__(self) -> None:
        self.orders = dict.fromkeys(ORDERS, "open")
        self.tokens: dict[str, dict[str, Any]] = {}
        self.done: list[str] = []

    def tools(self) -> dict[str, Callable[[dict[str, Any]], dict[str, Any]]]:
        return {
            "prepare_delete_orders": self.prepare,
            "confirm_delete_orders": self.confirm,
            "create_orders": self.create,
            "list_done": lambda _: {"done": self.done},
        }

    def prepare(self, arguments: dict[str, Any]) -> dict[str, Any]:
        ids = arguments["ids"]
        token = secrets.token_hex(16)
        until = time.time() + 300
        self.tokens[token] = {"ids": ids, "until": until, "used": False}
        return {
            "action": "preview",
            "operation": "delete",
            "items": [{"id": one, "name": f"Order {one}"} for one in ids],
            "warnings": ["This cannot be undone"],
            "confirmation_token": token,
            "token_expires_at": datetime.fromtimestamp(until, UTC).isoformat(),
            "next_step": "Call confirm_delete_orders",
        }

    def confirm(self, arguments: dict[str, Any]) -> dict[str, Any]:
        given = arguments.get("confirmation_token")
        known = self.tokens.get(given) if isinstance(given, str) else None
        if known is None:
            return self.refuse("Invalid token signature")
        if time.time() > known["until"]:
            return self.refuse("Token has expired")
        if known["used"]:
            return self.refuse("Token has already been used")
        known["used"] = True
        return self.carry_out(known["ids"])

    def carry_out(self, ids: list[str]) -> dict[str, Any]:
        missing = [one for one in ids if one not in self.orders]
        if missing:
            return self.refuse(f"there is no {', '.join(missing)}")
        for one in ids:
            del self.orders[one]
        self.done += ids
        return {"success": True, "deleted_count": len(ids), "ids": ids, "message": "Deleted"}

    def refuse(self, why: str) -> dict[str, Any]:
        return {"success": False, "message": f"Confirmation failed: {why}"}

    def create(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self.orders |= dict.fromkeys(arguments["ids"], "open")
        return {"success": True}


class Burns(Desk):
    """The defect beside the missing restore: a refused forgery uses all tokens up."""

    def confirm(self, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = super().confirm(arguments)
        if "signature" in answer["message"]:
            for one in self.tokens.values():
                one["used"] = True
        return answer


class Keeps(Desk):
    """Deleting what is not there is not an error."""

    def carry_out(self, ids: list[str]) -> dict[str, Any]:
        self.orders |= dict.fromkeys(ids, "open")
        return super().carry_out(ids)


class KeepsAndBurns(Burns, Keeps):
    """Nothing is missing, so what it burns is its own fault."""


class Empty(Desk):
    """Has nothing when it is started: things are there when they were put there."""

    def __init__(self) -> None:
        super().__init__()
        self.orders = {}

    def prepare(self, arguments: dict[str, Any]) -> dict[str, Any]:
        if any(one not in self.orders for one in arguments["ids"]):
            return self.refuse("there are no such orders")
        return super().prepare(arguments)


class Renamed(Desk):
    """Has names of its own for everything, and counts seconds since 1970."""

    def tools(self) -> dict[str, Callable[[dict[str, Any]], dict[str, Any]]]:
        mine = super().tools()
        return {
            "plan_delete": mine["prepare_delete_orders"],
            "do_delete": mine["confirm_delete_orders"],
            **{name: mine[name] for name in ("create_orders", "list_done")},
        }

    def prepare(self, arguments: dict[str, Any]) -> dict[str, Any]:
        shown = super().prepare(arguments)
        until = datetime.fromisoformat(shown["token_expires_at"]).timestamp()
        return {
            "data": {
                "what": shown["action"],
                "verb": shown["operation"],
                "things": shown["items"],
                "notes": shown["warnings"],
                "ticket": shown["confirmation_token"],
                "until": until,
                "then": "Call do_delete",
            }
        }

    def confirm(self, arguments: dict[str, Any]) -> dict[str, Any]:
        told = super().confirm({"confirmation_token": arguments.get("ticket")})
        renamed = {"success": "ok", "message": "info"}
        return {renamed.get(name, name): value for name, value in told.items()}


class WarnsOfNothing(Desk):
    """Does not say that there is no way back; one of its tools only looks like a second step."""

    def tools(self) -> dict[str, Callable[[dict[str, Any]], dict[str, Any]]]:
        return {**super().tools(), "confirm_address": lambda _: {"success": True}}

    def prepare(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {**super().prepare(arguments), "warnings": ["Please be careful"]}


class TakesTwice(Desk):
    """Two confirmations that come together pass together."""

    def confirm(self, arguments: dict[str, Any]) -> dict[str, Any]:
        known = self.tokens.get(str(arguments.get("confirmation_token")))
        if known is not None and known["used"] and not known.get("twice"):
            known["used"], known["twice"] = False, True
            self.create({"ids": known["ids"]})
        return super().confirm(arguments)


def served(desk: Desk) -> Application:
    tools = desk.tools()
    return serve("desk", tools, lambda name, arguments: tools[name](arguments))


def deletes() -> Application:
    return served(Desk())


def burns() -> Application:
    return served(Burns())


def keeps() -> Application:
    return served(Keeps())


def keeps_and_burns() -> Application:
    return served(KeepsAndBurns())


def empty() -> Application:
    return served(Empty())


def renamed() -> Application:
    return served(Renamed())


def warns_of_nothing() -> Application:
    return served(WarnsOfNothing())


def takes_twice() -> Application:
    return served(TakesTwice())
