"""Speaks to a server that asks by elicitation: calls, questions, answers; honest or not.

    question = approval_elicitation.call("delete_user", {"id": "u1"})
    assert "u1" in question.message
    assert question.decline().nothing_ran

Hides the era where it can. Knows no verdicts: it does what it is told and reports what came back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

from ...support.recording import note
from ...support.text import neutralise
from ...target import Effects, Target
from ...wire import Era, Outcome, Reply, Session, race, race_replicas, to_json
from ..base.driver import Driver, DriverError, table_of
from . import handshake, sessionless
from .clients import RelayingClient, era_of
from .form_answers import LEFT_OUT
from .outcome import SAME, AskedQuestion, ElicitationOutcome, Sent
from .people import PersonForUrl, person_for
from .seen_answers import SeenAnswers
from .settings import ElicitationTable, ElicitingTool, read_table, tools_of_table
from .vocabulary import FAMILY, Action, Mode

Given = TypeVar("Given")
_FOUND = f"{FAMILY} tools that ask"
_SILENT = f"{FAMILY} tools that ask nobody"
PASSED_OVER = 0.3
"""Seconds, for a call whose question got what is no response: many servers pass over it and wait
for another. What runs later is seen by the honest step that follows."""
MOST_ROUNDS = 8
"""Honest answers to one call; a server that still asks then never ends."""


class EndlessQuestionsError(DriverError):
    """The server asks again and again."""


class Elicitation(Driver):
    """A server that asks, and its clients."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.table: ElicitationTable = read_table(table_of(target, FAMILY), target.settings.sources)
        self.seen = SeenAnswers(target)
        self.opened: list[Any] = []
        """Calls of the handshake era that may still be open."""
        self._clients: list[RelayingClient] = []
        self._processes: list[Target] = []
        self.stand_in: PersonForUrl | None = None
        """Who is at the page instead of the person in the table: one at a real browser."""

    @property
    def era(self) -> Era:
        return era_of(self.target)

    @property
    def timeout(self) -> float:
        return self.target.settings.timeout

    # ---- what there is

    def tools(self) -> list[ElicitingTool]:
        """The tools that ask: those of the table, and named ones that were seen to ask."""
        safe = {**self.target.known_arguments, **self.target.settings.tools}
        named = tools_of_table(self.table, list(self.listing()), safe)
        return [*named, *self._found([one.name for one in named])]

    def _found(self, named: list[str]) -> list[ElicitingTool]:
        """Tools that the user named as safe to run, outside the table, and that ask."""
        remembered: list[ElicitingTool] | None = self.target.remembered.get(_FOUND)
        if remembered is None:
            remembered = []
            listed = self.listing()
            for name, arguments in self.target.settings.tools.items():
                if name in named or name not in listed:
                    continue
                tool = ElicitingTool(name, arguments, found=True)
                asked = self.ask(tool)
                if isinstance(asked, AskedQuestion):
                    self.leave(asked)
                    remembered.append(tool)
                else:
                    self.target.remembered.setdefault(_SILENT, {})[name] = asked.describe()
            self.target.remembered[_FOUND] = remembered
        return remembered

    @property
    def asked_nobody(self) -> Mapping[str, str]:
        """What came of the named tools, outside the table, that were called and did not ask."""
        return dict(self.target.remembered.get(_SILENT, {}))

    def tool(self, name: str) -> ElicitingTool:
        known = next((one for one in self.tools() if one.name == name), None)
        return known or ElicitingTool(name, {})

    # ---- clients

    @cached_property
    def client(self) -> RelayingClient:
        """The one that most calls are made by: it declares both modes."""
        return self.new_client()

    def new_client(self, capabilities: Any = None, **more: Any) -> RelayingClient:
        """Another client; `capabilities` is declared exactly so."""
        made = RelayingClient(self, capabilities, **more)
        self._clients.append(made)
        return made

    def without_capability(self) -> RelayingClient:
        """A client that declares that it cannot ask anybody."""
        return self.new_client({})

    def another_process(self) -> Target:
        """Where one more client of a pipe connects: over the same state if that can be shared."""
        other = self.target.replica() or self.target.twin()
        if other is None:
            raise DriverError("needs a second process: a pipe has one client")
        self._processes.append(other)
        return other

    def close(self) -> None:
        """End what was opened; the target stays open."""
        for call in self.opened:
            handshake.let_go(call)
        self.opened.clear()
        for client in self._clients:
            client.close()
        self._clients.clear()
        self.__dict__.pop("client", None)
        while self._processes:
            self._processes.pop().close()

    # ---- asking

    def ask(
        self,
        tool: ElicitingTool | str,
        arguments: Any = None,
        *,
        client: RelayingClient | None = None,
        more: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
        watch: bool = True,
    ) -> AskedQuestion | ElicitationOutcome:
        """Call a tool, by default with the arguments named as safe: a question, or what came
        instead. `more` are further members of the params."""
        tool = self.tool(tool) if isinstance(tool, str) else tool
        arguments = tool.arguments if arguments is None else arguments
        client = client or self.client
        before = client.effects() if watch else None
        sent = Sent(client, tool, arguments, dict(more or {}), before)
        came = self._came(sent, lambda: self._send(sent, headers))
        if isinstance(came, AskedQuestion):
            # While a call is open its server may serve nobody else: then only the end tells.
            looked = client.era is Era.SESSIONLESS and watch
            return replace(came, runs=self._runs_of(sent)) if looked else came
        return self._outcome(came, sent, honest=False)

    def call(self, tool: ElicitingTool | str, arguments: Any = None, **how: Any) -> Any:
        """The same for a test that knows which of the two it expects."""
        return self.ask(tool, arguments, **how)

    def _send(self, sent: Sent, headers: Mapping[str, str | None] | None) -> AskedQuestion | Reply:
        if sent.client.era is Era.HANDSHAKE:
            return handshake.begin(sent, self.timeout)
        return sessionless.send(sent, headers=headers)

    def _came(self, sent: Sent, act: Callable[[], AskedQuestion | Reply]) -> AskedQuestion | Reply:
        try:
            came = act()
        finally:
            sent.client.watch.forget()
        if isinstance(came, Reply):
            found = handshake.question_in(came, sent) or sessionless.question_in(came, sent)
            if found is None:
                return came
            came = found
        return replace(came, sent=replace(came.sent, acts=sent.client.watch.acts))

    # ---- answering

    def answer(
        self,
        question: AskedQuestion,
        response: Any = SAME,
        *,
        honest: bool = False,
        watch: bool = True,
        client: RelayingClient | None = None,
        tool: ElicitingTool | None = None,
        arguments: Any = SAME,
        state: Any = SAME,
        responses: Any = SAME,
        more: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
        error: Any = SAME,
        raw: Any = SAME,
        session: Session | None = None,
        seconds: float | None = None,
    ) -> ElicitationOutcome:
        """Answer with exactly this response; by default with an honest accept.

        Sessionless, also with another `state`, other `arguments`, at another `tool`, by another
        `client`, with exact `responses`. Handshake: with an `error` or `raw` bytes instead of a
        result, sent in another `session`, waiting for only so many `seconds`. `honest` says that
        the call was approved.
        """
        response = question.response() if response is SAME else response
        if question.client.era is Era.HANDSHAKE:
            sent = replace(question.sent, before=self._before(question, watch=watch))
            seconds = self.timeout if seconds is None else seconds

            def act() -> AskedQuestion | Reply:
                return handshake.respond(
                    question, response, seconds, error=error, raw=raw, session=session
                )
        else:
            changes: dict[str, Any] = {"before": None}
            if client is not None:
                changes["client"] = client
            if tool is not None:
                changes["tool"] = tool
            if arguments is not SAME:
                changes["arguments"] = arguments
            sent = sessionless.retry_of(
                question, response, state=state, responses=responses, more=more, **changes
            )
            if watch:
                sent = replace(sent, before=sent.client.effects())

            def act() -> AskedQuestion | Reply:
                return sessionless.send(sent, headers=headers)

        return self._outcome(self._came(sent, act), sent, honest=honest)

    def wait(
        self, question: AskedQuestion, *, honest: bool = True, seconds: float | None = None
    ) -> ElicitationOutcome:
        """Handshake: what comes of a call that was answered and goes on."""
        sent, call = question.sent, question.pending.call
        most = self.timeout if seconds is None else seconds
        came = self._came(sent, lambda: handshake.go_on(sent, call, most))
        return self._outcome(came, sent, honest=honest)

    def retry_params(self, question: AskedQuestion, response: Any) -> dict[str, Any]:
        """Sessionless: the params of the call that answers."""
        sent = sessionless.retry_of(question, response, before=None)
        return sent.client.completed(sent.params())

    def race(self, question: AskedQuestion, response: Any, count: int) -> list[Reply]:
        """The same answer so many times at the same moment."""
        if question.client.era is Era.HANDSHAKE:
            return handshake.answer_together(question, response, count, self.timeout)
        call = ("tools/call", self.retry_params(question, response))
        return list(race(question.client.session, [call] * count))

    def race_over(
        self,
        clients: list[RelayingClient],
        question: AskedQuestion,
        response: Any,
        count: int,
    ) -> list[Reply]:
        """The same at several servers, over HTTP; `ValueError` where that is not possible."""
        call = ("tools/call", self.retry_params(question, response))
        calls = [(clients[at % len(clients)].session, call) for at in range(count)]
        return list(race_replicas(calls))

    def answer_and_leave(self, question: AskedQuestion, response: Any) -> None:
        """Sessionless: the answer is sent, and nobody waits for what comes of it."""
        call = question.client.session.open_call(
            "tools/call", self.retry_params(question, response)
        )
        call.expect_nothing()
        self.opened.append(call)

    def read(self, reply: Reply, question: AskedQuestion) -> ElicitationOutcome:
        """A reply that came otherwise, as an outcome without effects."""
        sent = replace(question.sent, before=None)
        return self._outcome(self._came(sent, lambda: reply), sent, honest=False)

    def send(self, question: AskedQuestion, response: Any, **how: Any) -> Reply | None:
        """Handshake: the answer alone, without waiting for what comes of it."""
        try:
            return handshake.send_response(question, response, **how)
        finally:
            self.forget()

    def answer_under(
        self, question: AskedQuestion, other_id: Any, response: Any
    ) -> ElicitationOutcome:
        """Handshake: the same answer under the id of another request. The question stays open, so
        nothing is waited for; a look at the effects gives the server its time."""
        raw = to_json({"jsonrpc": "2.0", "id": other_id, "result": response})
        return self.answer(question, raw=raw, seconds=0)

    def _before(self, question: AskedQuestion, *, watch: bool) -> Effects | None:
        """In an open call, what was seen before it: its server may serve nobody else meanwhile.
        If others did something since, or the call is over, what is seen now."""
        if not watch:
            return None
        alone = question.sent.acts == question.client.watch.acts
        over = question.by_error or question.pending.over
        return question.sent.before if alone and not over else question.client.effects()

    def _outcome(
        self, came: AskedQuestion | Reply, sent: Sent, *, honest: bool
    ) -> ElicitationOutcome:
        probed = sent.before is not None
        if isinstance(came, AskedQuestion):
            looked = probed and sent.client.era is Era.SESSIONLESS
            return ElicitationOutcome(
                sent.tool.name,
                sent.arguments,
                came.reply or Reply(Outcome.NO_ANSWER),
                question=came,
                runs=self._runs_of(sent) if looked else None,
                probed=looked,
            )
        outcome = ElicitationOutcome(
            sent.tool.name,
            sent.arguments,
            came,
            honest=honest,
            runs=self._runs_of(sent) if probed else None,
            probed=probed,
        )
        if honest and outcome.served:
            self.seen.keep_honest(outcome)
        return replace(outcome, claims=self.seen.claims_success(outcome))

    def _runs_of(self, sent: Sent) -> int | None:
        """How often a tool ran since the call was made; None if that cannot be told."""
        if sent.before is None:
            return None
        after = sent.client.effects()
        return after.runs_since(sent.before) if after is not None else None

    # ---- honest people

    @property
    def person(self) -> PersonForUrl:
        return self.stand_in or self._own_person

    @cached_property
    def _own_person(self) -> PersonForUrl:
        return person_for(self.target, self.table.person)

    def approve(self, question: AskedQuestion) -> ElicitationOutcome:
        """An honest yes to this question: on its page in url mode, then by accepting."""
        if question.mode is Mode.URL:
            note("page", f"the person opens the page of {question.tool.name} and approves")
            self.person.approve(question)
        response = question.response(Action.ACCEPT)
        return self.answer(question, response, honest=True)

    def finish(self, asked: AskedQuestion) -> ElicitationOutcome:
        """Honest answers until the call ends."""
        for number in range(MOST_ROUNDS):
            self.seen.note_round(number, asked)
            outcome = self.approve(asked)
            if outcome.question is None:
                return outcome
            asked = outcome.question
        raise EndlessQuestionsError(
            f"{neutralise(asked.tool.name, 60)} asks without end: after {MOST_ROUNDS} honest "
            f"answers it asks again: {neutralise(asked.message, 80)}",
            outcome.reply,
        )

    def with_runs(self, outcome: ElicitationOutcome, runs: int | None) -> ElicitationOutcome:
        """What was watched from outside: an outcome, and how often something ran meanwhile."""
        return replace(outcome, runs=runs, probed=self.effects is not None)

    def leave(self, asked: AskedQuestion) -> None:
        """The person walks away: a call that waits for them is ended."""
        pending = asked.pending
        if pending is not None and not pending.answered:
            handshake.send_response(asked, asked.response(Action.CANCEL, LEFT_OUT))
            pending.call.wait(self.timeout)
        elif pending is not None:
            handshake.let_go(pending.call)
        self.forget()
