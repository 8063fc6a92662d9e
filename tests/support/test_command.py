"""Commands that are run to their end: what they said is kept, and nothing of them outlives it."""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

import freezegun
import pytest

from pytest_mcp_approval.support.command import CommandError, run_command
from pytest_mcp_approval.support.hook import HookError, tell_hook

LEAVES = (
    "import subprocess, sys, os\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
    "print(child.pid)\n"
)


def python(code: str, *words: str) -> list[str]:
    return [sys.executable, "-c", code, *words]


def ended(process: str | bytes) -> bool:
    """Whether it has ended within a few seconds."""
    try:
        held = os.pidfd_open(int(process))
    except ProcessLookupError:
        return True

    try:
        return bool(select.select([held], [], [], 5.0)[0])
    finally:
        os.close(held)


def test_what_is_given_comes_in_and_what_is_said_comes_out() -> None:
    code = "import sys; print(sys.stdin.read()[::-1]); sys.stderr.write('and this'); sys.exit(3)"
    done = run_command(python(code), seconds=30, given=b"abc")
    assert (done.code, done.output.strip(), done.errors) == (3, b"cba", b"and this")
    with pytest.raises(CommandError, match=r"^got exit code 3, expected 0: and this$"):
        done.check()


def test_only_so_much_is_kept() -> None:
    code = "import sys; sys.stdout.write('a' * 50 + 'b' * 50); sys.stderr.write('c' * 50 + 'd')"
    done = run_command(python(code), seconds=30, limit=10)
    assert (done.output, done.errors) == (b"a" * 10, b"c" * 9 + b"d")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["no-such-command-at-all"], "no such command: no-such-command-at-all"),
        ("'", 'cannot read "\'": No closing quotation'),
        ([], "cannot run ''"),
        (["/"], "cannot run '/': Permission denied"),
    ],
)
def test_a_command_that_cannot_be_run_is_told(command: str | list[str], words: str) -> None:
    with pytest.raises(CommandError) as raised:
        run_command(command, seconds=30)
    assert str(raised.value).startswith(words)


def test_a_missing_directory_is_told() -> None:
    with pytest.raises(CommandError, match="no such directory: /no/such"):
        run_command(python(""), seconds=30, directory="/no/such")


def test_time_is_real_while_the_calendar_stands_still() -> None:
    """`subprocess` would wait for ever."""
    with (
        freezegun.freeze_time("2030-01-01"),
        pytest.raises(CommandError, match=r"did not end within 0\.2 s"),
    ):
        run_command(python("import signal; signal.pause()"), seconds=0.2)


@pytest.mark.skipif(sys.platform != "linux", reason="looks by pidfd")
def test_what_does_not_end_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    told = tmp_path / "child"
    code = f"{LEAVES}open({str(told)!r}, 'w').write(str(child.pid))\nchild.wait()"
    with pytest.raises(CommandError, match="did not end within 2 s"):
        run_command(python(code), seconds=2)
    assert ended(told.read_text())


@pytest.mark.skipif(sys.platform != "linux", reason="looks by pidfd")
def test_what_a_command_leaves_may_stay_or_belong_to_it() -> None:
    left = run_command(python(LEAVES), seconds=30).check().output
    os.kill(int(left), 0)  # a hook may start something that stays
    os.kill(int(left), 9)
    quiet = LEAVES.replace("])", "], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)")
    assert ended(run_command(python(quiet), seconds=30, with_children=True).check().output)


def test_what_a_command_starts_is_heard_to_its_end() -> None:
    """What is done in the background, after the command itself has said no, is seen too."""
    late = "import os, sys; os.read(0, 1); print('late')"
    code = (
        "import os, subprocess, sys\n"
        "reading, writing = os.pipe()\n"
        f"subprocess.Popen([sys.executable, '-c', {late!r}], stdin=reading)\n"
        "sys.exit(1)"
    )
    done = run_command(python(code), seconds=30, with_children=True)
    assert (done.code, done.output.strip()) == (1, b"late")


def test_a_hook_that_is_a_command_reads_json_and_answers() -> None:
    code = "import json, sys; print(json.load(sys.stdin)['a'], sys.argv[1])"
    hook = f"{sys.executable} -c '{code.replace(chr(39), chr(34))}'"
    assert tell_hook(hook, {"a": 1}, words=["last"], seconds=30).split() == [b"1", b"last"]
    with pytest.raises(HookError, match="no such command"):
        tell_hook("no-such-command-here", {}, seconds=30)
