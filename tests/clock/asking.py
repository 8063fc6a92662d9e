"""A child process that tells its time whenever it is asked, for tests of clocks."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

from pytest_mcp_approval.clock import find_library

PYTHON = """
import sys, time
for line in sys.stdin:
    print(time.time_ns(), time.monotonic_ns(), flush=True)
"""
NODE = """
const lines = require("node:readline").createInterface({ input: process.stdin });
lines.on("line", () => console.log(
    String(BigInt(Date.now()) * 1000000n), String(process.hrtime.bigint())));
"""
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
HAS_FAKETIME = find_library() is not None
NEEDS_FAKETIME = "libfaketime is not installed"


class Child:
    """Ask it for its time, in nanoseconds since 1970."""

    def __init__(
        self,
        environment: Mapping[str, str],
        command: Sequence[str] = (sys.executable, "-c", PYTHON),
    ) -> None:
        self.process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={**os.environ, **environment},
        )

    def _ask(self) -> list[int]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("?\n")
        self.process.stdin.flush()
        return [int(word) for word in self.process.stdout.readline().split()]

    def nanoseconds(self) -> int:
        return self._ask()[0]

    def monotonic(self) -> int:
        return self._ask()[1]

    def end(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


def nanoseconds(instant: datetime.datetime) -> int:
    return (instant - EPOCH) // datetime.timedelta(microseconds=1) * 1000
