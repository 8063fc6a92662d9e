"""The page of the docs about mechanical mutants, made from the answers.

python -m tests.mutation.page [RESULTS] [--exploration RESULTS]
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.inner_runs import ROOT
from tests.mutation.__main__ import RESULTS, jobs_of, known_in
from tests.mutation.explaining import FILE, Explanation, explained, explanations

PAGE = ROOT / "docs" / "mutation.md"
NOTICED = ("found", "stopped", "hung")
Answer = Mapping[str, Any]


def verdict_on(answer: Answer, known: list[Explanation]) -> str:
    """One word for each answer: who noticed, or why nobody need to, or nobody."""
    if answer["how"] in NOTICED:
        return "scenarios"
    if answer.get("explored"):
        return "exploration"
    why = explained(answer["key"], known)
    if why is not None:
        return why.kind
    return "unverified" if answer["how"] == "odd" else "nobody"


def page(answers: Iterable[Answer], known: list[Explanation], totals: Mapping[str, int]) -> str:
    """`totals`: how many mutations each family has, checked or not."""
    answers = sorted(answers, key=lambda one: one["key"])
    by_module: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    survivors = []
    for one in answers:
        verdict = verdict_on(one, known)
        by_module[one["family"], one["module"].rpartition(".")[2]][verdict] += 1
        if verdict in ("nobody", "unverified"):
            survivors.append((one, verdict))
    lines = [
        "# Mechanical mutants",
        "<!-- Written by tests/mutation/page.py; `make mutation` renews it. -->",
        "",
        "The broken servers of the [kill matrix](kill-matrix.md) were written by people. These "
        "were made by a machine, which breaks the gates, stores, vocabularies and the relying "
        "party of the reference server line by line: comparisons, boundaries, constants, "
        "conditions, dropped statements. For each, the scenarios that run through the line are "
        "asked until one notices.",
        "",
        _share(answers, known, totals),
        "",
        "| family | module | checked | by scenarios | by exploration | equivalent | outside | "
        "not verified | nobody |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (family, module), counts in sorted(by_module.items()):
        words = ("scenarios", "exploration", "equivalent", "outside", "unverified", "nobody")
        cells = " | ".join(str(counts[word] or "") for word in words)
        lines.append(f"| {family} | {module} | {counts.total()} | {cells} |")
    lines += [
        "",
        "*Equivalent* means that no caller can tell the difference; *outside*, that the document "
        "says nothing about it (`tests/mutation/explained.toml` has the reasons). *Not verified*: "
        "a check that passes on the healthy server could not be made, and the run says so, but no "
        "rule failed.",
        "",
        "## What nobody noticed",
        "",
        *(f"- `{one['key'].replace('`', '')}` ({verdict})" for one, verdict in survivors),
        "",
    ]
    return "\n".join(lines)


def _share(answers: list[Answer], known: list[Explanation], totals: Mapping[str, int]) -> str:
    counts = Counter(verdict_on(one, known) for one in answers)
    due = counts.total() - counts["equivalent"] - counts["outside"]
    seen = counts["scenarios"] + counts["exploration"]
    share = f"{seen / due:.1%}" if due else "none"
    return (
        f"{sum(totals.values())} mutations can be made; {len(answers)} were checked. Of the {due} "
        f"that are neither equivalent nor outside the document, {seen} were noticed: {share}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", nargs="?", type=Path, default=RESULTS)
    given = parser.parse_args()
    known = explanations(FILE.read_text(encoding="utf-8"))
    answers = list(known_in(given.results).values())
    totals = {family: len(jobs_of(family)) for family in {one["family"] for one in answers}}
    PAGE.write_text(page(answers, known, totals), encoding="utf-8")


if __name__ == "__main__":
    main()
