"""A look at a server that nobody has described yet: what it lists, what it says about itself, and
what each family sees in it. Runs no tool but those that the user named as safe. Every text of the
server is untrusted."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..config.reader import SettingsError
from ..config.registry import families, registered
from ..config.settings import Settings
from ..families.base.driver import DriverError
from ..families.base.proposal import Proposal, ToRun
from ..families.base.survey import why_destructive
from ..session.preflight import advice_for
from ..support.text import neutralise
from ..target import EffectsError, Target, TargetError, open_target
from ..wire import HANDSHAKE_REVISIONS, Era, ListingError, WireError

_SHOWS = ("list", "get", "count", "show", "read", "status", "history", "journal", "effects")
_MOST_SHOWN = 5


class NothingSeenError(Exception):
    """There is nothing to look at; one line, and one with what to do."""

    def __init__(self, line: str, advice: str) -> None:
        super().__init__(line)
        self.advice = advice


@dataclass(frozen=True)
class Seen:
    """What a look has shown."""

    server: str
    """Its name and version."""
    era: str
    revision: str
    tools: Sequence[Mapping[str, Any]]
    proposals: Mapping[str, Proposal]
    """By family; only those that see something."""
    clock: str
    """How its time can be moved; "" if it cannot."""
    why_no_clock: str
    can_restart: bool
    problems: Sequence[str] = field(default_factory=tuple)
    only_in: str = ""
    """The revision to speak, if its tools ask in an older one than it prefers, and only there."""

    @property
    def gated(self) -> frozenset[str]:
        return frozenset(name for one in self.proposals.values() for name in one.gates)

    @property
    def silent(self) -> list[ToRun]:
        """Tools that look destructive, and of which nothing shows that they ask. They may do so
        all the same: a question by elicitation shows only when its tool is called."""
        return [
            ToRun.listed(name, tool)
            for tool in self.tools
            if isinstance(name := tool.get("name"), str)
            and name not in self.gated
            and why_destructive(tool)
        ]

    @property
    def showing(self) -> list[str]:
        """Tools that may show what others did: read-only, and called without arguments."""
        found = []
        for name, said in self._annotated():
            tool = next(one for one in self.tools if one.get("name") == name)
            schema = tool.get("inputSchema")
            needed = schema.get("required") if isinstance(schema, dict) else None
            named = any(word in name.lower() for word in _SHOWS)
            read_only = said.get("readOnlyHint")
            if not needed and read_only is not False and (read_only is True or named):
                found.append((not named, name))
        return [name for _, name in sorted(found)][:_MOST_SHOWN]

    @property
    def changing(self) -> list[str]:
        """Tools that do not say that they only read."""
        return [name for name, said in self._annotated() if said.get("readOnlyHint") is not True]

    def _annotated(self) -> Sequence[tuple[str, Mapping[str, Any]]]:
        found = []
        for tool in self.tools:
            name, annotations = tool.get("name"), tool.get("annotations")
            if isinstance(name, str):
                found.append((name, annotations if isinstance(annotations, dict) else {}))
        return found


def look_at(settings: Settings) -> Seen:
    """Opens the target of these settings, and closes it again; `NothingSeenError` if that fails.

    Libraries that serve both eras may let a tool ask in the handshake era alone. So if a tool that
    the user named asks nobody in the newer one, the older one is looked at, too.
    """
    seen = _look_once(settings)
    silent = set(settings.tools) - seen.gated
    if settings.protocol != "auto" or seen.era != Era.SESSIONLESS.value or not silent:
        return seen
    try:
        older = _look_once(replace(settings, protocol=HANDSHAKE_REVISIONS[-1]))
    except NothingSeenError:  # it speaks the newer era only
        return seen
    return replace(older, only_in=older.revision) if older.gated > seen.gated else seen


def _look_once(settings: Settings) -> Seen:
    try:
        target = open_target(settings.targets[0], settings)
    except (TargetError, SettingsError) as error:
        raise NothingSeenError(str(error), "") from None
    with contextlib.closing(target):
        if not target.speaks_mcp:
            raise NothingSeenError(
                f"{neutralise(target.spec.text, 80)} is no MCP server: there is nothing to list",
                "Its settings are few: docs/execution-tokens.md",
            )
        try:
            return _look(target)
        except ListingError as error:
            raise NothingSeenError(f"its tools cannot be listed: {error}", "") from None
        except (WireError, TargetError) as error:
            raise NothingSeenError(
                f"cannot speak to the server: {error}", advice_for(target, error)
            ) from None


def _look(target: Target) -> Seen:
    session = target.session()
    tools = session.list_tools()
    said = (session.server_info.get(key) for key in ("name", "version"))
    proposals: dict[str, Proposal] = {}
    problems = []
    for name in families():
        family = registered(name)
        if not family.has("proposal"):
            continue
        try:
            found = family.part("proposal").propose(target)
        except (DriverError, EffectsError, SettingsError) as error:
            problems.append(f"{name}: {neutralise(str(error), 200)}")
            continue
        if found is not None:
            proposals[name] = found
    clock = target.clock
    return Seen(
        server=" ".join(neutralise(str(one), 60) for one in said if one) or "a server without name",
        era=session.era.value,
        revision=session.revision,
        tools=tools,
        proposals=proposals,
        clock=clock.kind if clock.movable else "",
        why_no_clock="" if clock.movable else clock.why_not,
        can_restart=target.can_restart,
        problems=problems,
    )
