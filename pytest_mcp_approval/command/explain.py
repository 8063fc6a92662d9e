"""`mcp-approval explain`: one rule, from the catalogue's own data. Needs no server."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..catalogue import Catalogue, Requirement, catalogue
from ..catalogue.defects import known_defects
from ..catalogue.requirements import selected
from ..catalogue.scenario_texts import scenario_texts
from ..config.registry import built_in, families
from ..support.nearest import nearest
from ..support.text import neutralise, number_of
from .console import columns, say, say_all, wrapped
from .parsing import Parser, WrongWordsError

PROGRAM = "mcp-approval explain"
_DESCRIPTION = """\
What a rule asks for, how it is tested, and what usually breaks it.

  mcp-approval explain sep2672/4.8-11-counter
  mcp-approval explain 4.8-11-counter             the family may be left out
  mcp-approval explain 'sep2672/4.8*'             a list of rules
  mcp-approval explain sep2672                    all rules of a family
  mcp-approval explain                            all families"""
_SHOWN = 8
"""Lines of a list, unless all are wanted."""
_INDENT = " " * 12


def run(words: Sequence[str]) -> int:
    parser = Parser(PROGRAM, _DESCRIPTION, usage=f"{PROGRAM} [RULE] [--all] [--readings]")
    parser.add_argument("rule", metavar="RULE", nargs="?", help="its id, or a pattern")
    parser.add_argument("--all", action="store_true", help="every check and every known defect")
    parser.add_argument("--readings", action="store_true", help="all readings of its document")
    given = parser.read(words)
    if given.rule is None:
        _list_families()
        return 0
    found = find_rules(given.rule)
    if given.readings:
        for family in dict.fromkeys(rule.family for rule in found):
            say_all(reading_lines(catalogue(family)))
    elif len(found) == 1:
        say_all(explain_lines(found[0], whole=given.all))
    else:
        for rule in found:
            say(f"{rule.id:<48} {rule.level:<7}{rule.rule}")
    return 0


def find_rules(word: str) -> list[Requirement]:
    """The rules that a word means: an id, one without its family, a pattern or a family."""
    every = [rule for family in families() for rule in catalogue(family)]
    exact = [rule for rule in every if word in (rule.id, rule.name)]
    if exact:
        return exact
    pattern = f"{word}/*" if word in families() else word
    found = [rule for rule in every if selected(rule.id, (pattern,))]
    if found:
        return found
    # People also type the part that they remember.
    part = [rule for rule in every if len(word) > 2 and word.lower() in rule.id]
    if part:
        return part
    names = {name: rule.id for rule in every for name in (rule.id, rule.name)}
    guess = nearest(word, names)
    meant = f"did you mean {names[guess]!r}?" if guess else f"all rules: {PROGRAM} FAMILY"
    raise WrongWordsError(f"no rule is called {neutralise(word, 100)!r}; {meant}")


def explain_lines(rule: Requirement, *, whole: bool = False) -> list[str]:
    """Everything that the catalogue has about a rule."""
    family = catalogue(rule.family)
    head = f"{rule.level}  {rule.place}"
    lines = [f"{rule.id:<{max(0, columns() - len(head) - 2)}}  {head}", ""]
    lines += _row("rule", rule.rule)
    if rule.party == "client":
        lines += _row("binds", "the client: checked by --client COMMAND, or on a page")
    if rule.watch != rule.rule:
        lines += _row("tested by", rule.watch)
    if rule.needs:
        lines += _row("needs", ", ".join(rule.needs))
    lines += _listed("checks", scenario_texts(rule), "check", whole)
    defects = (_first_capital(rule.fault), *known_defects(rule.family).get(rule.id, ()))
    lines += _listed("broken by", defects, "known defect", whole)
    if rule.fix:
        lines += _row("fix", rule.fix)
    for text in readings_of(rule, family):
        lines += _row("reading", text)
    if rule.link:
        lines += _row("document", rule.link)
    whom = "--client COMMAND" if rule.party == "client" else "SERVER"
    lines += _row("again", f"mcp-approval check {whom} --select {rule.id}")
    if family.readings:
        told = f"all {number_of(len(family.readings), 'reading')} of {family.document}"
        lines += _row("more", f"mcp-approval explain {rule.family} --readings ({told})")
    return lines


def reading_lines(family: Catalogue) -> list[str]:
    """How a document is read wherever it is unclear."""
    lines = [f"{family.document}: how it is read where it is silent or contradicts itself", ""]
    for number, text in enumerate(family.readings, 1):
        first, *rest = wrapped(text, 4)
        lines += [f"{number:>2}. {first}", *(f"    {line}" for line in rest)]
    return lines


def readings_of(rule: Requirement, family: Catalogue) -> list[str]:
    """How the document is read where it is unclear, as far as it names this rule, or its step or
    section."""
    section = re.escape(rule.section)
    step = re.search(r"-(\d\d)-", rule.name)
    wanted = [rf"(?<![\w.-]){re.escape(rule.name)}(?![\w-])"]
    if step:
        wanted.append(rf"(?i)\bsteps? (?:\d+ (?:and|to) )?{int(step[1])}\b")
    elif section:
        wanted.append(rf"(?<![\w.]){section}(?![\w-]|\.\d)")
    return [text for text in family.readings if any(re.search(one, text) for one in wanted)]


def _list_families() -> None:
    for name in families():
        rules = catalogue(name)
        say(f"{name:<22}{number_of(len(rules), 'rule'):<10} {rules.document}")
    say()
    say(f"The rules of a family: {PROGRAM} {built_in()[0]}")


def _row(name: str, text: str) -> list[str]:
    return [
        f"{name if number == 0 else '':<12}{line}"
        for number, line in enumerate(wrapped(text, len(_INDENT)))
    ]


def _listed(name: str, texts: Iterable[str], thing: str, whole: bool) -> list[str]:
    told = list(dict.fromkeys(texts))
    shown = told if whole else told[:_SHOWN]
    lines = []
    for number, text in enumerate(shown):
        first, *rest = wrapped(text, len(_INDENT) + 2)
        lines += [f"{name if number == 0 else '':<12}- {first}"]
        lines += [f"{_INDENT}  {line}" for line in rest]
    if len(told) > len(shown):
        more = number_of(len(told) - len(shown), f"more {thing}")
        lines.append(f"{_INDENT}  and {more} (--all)")
    return lines


def _first_capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
