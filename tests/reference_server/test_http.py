"""The reference server over HTTP, in both eras: the ceremony, the door, the SDK's own client."""

import json
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest
from mcp.client import Client

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.reference_server import build
from pytest_mcp_approval.reference_server.sep2672.demonstration import DEMONSTRATION_TOOLS
from pytest_mcp_approval.reference_server.server import door
from tests.reference_server.running import (
    HANDSHAKE,
    HEADERS,
    MODERN,
    HttpClient,
    exchange,
    message_in,
    serving,
)
from tests.reference_server.test_door import REFUSED
from virtual_authenticator import Authenticator

TRADE = {"symbol": "AAPL", "quantity": 10}
ORIGIN = "http://localhost"


@pytest.fixture(scope="module")
def server():
    return build(user_header="X-Demonstration-User")


@pytest.fixture(scope="module")
def port(server):
    with serving(server) as port:
        yield port


@pytest.fixture(params=[HANDSHAKE, MODERN])
def client(server, port, request):
    server.reset()
    return HttpClient(port, request.param)


def enrol(client, shape="security-key"):
    passkey = Authenticator(shape)
    options = client.request(words.ENROLL_BEGIN)["result"]["options"]
    response = {"response": passkey.create(options, ORIGIN)}
    assert client.request(words.ENROLL_FINISH, response)["result"]["success"] is True
    return passkey


def approve(client, passkey, tool="place_trade", arguments=TRADE):
    params = {"toolName": tool, "arguments": arguments}
    challenge = client.request(words.CHALLENGE_CREATE, params)["result"]
    return {
        "method": "webauthn",
        "challengeId": challenge["challengeId"],
        "response": passkey.get(challenge["requestOptions"], ORIGIN),
    }


def reason(answer):
    assert answer["error"]["code"] == -32001
    return answer["error"]["data"]["reason"]


def test_a_call_is_approved_once(client, server, port):
    passkey = enrol(client)
    evidence = approve(client, passkey)
    assert reason(client.call("place_trade", TRADE)) == "missing_evidence"
    swapped = {**TRADE, "quantity": 1000}
    assert reason(client.call("place_trade", swapped, evidence)) == "argument_hash_mismatch"
    assert len(server.effects) == 0
    result = client.call("place_trade", TRADE, evidence)["result"]
    assert result["structuredContent"]["executed"]["arguments"] == TRADE
    assert reason(client.call("place_trade", TRADE, evidence)) == "challenge_consumed"
    listed = client.call("list_effects", {})["result"]["structuredContent"]["effects"]
    status, _, content = exchange(port, b"", {}, "GET", "/effects")
    assert status == 200
    assert json.loads(content) == listed == server.effects.to_json()
    assert [one["tool"] for one in listed] == ["place_trade"]


def test_the_capability_is_declared_in_both_eras(client):
    assert client.first["capabilities"]["extensions"] == {"verifiedApproval": {}}


def test_the_tools_show_every_case(client):
    listed = {tool["name"]: tool for tool in client.request("tools/list")["result"]["tools"]}
    classes = {
        name: annotation and (annotation.authenticator_class, annotation.class_is_given)
        for name, annotation in ((name, words.annotation_of(tool)) for name, tool in listed.items())
    }
    assert classes == {
        "place_trade": ("cross-platform", True),
        "transfer_funds": ("cross-platform", False),
        "wipe_cache": ("platform", True),
        "delete_resource": ("platform", True),
        "get_quote": None,
        "list_effects": None,
    }
    assert "default" not in json.dumps(listed)


EVERY_GATED = [
    ("place_trade", {"symbol": "A", "quantity": 1, "side": "sell", "memo": {"x": [1]}}),
    ("transfer_funds", {"account": "DE1", "amount": 5}),
    ("wipe_cache", {}),
    ("delete_resource", {"resourceId": "r"}),
]


@pytest.mark.parametrize(("tool", "arguments"), EVERY_GATED)
def test_every_gated_tool_runs_once_approved(client, server, tool, arguments):
    evidence = approve(client, enrol(client), tool, arguments)
    assert client.call(tool, arguments, evidence)["result"]["isError"] is False
    assert [(one["tool"], one["arguments"]) for one in server.effects] == [(tool, arguments)]


def test_a_plain_tool_is_not_disturbed_by_evidence(client):
    for evidence in (None, {}, "x", {"method": "totp"}):
        result = client.call("get_quote", {"symbol": "A"}, evidence)["result"]
        assert result["structuredContent"] == {"symbol": "A", "price": 165}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("place_trade", {"symbol": "A"}), ("place_trade", {"symbol": "A", "quantity": 1.5})],
)
def test_a_tool_that_rejects_its_arguments_has_spent_the_challenge(client, tool, arguments):
    evidence = approve(client, enrol(client), tool, arguments)
    assert client.call(tool, arguments, evidence)["error"]["code"] == -32602
    assert reason(client.call(tool, arguments, evidence)) == "challenge_consumed"


BAD_PARAMS = [
    (words.ENROLL_FINISH, {}),
    (words.ENROLL_FINISH, {"response": "x"}),
    (words.CHALLENGE_CREATE, {}),
    (words.CHALLENGE_CREATE, {"toolName": 5, "arguments": {}}),
    (words.CHALLENGE_CREATE, {"toolName": "place_trade", "arguments": []}),
    ("tools/call", {"name": "unknown"}),
    ("tools/call", {"name": "get_quote", "arguments": {}}),
    ("tools/call", {"name": "get_quote", "arguments": []}),
]


@pytest.mark.parametrize(("method", "params"), BAD_PARAMS, ids=str)
def test_bad_params_are_invalid_params(client, method, params):
    assert client.request(method, params)["error"]["code"] == -32602


@pytest.mark.parametrize("meta", [None, 5, "x", []])
def test_a_meta_that_is_no_object_is_no_evidence(server, port, meta):
    server.reset()
    client = HttpClient(port, HANDSHAKE)
    params = {"name": "place_trade", "arguments": {}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    assert reason(message_in(client.post(body.encode())[2])) == "missing_evidence"


def test_users_are_kept_apart(client):
    passkey = enrol(client)
    evidence = approve(client, passkey)
    client.headers["X-Demonstration-User"] = "mallory"
    assert reason(client.call("place_trade", TRADE, evidence)) == "challenge_unknown"
    params = {"toolName": "place_trade", "arguments": TRADE}
    assert reason(client.request(words.CHALLENGE_CREATE, params)) == "no_eligible_credential"
    del client.headers["X-Demonstration-User"]
    assert "result" in client.call("place_trade", TRADE, evidence)


def test_of_many_requests_at_once_one_runs_the_tool(client, server):
    evidence = approve(client, enrol(client, "icloud-keychain"))
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda _: client.call("place_trade", TRADE, evidence), range(8), timeout=20)
        )
    refused = [reason(answer) for answer in answers if "error" in answer]
    assert refused == 7 * ["challenge_consumed"]
    assert len(server.effects) == 1


# ---- the door

SMALL = {name: case for name, case in REFUSED.items() if name != "too large"}


@pytest.mark.parametrize(("body", "code", "id"), SMALL.values(), ids=SMALL.keys())
def test_the_door_answers_over_http(client, body, code, id):
    status, headers, content = client.post(body)
    assert status == 400
    assert headers["content-type"] == "application/json"
    answer = json.loads(content)
    assert (answer["id"], answer["error"]["code"]) == (id, code)
    assert "result" in client.call("get_quote", {"symbol": "A"})


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_too_large_is_refused_before_it_is_read(client, announced):
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=20)
    connection.putrequest("POST", "/mcp")
    for name, value in HEADERS.items():
        connection.putheader(name, value)
    if announced:
        connection.putheader("Content-Length", str(10**12))
        connection.endheaders()
    else:
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders()
        part = b" " * (door.MAXIMUM_BYTES // 2 + 1)
        for _ in range(2):
            connection.send(b"%x\r\n%b\r\n" % (len(part), part))
    answer = connection.getresponse()
    assert answer.status == 413
    assert json.loads(answer.read())["error"]["code"] == -32600
    connection.close()
    assert "result" in client.call("get_quote", {"symbol": "A"})


# ---- DNS rebinding


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "attacker.example"}, 421),
        ({"Host": "localhost.attacker.example:1"}, 421),
        ({"Origin": "http://attacker.example"}, 403),
        ({"Host": "localhost:1234", "Origin": "http://localhost:5173"}, 200),
        ({"Host": "localhost"}, 200),
        ({"Host": "[::1]:80"}, 200),
    ],
    ids=str,
)
def test_other_hosts_and_pages_are_turned_away(port, headers, status):
    body = b'{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":%s}}'
    meta = json.dumps(
        {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    ).encode()
    modern = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "server/discover"}
    assert exchange(port, body % meta, {**HEADERS, **modern, **headers})[0] == status
    assert exchange(port, b"", headers, "GET", "/effects")[0] == status


# ---- other shapes of the server


@pytest.mark.parametrize("era", [HANDSHAKE, MODERN])
def test_without_the_capability_nothing_of_it_is_there(era):
    with serving(build(settings={"sep2672": {"declare": False}})) as port:
        client = HttpClient(port, era)
        assert not client.first["capabilities"].get("extensions")
        listed = client.request("tools/list")["result"]["tools"]
        assert {tool["name"] for tool in listed} == {"get_quote", "list_effects"}
        for method in words.METHODS:
            assert client.request(method)["error"]["code"] == -32601


@pytest.mark.parametrize("json_response", [True, False])
def test_answers_come_as_json_or_as_events(json_response):
    with serving(build(), json_response=json_response) as port:
        client = HttpClient(port, HANDSHAKE)
        body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
        expected = "application/json" if json_response else "text/event-stream"
        assert client.post(body)[1]["content-type"].startswith(expected)


def test_without_a_session_answers_are_json_whatever_others_get():
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    with serving(build()) as port:
        kinds = []
        for era in (MODERN, HANDSHAKE):
            client = HttpClient(port, era)
            assert {tool["name"] for tool in client.request("tools/list")["result"]["tools"]}
            kinds.append(client.post(body)[1]["content-type"])
    assert kinds[0].startswith("application/json")
    assert kinds[1].startswith("text/event-stream")


def test_a_tool_with_a_schema_default_can_be_added():
    with serving(build(settings={"sep2672": {"schema_default": True}})) as port:
        client = HttpClient(port, MODERN)
        passkey = enrol(client)
        evidence = approve(client, passkey, "restart_service", {"service": "db"})
        spelt_out = {"service": "db", "force": False}
        refused = client.call("restart_service", spelt_out, evidence)
        assert reason(refused) == "argument_hash_mismatch"
        result = client.call("restart_service", {"service": "db"}, evidence)["result"]
        assert result["structuredContent"]["executed"]["arguments"] == {"service": "db"}


@pytest.mark.parametrize("mode", ["legacy", MODERN, "auto"])
def test_the_sdk_s_client_gets_along_with_it(server, port, mode):
    async def talk():
        async with Client(f"http://localhost:{port}/mcp", mode=mode) as client:
            tools = (await client.list_tools()).tools
            result = await client.call_tool("get_quote", {"symbol": "A"})
            return client.server_capabilities, tools, result

    capabilities, tools, result = anyio.run(talk)
    if mode != MODERN:  # pinned to a version, the client asks for no capabilities
        assert capabilities.extensions == {"verifiedApproval": {}}
    assert {tool.name for tool in tools} == {tool.name for tool in DEMONSTRATION_TOOLS} | {
        "list_effects"
    }
    assert result.structured_content == {"symbol": "A", "price": 165}
