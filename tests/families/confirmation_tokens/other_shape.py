"""A server that confirms in a shape of its own: what a binding is tried against.

Each operation is a tool. The first call is a JSON-RPC error whose data has a ticket and its expiry
in seconds since 1970; the second call brings the ticket as `_confirmation` among the arguments.
Codes are its own. It shares nothing with the reference server but the idea.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from typing import Any, ClassVar

from tests.families.least_server import AnsweredWithError, Application, serve

CONFIRM, REFUSED = -32050, -32051
LEVELS = {"drop_table": 2, "truncate_table": 2, "purge_queue": 3, "close_tenant": 4}
WORDS = {2: "destructive", 3: "dangerous", 4: "forbidden"}
LIVES = {2: 300, 3: 300, 4: 120}
CRITICAL = ("table", "queue", "tenant", "cascade")
A_MINUTE = 60
KEPT_SECONDS = 1800
MOST_A_MINUTE = {"ask": 400, "fail": 150}


class RefusedError(AnsweredWithError):
    def __init__(self, code: int, kind: str, **data: Any) -> None:
        super().__init__(kind)
        self.error = {"code": code, "message": "No.", "data": {"kind": kind, **data}}


class TicketOffice:
    """Issues and takes tickets; everything is gone with the process."""

    def __init__(self) -> None:
        self.tickets: dict[str, dict[str, Any]] = {}
        self.done: list[dict[str, Any]] = []
        self.history: list[dict[str, Any]] = []
        self.counts: dict[tuple[str, int], int] = {}

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if name == "list_done":
            return {"done": self.done}
        if name == "history":
            return {"entries": self.history}
        if name == "list_tickets":
            return {"tickets": [*self.tickets]}
        params = {key: value for key, value in arguments.items() if key != "_confirmation"}
        if name != "count_rows":
            self.confirm(name, params, arguments.get("_confirmation"))
        self.done.append({"name": name, "params": params})
        return {"done": name}

    def confirm(self, name: str, params: dict[str, Any], ticket: Any) -> None:
        if ticket is None:
            raise self.ask(name, params)
        try:
            self.take(name, params, ticket)
        except RefusedError as refusal:
            self.log("TOKEN_REJECTED", str(ticket), name, refusal.error["data"]["kind"])
            raise
        self.log("TOKEN_VALIDATED", ticket, name)

    def ask(self, name: str, params: dict[str, Any]) -> RefusedError:
        self.slow_down("ask")
        forgotten = time.time() - KEPT_SECONDS
        self.tickets = {key: one for key, one in self.tickets.items() if one["until"] > forgotten}
        level, ticket = LEVELS[name], f"conf_{secrets.token_hex(20)}"
        until = time.time() + LIVES[level]
        self.tickets[ticket] = {"name": name, "hash": digest(params), "until": until, "used": False}
        self.log("TOKEN_ISSUED", ticket, name)
        return RefusedError(
            CONFIRM,
            "confirm_first",
            action=name,
            level=WORDS[level],
            why=["It cannot be undone"],
            question=f"{name}: {', '.join(map(str, params.values()))}?",
            ticket=ticket,
            valid_until=int(until),
        )

    def take(self, name: str, params: dict[str, Any], ticket: Any) -> None:
        self.slow_down("fail", count=False)
        known = self.tickets.get(ticket) if isinstance(ticket, str) else None
        refusal = self.fault(known, name, params)
        if refusal is not None:
            self.slow_down("fail")
            raise refusal
        assert known is not None
        known["used"] = True

    def fault(
        self, known: dict[str, Any] | None, name: str, params: dict[str, Any]
    ) -> RefusedError | None:
        if known is None:
            return RefusedError(REFUSED, "no_such_ticket")
        if self.is_late(known["until"]):
            ended, now = int(known["until"]), int(time.time())
            return RefusedError(REFUSED, "late", valid_until=ended, now=now)
        if known["used"]:
            return RefusedError(REFUSED, "spent")
        if known["name"] != name or known["hash"] != digest(params):
            return RefusedError(REFUSED, "another_call")
        return None

    def is_late(self, until: float) -> bool:
        return time.time() > until

    def slow_down(self, what: str, *, count: bool = True) -> None:
        key = (what, int(time.time() // A_MINUTE))
        if self.counts.get(key, 0) >= MOST_A_MINUTE[what]:
            raise RefusedError(REFUSED, "slow_down", wait=A_MINUTE)
        if count:
            self.counts[key] = self.counts.get(key, 0) + 1

    def log(self, event: str, ticket: str, name: str, reason: str = "") -> None:
        entry = {
            "timestamp": time.time(),
            "event": event,
            "token_id": ticket[:20],
            "operation": name,
            "adapter_name": "ticket office",
            "outcome": "failure" if reason else "success",
        }
        self.history.append({**entry, "failure_reason": reason} if reason else entry)


class OneWordForAll(TicketOffice):
    """Refuses every ticket with the same code; a sentence says why."""

    SENTENCES: ClassVar[dict[str, str]] = {
        "no_such_ticket": "Nobody knows this ticket",
        "late": "This ticket is no longer good",
        "spent": "This ticket has served",
        "another_call": "This ticket is for something else",
    }

    def fault(
        self, known: dict[str, Any] | None, name: str, params: dict[str, Any]
    ) -> RefusedError | None:
        refusal = super().fault(known, name, params)
        if refusal is not None:
            data = refusal.error["data"]
            data |= {"sentence": self.SENTENCES[data["kind"]], "kind": "refused"}
        return refusal


class TakesEveryTicketTwice(TicketOffice):
    """Two calls that come together pass the gate together."""

    def fault(
        self, known: dict[str, Any] | None, name: str, params: dict[str, Any]
    ) -> RefusedError | None:
        if known is not None and known["used"] and not known.get("twice"):
            known["used"], known["twice"] = False, True
        return super().fault(known, name, params)


class NeverLate(TicketOffice):
    """Takes tickets of any age."""

    def is_late(self, until: float) -> bool:
        return False


def digest(params: dict[str, Any]) -> str:
    bound = {key: value for key, value in params.items() if key in CRITICAL}
    return hashlib.sha256(json.dumps(bound, sort_keys=True).encode()).hexdigest()


def served(office: TicketOffice) -> Application:
    names = [*LEVELS, "count_rows", "list_done", "history", "list_tickets"]
    return serve("ticket-office", names, office.call)


def make() -> Application:
    return served(TicketOffice())


def make_broken() -> Application:
    return served(NeverLate())


def make_with_one_code() -> Application:
    return served(OneWordForAll())


def make_that_takes_twice() -> Application:
    return served(TakesEveryTicketTwice())
