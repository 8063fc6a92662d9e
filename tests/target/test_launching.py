"""A server that the suite starts itself: ready, or reported as not ready, and gone at the end."""

from __future__ import annotations

import json
import shlex
import socket
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

from pytest_mcp_approval.config.settings import Settings, SettingsError, read_settings
from pytest_mcp_approval.support.deadline import Deadline
from pytest_mcp_approval.target import TargetError, check_launch, open_target
from pytest_mcp_approval.target.instance import free_port
from pytest_mcp_approval.target.launching import _ask
from pytest_mcp_approval.wire import NothingAnsweredError
from tests.wire.hostile import (
    AT_ONCE,
    HANG_SECONDS,
    SERVE_HANDSHAKE,
    HostileServer,
    drips,
    http,
    program,
    says,
    then_closes,
)

SERVER = shlex.join([sys.executable, str(Path(__file__).with_name("told_by_http.py"))])
URL = "http://127.0.0.1:{port}/mcp"


@pytest.fixture
def launched():
    targets = []

    def launch(*words, url=URL, command=None, **settings):
        line = command or f"{SERVER} {{port}} {' '.join(words)}"
        settings = {"clock": "none", **settings}
        target = open_target(url, Settings(targets=(url,), launch=line, **settings))
        targets.append(target)
        return target

    yield launch
    for target in targets:
        target.close()


def told(target):
    _ = target.transport
    with urlopen(target.spec.url, timeout=HANG_SECONDS) as answer:
        return json.load(answer)


def gone(pid):
    """Ended, or about to be reaped by whoever inherited it."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in "ZX"


def wait_until(true, seconds=HANG_SECONDS):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to pass in time"
        time.sleep(0.01)


def test_it_starts_when_it_is_spoken_to_and_ends_with_the_target(launched):
    target = launched()
    pid = told(target)["pid"]
    assert str(target.instance.port) in target.spec.url
    assert target.spec.text == URL, "the user's words stay"
    target.close()
    assert gone(pid)


def test_environment_and_directory(launched, tmp_path):
    target = launched(
        command=SERVER,
        environment={"PORT": "{port}", "COLOUR": "blue", "STORE": "sqlite:{state}/db"},
        server_directory=tmp_path,
    )
    found = told(target)
    assert Path(found["directory"]).samefile(tmp_path)
    assert found["environment"]["COLOUR"] == "blue"
    store = found["environment"]["STORE"].removeprefix("sqlite:").removesuffix("/db")
    assert Path(store).is_dir()
    target.close()
    assert not Path(store).exists(), "its state goes with it"


def test_a_restart_is_a_new_process_in_the_same_place_over_the_same_state(launched):
    target = launched("{state}")
    before = told(target)
    Path(before["words"][1], "kept").touch()
    target.restart()
    after = told(target)
    assert gone(before["pid"])
    assert before["words"] == after["words"]
    assert Path(after["words"][1], "kept").exists()


def test_a_reset_by_restart_empties_the_state(launched):
    target = launched("{state}", reset="restart")
    before = told(target)
    Path(before["words"][1], "kept").touch()
    Path(before["words"][1], "folder").mkdir()
    target.reset()
    after = told(target)
    assert before["pid"] != after["pid"]
    assert not list(Path(after["words"][1]).iterdir())


@pytest.mark.parametrize("how", ["restart", "reset", "kill"])
def test_whoever_looks_after_a_restart_finds_it_up(launched, how):
    target = launched(reset="restart", effects="http://127.0.0.1:{port}/effects")
    before = told(target)["pid"]
    if how == "kill":
        assert target.kill()
        assert gone(before)
    target.reset() if how == "reset" else target.restart()
    # Not by the target, which would start it.
    with urlopen(target.spec.url, timeout=HANG_SECONDS) as answer:
        assert json.load(answer)["pid"] != before


def test_it_is_ready_when_its_effects_are(launched):
    """They are looked at before the first call."""
    effects = "http://127.0.0.1:{port}/effects"
    target = launched("late", effects=effects)
    _ = target.transport
    with urlopen(target.settings.effects, timeout=HANG_SECONDS) as answer:
        assert answer.status == 200


def test_effects_that_never_come_are_told_with_their_address(launched):
    target = launched("never", effects="http://127.0.0.1:{port}/effects", launch_timeout=5.0)
    with pytest.raises(TargetError, match=r"not ready within 5 s at .*/effects: status 503"):
        _ = target.transport


def test_a_look_at_the_effects_starts_it(launched):
    target = launched(effects="http://127.0.0.1:{port}/effects")
    lost = target.instance.port
    probe = target.effects()
    with socket.create_server(("127.0.0.1", lost)):  # the port that the probe was made with
        assert probe.look().digest
    assert target.instance.port != lost


def test_a_twin_has_all_of_its_own_and_a_replica_shares_the_state(launched):
    target = launched("{state}")
    twin, replica = target.twin(), target.replica()
    try:
        one, other, shares = told(target), told(twin), told(replica)
        assert len({one["pid"], other["pid"], shares["pid"]}) == 3
        assert len({one["words"][0], other["words"][0], shares["words"][0]}) == 3
        assert one["words"][1] != other["words"][1]
        assert one["words"][1] == shares["words"][1]
        assert replica.clock is target.clock
        assert twin.clock is not target.clock
    finally:
        twin.close()
        replica.close()
    assert Path(one["words"][1]).is_dir(), "a replica does not take the state with it"


def test_without_the_placeholders_there_is_neither_twin_nor_replica(launched):
    port = free_port()
    fixed = launched(url=f"http://127.0.0.1:{port}/mcp", command=f"{SERVER} {port}")
    assert told(fixed)["words"] == [str(port)]
    assert fixed.twin() is None
    assert fixed.replica() is None
    assert launched().replica() is None, "without {state} nobody knows where its state is"


def test_other_urls_are_replicas_that_the_command_starts_too(launched):
    second = "http://127.0.0.1:{port}/second"
    target = open_target(
        URL,
        Settings(targets=(URL, second), launch=f"{SERVER} {{port}}", clock="none"),
    )
    try:
        replica = target.replica()
        assert replica is not None
        assert replica.spec.url == target.spec.url.replace("/mcp", "/second")
        assert told(target)["pid"]
    finally:
        target.close()


@pytest.mark.parametrize(
    ("words", "command", "message"),
    [
        ((), "no-such-command-here {port}", "no such command: no-such-command-here"),
        (("dies",), None, r"command exited with 1: .*the configuration is missing"),
        (
            ("silent",),
            None,
            r"not ready within 2 s at .*: nobody listens .*: starting, please wait",
        ),
    ],
    ids=["not-there", "dies-at-once", "never-ready"],
)
def test_a_server_that_does_not_come_is_told_in_one_line(launched, words, command, message):
    target = launched(*words, command=command, launch_timeout=30.0 if "dies" in words else 2.0)
    with pytest.raises(TargetError, match=message) as raised:
        _ = target.transport
    assert len(str(raised.value).splitlines()) == 1


def test_a_port_that_is_taken_is_told_apart(launched):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        target = launched(url=f"http://127.0.0.1:{port}/mcp", command=f"{SERVER} {port}")
        with pytest.raises(TargetError, match=rf"port {port} of 127\.0\.0\.1 is already taken"):
            _ = target.transport


def test_a_free_port_that_somebody_took_is_given_up_for_another(launched):
    target = launched()
    lost = target.instance.port
    with socket.create_server(("127.0.0.1", lost)):
        assert told(target)["words"] == [str(target.instance.port)]
    assert target.instance.port != lost
    assert str(target.instance.port) in target.spec.url


def test_no_connection_of_this_machine_takes_a_port_before_the_server_does():
    """Whoever connects without saying from where gets a port of the system's choice."""
    chosen = {free_port() for _ in range(20)}
    assert len(chosen) == 20
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert max(chosen) < other.getsockname()[1]


def test_what_it_says_never_blocks_it_and_only_the_end_is_kept(launched):
    target = launched("loud")
    assert told(target)["pid"]
    assert len(target._process.stderr_tail) <= 16 * 1024


def test_a_server_that_does_not_listen_is_ended_all_the_same(launched):
    target = launched("deaf", "parent")
    found = told(target)
    began = time.monotonic()
    target.close()
    assert time.monotonic() - began < 20
    assert gone(found["pid"])
    wait_until(lambda: gone(found["children"][0]))


def test_what_it_started_ends_with_it(launched):
    target = launched("parent")
    found = told(target)
    target.close()
    wait_until(lambda: gone(found["children"][0]))


def test_stdio_targets_have_environment_directory_and_state_too(tmp_path):
    code = "import os, sys; print(os.getcwd(), os.environ['COLOUR'], sys.argv[1], file=sys.stderr)"
    text = f"stdio:{shlex.join([sys.executable, '-c', code, '{state}'])}"
    settings = Settings(
        targets=(text,),
        environment={"COLOUR": "blue"},
        server_directory=tmp_path,
        clock="none",
        timeout=30.0,
    )
    target = open_target(text, settings)
    try:
        with pytest.raises(Exception, match="command exited with 0") as raised:
            target.session()
        said = str(raised.value)
        assert f"{tmp_path} blue /" in said
        assert "mcp-approval-state-" in said
        assert target.replica() is not None
    finally:
        target.close()


@pytest.fixture
def slow_stdio():
    """One that begins to answer only after the time that a call gets."""
    code = "import select\nselect.select([], [], [], 1.5)\n" + SERVE_HANDSHAKE + "read()"
    text = f"stdio:{shlex.join(program(code))}"
    targets = []

    def make(**settings):
        given = Settings(targets=(text,), clock="none", timeout=0.5, **settings)
        targets.append(open_target(text, given))
        return targets[-1]

    yield make
    for target in targets:
        target.close()


def test_a_command_gets_the_time_to_start_too(slow_stdio):
    target = slow_stdio(launch_timeout=60.0)
    session = target.session()
    assert session.server_info["name"] == "program"
    assert session.deadline == 0.5, "what a call gets stays as it was"
    target.restart()
    assert target.session() is not session


def test_a_start_that_takes_too_long_names_the_setting_that_helps(slow_stdio):
    target = slow_stdio(launch_timeout=0.6)
    words = r"nothing within 0\.6 s \(if it is only slow: --mcp-approval-launch-timeout=SECONDS\)"
    with pytest.raises(NothingAnsweredError, match=words):
        target.session()


def test_a_slow_answer_over_http_names_the_other_setting():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        target = open_target(url, Settings(targets=(url,), timeout=0.5))
        with pytest.raises(NothingAnsweredError, match="slow: --mcp-approval-timeout=SECONDS"):
            target.session()
        target.close()


@pytest.mark.parametrize(
    ("target", "launch", "workers", "message"),
    [
        ("http://localhost:{port}/mcp", None, False, r"needs --mcp-approval-launch"),
        ("stdio:server", "server", False, r"expected the http\(s\) URL"),
        ("http://localhost:{port}/mcp", "server", False, r"in the URL only"),
        ("http://localhost:3000/mcp", "server", True, r"each worker starts a server of its own"),
    ],
)
def test_what_does_not_fit_together_is_told_before_anything_runs(target, launch, workers, message):
    with pytest.raises(SettingsError, match=message):
        check_launch(Settings(targets=(target,), launch=launch), workers=workers)


NOW = """
clock = "wait:60"
[launch]
command = "node server.js"
timeout = 5
directory = "server"
[launch.environment]
PORT = "{port}"
WORKERS = 2
"""
ONCE = """
clock = "wait:60"
launch = "node server.js"
launch-timeout = 5
directory = "server"
[environment]
PORT = "{port}"
WORKERS = 2
"""


@pytest.mark.parametrize("text", [NOW, ONCE], ids=["now", "as it was once"])
def test_launching_is_read_from_the_files_too(tmp_path, text):
    (tmp_path / "server").mkdir()
    (tmp_path / "mcp-approval.toml").write_text(text)
    settings = read_settings({}, tmp_path, tmp_path)
    assert settings.environment == {"PORT": "{port}", "WORKERS": "2"}
    assert settings.server_directory == tmp_path / "server"
    assert (settings.launch, settings.launch_timeout) == ("node server.js", 5.0)
    assert settings.clock == "wait:60"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"environment": ["SECRET"]}, "got no 'NAME=VALUE'"),
        ({"directory": "nowhere"}, "'nowhere', which is no folder"),
        ({"launch": "a 'b"}, "cannot read"),
        ({"launch": " "}, "expected a command line"),
        ({"launch-timeout": "soon"}, "expected seconds"),
        ({"clock": "hook:a 'b"}, "cannot read"),
    ],
)
def test_an_option_that_cannot_be_followed_is_told(tmp_path, given, message):
    with pytest.raises(SettingsError, match=message) as raised:
        read_settings(given, tmp_path, tmp_path)
    assert "SECRET" not in str(raised.value)


@pytest.mark.parametrize(
    "piece", [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1"]
)
def test_whether_it_is_ready_is_known_in_time(piece):
    """It took the request and never answers: the suite deals with that."""
    with HostileServer(drips(piece, piece if piece.endswith(b"\n") else b"1")) as server:
        started = time.monotonic()
        assert _ask(server.url, Deadline(0.4)) in ("", "invalid HTTP response: a bad status line")
        assert time.monotonic() - started < AT_ONCE


@pytest.mark.parametrize(
    ("behave", "words"),
    [
        (says(http(b"", "503 Not Yet")), "status 503"),
        (says(http(b"", "302 Found", extra="Location: http://elsewhere.example/\r\n")), ""),
        (says(http(b"", "404 Not Found")), ""),
        (then_closes(says()), "it closed the connection"),
        (says(b"SSH-2.0\r\n"), "invalid HTTP response: not HTTP/1.1"),
    ],
)
def test_what_counts_as_ready(behave, words):
    with HostileServer(behave) as server:
        assert _ask(server.url, Deadline(HANG_SECONDS)) == words
    assert "nobody listens (connection refused" in _ask(server.url, Deadline(10))
