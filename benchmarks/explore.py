"""Figures of exploration: walks, steps and requests a second, and the time spent in the target.

    python -m benchmarks.explore [SECONDS]

Writes benchmarks/results/explore.md: each family in process, and SEP-2672 over every transport. The
server is the healthy reference, in which nothing may be found; what the model counts must be what
the engine counted.
"""

from __future__ import annotations

import platform
import sys
import time
from pathlib import Path

from benchmarks import sanity, waiting
from pytest_mcp_approval.config.options import OPTIONS
from pytest_mcp_approval.config.registry import built_in, registered
from pytest_mcp_approval.config.settings import settings_of_line
from pytest_mcp_approval.explore.budget import Budget
from pytest_mcp_approval.explore.engine import STEPS, Explorer
from pytest_mcp_approval.explore.findings import model_of
from pytest_mcp_approval.target import open_target

RESULTS = Path(__file__).parent / "results" / "explore.md"
SECONDS = 10.0
LEAST_SHARE = 0.5
"""The aim for the time that is spent in a target in this process."""
RUNS = [
    *((name, "reference", "in process") for name in built_in()),
    ("sep2672", "reference:http", "http"),
    ("sep2672", "reference:stdio", "stdio"),
]


def explored(family: str, target_name: str, seconds: float) -> dict[str, float]:
    """One exploration, with one seed."""
    given = {option.name: None for option in OPTIONS} | {"target": [target_name]}
    target = open_target(target_name, settings_of_line(given, Path()))
    what = f"{family} at {target_name}"
    try:
        problem = registered(family).part("health").honest_approval(target)
        sanity.named(problem, "", f"an honest approval, {what}")
        waits = len(waiting.waits())
        explorer = Explorer(model_of(family), target, Budget(seconds), seed=1)
        started = time.perf_counter()
        result = explorer.run()
        taken = time.perf_counter() - started
    finally:
        target.close()
    sanity.named(len(explorer.findings), 0, f"findings in a healthy server, {what}")
    # A transition that finds nothing to do is a step, too; none is counted that was not made.
    made = sum(result.transitions.values())
    sanity.share(made / sanity.measured(result.steps, f"steps, {what}"), f"steps made, {what}")
    sanity.measured(result.steps, f"steps, {what}", at_most=result.walks * STEPS)
    sanity.measured(taken, f"seconds, {what}", at_least=seconds * 0.9, at_most=seconds * 3)
    waited = waiting.together(waiting.waits()[waits:])
    return {
        "walks": result.walks / taken,
        "steps": result.steps / taken,
        "requests": result.requests / taken,
        "share": sanity.share(waited / taken, f"time in the target, {what}"),
    }


def main(seconds: float = SECONDS) -> None:
    waiting.pytest_configure()
    lines = [
        "# Figures of exploration",
        "",
        f"Each for {seconds:g} s on the healthy reference server, one seed; Python "
        f"{platform.python_version()}, {platform.machine()}. A walk has at most {STEPS} steps, and "
        "an honest approval at its end. Made by `make benchmark`.",
        "",
        "| family | transport | walks a second | steps a second | requests a second | "
        "time in the target | aim |",
        "|---|---|---|---|---|---|---|",
    ]
    for family, target, transport in RUNS:
        found = explored(family, target, seconds)
        aim = f"at least {LEAST_SHARE:.0%}" if transport == "in process" else ""
        lines.append(
            f"| {family} | {transport} | {found['walks']:.1f} | {found['steps']:.0f} | "
            f"{found['requests']:.0f} | {found['share']:.0%} | {aim} |"
        )
        print(lines[-1])
    RESULTS.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main(*(float(word) for word in sys.argv[1:2]))
