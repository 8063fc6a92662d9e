"""The reference client as a library, with the reference server: one type for each end of a call."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest

from pytest_mcp_approval.clients.http_door import ScriptedHttpDoor
from pytest_mcp_approval.clients.messages import HangUp, Incoming, ScriptedRefusal, text_result
from pytest_mcp_approval.clients.news import News
from pytest_mcp_approval.clients.scripted_server import ScriptedServer
from pytest_mcp_approval.families.elicitation.scripted_questions import (
    ARGUMENTS,
    ASKING,
    ScriptedQuestions,
)
from pytest_mcp_approval.families.sep2672.scripted_approvals import (
    GATED,
    ScriptedApprovals,
    SuiteAuthenticator,
    refusal,
)
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.reference_client import (
    Cancelled,
    Decision,
    Declined,
    Done,
    FormQuestion,
    Refused,
    Review,
    Unknown,
    Unusable,
    UrlQuestion,
    open_client,
)
from pytest_mcp_approval.reference_client.authenticators import NoSignature, VirtualSigner
from pytest_mcp_approval.reference_client.connection import Connection, ServerError
from pytest_mcp_approval.reference_client.passkey_page import PageSigner
from pytest_mcp_approval.wire.eras import Era

ORIGIN = "http://localhost"


class Somebody:
    """A person who always decides alike, and remembers what they were shown."""

    def __init__(self, decision: Decision = Decision.AGREE) -> None:
        self.decision = decision
        self.shown: list[Any] = []

    def review(self, review: Review) -> Decision:
        self.shown.append(review)
        return self.decision

    def fill(self, question: FormQuestion) -> tuple[Decision, Mapping[str, Any]]:
        self.shown.append(question)
        return self.decision, {"confirm": True}

    def visit(self, question: UrlQuestion) -> Decision:
        self.shown.append(question)
        return self.decision

    def warn(self, what: str) -> None:
        self.shown.append(what)


class Signer:
    """The suite's authenticator, without the way over HTTP."""

    def __init__(self, authenticator: SuiteAuthenticator) -> None:
        self.authenticator = authenticator

    def create(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        made: Mapping[str, Any] = self.authenticator("create", {"options": options})
        return made

    def get(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        made: Mapping[str, Any] = self.authenticator("get", {"options": options})
        return made


@pytest.fixture(scope="module")
def door() -> Iterator[ScriptedHttpDoor]:
    opened = ScriptedHttpDoor()
    yield opened
    opened.close()


@pytest.fixture(params=list(Era), ids=lambda era: era.value)
def server(request: pytest.FixtureRequest) -> ScriptedServer:
    return ScriptedServer(request.param, News(), 5)


@pytest.fixture
def authenticator() -> SuiteAuthenticator:
    return SuiteAuthenticator(ORIGIN)


def test_an_approved_call_is_done(door, server, authenticator):
    ScriptedApprovals(server, authenticator)
    person = Somebody()
    client = open_client(door.serve(server), person=person, signer=Signer(authenticator))
    outcome = client.call(GATED, {"path": "a"})
    assert isinstance(outcome, Done)
    assert [type(one) for one in person.shown] == [Review]
    assert len(authenticator.signed) == 1
    assert isinstance(client.enroll(), Done)


@pytest.mark.parametrize(
    ("decision", "end"), [(Decision.DECLINE, Declined), (Decision.CANCEL, Cancelled)]
)
def test_a_person_who_does_not_agree_ends_it(door, server, authenticator, decision, end):
    ScriptedApprovals(server, authenticator)
    url, signer = door.serve(server), Signer(authenticator)
    client = open_client(url, person=Somebody(decision), signer=signer)
    assert client.call(GATED, {}) == end()
    assert authenticator.signed == []
    assert server.calls(GATED) == []


def test_each_refusal_says_why_and_silence_is_not_a_refusal(door, server, authenticator):
    script = ScriptedApprovals(server, authenticator)
    url, signer = door.serve(server), Signer(authenticator)
    client = open_client(url, person=Somebody(), signer=signer)
    for reason in Reason:
        script.instead = {"tools/call": refusal(reason)}
        outcome = client.call(GATED, {})
        assert isinstance(outcome, Refused)
        assert outcome.reason is reason
    script.instead = {"tools/call": ScriptedRefusal(-32603, "Oh")}
    assert client.call(GATED, {}) == Refused(-32603, "Oh", None)
    script.instead = {"tools/call": HangUp()}
    assert isinstance(client.call(GATED, {}), Unknown)
    script.instead = {}
    assert isinstance(client.call(GATED, {}), Done)


def test_an_authenticator_that_does_not_sign_ends_it(door, server, authenticator):
    ScriptedApprovals(server, authenticator)
    nobody = VirtualSigner(ORIGIN)  # has no passkey
    client = open_client(door.serve(server), person=Somebody(), signer=nobody)
    assert isinstance(client.call(GATED, {}), Unusable)
    assert server.calls(GATED) == []


def test_a_question_is_answered_by_the_person(door, server, authenticator):
    script = ScriptedQuestions(server)
    url, signer = door.serve(server), Signer(authenticator)
    client = open_client(url, person=Somebody(), signer=signer)
    assert isinstance(client.call(ASKING, ARGUMENTS), Done)
    assert [one.action for one in script.answered] == ["accept"]


def test_answers_may_come_as_a_stream(door, server, authenticator):
    ScriptedQuestions(server)
    server.streams = True
    url, signer = door.serve(server), Signer(authenticator)
    client = open_client(url, person=Somebody(), signer=signer)
    assert isinstance(client.call(ASKING, ARGUMENTS), Done)


class Pipe:
    """A transport on which this comes, whatever is sent."""

    session, seconds = "", 1.0

    def __init__(self, *coming: Mapping[str, Any]) -> None:
        self.coming = coming

    def exchange(self, *_: object) -> Iterator[Mapping[str, Any]]:
        yield from self.coming

    def tell(self, *_: object) -> None:
        """Nobody listens."""

    def close(self) -> None:
        """Nothing is open."""


def test_a_late_answer_to_another_request_is_nobodys():
    """Over stdio it comes all the same after the client gave up, and may be an error."""
    late = {"jsonrpc": "2.0", "id": "given-up", "error": {"code": -32603, "message": "late"}}
    own = {"jsonrpc": "2.0", "id": 1, "result": {"of": "this request"}}
    assert Connection(Pipe(late, own), {}).request("ping", {}) == {"of": "this request"}
    unnamed = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no JSON"}}
    with pytest.raises(ServerError):
        Connection(Pipe(unnamed), {}).request("ping", {})


def test_a_server_that_never_stops_asking_is_left(door, authenticator):
    server = ScriptedServer(Era.SESSIONLESS, News(), 5)
    script = ScriptedQuestions(server)

    def ask(incoming: Incoming) -> Any:
        return script.asks() if incoming.tool == ASKING else text_result("")

    server.handlers["tools/call"] = ask
    url, signer = door.serve(server), Signer(authenticator)
    client = open_client(url, person=Somebody(), signer=signer)
    assert isinstance(client.call(ASKING, ARGUMENTS), Unusable)
    assert len(server.calls(ASKING)) == 10


def test_passkeys_are_kept_in_a_file(tmp_path, door, authenticator):
    server = ScriptedServer(Era.SESSIONLESS, News(), 5)
    script = ScriptedApprovals(server, authenticator)
    script.credentials.clear()
    url, file = door.serve(server), tmp_path / "passkeys.json"
    client = open_client(url, person=Somebody(), signer=VirtualSigner(ORIGIN, file))
    assert isinstance(client.enroll(), Done)
    later = open_client(url, person=Somebody(), signer=VirtualSigner(ORIGIN, file))
    assert isinstance(later.call(GATED, {}), Done)


# ---- a passkey of one's own


def posted(url: str, answer: Any) -> int:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=10)
    connection.request("POST", parts.path, json.dumps(answer))
    status = connection.getresponse().status
    connection.close()
    return status


def page_that(acts) -> PageSigner:
    """In the place of the browser: it acts on its own, as a page does."""

    def opens(url: str) -> None:
        threading.Thread(target=acts, args=(url,), daemon=True).start()

    return PageSigner(lambda _: None, opens)


def test_what_the_page_signs_is_what_goes_on():
    seen: list[Any] = []

    def acts(url: str) -> None:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=10)
        connection.request("GET", parts.path)
        seen.append(connection.getresponse().read().decode())
        connection.close()
        seen.append(posted(url.rsplit("/", 1)[0] + "/guessed", {"response": {"id": "forged"}}))
        posted(url, {"response": {"id": "x"}})

    options = {"challenge": "</script><script>"}
    assert page_that(acts).get(options) == {"id": "x"}
    page, forged = seen
    assert "navigator.credentials" in page
    assert "</script><script>" not in page
    assert forged == 404


def test_a_page_on_which_nobody_signs_is_no_signature():
    with pytest.raises(NoSignature, match="the person left"):
        page_that(lambda url: posted(url, {"error": "the person left"})).create({})
