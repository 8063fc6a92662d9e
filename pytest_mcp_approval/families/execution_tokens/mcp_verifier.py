"""A verifier behind MCP tools: one tool executes on a token, another may approve."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...target import Target
from ...wire import RawJson, Reply, Session, StdioTransport, race
from ..base.driver import Driver
from ..base.outcome import is_result, object_in
from ..base.paths import value_at
from .outcome import ExecutionOutcome
from .settings import ExecutionTokensTable
from .verifier_access import LEFT_OUT, ExecutionRequest, Verifier, VerifierError, seen_in_first
from .vocabulary import FAMILY


class McpVerifier(Verifier):
    binary = False

    def __init__(
        self, target: Target, table: ExecutionTokensTable, session: Session | None = None
    ) -> None:
        self.target = target
        self.table = table
        self._session = session
        self._watch = Driver(target)
        self._opened: list[Target | Session] = []
        """What was started for this verifier alone."""
        spec = target.spec
        in_process = spec.kind == "python" or spec.transport == "in-process"
        self.samples = None if in_process and not spec.url else 40
        self.in_this_process = spec.kind == "python" or (
            spec.kind == "reference" and spec.transport != "stdio"
        )

    @property
    def session(self) -> Session:
        return self._session or self.target.session()

    def listed(self) -> list[str]:
        return list(self._watch.listing())

    def takes(self, name: str) -> bool:
        """By the tool's schema, if it lists the arguments."""
        entry = self._watch.listing().get(self.table.tool, {})
        properties = value_at(entry, "inputSchema.properties")
        if isinstance(properties, dict) and properties:
            return self.table.arguments[name] in properties
        return True

    # ---- asking

    def params(self, request: ExecutionRequest) -> dict[str, Any]:
        names = self.table.arguments
        token: Any = RawJson(request.token.decode("utf-8", "surrogateescape"))
        if self.table.token_as == "text":
            token = request.token.decode("utf-8", "replace")
        arguments: dict[str, Any] = {
            names["token"]: token,
            names["content"]: request.content.decode(),
            names["action"]: request.action,
        }
        if request.host is not None:
            arguments[names["host"]] = request.host
        given = {**arguments, **request.beside}
        sent = {name: value for name, value in given.items() if value is not LEFT_OUT}
        return {"name": self.table.tool, "arguments": sent}

    def ask(self, request: ExecutionRequest) -> ExecutionOutcome:
        reply, runs = self._watch.runs_during(
            lambda: self.session.call("tools/call", self.params(request))
        )
        return self._answer(reply, self._ran(runs))

    def ask_unwatched(self, request: ExecutionRequest) -> ExecutionOutcome:
        """For several at once, of whom none can tell what the others did; then `forget`."""
        return self._answer(self.session.call("tools/call", self.params(request)), None)

    def forget(self) -> None:
        """The last look at the effects is out of date."""
        self._watch.forget()

    def ask_each(self, requests: Sequence[ExecutionRequest]) -> list[ExecutionOutcome]:
        """The effects are read once for all: as many must have run as were accepted."""
        replies, runs = self._watch.runs_during(
            lambda: [self.session.call("tools/call", self.params(one)) for one in requests]
        )
        ran = self._ran(runs)
        if ran is None:
            return [self._answer(reply, None) for reply in replies]
        answers = [self._answer(reply, ()) for reply in replies]
        answers = [replace(one, ran=(None,) if one.accepted else ()) for one in answers]
        more = len(ran) - sum(one.accepted for one in answers)
        if more and answers:  # one did not do what it said: nobody can tell which
            answers[-1] = replace(
                answers[-1], ran=(None,) * max(0, len(answers[-1].ran or ()) + more)
            )
        return answers

    def ask_at_once(self, requests: Sequence[ExecutionRequest]) -> list[ExecutionOutcome]:
        calls = [self.session.prepare("tools/call", self.params(one)) for one in requests]
        replies, runs = self._watch.runs_during(lambda: list(race(self.session, calls)))
        return seen_in_first([self._answer(one, None) for one in replies], self._ran(runs))

    def _ran(self, runs: int | None) -> tuple[bytes | None, ...] | None:
        if self._watch.effects is None:
            return None
        # Something changed that cannot be counted: at least one run.
        return (None,) * (1 if runs is None else runs)

    def _answer(self, reply: Reply, ran: tuple[bytes | None, ...] | None) -> ExecutionOutcome:
        if not reply.answered:
            raise VerifierError(f"{self.table.tool}: {reply.describe()}")
        value = object_in(reply.result)
        says_yes, reason = self.table.read_answer(value)
        text = json.dumps(value) if value is not None else reply.describe()
        return ExecutionOutcome(is_result(reply) and says_yes, text, reason, ran, reply=reply)

    # ---- the arbiter

    @property
    def approves_for(self) -> bool:
        return self._lists_seconds() is True

    def _lists_seconds(self) -> bool | None:
        """Whether the approve tool lists this argument; None: it lists none at all."""
        entry = self._watch.listing().get(self.table.approve_tool, {})
        properties = value_at(entry, "inputSchema.properties")
        if not isinstance(properties, dict) or not properties:
            return None
        return self.table.approve_arguments["seconds"] in properties

    def approve(
        self, content: bytes, action: str, hosts: list[str], seconds: float
    ) -> dict[str, Any] | None:
        if self.table.approve_tool not in self.listed():
            return None
        names = self.table.approve_arguments
        arguments: dict[str, Any] = {
            names["content"]: content.decode(),
            names["action"]: action,
            names["hosts"]: hosts,
        }
        if self._lists_seconds() is not False:
            arguments[names["seconds"]] = seconds
        reply = self.session.call(
            "tools/call", {"name": self.table.approve_tool, "arguments": arguments}
        )
        value = object_in(reply.result)
        inside = value_at(value, "token")
        token = inside if isinstance(inside, dict) else value
        if not isinstance(token, dict) or self.table.names["signature"] not in token:
            raise VerifierError(f"{self.table.approve_tool} gave no token: {reply.describe()}")
        return token

    # ---- others

    def another(self) -> Verifier | None:
        replica = self.target.replica()
        if replica is not None:
            return self._over(replica)
        if isinstance(self.target.transport, StdioTransport):
            return None
        session = self.target.new_session("pytest-mcp-approval, second client")
        made = McpVerifier(self.target, self.table, session)
        made._opened.append(session)
        return made

    def restart(self, *, kill: bool = False) -> None:
        if not self.target.can_restart:
            raise VerifierError("it cannot be restarted: let the suite start it")
        if kill and not self.target.kill():
            raise VerifierError("the suite did not start its process, so it cannot kill it")
        self.target.restart()
        self._watch.forget()

    def with_secret(self, secret: str | None) -> Verifier | None:
        other: Target | None = None
        if self.table.secret_setting:
            other = self.target.variant(FAMILY, self.table.secret_setting, secret)
        elif secret is not None:
            other = self.target.with_environment({self.table.secret_environment: secret})
        return self._over(other)

    def in_zone(self, zone: str) -> Verifier | None:
        return self._over(self.target.with_environment({"TZ": zone}))

    def _over(self, other: Target | None) -> Verifier | None:
        if other is None:
            return None
        made = McpVerifier(other, self.table)
        made._opened.append(other)
        return made

    def close(self) -> None:
        for opened in self._opened:
            opened.close()
