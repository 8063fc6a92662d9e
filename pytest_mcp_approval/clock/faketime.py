"""libfaketime: moves the time of a process in any language that asks libc for it.

It is used if it is installed, and is never a dependency. The process is started with it
(`environment`) and reads its time from a file each time it asks, so that time can be moved while it
runs. Knows no server. It cannot reach a program that asks the kernel itself, such as one in Go:
whoever uses this clock checks that it moves.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..support.guard import TemporaryFolder
from .base import ClockError, StoppedClock
from .files import replace_file

VARIABLE = "MCP_APPROVAL_LIBFAKETIME"
"""The environment variable that names the library, where the suite does not find it."""
HOW_TO_INSTALL = "brew install libfaketime" if sys.platform == "darwin" else "apt install faketime"
_MAC = sys.platform == "darwin"
# The one for programs with several threads; the other mixes up what two threads read at once.
_NAMES = (
    ("libfaketimeMT.1.dylib", "libfaketime.1.dylib")
    if _MAC
    else ("libfaketimeMT.so.1", "libfaketime.so.1")
)
_PRELOAD = "DYLD_INSERT_LIBRARIES" if _MAC else "LD_PRELOAD"
_PREFIXES = ("/usr", "/usr/local", "/opt/homebrew", "/opt/local")
_REAL_TIME = "+0"
_REPAIR = Path(__file__).parent / "faketime_repair"
"""For programs in Python: older versions of the library break their `time.sleep`."""
_SHARED_MEMORY = Path("/dev/shm")


def find_library() -> Path | None:
    """Where libfaketime is: what the variable names, what lies beside the command, usual places."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named) if Path(named).is_file() else None
    for folder in _folders():
        for name in _NAMES:
            if (folder / name).is_file():
                return folder / name
    return None


def _folders() -> Iterator[Path]:
    prefixes = [Path(prefix) for prefix in _PREFIXES]
    command = shutil.which("faketime")
    if command is not None:
        prefixes.insert(0, Path(command).resolve().parent.parent)
    # A machine may have libraries for other processors too; ours come first.
    own = sysconfig.get_config_var("MULTIARCH") or "lib"
    for prefix in prefixes:
        yield prefix / "lib" / own / "faketime"
        yield prefix / "lib" / "faketime"
        yield prefix / "lib64" / "faketime"
    for prefix in prefixes:
        yield from sorted((prefix / "lib").glob("*-linux-*/faketime"))


def why_not_found() -> str:
    """One line, with what to do."""
    named = os.environ.get(VARIABLE)
    if named:
        return f"libfaketime is not where {VARIABLE} says: no file {named!r}"
    return f"libfaketime is not installed ({HOW_TO_INSTALL})"


class FaketimeClock(StoppedClock):
    """Time of the processes that were started with this clock's `environment`."""

    kind = "faketime"
    note = "libfaketime found"
    if_stuck = (
        "a program that does not use libc for the time, such as one in Go, is out of "
        "libfaketime's reach: --mcp-approval-clock=hook:..., or wait"
    )

    def __init__(self, library: Path) -> None:
        super().__init__()
        if "FAKETIME" in os.environ:
            raise ClockError("FAKETIME is set in the environment, and would override the suite")
        self.library = library
        self._holder = TemporaryFolder("clock")
        self._file = Path(self._holder.name) / "time"
        self._tell(None)
        _sweep()

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        variables = {
            _PRELOAD: _before(str(self.library), inherited.get(_PRELOAD), ":"),
            "PYTHONPATH": _before(str(_REPAIR), inherited.get("PYTHONPATH"), os.pathsep),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            # Seconds since 1970: any other form is read in the time zone of the process.
            "FAKETIME_FMT": "%s",
            "FAKETIME_NO_CACHE": "1",
            # Timers, timeouts and event loops go on while the calendar stands still.
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
            # Its way of waiting on such a clock returns at once: threads that wait for each other,
            # as Python's do, would spin and be many times slower.
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
            # Else every process leaves something in shared memory if it is ended hard.
            "FAKETIME_DISABLE_SHM": "1",
        }
        if _MAC:
            variables["DYLD_FORCE_FLAT_NAMESPACE"] = "1"
        return variables

    def close(self) -> None:
        self._holder.cleanup()
        _sweep()

    def _tell(self, instant: datetime.datetime | None) -> None:
        try:
            replace_file(self._file, _REAL_TIME if instant is None else _written(instant))
        except OSError as error:
            raise ClockError(f"faketime: {self._file}: {error.strerror}") from None


def _sweep() -> None:
    """Remove what libfaketime left of processes that were ended hard: releases before
    FAKETIME_DISABLE_SHM fail in a later process that happens to get the same number."""
    for path in _SHARED_MEMORY.glob("*faketime_s??_*"):
        number = path.name.rpartition("_")[2]
        with contextlib.suppress(OSError):
            if number.isdecimal() and path.stat().st_uid == os.getuid() and not _lives(int(number)):
                path.unlink()


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass  # somebody else's, or none that there can be
    return True


def _before(first: str, others: str | None, separator: str) -> str:
    return separator.join([first, others] if others else [first])


def _written(instant: datetime.datetime) -> str:
    """Seconds since 1970, with a fraction.

    libfaketime reads the fraction by way of a floating point number and cuts it off, which can lose
    a nanosecond and, with it, the whole microsecond. So a fifth of one is added.
    """
    since = instant - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    microseconds = since // datetime.timedelta(microseconds=1)
    if microseconds < 0:
        raise ClockError(f"faketime: cannot go to {instant.isoformat()}, before 1970")
    seconds, rest = divmod(microseconds, 1_000_000)
    return f"{seconds}.{rest:06d}2"
