"""Figures of the reports: how long a page of a thousand checks takes, how large it is if all checks
pass and if none do, and what recording costs a run.

    python -m benchmarks.report

Writes benchmarks/results/report.md. The cost of recording is a ratio of medians over scenarios that
take turns, with and without it, in one process.
"""

from __future__ import annotations

import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks import sanity
from pytest_mcp_approval.catalogue import Verdict, catalogue
from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.sep2672.driver import Approval
from pytest_mcp_approval.report.conversation import conversation_text
from pytest_mcp_approval.report.files import write_reports
from pytest_mcp_approval.report.model import RunFacts, make_report
from pytest_mcp_approval.report.results import Evidence, Results, ScenarioResult
from pytest_mcp_approval.support import recording
from pytest_mcp_approval.support.secrets import Secrets
from pytest_mcp_approval.target import Target, open_target

RESULTS = Path(__file__).parent / "results" / "report.md"
CHECKS = 1000
WANTED = {".html": "under 1 s, under 3 MB", ".json": "under 8 MB"}
RUNS = """
Whole runs of SEP-2672, measured once: their results were kept, and written as both versions of the
JSON. Where none is in order, the verdicts of a run were replaced.

| run | checks | .html | .json | .json before |
|---|---|---|---|---|
| the reference over HTTP, in order | 1038 | 2.34 MB | 0.85 MB | 0.95 MB |
| the same results, none in order | 1038 | 2.39 MB | 6.72 MB | |
| a reference with another error code, 375 checks failed | 1072 | 2.37 MB | 7.14 MB | 11.07 MB |
| examples/node-server over HTTP, 4 not verified | 1038 | 2.56 MB | 1.56 MB | |
| the same results, none in order | 1038 | 2.62 MB | 5.93 MB | |
"""


def ceremony(target: Target) -> None:
    """What a scenario does on average: nine exchanges, among them three signatures."""
    target.reset()
    approval = Approval(target)
    passkey = approval.enrol("security-key")
    tool = next(tool for tool in approval.tools() if tool.gated and tool.arguments)
    for _ in range(2):
        request = approval.challenge(tool.name, tool.arguments)
        assert approval.call(request, passkey.sign(request)).executed


def recorded(target: Target) -> str:
    """The same with a recording, as the plugin makes it: begun, ended, and serialised."""
    kept = recording.begin()
    try:
        ceremony(target)
        return conversation_text(kept, Secrets(["a-token-of-the-user"]), passed=True)
    finally:
        recording.end()


def timed(act: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    began = clock()
    act()
    return clock() - began


def main() -> None:
    target = open_target("reference", Settings(targets=("reference",)))
    try:
        ceremony(target)
        conversations = [recorded(target) for _ in range(CHECKS // 4)]
        plain, kept = [], []
        for _ in range(100):
            plain.append(timed(lambda: ceremony(target)))
            kept.append(timed(lambda: recorded(target)))
    finally:
        target.close()
    cost = sanity.ratio(statistics.median(kept) / statistics.median(plain), "the cost of records")
    rules = [rule for rule in catalogue("sep2672") if rule.party == "server"]
    one = ScenarioResult(rules=("",), scenario="", verdict=Verdict.PASSED, seconds=0.02)
    scenarios = [
        replace(
            one,
            rules=(rules[number % len(rules)].id,),
            scenario=f"mcp-approval/sep2672/test_x.py::test_something_with_a_name[{number}]",
            again=f"pytest --mcp-approval-target=reference test_x.py::test[{number}]",
            command=f"pytest --mcp-approval-target=reference test_x.py::test[{number}]",
            # Each four times, but so far apart that compression cannot profit from it.
            conversation=conversations[number % len(conversations)],
        )
        for number in range(CHECKS)
    ]
    # The other extreme: every check fails, each with a different answer.
    spoilt = [
        replace(one, verdict=Verdict.FAILED, evidence=Evidence("a call", "an error", f"{rule} ran"))
        for one in scenarios
        for rule in one.rules
    ]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for words, checks in (("in order", scenarios), ("none in order", spoilt)):
            for ending in (".html", ".json", ".md", ".sarif", ".yaml", ".svg"):
                path = Path(folder, f"report{ending}")

                def write(path: Path = path, checks: list[ScenarioResult] = checks) -> None:
                    whole = make_report(Results(checks), rules, RunFacts("reference"))
                    sanity.count(len(whole.scenarios), CHECKS, "checks in the report")
                    _, problems = write_reports(whole, [path])
                    assert not problems, problems

                seconds = statistics.median(timed(write, time.process_time) for _ in range(5))
                megabytes = sanity.measured(path.stat().st_size / 1e6, f"the size of {ending}")
                wanted = WANTED.get(ending, "")
                rows.append(
                    f"| {ending}, {CHECKS} checks, {words} | {seconds:.2f} s, {megabytes:.2f} MB "
                    f"| {wanted} |"
                )
    size = statistics.mean(map(len, conversations)) / 1024
    RESULTS.write_text(
        "# Reports\n\n"
        f"`make benchmark` on Python {platform.python_version()}, {platform.system()} "
        f"{platform.machine()}. A check here is {size:.0f} KiB of conversation; "
        "writing is told in seconds of the processor.\n\n"
        "| figure | value | wanted |\n|---|---|---|\n"
        f"| a scenario with its record, to one without | {cost:.3f} | at most 1.1 |\n"
        + "\n".join(rows)
        + f"\n{RUNS}",
        encoding="utf-8",
    )
    print(RESULTS.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
