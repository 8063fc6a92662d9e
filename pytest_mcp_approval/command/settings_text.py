"""The first `mcp-approval.toml` of a server, as text: what was found, what the user said, and
comments where something is missing. Knows no terminal and no server."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..families.base.proposal import ToRun, Wanted
from ..support.text import listed_shortly, neutralise, number_of
from ..support.toml_text import toml_key, toml_string, toml_value
from .looking import Seen

_WIDTH = 96
_MISSING = "MISSING"
_MOST_GUESSED = 5


@dataclass
class Answers:
    """What the user said, or what follows from the command line."""

    target: str
    tools: dict[str, Any] = field(default_factory=dict)
    """Safe arguments by tool."""
    effects: str = ""
    tables: dict[str, dict[str, str]] = field(default_factory=dict)
    """By family and key, as TOML."""
    headers_from: Mapping[str, str] = field(default_factory=dict)
    environment_from: Mapping[str, str] = field(default_factory=dict)
    directory: str = ""

    @property
    def starts_it(self) -> bool:
        return not self.target.startswith(("http://", "https://"))


def settings_text(seen: Seen, given: Answers) -> str:
    """The file. It can be run as it is; what is missing costs verdicts, and says so."""
    blocks = [
        _head(seen),
        [f"target = {toml_string(given.target)}"],
        _protocol(seen),
        _family(seen),
        _headers(given),
        _effects(seen, given),
        _launched(seen, given),
        *_launch_table(given),
        _tools(seen, given),
        *(_table(seen, given, family) for family in seen.proposals),
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def missing_in(text: str) -> int:
    """How many things the file says are missing."""
    return sum(line.startswith(f"# {_MISSING}") for line in text.splitlines())


def _head(seen: Seen) -> list[str]:
    told = f"{seen.server}: MCP {seen.revision}, {number_of(len(seen.tools), 'tool')}"
    return [
        *_comment(f"How pytest-mcp-approval checks {told}."),
        "# Run it: mcp-approval check     Check this file: mcp-approval lint",
        "# All keys: mcp-approval schema",
    ]


def _protocol(seen: Seen) -> list[str]:
    if not seen.only_in:
        return []
    told = "The server speaks a newer revision of MCP, too; in that one its tools ask nobody."
    return [*_comment(told), f"protocol = {toml_string(seen.only_in)}"]


def _family(seen: Seen) -> list[str]:
    names = list(seen.proposals)
    if not names:
        return [
            *_comment(
                f"{_MISSING}: nothing that the server lists shows how it asks for approval. Name "
                "the family if you know it (mcp-approval explain lists them); else all are tried. "
                "A tool that asks by elicitation (ctx.elicit, inputRequired) need only be named "
                "under [tool]: it shows when it is called."
            ),
            '# family = ["..."]',
        ]
    return [
        *_comment(
            "What the server implements, by what it lists. A run fails if it lacks one of them."
        ),
        f"family = {toml_value(names)}",
    ]


def _headers(given: Answers) -> list[str]:
    if not given.headers_from:
        return []
    return [
        "# Sent with every request. Secrets stay outside: {env:NAME} or {file:PATH}.",
        f"header-from = {toml_value(given.headers_from)}",
    ]


def _effects(seen: Seen, given: Answers) -> list[str]:
    about = (
        "What shows whether a gated tool ran: a URL, or a read-only tool (tool:NAME), whose answer "
        "changes every time that one ran, and only then."
    )
    if given.effects:
        return [*_comment(about), f"effects = {toml_string(given.effects)}"]
    likely = seen.showing
    maybe = ""
    if likely:
        shown = listed_shortly([neutralise(one, 40) for one in likely], 5)
        maybe = f" Perhaps one of these: {shown}."
    example = f"tool:{likely[0]}" if likely else "http://localhost:3000/changes"
    return [
        *_comment(
            f"{_MISSING}: {about[:1].lower()}{about[1:]} Without it, the server's answers are "
            f"believed.{maybe}"
        ),
        f"# effects = {toml_string(neutralise(example, 80))}",
    ]


def _launched(seen: Seen, given: Answers) -> list[str]:
    if given.starts_it:
        told = f"Its clock is moved by {seen.clock}. If it does not start under it:"
        if not seen.clock:
            told = f"{_MISSING}: a clock, for rules about expiry: {seen.why_no_clock}"
        return [*_comment(told), f'# clock = "{"none" if seen.clock else "wait"}"']
    return [
        *_comment(
            f"{_MISSING}: the suite does not start this server, so it can neither restart it nor "
            "move its clock, and some rules will not be verified. To let it do so, in place of the "
            "target above ({port} is a free port, {state} an empty folder):"
        ),
        '# target = "http://localhost:{port}/mcp"',
        '# launch = "npm start -- --port {port}"',
    ]


def _launch_table(given: Answers) -> list[list[str]]:
    lines = []
    if given.directory:
        lines.append(f"directory = {toml_string(given.directory)}")
    if given.environment_from:
        lines += [
            "# Variables of the server. Secrets stay outside: {env:NAME} or {file:PATH}.",
            f"environment-from = {toml_value(given.environment_from)}",
        ]
    return [["[launch]", *lines]] if lines else []


def _tools(seen: Seen, given: Answers) -> list[str]:
    wanted = {tool.name: tool for one in seen.proposals.values() for tool in one.tools}
    if not wanted:  # perhaps these ask by elicitation, which no list shows
        wanted = {tool.name: tool for tool in seen.silent[:_MOST_GUESSED]}
    if not wanted and not given.tools:
        return []
    lines = [
        *_comment(
            "Arguments that are SAFE to run these tools with, again and again, on the server above."
        ),
        "# Only tools that are named here are ever run.",
        "[tool]",
    ]
    lines += [f"{toml_key(name)} = {toml_value(own)}" for name, own in given.tools.items()]
    left = [tool for name, tool in wanted.items() if name not in given.tools]
    if left:
        count = number_of(len(left), "tool")
        more = "more " if given.tools else ""
        lines += _comment(
            f"{_MISSING}: safe arguments for {more}{count}. These fit the schemas, and may do harm:"
        )
        lines += [f"# {_example(tool)}" for tool in left]
    return lines


def _example(tool: ToRun) -> str:
    name = toml_key(neutralise(tool.name, 100))
    try:
        return f"{name} = {neutralise(toml_value(tool.example or {}), 400)}"
    except ValueError:  # null, which TOML does not have
        return f"{name} = {{ }}"


def _table(seen: Seen, given: Answers, family: str) -> list[str]:
    proposal, own = seen.proposals[family], given.tables.get(family, {})
    lines: list[str] = []
    for one in proposal.wanted:
        lines += _setting(one, own.get(one.key))
    notes = [f"# {line}" for line in proposal.notes]
    return [*notes, f"[{family}]", *lines] if lines or notes else []


def _setting(one: Wanted, said: str | None) -> list[str]:
    question = f"{one.question[:1].upper()}{one.question[1:]}"
    if said is not None:
        return [*_comment(f"{question}."), f"{one.key} = {said}"]
    if one.usual:
        return [
            *_comment(f"{question}. This is a guess:"),
            f"{one.key} = {toml_string(one.usual)}",
        ]
    example = toml_string(one.example) if one.is_text else one.example
    return [*_comment(f"{_MISSING}: {one.question}."), f"# {one.key} = {example}"]


def _comment(text: str) -> list[str]:
    """Comment lines; a text of the server cannot end them."""
    lines: Sequence[str] = textwrap.wrap(
        neutralise(text, 2_000), _WIDTH, break_long_words=False, break_on_hyphens=False
    )
    return [f"# {line}" for line in lines]
