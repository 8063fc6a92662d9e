"""Each kind of target: reached, restarted, doubled, and what its effects show."""

from __future__ import annotations

import datetime
import sys

import pytest

from pytest_mcp_approval.clock import ClockError
from pytest_mcp_approval.families.sep2672.driver import Approval
from pytest_mcp_approval.target import Effects, EffectsError, EffectsProbe, TargetError
from pytest_mcp_approval.wire import WireError
from tests.wire.hostile import HostileServer, drips, http, says

EMBEDDED = ["reference", "reference:http", "reference:http+sqlite", "reference:sqlite"]
EVERY = [*EMBEDDED, "reference:stdio", "reference:stdio+sqlite"]


def approved_call(approval):
    passkey = approval.enrol("icloud-keychain")
    request = approval.challenge("wipe_cache")
    return request, passkey.sign(request)


@pytest.mark.parametrize("text", EVERY)
def test_a_call_is_approved_once_and_its_effect_counted(opened, text):
    approval = Approval(opened(text))
    request, evidence = approved_call(approval)
    first, second = approval.call(request, evidence), approval.call(request, evidence)
    assert (first.executed, first.runs) == (True, 1)
    assert second.refused_because("challenge_consumed")
    assert second.runs == 0


@pytest.mark.parametrize("text", EVERY)
def test_the_clock_stops_where_it_is_put(opened, text):
    approval = Approval(opened(text))
    request, evidence = approved_call(approval)
    clock = approval.target.clock
    clock.move_to(request.expires_at)
    assert approval.call(request, evidence).refused_because("challenge_expired")
    clock.move_to(request.expires_at - datetime.timedelta(milliseconds=1))
    assert approval.call(request, evidence).executed


@pytest.mark.parametrize("text", ["reference", "reference:http+sqlite", "reference:stdio+sqlite"])
def test_a_restart_keeps_what_was_stored(opened, text):
    target = opened(text)
    approval = Approval(target)
    request, evidence = approved_call(approval)
    assert approval.call(request, evidence).executed
    target.restart()
    approval.forget()
    assert approval.call(request, evidence).refused_because("challenge_consumed")


@pytest.mark.parametrize("text", EVERY)
def test_a_twin_knows_nothing_of_its_sibling(opened, text):
    target = opened(text)
    request, evidence = approved_call(Approval(target))
    other = target.twin()
    try:
        outcome = Approval(other).call(request, evidence)
        assert outcome.refused_because("challenge_unknown")
    finally:
        other.close()


@pytest.mark.parametrize("text", [*EMBEDDED, "reference:stdio+sqlite"])
def test_a_replica_shares_the_state(opened, text):
    target = opened(text)
    approval = Approval(target)
    request, evidence = approved_call(approval)
    other = target.replica()
    try:
        assert Approval(other).call(request, evidence).executed
        assert approval.call(request, evidence).refused_because("challenge_consumed")
    finally:
        other.close()


def test_a_reset_forgets_everything(opened):
    target = opened("reference")
    approval = Approval(target)
    request, evidence = approved_call(approval)
    target.reset()
    approval.forget()
    assert approval.call(request, evidence).refused_because("challenge_unknown")
    assert approval.effects is not None
    assert approval.effects.look().count == 0


def test_a_users_factory_runs_under_freezegun(opened, tmp_path):
    (tmp_path / "own_server.py").write_text(
        "from pytest_mcp_approval.reference_server.assembly import build\n"
        "def make():\n    return build().asgi_app()\n"
    )
    target = opened(
        "python:own_server:make",
        directory=tmp_path,
        tools={"wipe_cache": {}},
        effects="tool:list_effects",
        family_settings={"sep2672": {"origin": "http://localhost"}},
    )
    try:
        approval = Approval(target)
        request, evidence = approved_call(approval)
        target.clock.move_to(request.expires_at)
        assert approval.call(request, evidence).refused_because("challenge_expired")
        target.clock.advance(-1)
        assert approval.call(request, evidence).executed
    finally:
        sys.modules.pop("own_server", None)
        sys.path.remove(str(tmp_path))


def test_a_command_of_the_users(opened):
    command = f"stdio:{sys.executable} -m pytest_mcp_approval.reference_server --stdio"
    target = opened(
        command,
        tools={"wipe_cache": {}},
        family_settings={"sep2672": {"origin": "http://localhost"}},
        clock="none",
    )
    outcome = Approval(target).call(*approved_call(Approval(target)))
    assert outcome.executed
    assert not outcome.probed, "without a probe the answer is taken at its word"
    assert not target.clock.movable
    with pytest.raises(ClockError, match="cannot be moved"):
        target.clock.advance(1)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("no-such-command-here", "no such command"),
        (
            f"{sys.executable} -c 'import sys; sys.exit(\"broken\")'",
            "got exit code 1, expected 0: broken",
        ),
    ],
)
def test_a_reset_command_that_fails_is_told(opened, how, words):
    command = f"stdio:{sys.executable} -m pytest_mcp_approval.reference_server --stdio"
    with pytest.raises(TargetError, match=words):
        opened(command, reset=how).reset()


@pytest.mark.parametrize(
    ("before", "after", "runs"),
    [
        ([], [1], 1),
        ([1], [1], 0),
        (3, 5, 2),
        ({"done": [1]}, {"done": [1, 2, 3]}, 2),
        ("a", "b", None),
    ],
)
def test_effects_are_counted_where_they_can_be(before, after, runs):
    shown = iter([before, after])
    probe = EffectsProbe("a probe", lambda: (next(shown), None))
    earlier = probe.look()
    assert probe.look().runs_since(earlier) == runs


def test_a_probe_that_cannot_be_read_is_told():
    url = "http://127.0.0.1:9/effects"
    probe = EffectsProbe.of_url(url, {}, 1.0, lambda: url)
    with pytest.raises(EffectsError, match=r"effects at http://127\.0\.0\.1:9/effects: "):
        probe.look()
    assert Effects(1, "x").runs_since(Effects(None, "y")) is None


HEADERS_SEEN = """
seen = []
async def app(scope, receive, send):
    seen.append(dict(scope.get("headers", ())).get(b"x-token"))
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 503, "headers": []})
        await send({"type": "http.response.body", "body": b""})
def make():
    return app
"""


def test_headers_reach_an_application_in_this_process(opened, tmp_path):
    (tmp_path / "seeing_server.py").write_text(HEADERS_SEEN)
    target = opened("python:seeing_server:make", directory=tmp_path, headers={"X-Token": "t"})
    try:
        with pytest.raises(WireError, match="HTTP 503"):
            target.session()
        assert set(sys.modules["seeing_server"].seen) == {None, b"t"}  # None: its lifespan
    finally:
        target.close()
        sys.modules.pop("seeing_server", None)
        sys.path.remove(str(tmp_path))


@pytest.mark.parametrize(
    ("behave", "words"),
    [
        pytest.param(says(http(b"[" * 100_000)), "excessive nesting or numbers", id="deep"),
        pytest.param(
            says(http(b"[" * 900 + b"]" * 900)), "excessive nesting or numbers", id="not so deep"
        ),
        pytest.param(says(http(b"[1e999]")), "excessive nesting or numbers", id="infinite"),
        pytest.param(says(http(b"<html>")), "not JSON", id="HTML"),
        pytest.param(says(http(b"no", "404 Not Found")), "HTTP 404: no", id="404"),
        pytest.param(says(http(b"", "401 No")), "HTTP 401: .*--mcp-approval-header", id="401"),
        pytest.param(says(http(b"", "429 No")), "HTTP 429: slow down", id="429"),
        pytest.param(
            says(http(b"", "302 Found", extra="Location: http://elsewhere.example/x\r\n")),
            "redirected to http://elsewhere.example/x, which is another origin",
            id="redirect",
        ),
        pytest.param(drips(b"HTTP/1.1 200 OK\r\n\r\n", b" "), "no (whole )?answer", id="drip"),
        pytest.param(drips(b"", b"HTTP/1.1 100 C\r\n\r\n"), "no answer within", id="interim"),
    ],
)
def test_effects_that_cannot_be_read_are_told_in_one_line(behave, words):
    with (
        HostileServer(behave) as server,
        pytest.raises(EffectsError, match=words) as caught,
    ):
        EffectsProbe.of_url(server.url, {}, 0.5, lambda: server.url).look()
    assert str(caught.value).isprintable()


def test_effects_behind_a_slash_are_found():
    """Many frameworks redirect to the address with a slash at its end."""

    def behave(connection, request):
        moved = request.startswith(b"GET /mcp ")
        answer = http(b"", "307 Moved", extra="Location: /mcp/\r\n") if moved else http(b"[1,2]")
        connection.sendall(answer)

    with HostileServer(behave) as server:
        assert (
            EffectsProbe.of_url(server.url, {"X-Own": "1"}, 10, lambda: server.url).look().count
            == 2
        )
