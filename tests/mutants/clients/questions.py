"""Clients that get elicitation wrong, each in one thing."""

from __future__ import annotations

import contextlib
import json
import urllib.request
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.elicitation.vocabulary import INPUT_RESPONSES, REQUEST_STATE
from pytest_mcp_approval.reference_client.client import ReferenceClient
from pytest_mcp_approval.reference_client.connection import Answers, Connection, nothing_asked
from pytest_mcp_approval.reference_client.outcomes import Outcome
from pytest_mcp_approval.reference_client.people import Decision, FormQuestion, UrlQuestion
from pytest_mcp_approval.reference_client.screen import Leaving, Screen
from pytest_mcp_approval.reference_client.transports import BrokenOff
from tests.mutants.clients.parts import client_mutant, impatient, timed_out

Params = Mapping[str, Any]

# ---- the state


@client_mutant(
    kills="elicitation/client-state-echo", because="the retry with .Infinity|the retry with .+ 2, "
)
class WritesTheStateAnew(ReferenceClient):
    """Parses a state that looks like JSON, and writes it anew."""

    def retry(self, params: Params, result: Params, responses: Params) -> dict[str, Any]:
        sent = super().retry(params, result, responses)
        with contextlib.suppress(KeyError, ValueError):
            sent[REQUEST_STATE] = json.dumps(json.loads(sent[REQUEST_STATE]))
        return sent


@client_mutant(kills="elicitation/client-state-echo", because='the retry with "state"')
class ClientTrimsTheState(ReferenceClient):
    """Removes blanks around the state."""

    def retry(self, params: Params, result: Params, responses: Params) -> dict[str, Any]:
        sent = super().retry(params, result, responses)
        if REQUEST_STATE in sent:
            sent[REQUEST_STATE] = sent[REQUEST_STATE].strip()
        return sent


@client_mutant(kills="elicitation/client-state-echo", because="without it")
class DropsAnEmptyState(ReferenceClient):
    """Sends no state that is empty."""

    def retry(self, params: Params, result: Params, responses: Params) -> dict[str, Any]:
        sent = super().retry(params, result, responses)
        if not sent.get(REQUEST_STATE):
            sent.pop(REQUEST_STATE, None)
        return sent


@client_mutant(kills="elicitation/client-state-echo", because="requestState .*opaque-state-0")
class MakesUpAState(ReferenceClient):
    """Sends the last state to a question that came without one."""

    last = ""

    def retry(self, params: Params, result: Params, responses: Params) -> dict[str, Any]:
        sent = super().retry(params, result, responses)
        self.last = sent.setdefault(REQUEST_STATE, self.last)
        return sent


@client_mutant(kills="elicitation/client-state-echo", because="2 of them")
class RetriesTheRetry(ReferenceClient):
    """Sends the person's answer again when no answer came."""

    def called(self, params: Params) -> Outcome:
        usual = self.connection.request

        def request(method: str, sent: Params, answers: Answers = nothing_asked) -> Params:
            try:
                return usual(method, sent, answers)
            except BrokenOff:
                return usual(method, sent, answers)

        self.connection.request = request  # type: ignore[assignment]
        try:
            return super().called(params)
        finally:
            self.connection.request = usual


@client_mutant(kills="elicitation/client-state-echo", because="with requestState")
class RemembersADeclinedQuestion(ReferenceClient):
    """The state of a question that was declined goes along with the next call."""

    kept: Mapping[str, Any] = {}

    def told_no(self, sent: Params, responses: Params) -> Outcome:
        self.kept = {REQUEST_STATE: sent[REQUEST_STATE]} if REQUEST_STATE in sent else {}
        return super().told_no(sent, responses)

    def called(self, params: Params) -> Outcome:
        kept, self.kept = self.kept, {}
        return super().called({**params, **kept})


@client_mutant(
    kills="elicitation/client-state-echo", because="asked for again[^§]*with requestState"
)
class GoesOnAfterATimeOut(ReferenceClient):
    """After a time-out of its own, the next call has the state of the one that got no answer."""

    kept: Mapping[str, Any] = {}

    def called(self, params: Params) -> Outcome:
        usual, (kept, self.kept) = self.connection.request, (self.kept, {})

        def request(method: str, sent: Params, answers: Answers = nothing_asked) -> Params:
            if INPUT_RESPONSES not in sent:
                return usual(method, sent, answers)
            with impatient(self.connection):
                try:
                    return usual(method, sent, answers)
                except BrokenOff as error:
                    if timed_out(error) and REQUEST_STATE in sent:
                        self.kept = {REQUEST_STATE: sent[REQUEST_STATE]}
                    raise

        self.connection.request = request  # type: ignore[assignment]
        try:
            return super().called({**params, **kept})
        finally:
            self.connection.request = usual


# ---- the retry


@client_mutant(kills="elicitation/client-new-id", because="again")
class KeepsTheId(Connection):
    """The retry has the id of the call that it repeats."""

    last: Any = None
    kept = False

    def next_id(self) -> Any:
        if not self.kept:
            self.last = super().next_id()
        return self.last

    def request(
        self, method: str, params: Params, answers: Answers = nothing_asked
    ) -> Mapping[str, Any]:
        self.kept = INPUT_RESPONSES in params
        return super().request(method, params, answers)


@client_mutant(kills="elicitation/client-new-id", because="confirmed")
class AnotherCall(ReferenceClient):
    """The retry has the person's answers among its arguments too."""

    def retry(self, params: Params, result: Params, responses: Params) -> dict[str, Any]:
        sent = super().retry(params, result, responses)
        sent["arguments"] = {**params["arguments"], "confirmed": True}
        return sent


@client_mutant(kills="elicitation/client-new-id", because="2 requests")
class OneRoundOnly(ReferenceClient):
    """Takes the second question of a call for its result."""

    rounds = 0

    def responses(self, result: Params) -> dict[str, Params]:
        self.rounds += 1
        return super().responses(result)

    def called(self, params: Params) -> Outcome:
        usual, self.rounds = self.connection.request, 0

        def request(method: str, sent: Params, answers: Answers = nothing_asked) -> Params:
            found = usual(method, sent, answers)
            return {**found, "resultType": "complete"} if self.rounds else found

        self.connection.request = request  # type: ignore[assignment]
        try:
            return super().called(params)
        finally:
            self.connection.request = usual


# ---- the person


@client_mutant(kills="elicitation/client-asks-a-person", because="before the person was asked")
class AgreesByItself(Screen):
    """Accepts every form with true for whatever it asks."""

    def fill(self, question: FormQuestion) -> tuple[Decision, Mapping[str, Any]]:
        names = question.schema.get("properties") or {}
        return Decision.AGREE, dict.fromkeys(names, True)


@client_mutant(kills="elicitation/client-asks-a-person", because="a screen that ends")
class CutsTheMessage(Screen):
    """Shows the first line of a message."""

    def fill(self, question: FormQuestion) -> tuple[Decision, Mapping[str, Any]]:
        line = question.message.partition("\n")[0][:200]
        return super().fill(FormQuestion(question.server, line, question.schema))


@client_mutant(kills="elicitation/client-asks-a-person", because="a screen without it")
class SaysNotWhoAsks(Connection):
    """Does not tell the person which server asks."""

    def open(self) -> None:
        super().open()
        self.server_name = "a server"


@client_mutant(kills="elicitation/client-asks-a-person", because="cancel")
class TakesANoForALeave(ReferenceClient):
    """Sends cancel when the person declines."""

    def question(self, params: Params) -> Params:
        answer = super().question(params)
        return {"action": "cancel"} if answer["action"] == "decline" else answer


@client_mutant(kills="elicitation/client-asks-a-person", because="^accept|\naccept")
class AgreesForWhoeverLeaves(Screen):
    """Takes the end of the terminal for a yes."""

    def fill(self, question: FormQuestion) -> tuple[Decision, Mapping[str, Any]]:
        left = []
        usual = self.ask

        def ask(prompt: str) -> str:
            try:
                return usual(prompt)
            except Leaving:
                left.append(prompt)
                raise

        self.ask = ask
        decision, content = super().fill(question)
        return (Decision.AGREE, {"confirm": True}) if left else (decision, content)


@client_mutant(kills="elicitation/client-asks-a-person", because="before the person was asked")
class RemembersAYes(Screen):
    """Asks once, and takes a yes for all questions of the tool."""

    kept: Mapping[str, Any] | None = None

    def fill(self, question: FormQuestion) -> tuple[Decision, Mapping[str, Any]]:
        if self.kept is not None:
            return Decision.AGREE, self.kept
        decision, content = super().fill(question)
        self.kept = content if decision is Decision.AGREE else None
        return decision, content


# ---- modes


@client_mutant(kills="elicitation/client-mode", because="error -32602|stopped")
class WantsAMode(ReferenceClient):
    """Refuses a question that names no mode."""

    def question(self, params: Params) -> Params:
        return super().question({"mode": "none", **params})


@client_mutant(kills="elicitation/client-mode", because="accept")
class TakesAnyModeForAForm(ReferenceClient):
    """Shows a form, whatever mode the server names."""

    def question(self, params: Params) -> Params:
        known = params.get("mode") in ("form", "url", None)
        return super().question(params if known else {**params, "mode": "form"})


# ---- forms


@client_mutant(kills="elicitation/client-schema", because="accept with .'confirm")
class ForgetsDefaults(Screen):
    """Leaves out what the person did not fill in."""

    def fill(self, question: FormQuestion) -> tuple[Decision, Mapping[str, Any]]:
        members = question.schema.get("properties") or {}
        bare = {
            name: {key: one for key, one in member.items() if key != "default"}
            for name, member in members.items()
        }
        schema = {**question.schema, "properties": bare}
        return super().fill(FormQuestion(question.server, question.message, schema))


@client_mutant(kills="elicitation/client-schema", because="accept with")
class SendsAnything(Screen):
    """Sends what was typed, as it was typed."""

    def fill(self, question: FormQuestion) -> tuple[Decision, Mapping[str, Any]]:
        members = question.schema.get("properties") or {}
        texts = {
            name: member if name == "confirm" else {"type": "string", "default": ""}
            for name, member in members.items()
        }
        schema = {**question.schema, "properties": texts}
        return super().fill(FormQuestion(question.server, question.message, schema))


# ---- addresses


@client_mutant(kills="elicitation/client-url", because="a browser opened at")
class OpensAtOnce(Screen):
    """Opens the address, and asks then."""

    def visit(self, question: UrlQuestion) -> Decision:
        self.open(question.url)
        return super().visit(question)


@client_mutant(kills="elicitation/client-url", because="fetched the address itself")
class LooksAhead(Screen):
    """Fetches the page for its title."""

    def visit(self, question: UrlQuestion) -> Decision:
        with contextlib.suppress(OSError, ValueError):
            if question.url.startswith("http://127.0.0.1"):
                urllib.request.urlopen(question.url, timeout=5).close()
        return super().visit(question)


@client_mutant(kills="elicitation/client-url", because="a screen that ends")
class ShortensAddresses(Screen):
    """Shows the first 60 characters of an address."""

    def visit(self, question: UrlQuestion) -> Decision:
        short = UrlQuestion(question.server, question.message, question.url[:60])
        decision = super().visit(short)
        return decision


@client_mutant(kills="elicitation/client-url", because="a browser opened at|accept")
class OpensForWhoeverLeaves(Screen):
    """Opens the address unless the person says no in so many words."""

    def visit(self, question: UrlQuestion) -> Decision:
        decision = super().visit(question)
        if decision is Decision.CANCEL:
            self.open(question.url)
        return decision


@client_mutant(
    kills="elicitation/client-url", because="punycode is shown like any other", warned=True
)
class WarnsOfNothing(Screen):
    """Shows every address alike."""

    def visit(self, question: UrlQuestion) -> Decision:
        self.say(f"page      {question.server} asks you to open a page")
        self.say(question.message)
        self.say(question.url)
        return self.decide("Open it in your browser?")
