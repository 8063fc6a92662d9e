"""The reference client: calls a tool, and asks the person where the server wants one asked.

    client = ReferenceClient(connection, person, authenticator)
    outcome = client.call("place_trade", {"symbol": "AAPL"})

SEP-2672 (section 4.9): a challenge first, displayText shown, then a signature, then one call with
it. Elicitation: the question shown, the person's own answer, the state returned as it came. Knows
no screen, no transport and no authenticator: it is given them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from ..families.elicitation import vocabulary as eliciting
from ..families.sep2672 import vocabulary as approving
from ..families.sep2672.vocabulary import Reason
from .authenticators import NoSignature, Signer
from .connection import INVALID_PARAMS, AnswerError, Connection, ServerError
from .outcomes import Cancelled, Declined, Done, Outcome, Refused, Unknown, Unusable
from .people import Decision, FormQuestion, Person, Review, UrlQuestion
from .transports import BrokenOff

CAPABILITIES = eliciting.capability(eliciting.Mode.FORM, eliciting.Mode.URL)
_MOST_ROUNDS = 10
Tool = Mapping[str, Any]


class _Ended(Exception):  # noqa: N818  # a way out of a ceremony
    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


class ReferenceClient:
    """Calls tools on one server for one person."""

    def __init__(self, connection: Connection, person: Person, signer: Signer) -> None:
        self.connection = connection
        self.person = person
        self.signer = signer
        self.tools: dict[str, Tool] = {}
        self._warned: set[str] = set()

    # ---- what the server has

    def open(self) -> None:
        """Begin the conversation and list the tools."""
        self.connection.open()
        self.list_tools()

    def list_tools(self) -> None:
        listed: list[Any] = []
        cursor: Mapping[str, Any] = {}
        for _ in range(100):
            page = self.connection.request("tools/list", cursor)
            listed += page.get("tools") or []
            if not page.get("nextCursor"):
                break
            cursor = {"cursor": page["nextCursor"]}
        self.tools = {str(one.get("name")): one for one in listed if isinstance(one, Mapping)}
        self.look_for_inconsistency()

    def look_for_inconsistency(self) -> None:
        """Section 4.3: a tool asks for approval, and the server does not offer it."""
        gated = [name for name, tool in self.tools.items() if self.needs_approval(tool)]
        if gated and not self.server_approves() and "capability" not in self._warned:
            self._warned.add("capability")
            self.person.warn(
                f"{', '.join(gated)}: listed as needing a verified approval, but the server does "
                f"not declare the capability {approving.CAPABILITY_KEY}"
            )

    def server_approves(self) -> bool:
        """Section 4.3: the capability is declared; unknown members in it are let be."""
        extensions = self.connection.server_capabilities.get("extensions")
        return isinstance(extensions, Mapping) and approving.CAPABILITY_KEY in extensions

    def needs_approval(self, tool: Tool) -> bool:
        """Section 4.2: the listing carries the annotation, whatever else is in it."""
        meta = tool.get("_meta")
        return isinstance(meta, Mapping) and approving.META_KEY in meta

    # ---- one call

    def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Call a tool once. No approval, state or answer is used for any other call."""
        params: dict[str, Any] = {"name": name, "arguments": arguments}
        try:
            if self.needs_approval(self.tools.get(name, {})):
                params = self.approved(params)
            return self.called(params)
        except _Ended as ended:
            return ended.outcome
        except ServerError as error:
            return self.refused(error)
        except BrokenOff as error:
            return Unknown(str(error))

    def refused(self, error: ServerError) -> Refused:
        """By `data.reason` alone: messages may be in any language (section 4.10)."""
        reason = error.data.get("reason")
        known = Reason(reason) if isinstance(reason, str) and reason in set(Reason) else None
        return Refused(error.code or 0, error.message, known)

    # ---- SEP-2672

    def approved(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The same call with evidence, after the person has reviewed it."""
        envelope = self.challenge(params)
        self.reviewed(params, envelope)
        response = self.signed(envelope)
        return self.with_evidence(params, envelope, response)

    def challenge(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        asked = {"toolName": params["name"], "arguments": params["arguments"]}
        envelope = self.connection.request(approving.CHALLENGE_CREATE, asked)
        members = {"challengeId": str, "displayText": str, "requestOptions": Mapping}
        for name, kind in members.items():
            if not isinstance(envelope.get(name), kind):
                raise _Ended(Unusable(f"the server's challenge has no {name}"))
        return envelope

    def reviewed(self, params: Mapping[str, Any], envelope: Mapping[str, Any]) -> None:
        server = self.connection.server_name
        review = Review(server, str(params["name"]), str(envelope["displayText"]))
        self.go_on_if(self.person.review(review))

    def signed(self, envelope: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return self.signer.get(envelope["requestOptions"])
        except NoSignature as error:
            raise _Ended(Unusable(f"nothing was signed: {error}")) from None

    def with_evidence(
        self, params: Mapping[str, Any], envelope: Mapping[str, Any], response: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Section 4.5: under the namespaced key, the response as the authenticator gave it."""
        evidence = {
            "method": approving.WEBAUTHN,
            "challengeId": envelope["challengeId"],
            "response": response,
        }
        return {**params, "_meta": {approving.META_KEY: evidence}}

    def enroll(self) -> Outcome:
        """Enroll a passkey with the server (section 4.4)."""
        try:
            begun = self.connection.request(approving.ENROLL_BEGIN, {})
            response = self.signer.create(begun.get("options") or {})
            done = self.connection.request(approving.ENROLL_FINISH, {"response": response})
            return Done(done)
        except NoSignature as error:
            return Unusable(f"no passkey was made: {error}")
        except ServerError as error:
            return self.refused(error)
        except BrokenOff as error:
            return Unknown(str(error))

    # ---- elicitation

    def called(self, params: Mapping[str, Any]) -> Outcome:
        """Send the call, and as often as its result asks, the retry that answers."""
        sent = params
        for _ in range(_MOST_ROUNDS):
            result = self.connection.request("tools/call", sent, self.asked_inside)
            if result.get(eliciting.RESULT_TYPE) != eliciting.INPUT_REQUIRED:
                return Done(result)
            responses = self.responses(result)
            sent = self.retry(params, result, responses)
            if any(one.get("action") != Decision.AGREE for one in responses.values()):
                return self.told_no(sent, responses)
        return Unusable(f"the server asked more than {_MOST_ROUNDS} times")

    def responses(self, result: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        """The person's answers to the questions in a result."""
        asked = result.get(eliciting.INPUT_REQUESTS)
        found: dict[str, Mapping[str, Any]] = {}
        for key, one in (asked if isinstance(asked, Mapping) else {}).items():
            if not isinstance(one, Mapping) or one.get("method") != eliciting.CREATE:
                raise _Ended(Unusable("the server asks for something else than a person"))
            try:
                found[key] = self.question(one.get("params") or {})
            except AnswerError as error:
                raise _Ended(Unusable(error.message)) from None
            if found[key].get("action") != Decision.AGREE:
                break  # a person who said no is not asked further
        return found

    def retry(
        self,
        params: Mapping[str, Any],
        result: Mapping[str, Any],
        responses: Mapping[str, Any],
    ) -> dict[str, Any]:
        """The same call, with the answers, and the state if there was one."""
        sent = {**params, eliciting.INPUT_RESPONSES: responses}
        if eliciting.REQUEST_STATE in result:
            sent[eliciting.REQUEST_STATE] = result[eliciting.REQUEST_STATE]
        return sent

    def told_no(self, sent: Mapping[str, Any], responses: Mapping[str, Any]) -> Outcome:
        """Tell the server that the person said no; whatever it answers, that is the outcome."""
        said = {one.get("action") for one in responses.values()}
        with contextlib.suppress(ServerError, BrokenOff):  # nothing was agreed to
            self.connection.request("tools/call", sent, self.asked_inside)
        return Declined() if Decision.DECLINE in said else Cancelled()

    def asked_inside(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """A request of the server's inside an open call (handshake era)."""
        if method != eliciting.CREATE:
            raise AnswerError(-32601, f"Method not found: {method}")
        return self.question(params)

    def question(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ask the person; the answer as the server gets it."""
        mode = eliciting.mode_of(params)
        declared = eliciting.declared_modes(self.connection.capabilities)
        if mode is None or mode not in declared:
            raise AnswerError(INVALID_PARAMS, "the server asks in a mode that was not declared")
        server, message = self.connection.server_name, str(params.get(eliciting.MESSAGE, ""))
        if mode is eliciting.Mode.URL:
            url = str(params.get(eliciting.URL, ""))
            return {eliciting.ACTION: self.person.visit(UrlQuestion(server, message, url)).value}
        schema = params.get(eliciting.SCHEMA)
        form = FormQuestion(server, message, schema if isinstance(schema, Mapping) else {})
        decision, content = self.person.fill(form)
        if decision is Decision.AGREE:
            return {eliciting.ACTION: decision.value, eliciting.CONTENT: dict(content)}
        return {eliciting.ACTION: decision.value}

    def go_on_if(self, decision: Decision) -> None:
        """Only with a yes."""
        if decision is not Decision.AGREE:
            raise _Ended(Declined() if decision is Decision.DECLINE else Cancelled())
