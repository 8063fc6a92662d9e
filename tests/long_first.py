"""With several workers the long tests come first, so that none is left for the end.

xdist deals the tests in the order of their files, a piece to each worker; whoever has finished
takes over from the others. A test of ten seconds that begins last keeps one core busy and leaves
the others idle. So each piece begins with its share of the long tests. Knows no durations, only the
files that have long tests.
"""

from __future__ import annotations

from typing import TypeVar

LONG = (
    "tests/examples/",
    "tests/plugin/test_healthy_reference.py",
    "tests/plugin/test_workers.py",
    "tests/plugin/test_left_behind.py",
    "tests/plugin/test_clock_kinds.py",
    "tests/plugin/test_baseline.py",
    "tests/families/gateway_consent/test_exec_gateway.py",
    "tests/reference_server/execution_tokens/test_crashes.py",
    "tests/hostile_servers/test_silences.py",
    "tests/command/test_check.py",
    "tests/families/confirmation_tokens/test_other_shape.py",
    # A server that is silent in eleven places, each of which is waited for.
    "tests/mutants/test_kill_matrix.py::test_a_broken_server_is_found_out[ServesOneAtATime]",
)
"""Files, folders and single tests that take several seconds."""

Named = TypeVar("Named")


def long_first(items: list[Named], names: list[str], workers: int) -> list[Named]:
    """The same items, of which `names` has the ids, in the order in which xdist is to deal them."""
    paired = list(zip(items, names, strict=True))
    long = [item for item, name in paired if name.startswith(LONG)]
    rest = [item for item, name in paired if not name.startswith(LONG)]
    ordered: list[Named] = []
    for worker in range(workers):
        piece = (len(items) - len(ordered)) // (workers - worker)
        share = long[worker::workers]
        others = max(0, piece - len(share))
        ordered += [*share, *rest[:others]]
        del rest[:others]
    return ordered + rest
