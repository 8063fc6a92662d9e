"""What is seen of the tools' runs: by several users at once, and in answers of several kinds."""

from __future__ import annotations

import json
import shlex
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.base.driver import Driver
from pytest_mcp_approval.families.gateway_consent.driver import GatewayConsent
from pytest_mcp_approval.target import EffectsError, EffectsProbe, examine, open_target
from pytest_mcp_approval.wire import Outcome, Reply
from tests.wire.hostile import SERVE_HANDSHAKE, program

JOURNAL = r"""
from pathlib import Path
journal = Path(sys.argv[1], "journal")
while True:
    request = read()
    name = request["params"]["name"]
    if name == "run":
        with journal.open("a") as file:
            file.write("x")
    runs = len(journal.read_text()) if journal.exists() else 0
    text = json.dumps({"runs": ["x"] * runs})
    answer(request, {"content": [{"type": "text", "text": text}]})
"""


@pytest.fixture
def effects_url():
    """Where a list of runs is served, and the list."""
    runs: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps(runs).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/runs", runs
        server.shutdown()
        thread.join(10)


def drivers(url, *texts):
    settings = Settings(targets=texts, effects=url)
    return [Driver(open_target(text, settings)) for text in texts]


@pytest.mark.parametrize("second", ["http://127.0.0.1:9/one", "http://127.0.0.1:9/two"])
def test_a_run_of_somebody_else_is_not_counted_as_ones_own(effects_url, second):
    """Two drivers of one target, or of two that show the same effects."""
    url, runs = effects_url
    one, other = drivers(url, "http://127.0.0.1:9/one", second)
    assert one.runs_during(lambda: runs.append(1))[1] == 1
    assert other.runs_during(lambda: runs.extend([1, 1]))[1] == 2
    assert one.runs_during(lambda: None)[1] == 0
    assert other.runs_during(lambda: None)[1] == 0


def test_one_inside_the_other_counts_for_both(effects_url):
    url, runs = effects_url
    one, other = drivers(url, "http://127.0.0.1:9/one", "http://127.0.0.1:9/two")
    (_, inner), outer = one.runs_during(lambda: other.runs_during(lambda: runs.append(1)))
    assert (inner, outer) == (1, 1)
    assert one.runs_during(lambda: None)[1] == 0


def test_an_act_that_breaks_off_leaves_nothing_to_the_next(effects_url):
    url, runs = effects_url
    (one,) = drivers(url, "http://127.0.0.1:9/one")

    def breaks_off():
        runs.append(1)
        raise EffectsError("broken off")

    assert one.runs_during(lambda: None)[1] == 0
    with pytest.raises(EffectsError, match="broken off"):
        one.runs_during(breaks_off)
    assert one.runs_during(lambda: None)[1] == 0


def test_a_look_serves_the_next_act_too(monkeypatch, effects_url):
    url, _ = effects_url
    (one,) = drivers(url, "http://127.0.0.1:9/one")
    looks = []
    look = EffectsProbe.look
    monkeypatch.setattr(EffectsProbe, "look", lambda self: looks.append(1) or look(self))
    for _ in range(3):
        one.runs_during(lambda: None)
    assert len(looks) == 4


def test_clients_with_processes_of_their_own_over_one_state():
    """Over a pipe of the handshake era each client has its own; their JSON comes as text."""
    command = program(SERVE_HANDSHAKE + JOURNAL)
    text = f"stdio:{shlex.join([*command, '{state}'])}"
    settings = Settings(
        targets=(text,), clock="none", timeout=60.0, effects="tool:list", protocol="2025-11-25"
    )
    target = open_target(text, settings)
    gateway = GatewayConsent(target)
    try:
        one, other = (gateway.client(name).connection for name in ("one", "other"))

        def run(client):
            params = {"name": "run", "arguments": {}}
            return client.runs_during(lambda: client.session.call("tools/call", params))[1]

        def nothing(client):
            return client.runs_during(lambda: None)[1]

        assert (run(one), run(other), nothing(one), run(other), nothing(other)) == (1, 1, 0, 1, 0)
        assert nothing(one) == 0
    finally:
        gateway.close()
        target.close()


# ---- a probe that cannot tell


def probe_of(*values):
    shown = iter(values)
    return EffectsProbe("a probe", lambda: (next(shown), None))


@pytest.mark.parametrize(
    ("values", "doubt"),
    [
        (([], []), ""),
        (([], [1]), "it changed between two looks, while nothing ran"),
        (({"at": 1, "n": 0}, {"at": 2, "n": 0}), "it changed between two looks, while nothing ran"),
        (({"on": 1, "n": 0}, {"on": 1, "n": 0}), ""),
        (([{"age": 1}], [{"age": 2}]), ""),
    ],
)
def test_a_probe_that_changes_by_itself_cannot_tell(monkeypatch, values, doubt):
    monkeypatch.setattr("pytest_mcp_approval.target.effects._A_SECOND", 0.0)
    assert examine(probe_of(*values)) == doubt


def test_a_doubted_probe_is_none_also_for_those_that_are_made_of_the_target():
    text = "stdio:server {state}"
    target = open_target(text, Settings(targets=(text,), effects="tool:list", clock="none"))
    twin = None
    try:
        assert target.effects() is not None
        target.doubt_effects("it never changes")
        twin = target.twin()
        assert target.effects() is None
        assert twin is not None
        assert twin.effects() is None
    finally:
        target.close()
        if twin is not None:
            twin.close()


# ---- the answers of tools


class Answers:
    """A session whose tool returns these results, one after the other."""

    def __init__(self, *results):
        self.results = list(results)

    def call(self, *_):
        return Reply(Outcome.RESULT, message={"result": self.results.pop(0)})


def tool_that_answers(*results):
    session: Any = Answers(*results)
    return EffectsProbe.of_tool("list", lambda: session)


def texts(*values):
    return {"content": [{"type": "text", "text": one} for one in values]}


@pytest.mark.parametrize(
    ("before", "after", "runs"),
    [
        (texts("[]"), texts('["a"]'), 1),
        (texts('{"entries": [1]}'), texts('{"entries": [1, 2, 3]}'), 2),
        (texts("4"), texts("5"), 1),
        (texts("[1]"), texts(" [1]"), 0),
        (texts("3 trades so far"), texts("4 trades so far"), None),
        (texts('{"a": 1, "b": 2}'), texts('{"a": 1, "b": 3}'), None),
        (texts(), texts('{"a": 1, "b": 2}'), 1),
        (texts('{"a": 1, "b": 2}'), texts('{"a": 1, "b": 2}', '{"a": 3, "b": 4}'), 1),
        (texts("{}", "{}"), texts("{}", "{}", "{}", "{}"), 2),
        (texts('["u1", "u2"]'), texts('["u1"]'), None),
        ({"content": [{"type": "image", "data": "a"}]}, {"content": [{"type": "image"}]}, None),
        ({"structuredContent": {"n": 1}, **texts("[]")}, {"structuredContent": {"n": 3}}, 2),
        ({"content": 7}, {"content": "x"}, None),
    ],
)
def test_json_that_comes_as_text_is_counted(before, after, runs):
    probe = tool_that_answers(before, after)
    first, second = probe.look(), probe.look()
    assert second.runs_since(first) == runs


def test_the_entries_of_a_text_are_there_too():
    probe = tool_that_answers(texts('[{"id": 1}, {"id": 2}]'))
    assert probe.look().entries == ({"id": 1}, {"id": 2})


def test_an_error_is_no_effect():
    probe = tool_that_answers({"isError": True, **texts("[]")})
    with pytest.raises(EffectsError, match="answered with an error"):
        probe.look()
