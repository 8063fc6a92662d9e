"""The guard alone: what it removes, what it never touches, and that another follows a lost one."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_mcp_approval.support.guard import TemporaryFolder, _Guard
from pytest_mcp_approval.support.guard_process import clean_up

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is none")
SECONDS = 30.0


def until(true, what):
    give_up = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < give_up, what
        select.select([], [], [], 0.01)


def test_no_folder_but_ours_is_removed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ours, other = tmp_path / "mcp-approval-state-x", tmp_path / "home"
    relative = Path("mcp-approval-relative")
    for folder in (ours, other, relative):
        folder.mkdir()
        (folder / "file").touch()
    (ours / "link").symlink_to(other)
    clean_up([], [], [ours, other, relative])
    assert not ours.exists()
    assert (other / "file").exists()
    assert relative.exists()


def test_what_was_taken_back_is_left_alone(tmp_path):
    guard = _Guard()
    kept, released = tmp_path / "mcp-approval-kept", tmp_path / "mcp-approval-released"
    for folder in (kept, released):
        folder.mkdir()
        guard.keep("folder", str(folder))
    guard.release("folder", str(released))
    guard.close()  # the pipe closes as it does at the end of a process
    assert not kept.exists()
    assert released.exists()


def test_a_guard_that_was_lost_is_followed_by_another_that_knows_all(tmp_path):
    guard = _Guard()
    first, second = tmp_path / "mcp-approval-1", tmp_path / "mcp-approval-2"
    for folder in (first, second):
        folder.mkdir()
    guard.keep("folder", str(first))
    lost = guard._process
    assert lost is not None
    lost.kill()
    lost.wait(SECONDS)
    guard.keep("folder", str(second))
    assert guard._process is not None
    assert guard._process.pid != lost.pid
    guard.close()
    assert not first.exists()
    assert not second.exists()


def test_signals_for_the_run_do_not_end_it(tmp_path):
    guard = _Guard()
    folder = tmp_path / "mcp-approval-1"
    folder.mkdir()
    guard.keep("folder", str(folder))
    process = guard._process
    assert process is not None
    assert os.getsid(process.pid) != os.getsid(0)
    guard.close()
    assert process.returncode == 0
    assert not folder.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="needs pidfds")
def test_a_fork_that_holds_the_pipe_does_not_keep_it_waiting(tmp_path):
    """It watches the process itself, too."""
    text = """
import os, signal, sys
from pytest_mcp_approval.support.guard import TemporaryFolder
folder = TemporaryFolder("state")
if os.fork() == 0:
    signal.pause()
print(folder.name, flush=True)
os.kill(os.getpid(), 9)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", text],
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert process.stdout is not None
    try:
        folder = Path(process.stdout.readline().decode().strip())
        assert folder.parent == tmp_path
        process.wait(SECONDS)
        until(lambda: not folder.exists(), "the folder is left")
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()


def test_a_folder_is_there_until_it_is_cleaned_up():
    folder = TemporaryFolder("state")
    assert Path(folder.name).is_dir()
    assert Path(folder.name).name.startswith("mcp-approval-state-")
    folder.cleanup()
    assert not Path(folder.name).exists()
