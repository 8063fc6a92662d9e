"""Writes what follows from data: the pages of rules with their readings, of options, settings,
fixtures, profiles, verdicts and of the kill matrix, and the lists of known defects.

    python -m docs.make_pages

A test compares the pages with what this would write, so that they stay true.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from docs.authenticator_pages import completeness_page
from docs.reference_pages import fixtures_page, profiles_page, settings_page, verdicts_page
from pytest_mcp_approval.catalogue import catalogue
from pytest_mcp_approval.catalogue.defects import DEFECTS
from pytest_mcp_approval.catalogue.requirements import Catalogue, covered
from pytest_mcp_approval.config.json_schema import SCHEMA_FILE, settings_schema
from pytest_mcp_approval.config.options import LAUNCH, MERGE, OPTIONS, PREFIX, SET, START, Option
from pytest_mcp_approval.config.registry import built_in

if TYPE_CHECKING:
    from tests.mutants.registry import Mutant

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
NOTE = "<!-- Written by docs/make_pages.py from the catalogue; change that, not this page. -->"


def rules_page(family: str) -> str:
    """Every rule of a family, and how its document is read where it is unclear."""
    rules = catalogue(family)
    lines = [
        f"# {rules.document}: the rules, and how they are read",
        NOTE,
        "",
        _parties(rules),
        *([f"The document: <{rules.link}>"] if rules.link else []),
        "",
        "## Readings",
        "",
        "Where the document is silent or contradicts itself, the suite takes the reading that is "
        "fair to a server author who read it differently in good faith.",
        "",
        *(f"{number}. {text}" for number, text in enumerate(rules.readings, 1)),
        "",
        "## Rules",
        "",
        "| id | level | binds | rule | what a scenario does and sees | needs |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| `{rule.name}` | {rule.level} | {rule.party} | {cell(rule.rule)} | {cell(rule.watch)} | "
        f"{', '.join(rule.needs)} |"
        for rule in rules
    ]
    fixes = [rule for rule in rules if rule.fix]
    if fixes:
        lines += [
            "",
            "## How to fix it",
            "",
            "How most servers get it right. `mcp-approval explain RULE` also lists the defects "
            "that its checks find.",
            "",
            "| id | |",
            "|---|---|",
            *(f"| `{rule.name}` | {cell(rule.fix)} |" for rule in fixes),
        ]
    return "\n".join([*lines, ""])


def rules_index() -> str:
    """Where the rules of each family are."""
    lines = [
        "# The rules of every family",
        NOTE,
        "",
        "Each page has the rules of one family, and how its document is read where it is unclear.",
        "",
        "| family | document | rules | MUST |",
        "|---|---|---|---|",
    ]
    for family in built_in():
        rules = catalogue(family)
        musts = sum(rule.level == "MUST" for rule in rules)
        document = f"[{cell(rules.document)}]({rules.link})" if rules.link else rules.document
        lines.append(f"| [{family}](rules-{family}.md) | {document} | {len(rules)} | {musts} |")
    more = "A package of your own can bring another: [how to add a family](how-to-add-a-family.md)."
    return "\n".join([*lines, "", more, ""])


def _parties(rules: Catalogue) -> str:
    """Whom the rules bind, and which of them are checked."""
    servers = [rule for rule in rules if rule.party == "server"]
    clients = [rule for rule in rules if rule.party == "client"]
    counted = f"{len(rules)} rules, of which {len(servers)} bind a server and are checked"
    if not clients:
        return f"{counted}."
    bind = "1 that binds" if len(clients) == 1 else f"{len(clients)} that bind"
    if all(rule.id in covered(rules.family) for rule in clients):
        are = "is" if len(clients) == 1 else "are"
        return f"{counted}; the {bind} a client {are} checked on [a client](clients.md)."
    return f"{counted}; for the {bind} a client there are no checks yet."


CLASSES = {
    "life renewed": ("life_renewed",),
    "only a part is looked at": ("only_a_part",),
    "compared loosely": ("compared_loosely",),
    "the untested twin": ("untested_twin",),
    "undone by failure": ("undone_by_failure",),
    "somebody else": ("somebody_else",),
    "coerced": ("coerced", "written_otherwise"),
    "absent": ("absent",),
    "fractions of time": ("fractions",),
    "neighbours by name": ("neighbours",),
    "forgotten too soon, or never": ("forgotten",),
    "not told": ("not_told",),
    "shown, not meant": ("shown_not_meant",),
    "read from the wrong place": ("wrong_place",),
}
"""Classes of defects that a list of rules misses, and how the names of the modules of mutants begin
that were written from each."""


def classes_table(mutants: Iterable[Mutant]) -> list[str]:
    """How many mutants were written from each class, and how many scenarios find them out."""
    from tests.mutants.notes import found_by
    from tests.mutants.search_order import function_of

    written = list(mutants)
    lines = [
        f"| class | {' | '.join(built_in())} |",
        f"|---|{'---|' * len(built_in())}",
    ]
    for name, modules in CLASSES.items():
        cells = []
        for family in built_in():
            places = tuple(f"tests.mutants.{family}.{module}" for module in modules)
            names = [one.name for one in written if one.module.startswith(places)]
            finders = {function_of(one) for name in names for one in found_by().get(name, [])}
            cells.append(f"{len(names)} ({len(finders)})" if names else "")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def kill_matrix_page() -> str:
    """Which broken server is found out by which rule."""
    from tests.mutants.registry import is_warned, load_mutants, wanted_verdict

    mutants = load_mutants()
    lines = [
        "# The kill matrix",
        NOTE,
        "",
        f"{len(mutants)} broken servers, each the healthy reference with one defect. For each of "
        "them the scenarios of its rule must fail, and must say why in the words on the right "
        "(`tests/mutants/test_kill_matrix.py`); on the healthy reference everything passes. A "
        "server that breaks a SHOULD, or what the document leaves open, gets a warning: "
        f"{sum(map(is_warned, mutants.values()))} of them.",
        "",
        "Many were written from classes of defects, by people who had not read the scenarios. How "
        "many of each class there are, and in brackets how many scenarios find them out:",
        "",
        *classes_table(mutants.values()),
        "",
        "| rule | broken server | its defect | verdict | found by |",
        "|---|---|---|---|---|",
    ]
    by_module = sorted(mutants.values(), key=lambda one: one.module)  # whoever was imported first
    for family in built_in():
        for rule in catalogue(family):
            for one in by_module:
                if one.kills == rule.id:
                    fault = " ".join(one.fault.split())
                    verdict = wanted_verdict(one)
                    lines.append(
                        f"| `{rule.id}` | {one.name} | {cell(fault)} | {verdict} "
                        f"| `{cell(one.because)}` |"
                    )
    return "\n".join([*lines, ""])


def defects_file(family: str) -> str:
    """The defects that each rule's scenarios find, for `mcp-approval explain`."""
    from tests.mutants.registry import load_mutants

    mutants = sorted(load_mutants().values(), key=lambda one: (one.module, one.name))
    found = {
        rule.id: [" ".join(one.fault.split()) for one in mutants if one.kills == rule.id]
        for rule in catalogue(family)
    }
    return json.dumps({rule: told for rule, told in found.items() if told}, indent=0) + "\n"


def schema_file() -> str:
    """The JSON Schema of the settings."""
    return json.dumps(settings_schema(built_in()), indent=1) + "\n"


def options_page() -> str:
    """Every option, with its key in the files."""
    lines = [
        "# Options and settings",
        "",
        NOTE.replace("the catalogue", "config/options.py"),
        "",
        "Each option is also a key in `mcp-approval.toml`, or in `[tool.mcp-approval]` of "
        "pyproject.toml; the command line comes first.",
        "Keys are written in kebab-case. An unknown name is an error, with its place and the "
        "nearest known name.",
        "",
        "| option | in the file | what it says |",
        "|---|---|---|",
        f"| `{START}` | | check the target that the file names |",
        f"| `{MERGE} REPORT.json` | | run nothing: make one report of several, where "
        f"`{PREFIX}report` says; repeatable. The same as `mcp-approval report merge` |",
        *(_option_row(option) for option in OPTIONS),
        "",
        "`pytest --help` shows the most common options. The others work all the same.",
        "",
        "- **Targets**: `reference` (also `reference:http+sqlite` and the like), `http(s)://...`, "
        "`stdio:<command line>`,",
        "  `python:<module>:<factory>`; several are replicas of one service. A verifier that is "
        "not a server: `command:<command line>`,",
        "  `verifier:<module>:<callable>`.",
        f"- **Tables on the command line.** `{PREFIX}{SET.name} TABLE.KEY=VALUE` sets a key "
        "of a table in the file:",
        f"  `{LAUNCH}` or a family's, as in `{PREFIX}set launch.timeout=60` and `{PREFIX}set "
        "sep2672.page.approve='#yes'`.",
        "  A value is read as TOML; if it is not TOML, it is text.",
        "- **A second user**: see [foreign-servers](foreign-servers.md#a-second-user).",
        "- **Calls that fail** (SEP-2672): `[sep2672.failing] place_trade = { quantity = 0 }` "
        "names arguments that pass the gate of a",
        "  tool and that the tool itself then refuses, so that the suite can check that the "
        "approval is spent. It tries no others.",
        "- **What the command line adds.** Tools, headers and variables of the command line are "
        "added to those of the file, and the header",
        "  of the run says so; if both name the same one, the command line's counts. Any other "
        "option replaces the file's.",
        '- **Short forms**: `launch = "COMMAND"` is `[launch] command`, and `page = "URL"` in '
        "`[sep2672]` is `[sep2672.page] url`.",
        "- **Old spellings.** Keys with underscores, and keys that have moved into a table "
        "(`server-id` at the top of a file), are still",
        "  read; the header of the run says what to write now.",
        "",
        "The tables of the families:",
        "",
        *(
            f"- [{name}]({_page_of(name)})"
            for name in built_in()
            if (FOLDER / _page_of(name)).exists()
        ),
        "",
        "Starting a server: [foreign-servers](foreign-servers.md).",
    ]
    return "\n".join(lines) + "\n"


def _page_of(family: str) -> str:
    return f"{family.replace('_', '-')}.md"


def _option_row(option: Option) -> str:
    value = f" {option.metavar}" if option.metavar else ""
    *tables, key = option.place or ("",)
    place = f"`[{'.'.join(tables)}] {key}`" if tables else f"`{key}`" if key else ""
    told = cell(option.help).replace("<", "&lt;")
    return f"| `{PREFIX}{option.name}{cell(value)}` | {place} | {told} |"


def cell(text: str) -> str:
    """Text escaped for a table's cell."""
    return text.replace("|", "\\|").replace("\n", " ")


def pages() -> dict[Path, str]:
    """What each page should say."""
    written = {
        FOLDER / "kill-matrix.md": kill_matrix_page(),
        FOLDER / "rules.md": rules_index(),
        FOLDER / "options.md": options_page(),
        FOLDER / "authenticator-completeness.md": completeness_page(),
        FOLDER / "settings.md": settings_page(),
        FOLDER / "fixtures.md": fixtures_page(),
        FOLDER / "profiles.md": profiles_page(),
        FOLDER / "verdicts.md": verdicts_page(),
        ROOT / "pytest_mcp_approval" / "config" / SCHEMA_FILE: schema_file(),
    }
    for family in built_in():
        written[FOLDER / f"rules-{family}.md"] = rules_page(family)
        written[ROOT / "scenarios" / family / DEFECTS] = defects_file(family)
    return written


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(f"docs: wrote {path.relative_to(ROOT)}")
