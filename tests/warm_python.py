"""Programs of ours that are started warm: forked from a process that has loaded everything.

A reference server in a process of its own spends over a second of processor time loading the MCP
SDK, a run of the suite or one of its workers as much, and the tests start hundreds. `warm_python()`
gives the words of a command that take the place of `sys.executable` in front of `-m MODULE`,
`-c CODE` or a script. What it starts behaves like the program itself: the same streams, signals,
exit code and end. It is not for tests of the start itself, nor for anything that must be in place
when a process begins, such as libfaketime.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from _pytest.config import _prepareconfig
from execnet import XSpec, gateway_io

SERVER = "pytest_mcp_approval.reference_server"
LOADED = (
    "tests.inner_runs",  # loads the suite and the server
    "xdist.remote",
    "hypothesis",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
    "uvicorn.lifespan.on",
)
"""Loaded before anything is started."""
ROOT = Path(__file__).parents[1]
STUB = Path(__file__).with_name("warm_stub.py")
_FORKS = hasattr(os, "fork") and hasattr(socket, "send_fds")


@cache
def warm_python() -> tuple[str, ...]:
    """In the place of `sys.executable`. Started once for each process."""
    if not _FORKS:
        return (sys.executable,)
    folder = tempfile.TemporaryDirectory(prefix="warm-")
    place = str(Path(folder.name) / "socket")
    # It ends with this process: then its standard input does.
    keeper = subprocess.Popen(
        [sys.executable, "-m", "tests.warm_python", place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        start_new_session=True,
    )
    _KEPT.extend((folder, keeper))
    assert keeper.stdout is not None
    assert keeper.stdout.readline() == b"ready\n", "the process that has everything loaded ended"
    return _stub(place)


def _stub(place: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", str(STUB), place)


_KEPT: list[object] = []
"""Until this process ends."""


def start_servers_warm(python: Callable[[], tuple[str, ...]] = warm_python) -> None:
    """From now on the suite, as far as it runs in this process, starts reference servers warm, and
    the servers of examples that load the same SDK."""
    from pytest_mcp_approval.support import child
    from pytest_mcp_approval.support.command import start as cold

    def start(words: Sequence[str], directory: str | Path | None, **given: Any) -> Any:
        environment = given.get("env") or os.environ
        if "LD_PRELOAD" not in environment and _can_be_warm(words, directory, environment):
            words = [*python(), *words[1:]]
        return cold(words, directory, **given)

    setattr(child, "start", start)  # noqa: B010 mypy allows no other way


_cold_worker = gateway_io.popen_args


def start_workers_warm(python: Callable[[], tuple[str, ...]] = warm_python) -> None:
    """From now on workers of runs with pytest-xdist in this process have everything loaded."""

    def words(spec: XSpec) -> list[str]:
        first, *others = _cold_worker(spec)
        return [*(python() if first == sys.executable else [first]), *others]

    setattr(gateway_io, "popen_args", words)  # noqa: B010 mypy allows no other way


def start_workers_cold(patch: pytest.MonkeyPatch) -> None:
    """Until it is undone."""
    patch.setattr(gateway_io, "popen_args", _cold_worker)


def _can_be_warm(
    words: Sequence[str], directory: str | Path | None, environment: Mapping[str, str]
) -> bool:
    if [*words[:3]] == [sys.executable, "-m", SERVER]:
        return True
    if len(words) < 2 or not words[1].endswith(".py"):
        return False
    # Others may be there to be killed, and a program that was started warm ends a moment later.
    script = Path(directory or "", words[1]).resolve()
    if not script.is_relative_to(ROOT / "examples") and script.name != "exec_gateway.py":
        return False
    # Another environment has other versions, or none, of what is loaded here.
    program = shutil.which(words[0], path=environment.get("PATH"))
    return program is not None and program in _OWN


_OWN = {sys.executable, *(str(Path(sys.executable).with_name(f"python{n}")) for n in ("", "3"))}


Program = Callable[[], None]


class _Keeper:
    """Listens, forks, and tells each stub how its program ended."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(place)
        self._listener.listen(64)
        self._stubs: dict[int, socket.socket] = {}
        """By the process id of the program."""
        self._wake, self._woken = socket.socketpair()
        for end in (self._wake, self._woken):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake.fileno())
        self._selector = selectors.DefaultSelector()
        for readable in (self._listener, self._woken, sys.stdin):
            self._selector.register(readable, selectors.EVENT_READ)

    def serve(self) -> Program | None:
        """In a forked process what it has to do; here None, when nobody needs it any more."""
        while True:
            self._selector.select()
            # Asked again, and new programs last: whoever has killed one and starts another must not
            # meet the first, which may still hold its port.
            ready = {key.fileobj: key.data for key, _ in self._selector.select(0)}
            if sys.stdin in ready:
                self._kill_all()
                return None
            if self._woken in ready:
                with contextlib.suppress(BlockingIOError):
                    self._woken.recv(4096)
            for process in filter(None, ready.values()):
                self._kill(process)
            self._tell_of_ends()
            if self._listener in ready:
                program = self._accept()
                if program is not None:
                    return program

    def _accept(self) -> Program | None:
        link, _ = self._listener.accept()
        link.settimeout(10)
        try:
            head, streams, _, _ = socket.recv_fds(link, 4, 3)
            told = _exactly(link, int.from_bytes(head, "big"))
        except OSError:
            link.close()  # killed before it could say what it wants
            return None
        words, environment, folder, ignored = json.loads(told)
        process = os.fork()
        if not process:
            self._leave()
            _set_up_signals(ignored)
            return lambda: _run(words, environment, folder, streams, self._place)
        for stream in streams:
            os.close(stream)
        self._stubs[process] = link
        self._selector.register(link, selectors.EVENT_READ, process)
        with contextlib.suppress(OSError):
            link.sendall(process.to_bytes(4, "big"))
        return None

    def _leave(self) -> None:
        """Drop, in a forked process, what belongs to the keeper."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for one in (self._listener, self._wake, self._woken, *self._stubs.values()):
            one.close()
        os.setsid()

    def _kill(self, process: int) -> None:
        """Its stub is gone; it has ended when this returns."""
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        self._forget(process)

    def _forget(self, process: int) -> socket.socket:
        link = self._stubs.pop(process)
        self._selector.unregister(link)
        return link

    def _tell_of_ends(self) -> None:
        while self._stubs:
            process, status = os.waitpid(-1, os.WNOHANG)
            if not process:
                return
            code = os.waitstatus_to_exitcode(status)
            with self._forget(process) as link, contextlib.suppress(OSError):
                link.sendall(code.to_bytes(4, "big", signed=True))

    def _kill_all(self) -> None:
        for process in [*self._stubs]:
            self._kill(process)


def _exactly(link: socket.socket, length: int) -> bytes:
    pieces: list[bytes] = []
    while (left := length - sum(map(len, pieces))) > 0:
        piece = link.recv(left)
        if not piece:
            raise ConnectionError("closed")
        pieces.append(piece)
    return b"".join(pieces)


def _run(
    words: list[str], environment: dict[str, str], folder: str, streams: list[int], place: str
) -> None:
    """As `python` with these words would, in this process."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    time.tzset()
    start_servers_warm(lambda: _stub(place))
    start_workers_warm(lambda: _stub(place))
    unbuffered = words[0] == "-u"
    words = words[unbuffered:]
    _set_up_streams(environment, unbuffered)
    kind, *arguments = words
    sys.path.remove(str(ROOT))  # it was put there for this module
    paths = [one for one in environment.get("PYTHONPATH", "").split(os.pathsep) if one]
    if kind == "-m":
        sys.argv, sys.path[:0] = arguments, [folder, *paths]
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv, sys.path[:0] = ["-c", *arguments[1:]], ["", *paths]
        main = sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(arguments[0], "<string>", "exec"), vars(main))
    else:
        assert not kind.startswith("-"), f"a warm start knows no option {kind}"
        sys.argv, sys.path[:0] = words, [str(Path(kind).resolve().parent), *paths]
        runpy.run_path(kind, run_name="__main__")


def _set_up_signals(ignored: list[int]) -> None:
    """As Python does at its start. The keeper itself may ignore others: under nohup, or as a job in
    the background."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if number in ignored else usual)


def _set_up_streams(environment: dict[str, str], unbuffered: bool) -> None:
    """Those that are there were made for the streams of the keeper."""
    encoding, _, errors = environment.get("PYTHONIOENCODING", "").partition(":")
    unbuffered = unbuffered or bool(environment.get("PYTHONUNBUFFERED"))
    encoding, errors = encoding or "utf-8", errors or "strict"
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        raw = io.FileIO(number, "w" if number else "r", closefd=False)
        if not number:
            binary: Any = io.BufferedReader(raw)
        else:
            binary = raw if unbuffered else io.BufferedWriter(raw)
        stream = io.TextIOWrapper(
            binary,
            encoding,
            "backslashreplace" if name == "stderr" else errors,
            line_buffering=name == "stderr" or raw.isatty(),
            write_through=unbuffered,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _main(place: str) -> None:
    # As a run of pytest loads them: another one would otherwise complain that modules of plugins
    # were loaded before their assertions could be rewritten.
    config = _prepareconfig(["--noconftest", "-c", os.devnull])
    for module in LOADED:
        importlib.import_module(module)
    config._ensure_unconfigure()
    from pytest_mcp_approval.reference_server.assembly import default_extensions

    default_extensions()
    keeper = _Keeper(place)
    gc.collect()
    gc.freeze()
    print("ready", flush=True)
    program = keeper.serve()
    if program is not None:
        program()


if __name__ == "__main__":
    _main(sys.argv[1])
