"""The server as a process: stdio, HTTP, its ends, and its words for wrong options."""

import json
import signal
import socket
import subprocess
import sys

import pytest

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.reference_server.command_line import main
from pytest_mcp_approval.reference_server.extensions import FAMILIES, options_of
from tests.reference_server.running import (
    HANDSHAKE,
    INITIALIZE,
    MODERN,
    MODERN_META,
    ROOT,
    HttpClient,
    ask,
    process,
)
from tests.reference_server.test_door import REFUSED
from virtual_authenticator import Authenticator

TRADE = {"symbol": "AAPL", "quantity": 10}


def message(method, params, id=1):
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()


def begin(running):
    answer = ask(running, message("initialize", INITIALIZE))
    running.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    return answer["result"]


def test_the_whole_ceremony_and_the_door_over_stdio():
    with process("--stdio") as running:
        assert begin(running)["capabilities"]["extensions"] == {"verifiedApproval": {}}
        # Every message that does not come in has its answer, in turn, and does no harm.
        for name, (body, code, id) in REFUSED.items():
            if b"\n" in body or name == "nothing":
                continue
            answer = ask(running, body)
            assert (answer["id"], answer["error"]["code"]) == (id, code), name
        running.stdin.write(b"\n  \r\n")
        passkey = Authenticator("icloud-keychain")
        options = ask(running, message(words.ENROLL_BEGIN, {}))["result"]["options"]
        response = {"response": passkey.create(options, "http://localhost")}
        assert ask(running, message(words.ENROLL_FINISH, response))["result"]["success"] is True
        params = {"toolName": "place_trade", "arguments": TRADE}
        challenge = ask(running, message(words.CHALLENGE_CREATE, params))["result"]
        evidence = {
            "method": "webauthn",
            "challengeId": challenge["challengeId"],
            "response": passkey.get(challenge["requestOptions"], "http://localhost"),
        }
        call = {"name": "place_trade", "arguments": TRADE, "_meta": {words.META_KEY: evidence}}
        assert "result" in ask(running, message("tools/call", call))
        again = ask(running, message("tools/call", call))
        assert again["error"]["data"] == {"reason": "challenge_consumed"}
        listed = ask(running, message("tools/call", {"name": "list_effects"}))
        assert len(listed["result"]["structuredContent"]["effects"]) == 1
        running.stdin.close()
        assert running.wait(20) == 0
        assert running.stderr.read() == b""


def test_what_was_asked_before_the_end_of_input_is_answered():
    with process("--stdio") as running:
        lines = [
            message("initialize", INITIALIZE),
            b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
            *(message(words.ENROLL_BEGIN, {}, id=number) for number in range(2, 12)),
        ]
        output, _ = running.communicate(b"\n".join(lines) + b"\n", timeout=60)
        answers = [json.loads(line) for line in output.splitlines()]
        assert sorted(answer["id"] for answer in answers) == list(range(1, 12))
        assert all("result" in answer for answer in answers)
        assert running.returncode == 0


def test_the_modern_era_over_stdio_and_a_clean_end_on_sigterm():
    with process("--stdio") as running:
        answer = ask(running, message("server/discover", {"_meta": MODERN_META}))
        assert answer["result"]["capabilities"]["extensions"] == {"verifiedApproval": {}}
        running.send_signal(signal.SIGTERM)
        assert running.wait(20) == 0
        assert running.stderr.read() == b""


def test_http_says_when_it_is_ready_keeps_its_state_and_ends_cleanly(tmp_path):
    passkey, clock = Authenticator(), tmp_path / "clock"
    options = ("--http", "localhost:0", f"--store=sqlite:{tmp_path}/s.db", f"--clock-file={clock}")
    evidence = None
    for round in ("before", "after"):
        with process(*options) as running:
            ready = running.stdout.readline().decode()
            assert ready.startswith("ready: http://localhost:")
            assert ready.endswith("/mcp\n")
            port = int(ready.rpartition(":")[2].partition("/")[0])
            client = HttpClient(port, MODERN if round == "before" else HANDSHAKE)
            if round == "before":
                begun = client.request(words.ENROLL_BEGIN)["result"]["options"]
                # The page may be served by the server's own port.
                created = passkey.create(begun, f"http://localhost:{port}")
                client.request(words.ENROLL_FINISH, {"response": created})
            params = {"toolName": "place_trade", "arguments": TRADE}
            challenge = client.request(words.CHALLENGE_CREATE, params)["result"]
            if evidence is not None:
                again = client.call("place_trade", TRADE, evidence)
                assert again["error"]["data"]["reason"] == "challenge_consumed"
            evidence = {
                "method": "webauthn",
                "challengeId": challenge["challengeId"],
                "response": passkey.get(challenge["requestOptions"], "http://localhost"),
            }
            if round == "after":
                clock.write_text("+61")
                late = client.call("place_trade", TRADE, evidence)
                assert late["error"]["data"]["reason"] == "challenge_expired"
                clock.write_text("+0")
            assert "result" in client.call("place_trade", TRADE, evidence)
            running.send_signal(signal.SIGTERM)
            assert running.wait(20) == 0
            assert running.stderr.read() == b""


WRONG = [
    (["--http", "localhost"], "--http: got 'localhost', expected HOST:PORT"),
    (["--http", "localhost:x"], "expected HOST:PORT"),
    (["--http", "localhost:99999"], "expected HOST:PORT"),
    (["--http", "a..b:0"], "cannot listen on a..b"),
    (["--http", "localhost:0", "--stdio"], "not allowed with"),
    (["--frob"], "got '--frob'; see --help"),
    (["--challenge-ttl", "soon"], "--challenge-ttl"),
    (["--stdio", "--challenge-ttl", "0"], "--challenge-ttl: got 0"),
    (["--stdio", "--enrolment-ttl=-1"], "--enrolment-ttl: got -1"),
    (["--stdio", "--challenge-ttl", "nan"], "--challenge-ttl: got nan"),
    (["--stdio", "--origin", "localhost"], "--origin: got 'localhost'"),
    (["--stdio", "--origin", "http://localhost/"], "--origin: got"),
    (["--stdio", "--store", "bogus"], "--store: got 'bogus'"),
    (["--stdio", "--store", "sqlite:"], "--store: got 'sqlite:', expected a file"),
    (["--stdio", "--store", "sqlite:/no/such/folder/x.db"], "--store: cannot open"),
    (["--stdio", "--store", "postgresql+nothing://x"], "--store:"),
    (["--stdio", "--clock-file", "/"], "--clock-file:"),
]


@pytest.mark.parametrize(("options", "words_of_it"), WRONG, ids=str)
def test_a_wrong_option_is_one_line_and_exit_code_2(capsys, options, words_of_it):
    assert main(options) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert words_of_it in said.err


def test_a_port_that_is_taken_is_one_line(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["--http", f"127.0.0.1:{taken.getsockname()[1]}"]) == 2
    assert "cannot listen on 127.0.0.1" in capsys.readouterr().err


def test_the_help_has_the_options_that_families_declare(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    declared = [option.name for family in FAMILIES for option in options_of(family).values()]
    assert {"--origin", "--without-capability"} <= set(declared)
    for name in declared:
        assert f"  {name}" in said.partition("sep2672:")[2], name


@pytest.mark.parametrize("name", ["challenge_ttl", "origins"])
def test_a_setting_with_an_option_is_refused_under_its_name(capsys, name):
    assert main(["--stdio", "--set", f"sep2672.{name}=nonsense"]) == 2
    assert f"{options_of('sep2672')[name].name}: got 'nonsense'" in capsys.readouterr().err


BLOCKED = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {name!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
"""


def run_without(name, code):
    return subprocess.run(
        [sys.executable, "-c", BLOCKED.format(name=name) + code],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("name", ["mcp", "webauthn", "uvicorn", "sqlalchemy"])
def test_a_missing_extra_is_one_line_with_the_command(name):
    store = "sqlite:/tmp/never.db" if name == "sqlalchemy" else "memory"
    ended = run_without(
        name,
        "from pytest_mcp_approval.reference_server.command_line import main\n"
        f"sys.exit(main(['--http', 'localhost:0', '--store', {store!r}]))",
    )
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert f"needs {name}: pip install 'pytest-mcp-approval[reference]'" in ended.stderr


def test_the_gate_as_a_library_needs_no_mcp():
    ended = run_without(
        "mcp",
        "from pytest_mcp_approval.reference_server import ApprovalGate, ApprovalStore\n"
        "print(*ApprovalGate(store=ApprovalStore()).begin_enrolment('alice'))\n"
        "from pytest_mcp_approval.reference_server import build",
    )
    assert ended.returncode == 1
    assert "needs mcp: pip install 'pytest-mcp-approval[reference]'" in ended.stderr
    assert ended.stdout == "options\n"
