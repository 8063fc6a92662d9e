"""The page of the docs about mechanical mutants, made from the answers.

python -m tests.mutation.page [RESULTS]
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.inner_runs import ROOT
from tests.mutation.__main__ import RESULTS, Job, jobs_of, known_in
from tests.mutation.explaining import FILE, Explanation, explained, explanations

PAGE = ROOT / "docs" / "mutation.md"
NOTICED = ("found", "stopped", "hung")
WORDS = ("scenarios", "exploration", "equivalent", "outside", "unverified", "nobody")
Answer = Mapping[str, Any]
Totals = Mapping[tuple[str, str], int]


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


def module_of(module: str) -> str:
    return module.rpartition(".")[2]


def page(
    answers: Iterable[Answer], known: list[Explanation], totals: Totals, by_hand: int = 0
) -> str:
    """`totals`: how many mutations each module of a family has, checked or not. `by_hand`: how many
    of the answers are about mutations that the sample has not come to."""
    answers = sorted(answers, key=lambda one: one["key"])
    by_module: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    survivors, reasons = [], Counter[Explanation]()
    for one in answers:
        verdict = verdict_on(one, known)
        by_module[one["family"], module_of(one["module"])][verdict] += 1
        why = explained(one["key"], known)
        if verdict in ("nobody", "unverified"):
            survivors.append((one, verdict))
        elif why is not None and verdict == why.kind:
            reasons[why] += 1
    lines = [
        "# Mechanical mutants",
        "<!-- Written by tests/mutation/page.py; `make mutation` renews it. -->",
        "",
        "The broken servers of the [kill matrix](kill-matrix.md) were written by people. These "
        "were made by a machine, which breaks the gates, stores, vocabularies and the relying "
        "party of the reference server line by line: comparisons, boundaries, constants, "
        "conditions, dropped statements. For each, the scenarios that run through the line are "
        "asked until one notices; what none of them notices is [explored](exploration.md). A "
        "server that serves nobody is noticed, too: its run checks nothing, and does not end "
        "well.",
        "",
        *_sample(answers, totals, by_hand),
        "",
        *_shares(answers, known),
        "",
        "| family | module | mutations | checked | by scenarios | by exploration | equivalent | "
        "outside | not verified | nobody |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for place, total in sorted(totals.items()):
        counts = by_module[place]
        cells = " | ".join(str(counts[word] or "") for word in WORDS)
        lines.append(f"| {place[0]} | {place[1]} | {total} | {counts.total()} | {cells} |")
    lines += [
        "",
        "*Equivalent* means that no caller can tell the difference; *outside*, that the document "
        "says nothing about it. *Not verified*: a check that passes on the healthy server could "
        "not be made, and the run says so, but no rule failed.",
        "",
        "## What nobody noticed",
        "",
        *(f"- `{one['key'].replace('`', '')}` ({verdict})" for one, verdict in survivors),
        *([] if survivors else ["Nothing that is not explained below."]),
        "",
        "## What nobody need notice",
        "",
        "| what | times | why |",
        "|---|---|---|",
        *(_reason(one, times) for one, times in reasons.items()),
        "",
    ]
    return "\n".join(lines)


def _reason(one: Explanation, times: int) -> str:
    return f"| {one.kind} | {times} | {one.why} (`{_plain(one.pattern)}`) |"


def _plain(pattern: str) -> str:
    """A pattern as a reader sees it: the module and the function."""
    cut = pattern.replace("\\", "").lstrip(".*").partition(":d+")[0]
    return cut.replace("|", " or ").strip(":")


def _sample(answers: list[Answer], totals: Totals, by_hand: int) -> list[str]:
    """What was checked, and how: a reader must know what the figures are about."""
    checked, whole = len(answers), sum(totals.values())
    cut = sum(1 for one in answers if one.get("left_out") and one["how"] not in NOTICED)
    exploring = [one["exploring"] for one in answers if one.get("exploring")]
    told = (
        f"{whole} mutations can be made; all of them were checked."
        if checked == whole
        else f"{whole} mutations can be made; {checked} were checked: a sample of each module, "
        "drawn by the hash of their names, so that it is the same in every run and a larger one "
        "contains it. `make mutation` goes on with the others."
    )
    lines = [told]
    if checked < whole:
        lines.append(
            "What survived in the sample was then given a scenario or explained, so that the share "
            "below is that of lines which somebody has looked at: of the others less is noticed."
        )
    if by_hand:
        lines.append(f"{by_hand} of them were asked about out of turn.")
    if cut:
        lines.append(
            f"About {cut} that no scenario noticed, only the most promising scenarios that run "
            "through the line were asked, so that some of these may be noticed by another."
        )
    if exploring:
        lines.append(
            f"{len(exploring)} survivors were explored, each for "
            f"{min(exploring):g} to {max(exploring):g} seconds with one seed."
        )
    return lines


def _shares(answers: list[Answer], known: list[Explanation]) -> list[str]:
    counts = Counter(verdict_on(one, known) for one in answers)
    due = counts.total() - counts["equivalent"] - counts["outside"]
    seen = counts["scenarios"] + counts["exploration"]
    lines = [
        f"Of the {due} that are neither equivalent nor outside the document, {seen} were noticed: "
        f"**{_share(seen, due)}** ({counts['scenarios']} by scenarios, {counts['exploration']} by "
        "exploration alone)."
    ]
    if counts["unverified"]:
        lines.append(
            f"For {counts['unverified']} more the run says that a check could not be made; with "
            f"them it is {_share(seen + counts['unverified'], due)}."
        )
    return lines


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "none"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", nargs="?", type=Path, default=RESULTS)
    given = parser.parse_args()
    known = explanations(FILE.read_text(encoding="utf-8"))
    found = known_in(given.results)
    jobs = [job for family in {one["family"] for one in found.values()} for job in jobs_of(family)]
    totals = Counter((job.family, module_of(job.module)) for job in jobs)
    # Of sources that have changed since, nothing is told.
    answers = [found[job.key] for job in jobs if job.key in found]
    PAGE.write_text(page(answers, known, totals, _out_of_turn(jobs, found)), encoding="utf-8")


def _out_of_turn(jobs: list[Job], found: Mapping[str, Answer]) -> int:
    """How many answers come after the first gap in the order in which a module's mutations are
    drawn."""
    modules: dict[str, list[Job]] = defaultdict(list)
    for job in sorted(jobs, key=lambda one: one.lot):
        modules[job.module].append(job)
    later = 0
    for drawn in modules.values():
        answered = [job.key in found for job in drawn]
        gap = answered.index(False) if False in answered else len(answered)
        later += sum(answered[gap:])
    return later


if __name__ == "__main__":
    main()
