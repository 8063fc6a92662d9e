"""Questions inside open calls: silence, cut connections, cancelled calls, ended sessions, others'
answers, and many at once. On the raw wire, with a clock that the test moves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_mcp_approval.families.elicitation.vocabulary import Mode, capability
from pytest_mcp_approval.reference_server import ReferenceServer, build
from pytest_mcp_approval.reference_server.elicitation.extension import ElicitationExtension
from pytest_mcp_approval.reference_server.server.clock import SettableClock
from pytest_mcp_approval.support.deadline import Deadline
from pytest_mcp_approval.wire import HttpTransport, InProcessTransport, Session, open_session
from pytest_mcp_approval.wire.reply import Outcome
from tests.reference_server.running import serving

from .test_extension import decide

BOTH = capability(Mode.FORM, Mode.URL)
ERASE = {"name": "erase_account", "arguments": {"account": "a"}}
ROTATE = {"name": "rotate_keys", "arguments": {"service": "s"}}
YES = {"action": "accept", "content": {"confirm": True}}


class House:
    """A server, its clock, and sessions with it."""

    def __init__(self, connect: Callable[..., Any], server: ReferenceServer, clock: Any) -> None:
        self.server, self.clock = server, clock
        self._connect = connect
        self.transports: list[Any] = []

    def session(self, protocol: str = "2025-11-25", **options: Any) -> Session:
        transport = self._connect()
        self.transports.append(transport)
        return open_session(transport, protocol, deadline=10, capabilities=BOTH, **options)

    @property
    def ran(self) -> int:
        return len(self.server.effects)


@pytest.fixture(params=["in process", "http"])
def house(request) -> Iterator[House]:
    clock = SettableClock()
    server = build(extensions={"elicitation": ElicitationExtension}, clock=clock)
    if request.param == "http":
        with serving(server) as port:
            made = House(lambda: HttpTransport(f"http://localhost:{port}/mcp", {}), server, clock)
            yield made
            for transport in made.transports:
                transport.close()
    else:
        app = InProcessTransport(server.asgi_app())
        yield House(lambda: app, server, clock)
        app.close()
    server.close()


def asked(session: Session, params: Any = ERASE) -> Any:
    call = session.open_call("tools/call", params)
    request = call.next_request()
    assert request is not None, call.reply
    assert request.method == "elicitation/create"
    return call, request


def refused(reply: Any) -> str:
    assert reply.result["isError"] is True
    return str(reply.result["structuredContent"]["reason"])


def test_a_yes_runs_it(house: House):
    call, request = asked(house.session())
    assert house.ran == 0
    call.answer(request, result=YES)
    assert call.wait().result["structuredContent"]["done"] is True
    call.answer(request, result=YES)
    assert house.ran == 1


def test_the_server_gives_up_when_its_clock_says_so(house: House):
    call, request = asked(house.session())
    house.clock.advance(59)
    assert call.wait(0.3, due=False).outcome is Outcome.NO_ANSWER
    house.clock.advance(1)
    assert refused(call.wait()) == "unanswered"
    call.answer(request, result=YES)
    assert house.ran == 0


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"code": -32601, "message": "no"}},
        {"error": {"code": -1, "message": "no", "data": YES}},
        {"error": YES},
        {"error": None},
        {"error": 7},
        {"result": None},
        {"result": []},
        {"result": "accept"},
        {"result": YES, "error": {"code": 0, "message": "both"}},
        {"result": float("nan")},
    ],
    ids=str,
)
def test_an_error_and_what_is_no_answer_are_no_consent(house: House, answer: Any):
    session = house.session()
    call, request = asked(session)
    raw = json.dumps({"jsonrpc": "2.0", "id": request.id, **answer}).encode()
    call.answer(request, raw=raw)
    assert refused(call.wait()) == "client_error"
    assert house.ran == 0
    again, question = asked(session)
    again.answer(question, result=YES)
    assert again.wait().result["structuredContent"]["done"] is True


def until(house: House, tool: str = "show_accounts") -> None:
    """Another call is served meanwhile."""
    reply = house.session().call("tools/call", {"name": tool, "arguments": {}})
    assert reply.result["isError"] is False


def test_a_cancelled_call_runs_nothing(house: House):
    call, request = asked(house.session())
    call.cancel("no more")
    call.answer(request, result=YES)
    until(house)
    assert house.ran == 0


def test_a_cut_connection_runs_nothing(house: House):
    session = house.session()
    call, request = asked(session)
    assert call.hang_up()
    extension = house.server.extension("elicitation")
    deadline = Deadline(10)
    while not extension.store._spent.find():  # what a question that is over leaves
        assert not deadline.passed
        until(house)
    call.answer(request, result=YES)
    until(house)
    assert house.ran == 0


def test_a_deleted_session_runs_nothing(house: House):
    session = house.session()
    call, request = asked(session)
    assert session.delete().status == 200
    call.answer(request, result=YES)
    until(house)
    assert house.ran == 0


def test_an_answer_of_another_session_is_not_taken(house: House):
    mine, other = house.session(), house.session()
    call, request = asked(mine)
    call.answer(request, result=YES, session=other)
    assert call.wait(0.3, due=False).outcome is Outcome.NO_ANSWER
    assert house.ran == 0
    call.answer(request, result=YES)
    assert call.wait().result["structuredContent"]["done"] is True


def test_any_number_of_questions_may_be_open(house: House):
    session = house.session()
    calls = []
    for number in range(60):  # more than there are threads
        params = {"name": "erase_account", "arguments": {"account": f"a{number}"}}
        calls.append(asked(session, params))
    until(house)
    for call, request in reversed(calls):
        call.answer(request, result=YES)
    for call, _ in calls:
        assert call.wait().result["structuredContent"]["done"] is True
    accounts = {one["arguments"]["account"] for one in house.server.effects}
    assert len(accounts) == house.ran == 60


def test_a_page_is_waited_for_and_its_end_told_to_the_session_that_asked(house: House):
    mine, other = house.session(), house.session()
    stream = other.listen()
    call, request = asked(mine, ROTATE)
    call.answer(request, result={"action": "accept"})
    assert call.wait(0.3, due=False).outcome is Outcome.NO_ANSWER
    assert house.ran == 0
    assert decide(request.params["url"], "approved") == 200
    assert call.wait().result["structuredContent"]["done"] is True
    (told,) = call.notifications
    assert told.method == "notifications/elicitation/complete"
    assert told.params == {"elicitationId": request.params["elicitationId"]}
    assert stream.notifications() == []
    stream.close()
    assert house.ran == 1


def test_a_page_can_be_finished_before_the_client_agrees(house: House):
    call, request = asked(house.session(), ROTATE)
    decide(request.params["url"], "approved")
    assert house.ran == 0
    call.answer(request, result={"action": "accept"})
    assert call.wait().result["structuredContent"]["done"] is True


def test_a_server_that_answers_in_json_cannot_ask_inside_a_call():
    server = build(extensions={"elicitation": ElicitationExtension})
    transport = InProcessTransport(server.asgi_app(json_response=True))
    session = open_session(transport, "2025-11-25", deadline=10, capabilities=BOTH)
    reply = session.call("tools/call", ERASE)
    assert refused(reply) == "unreachable"
    transport.close()
    server.close()


def test_odd_params_have_an_answer_and_nothing_runs(house: House):
    session = house.session("2026-07-28")
    odd: list[Any] = [
        {"inputResponses": []},
        {"inputResponses": "x"},
        {"inputResponses": 7, "requestState": "x"},
        {"requestState": 7},
        {"requestState": {}},
        {"requestState": ""},
        {"requestState": "x" * 1_000_000},
    ]
    for params in odd:
        reply: Any = session.call("tools/call", {**ERASE, **params})
        asks = reply.result is not None and reply.result["resultType"] == "input_required"
        assert asks or reply.error.code == -32602, params
    state = session.call("tools/call", ERASE).result["requestState"]
    answer = {"requestState": state, "inputResponses": {"approval": YES}}
    assert session.call("tools/call", {**ERASE, **answer}).result["isError"] is False
    assert house.ran == 1
