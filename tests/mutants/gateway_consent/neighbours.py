"""Gateways that take one app or tool for another."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice
from pytest_mcp_approval.reference_server.gateway_consent.consent import (
    ConsentQuestion,
    Decisions,
)
from tests.mutants.gateway_consent.parts import OF_EVERY_OBJECT, in_extension
from tests.mutants.registry import mutant

COLLISION = "gateway_consent/key-collision"
TOOLS = "gateway_consent/tool-isolation"


# ---- key-collision


class _Joins(Decisions):
    separator: str

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        return (f"consent{self.separator}{caller}{self.separator}{app_id}",)


@mutant(kills=COLLISION, because="names joined by '-'[^§]*tool run")
@in_extension
class JoinsByHyphens(_Joins):
    """Keeps a record under consent-{caller}-{app}."""

    separator = "-"


@mutant(kills=COLLISION, because="names joined by ':'[^§]*tool run")
@in_extension
class JoinsByColons(_Joins):
    """Keeps a record under consent:{caller}:{app}."""

    separator = ":"


@mutant(kills=COLLISION, because=r"names joined by '\\x1f'[^§]*tool run")
@in_extension
class JoinsByControls(_Joins):
    """Keeps a record under names joined by a character that nobody types."""

    separator = "\x1f"


class _JoinsTools(Decisions):
    """Keeps one record for each caller, with app and tool joined."""

    separator: str

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        return caller, ""

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        own = self.record(caller, app_id)["tools"].get(f"{app_id}{self.separator}{tool}")
        return None if own is None else bool(own["granted"])

    def write(self, record: dict[str, Any], question: ConsentQuestion, choice: Choice) -> None:
        name = f"{question.app_id}{self.separator}{question.tool}"
        record["tools"][name] = {"granted": choice is not Choice.DENY, "remember": True}


@mutant(kills=COLLISION, because="after x.one:y:z was allowed[^§]*tool run")
@in_extension
class JoinsAppsAndTools(_JoinsTools):
    """Goes by app and tool as tools/list writes them, and loses where the colon was."""

    separator = ":"


@mutant(kills=COLLISION, because="ids look alike[^§]*, tool run")
@in_extension
class FoldsTheCaseOfApps(Decisions):
    """Takes com.shop and com.Shop for one app."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        return caller, app_id.casefold()


# ---- tool-isolation


@mutant(kills=TOOLS, because="two tools of one app[^§]*tool run")
@in_extension
class OpensTheApp(Decisions):
    """Authorize Tool is Authorize All Tools."""

    def write(self, record: dict[str, Any], question: ConsentQuestion, choice: Choice) -> None:
        super().write(record, question, Choice.ALL if choice is Choice.TOOL else choice)


@mutant(kills=TOOLS, because="tools of two apps[^§]*tool run")
@in_extension
class ForgetsTheApp(Decisions):
    """Goes by the tool's name, whichever app it is of."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        return caller, ""


@mutant(kills=TOOLS, because="was allowed once[^§]*tool run")
@in_extension
class OnceForTheApp(Decisions):
    """What is allowed once is any tool of the app."""

    def decided_once(self, caller: str, app_id: str, tool: str) -> bool | None:
        found = next((one[2] for one in self._once if one[:2] == (caller, app_id)), tool)
        return super().decided_once(caller, app_id, found)

    def use_up(self, caller: str, app_id: str, tool: str) -> bool | None:
        found = next((one[2] for one in self._once if one[:2] == (caller, app_id)), tool)
        return super().use_up(caller, app_id, found)


class _FindsTools(Decisions):
    def same(self, own: str, tool: str) -> bool:
        raise NotImplementedError

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        tools = self.record(caller, app_id)["tools"]
        found = next((own for own in tools if self.same(own, tool)), tool)
        return super().remembered(caller, app_id, found)


@mutant(kills=TOOLS, because="readAll, after 'read'[^§]*, tool run")
@in_extension
class MatchesBeginnings(_FindsTools):
    """Takes readAll for read."""

    def same(self, own: str, tool: str) -> bool:
        return tool.startswith(own)


@mutant(kills=TOOLS, because="Read, after 'read'[^§]*, tool run")
@in_extension
class FoldsTheCaseOfTools(_FindsTools):
    """Takes Read for read."""

    def same(self, own: str, tool: str) -> bool:
        return own.casefold() == tool.casefold()


# ---- further ones


class _NearCallers(Decisions):
    """Takes a client for another whose name is near."""

    def near(self, known: str, caller: str) -> bool:
        raise NotImplementedError

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        known = [key for key in self.vault.keys("consent") if key[1] == app_id]
        near = (key for key in known if self.near(key[0], caller))
        own = (caller, app_id)
        return own if own in known else next(near, own)


@mutant(kills="gateway_consent/caller-isolation", because="a longer name[^§]*, tool run")
@in_extension
class MatchesTheBeginningOfCallers(_NearCallers):
    """Takes a client whose name begins with a known one for that one."""

    def near(self, known: str, caller: str) -> bool:
        return caller.startswith(known)


@mutant(kills="gateway_consent/caller-isolation", because=r"by '\\u202eCursor[^§]*, tool run")
@in_extension
class MatchesTheEndOfCallers(_NearCallers):
    """Takes a client whose name ends with a known one for that one."""

    def near(self, known: str, caller: str) -> bool:
        return caller.endswith(known)


@mutant(
    kills="gateway_consent/tool-isolation",
    because="__proto__, after 'read'[^§]*, tool run; also tools",
)
@in_extension
class KeepsToolsBesideTheFlag(Decisions):
    """Keeps allTools beside the tools, and takes a tool that is called so for it."""

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        flag = self.record(caller, app_id)["tools"].get("allTools")
        kept = super().remembered(caller, app_id, tool)
        return True if kept is None and flag else kept


@mutant(kills="gateway_consent/tool-isolation", because="__proto__, after 'read'[^§]*, tool run")
@in_extension
class LooksToolsUpInAnObject(Decisions):
    """Takes a built-in property of an object for a decision on the tool of that name."""

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        kept = super().remembered(caller, app_id, tool)
        return True if kept is None and tool in OF_EVERY_OBJECT else kept


@mutant(kills="gateway_consent/key-collision", because="names joined by '/'[^§]*, tool run")
@in_extension
class JoinsBySlashes(_Joins):
    """Keeps a record under consent/{caller}/{app}."""

    separator = "/"


@mutant(kills="gateway_consent/key-collision", because=r"names joined by '\|'[^§]*, tool run")
@in_extension
class JoinsByBars(_Joins):
    """Keeps a record under consent|{caller}|{app}."""

    separator = "|"


@mutant(kills="gateway_consent/key-collision", because=r"names joined by '\.'[^§]*, tool run")
@in_extension
class JoinsAppsAndToolsByDots(_JoinsTools):
    """Goes by app and tool joined by a dot, which ids are full of."""

    separator = "."
