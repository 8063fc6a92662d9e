"""Asks the person at the terminal what cannot be found out. Every answer may be left out. Without a
terminal nobody is asked. Knows no server."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from typing import Any, TypeVar

from ..config.values import effects
from ..families.base.proposal import ToRun, Wanted
from ..support.nearest import meant
from ..support.text import listed_shortly, neutralise
from ..support.toml_text import toml_string, toml_value
from .console import say, say_row
from .looking import Seen
from .settings_text import Answers

Answer = TypeVar("Answer")
_TRIES = 3
_MOST_TRIED = 5
_LONGEST = 200


def ask_all(seen: Seen, given: Answers, read: Callable[[str], str] = input) -> None:
    """Adds what the person says to the answers."""
    say_row("?", "What cannot be found out. Enter leaves a question open; the file then says so.")
    for family, proposal in seen.proposals.items():
        for tool in proposal.tools:
            if tool.name not in given.tools:
                found = _ask(_about(tool), _arguments, read)
                if found is not None:
                    given.tools[tool.name] = found
        for one in proposal.wanted:
            value = _ask(_question(one), _text if one.is_text else _toml, read)
            if value is not None:
                given.tables.setdefault(family, {})[one.key] = value
    if not given.effects:
        likely = listed_shortly([f"tool:{neutralise(one, 40)}" for one in seen.showing], 3)
        maybe = f", perhaps {likely}" if likely else ""
        given.effects = (
            _ask(f"what shows that a tool ran (a URL or tool:NAME{maybe})", effects, read) or ""
        )


def ask_to_try(seen: Seen, given: Answers, read: Callable[[str], str] = input) -> bool:
    """Whether the person named tools that may be called, to see whether they ask: no list shows
    that. Tools that look destructive are asked about, the first of them; if none does, or none may
    be called, the person is asked for a name."""
    tools = [one for one in seen.silent if one.name not in given.tools][:_MOST_TRIED]
    if tools:
        say_row(
            "?",
            "If one of these asks by elicitation, that shows only when it is called: once, now.",
        )
    for tool in tools:
        found = _ask(_about(tool), _arguments, read)
        if found is not None:
            given.tools[tool.name] = found
    if not given.tools and not seen.proposals:
        tools = _ask_for_another(seen, given, read)
    return any(one.name in given.tools for one in tools)


def _ask_for_another(seen: Seen, given: Answers, read: Callable[[str], str]) -> list[ToRun]:
    """A tool that asks and does not look like it: without any there is nothing to check."""
    names = seen.changing

    def parse(answer: str) -> str:
        if answer not in names:
            raise ValueError(f"the server lists no such tool{meant(answer, names)}")
        return answer

    shown = listed_shortly([neutralise(one, 40) for one in names], _MOST_TRIED)
    question = f"a tool that asks a person before it runs ({shown})"
    name = _ask(question, parse, read) if names else None
    if name is None:
        return []
    listed = next(one for one in seen.tools if one.get("name") == name)
    tool = ToRun.listed(name, listed)
    arguments = _ask(_about(tool), _arguments, read)
    if arguments is not None:
        given.tools[name] = arguments
    return [tool]


def confirmed(question: str, read: Callable[[str], str] = input) -> bool:
    return read(f"  {'?':<11}{question} [y/N] ").strip().lower() in ("y", "yes")


def _ask(
    question: str, parse: Callable[[str], Answer], read: Callable[[str], str]
) -> Answer | None:
    for _ in range(_TRIES):
        answer = read(f"  {'?':<11}{question}: ").strip()
        if not answer:
            return None
        try:
            return parse(answer)
        except ValueError as error:
            say(f"  {'':<11}{neutralise(str(error), _LONGEST)}", "yellow")
    return None


def _about(tool: ToRun) -> str:
    example = ""
    if tool.example is not None:
        example = f", such as {neutralise(json.dumps(tool.example), 120)}"
    return f"arguments that are safe to run {neutralise(tool.name, 60)} with (JSON{example})"


def _question(one: Wanted) -> str:
    shown = one.usual or one.example
    kind = f"Enter: {shown}" if one.usual else f"such as {shown}"
    return f"{one.question} ({kind})"


def _arguments(answer: str) -> Any:
    try:
        found = json.loads(answer)
    except ValueError as error:
        raise ValueError(
            f'no JSON: {error}; expected an object such as {{"id": "test-1"}}'
        ) from None
    if not isinstance(found, dict):
        raise ValueError('expected a JSON object such as {"id": "test-1"}')
    toml_value(found)  # ValueError for null
    return found


def _text(answer: str) -> str:
    return toml_string(answer)


def _toml(answer: str) -> str:
    try:
        tomllib.loads(f"value = {answer}")
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"cannot be read as TOML: {error}") from None
    return answer
