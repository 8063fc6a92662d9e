"""`reset = "restart"`: the next server starts while this one is judged."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

import pytest

from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.target import TargetError, open_target
from pytest_mcp_approval.wire import WireError
from tests.wire.hostile import HANG_SECONDS

SERVER = """
import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
with open(os.environ["JOURNAL"], "a") as journal:
    journal.write(f"{os.getpid()} {os.environ.get('STATE', '')}\\n")
if os.path.exists(os.environ["JOURNAL"] + ".broken"):
    sys.exit("the configuration is missing")
def answer(text):
    request = json.loads(text)
    if "id" not in request:
        return b""
    result = {"protocolVersion": "2025-11-25", "capabilities": {},
              "serverInfo": {"name": str(os.getpid()), "version": "0"}}
    known = request["method"] == "initialize"
    said = {"result": result} if known else {"error": {"code": -32601, "message": "no"}}
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], **said}).encode()
class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        said = answer(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200 if said else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)
    def log_message(self, *_):
        pass
if len(sys.argv) > 1:
    HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
for line in sys.stdin:
    if said := answer(line):
        print(said.decode(), flush=True)
"""


class Started:
    """A target of this server, and what its processes wrote down."""

    def __init__(self, folder: Path, kind: str, **settings):
        self.journal = folder / "journal"
        program = folder / "server.py"
        program.write_text(SERVER)
        command = shlex.join([sys.executable, "-S", "-E", str(program)])
        own = {"JOURNAL": str(self.journal), **settings.pop("environment", {"STATE": "{state}"})}
        text = f"stdio:{command}" if kind == "stdio" else "http://127.0.0.1:{port}/mcp"
        launch = None if kind == "stdio" else f"{command} {{port}}"
        given = {"clock": "none", "reset": "restart", "protocol": "2025-11-25", **settings}
        self.target = open_target(
            text, Settings(targets=(text,), launch=launch, environment=own, **given)
        )

    def asked(self) -> int:
        """The process that answers."""
        return int(str(self.target.session().server_info["name"]))

    def started(self, number: int) -> list[int]:
        """The processes in the order of their starts, once there are that many."""
        end = time.monotonic() + HANG_SECONDS
        while len(pids := self._pids()) < number:
            assert time.monotonic() < end, f"{len(pids)} were started"
            time.sleep(0.01)
        return pids

    def _pids(self) -> list[int]:
        lines = self.journal.read_text().splitlines() if self.journal.exists() else []
        return [int(line.split()[0]) for line in lines]

    def states(self) -> list[str]:
        return [line.partition(" ")[2] for line in self.journal.read_text().splitlines()]


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture(params=["stdio", "http"])
def started(request, tmp_path):
    targets = []

    def start(**settings):
        one = Started(tmp_path, request.param, **settings)
        targets.append(one.target)
        return one

    yield start
    for target in targets:
        target.close()


def test_it_is_started_while_the_last_one_is_in_use(started):
    one = started()
    first = one.asked()
    one.target.reset()
    second = one.asked()
    assert one.started(2) == [first, second], "a run of one scenario starts nothing ahead"
    one.target.reset()
    third = one.asked()
    ahead = one.started(4)[3]
    assert runs(third), "in use"
    assert runs(ahead), "and the next is there"
    one.target.reset()
    assert one.asked() == ahead
    assert not runs(third)
    assert len(set(one.states())) == len(one.states()) - 2, "a folder of its own"


def test_it_goes_with_the_target(started):
    one = started()
    for _ in range(2):
        one.asked()
        one.target.reset()
    pids = one.started(4)
    one.target.close()
    assert not any(map(runs, pids))
    assert not any(Path(state).exists() for state in one.states())


def test_a_restart_keeps_the_place_of_the_one_that_was_started_ahead(started):
    one = started()
    for _ in range(3):
        one.asked()
        one.target.reset()
    before, url = one.asked(), one.target.spec.url
    state = one.states()[one.started(4).index(before)]
    Path(state, "kept").touch()
    one.target.restart()
    assert one.asked() != before
    assert one.target.spec.url == url
    assert Path(state, "kept").exists()


def test_one_that_does_not_start_is_told_when_it_is_needed(started):
    one = started(launch_timeout=HANG_SECONDS)
    one.asked()
    one.target.reset()
    one.target.reset()
    one.started(4)
    Path(f"{one.journal}.broken").touch()
    one.target.reset()  # was started ahead, and starts one that will not come up
    one.started(5)
    with pytest.raises((TargetError, WireError), match="the configuration is missing"):
        one.target.reset()


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"environment": {}}, id="its state may be in a fixed place"),
        pytest.param({"clock": "hook:http://127.0.0.1:9/clock"}, id="they share a clock"),
    ],
)
def test_it_is_not_started_where_two_at_once_could_disturb_each_other(started, settings):
    one = started(**settings)
    for number in range(1, 5):
        assert one.asked() == one.started(number)[-1]
        one.target.reset()
    assert len(one.started(5)) == 5
