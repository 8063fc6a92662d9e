"""What is started warm behaves like the program itself."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_mcp_approval.support.child import Child
from tests.warm_python import SERVER, warm_python

PROGRAM = """
import os, sys
print(sys.argv[1:], os.environ["SAYS"], os.getcwd(), __name__, flush=True)
for line in sys.stdin:
    print(line.upper(), end="", flush=True)
print("the end", file=sys.stderr)
sys.exit(7)
"""
DEADLINE = 60


@pytest.fixture(params=["a module", "a script"])
def program(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    (tmp_path / "program.py").write_text(PROGRAM)
    named = ["-m", "program"] if request.param == "a module" else ["program.py"]
    with subprocess.Popen(
        [*warm_python(), *named, "one", "two"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "SAYS": "hello"},
    ) as running:
        yield running
        running.kill()


def test_arguments_environment_folder_streams_and_exit_code(program, tmp_path):
    output, errors = program.communicate("some text\n", timeout=DEADLINE)
    first, second = output.splitlines()
    assert first == f"['one', 'two'] hello {tmp_path} __main__"
    assert (second, errors, program.returncode) == ("SOME TEXT", "the end\n", 7)


def test_a_signal_reaches_it_and_its_end_is_told(program):
    assert program.stdout.readline()
    program.send_signal(signal.SIGTERM)
    assert program.wait(DEADLINE) == -signal.SIGTERM


def test_what_is_killed_is_gone_before_another_one_starts():
    """Else the next server could not have its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [*warm_python(), "-m", SERVER, "--http", f"localhost:{port}"]
    for _ in range(3):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            assert server.stdout.readline() == f"ready: http://localhost:{port}/mcp\n"
            server.kill()
        assert server.returncode == -signal.SIGKILL


@pytest.mark.parametrize("preloaded", [{}, {"LD_PRELOAD": ""}], ids=["warm", "cold"])
def test_the_suite_starts_reference_servers_so(preloaded):
    server = Child(
        [sys.executable, "-m", SERVER, "--unknown"], environment=preloaded, directory=None
    )
    try:
        assert server._exited.wait(DEADLINE)
        assert server.exit_code == 2
        assert ("warm_stub.py" in str(server._process.args)) is not bool(preloaded)
    finally:
        server.stop()
