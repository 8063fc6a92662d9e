"""Starts a command with default signal handling, whatever the process that runs the tests ignores.

A shell without job control starts background jobs with SIGINT ignored, nohup ignores SIGHUP, and
every process passes that on to its children. A test that sends one of these signals would then wait
forever.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

# Through exec, so that the process keeps its number. A `preexec_fn` would run Python between fork
# and exec, which is not safe in a process with threads.
_CODE = """
import os, signal, sys
for name in ("SIGINT", "SIGTERM", "SIGHUP"):
    signal.signal(getattr(signal, name), signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def with_default_signals(command: Sequence[str]) -> list[str]:
    return [sys.executable, "-S", "-E", "-c", _CODE, *command]
