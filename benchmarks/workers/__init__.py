"""One program for each library that is measured, each in an environment of its own.

A worker reads lines `task count` and answers each with the seconds that it took; so the driver can
take turns among them, and what else the machine does hits all of them alike.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping


def serve(tasks: Mapping[str, Callable[[int], None]]) -> None:
    """Answer until the input ends."""
    for line in sys.stdin:
        name, count = line.split()
        task, repeats = tasks[name], int(count)
        started = time.perf_counter()
        task(repeats)
        print(time.perf_counter() - started, flush=True)
