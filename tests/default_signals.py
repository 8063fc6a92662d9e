"""A command started with signals at their defaults, whatever the one who runs these tests ignores.

A shell without job control starts what it runs in the background with SIGINT ignored, nohup with
SIGHUP, and every process hands that on to its children. A test that sends one of them would then
wait for an end that never comes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

# Through exec, so that the process keeps its number. A `preexec_fn` would run Python between fork
# and exec, which is not safe beside the threads of this process.
_CODE = """
import os, signal, sys
for name in ("SIGINT", "SIGTERM", "SIGHUP"):
    signal.signal(getattr(signal, name), signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def with_default_signals(command: Sequence[str]) -> list[str]:
    return [sys.executable, "-S", "-E", "-c", _CODE, *command]
