"""Repairs one defect of libfaketime before 0.9.11, in a Python program that runs under it.

There `clock_nanosleep` with an absolute instant of a monotonic clock that is not faked fails with
EINVAL, and with it `time.sleep` of Python 3.11 and newer. This folder is put on PYTHONPATH, so that
Python imports this file when it starts. It does nothing where sleeping works, and lets a file of
its name that it hides have its turn. Knows nothing of the program; older Pythons must read it too.
"""

import importlib
import os
import select
import sys
import time


def sleep(seconds: float) -> None:
    """As `time.sleep`, by other means."""
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    select.select([], [], [], seconds)


def repair() -> None:
    """Where sleeping is broken."""
    try:
        time.sleep(1e-9)
    except OSError:
        time.sleep = sleep  # type: ignore[assignment]


def import_next() -> None:
    """The file of the same name that this one hides, if there is one."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  # quicker at start
    sys.path[:] = [one for one in sys.path if os.path.abspath(one) != here]  # noqa: PTH100
    own = sys.modules.pop(__name__)
    try:
        importlib.import_module(__name__)
    except ImportError as problem:
        sys.modules[__name__] = own
        if problem.name != __name__:
            raise


if __name__ == "sitecustomize":
    repair()
    import_next()
