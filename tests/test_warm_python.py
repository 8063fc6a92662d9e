"""What is started warm behaves like the program itself."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_mcp_approval.support.child import Child
from tests.default_signals import with_default_signals
from tests.inner_runs import plugin_options
from tests.warm_python import SERVER, warm_python

PROGRAM = """
import os, sys
print(sys.argv[1:], os.environ["SAYS"], os.getcwd(), __name__, flush=True)
for line in sys.stdin:
    print(line.upper(), end="", flush=True)
print("the end", file=sys.stderr)
sys.exit(7)
"""
SHORT = """
import sys
print(*sys.argv, sys.path[0])
print("caf\\xe9 \\u2713")
print("caf\\xe9 \\u2713", file=sys.stderr)
print(__name__)
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


@pytest.mark.parametrize("ignored", [["SIGHUP"], ["SIGINT", "SIGTERM"]])
def test_it_ignores_the_signals_that_it_was_started_with(ignored):
    """Whatever the process ignores that it is forked from."""
    names = ("SIGHUP", "SIGINT", "SIGTERM")
    told = f"[one for one in {names} if signal.getsignal(getattr(signal, one)) == signal.SIG_IGN]"
    words = [*warm_python(), "-c", f"import signal; print({told})"]
    trapped = " ".join(one.removeprefix("SIG") for one in ignored)
    shell = ["sh", "-c", f"trap '' {trapped}; exec \"$@\"", "sh"]
    done = subprocess.run(
        with_default_signals([*shell, *words]), capture_output=True, timeout=DEADLINE, check=True
    )
    assert done.stdout.decode().strip() == str(ignored)


def test_arguments_environment_folder_streams_and_exit_code(program, tmp_path):
    output, errors = program.communicate("some text\n", timeout=DEADLINE)
    first, second = output.splitlines()
    assert first == f"['one', 'two'] hello {tmp_path} __main__"
    assert (second, errors, program.returncode) == ("SOME TEXT", "the end\n", 7)


@pytest.mark.parametrize("way", ["-c", "a script"])
def test_code_and_scripts_are_started_as_well(tmp_path, way):
    script = tmp_path / "elsewhere" / "script.py"
    script.parent.mkdir()
    script.write_text(SHORT)
    words = ["-u", "-c", SHORT] if way == "-c" else [str(script)]
    done = subprocess.run(
        [*warm_python(), *words, "one"],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "latin-1:replace"},
        timeout=DEADLINE,
        check=False,
    )
    first = b"-c" if way == "-c" else bytes(script)
    folder = b"" if way == "-c" else bytes(script.parent)
    assert done.stdout.splitlines() == [first + b" one " + folder, b"caf\xe9 ?", b"__main__"]
    assert (done.stderr, done.returncode) == (b"caf\xe9 \\u2713\n", 0)


@pytest.mark.parametrize("way", ["-u", "PYTHONUNBUFFERED"])
def test_what_is_not_buffered_comes_at_once(way):
    code = "import sys; sys.stdout.write('now'); sys.stdin.read()"
    words = ["-u"] if way == "-u" else []
    with subprocess.Popen(
        [*warm_python(), *words, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **({} if words else {way: "1"})},
    ) as running:
        try:
            assert running.stdout is not None
            assert select.select([running.stdout], [], [], DEADLINE)[0]
        finally:
            running.kill()


def test_workers_of_inner_runs_have_everything_loaded(pytester: pytest.Pytester):
    """Also those of a run that was itself started so."""
    pytester.makepyfile(
        """
        import sys

        def test_what_is_loaded():
            assert "pytest_mcp_approval.reference_server.assembly" in sys.modules
            assert "PYTEST_XDIST_WORKER" in __import__("os").environ
        """
    )
    plain = ("-p", "no:cacheprovider", *plugin_options(), "-n1")
    pytester.runpytest_inprocess(*plain).assert_outcomes(passed=1)
    pytester.run(*warm_python(), "-m", "pytest", *plain).assert_outcomes(passed=1)


@pytest.mark.usefixtures("cold_workers")
def test_workers_can_load_what_they_need_by_themselves(pytester: pytest.Pytester):
    pytester.makepyfile("import sys\ndef test_it(): assert 'mcp' not in sys.modules")
    run = pytester.runpytest_inprocess("-p", "no:cacheprovider", *plugin_options(), "-n1")
    run.assert_outcomes(passed=1)


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
