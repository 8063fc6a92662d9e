"""Gateways that take one client for another."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.reference_server.gateway_consent.consent import (
    Decisions,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import AppTool
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.server.extension import Caller
from pytest_mcp_approval.reference_server.server.mcp_server import (
    Context,
    ReferenceServer,
)
from tests.mutants.gateway_consent.parts import OF_EVERY_OBJECT, in_extension
from tests.mutants.registry import mutant

IDENTITY = "gateway_consent/caller-identity"
CALLERS = "gateway_consent/caller-isolation"


# ---- caller-identity


class _ReadsArguments(Gateway):
    """Takes a name among the arguments for the caller's, and away from the tool."""

    def named(self, arguments: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def caller_name(self, who: Caller, arguments: Any) -> str:
        name = self.named(arguments) if isinstance(arguments, dict) else None
        return name if isinstance(name, str) else super().caller_name(who, arguments)

    def check_arguments(self, tool: AppTool, arguments: Any) -> dict[str, Any]:
        known = {name: value for name, value in arguments.items() if name in tool.parameters}
        return super().check_arguments(tool, known)


@mutant(kills=IDENTITY, because="with callerName[^§]*among the arguments[^§]*tool run")
@in_extension
class TakesTheCallerFromArguments(_ReadsArguments):
    """Believes callerName among the arguments."""

    def named(self, arguments: Mapping[str, Any]) -> Any:
        return arguments.get("callerName")


@mutant(kills=IDENTITY, because="with clientInfo[^§]*among the arguments[^§]*tool run")
@in_extension
class TakesClientInfoFromArguments(_ReadsArguments):
    """Believes clientInfo among the arguments."""

    def named(self, arguments: Mapping[str, Any]) -> Any:
        return (arguments.get("clientInfo") or {}).get("name")


@mutant(kills=IDENTITY, because="by 'Other [0-9a-f]+'[^§]*tool run")
class TakesTheUserAgent(ReferenceServer):
    """Goes by the header of the request, if there is one."""

    def client_of(self, ctx: Context) -> str:
        agent = ctx.request.headers.get("user-agent") if ctx.request is not None else None
        return agent or super().client_of(ctx)


@mutant(
    kills=IDENTITY, because=r"after it was allowed to 'Unknown Client'[^§]*CONSENT_REQUIRED \(error"
)
@in_extension
class CallsTheNamelessOtherwise(Gateway):
    """Has another name for those who have none."""

    def caller_name(self, who: Caller, arguments: Any) -> str:
        return who.client or "anonymous"


@mutant(
    kills=IDENTITY,
    because=r"with no clientInfo, after it was allowed to 'Unknown[^§]*CONSENT_REQUIRED \(error",
)
class TellsTheNamelessApart(ReferenceServer):
    """Gives each client without a name a number."""

    nameless = itertools.count(1)

    def client_of(self, ctx: Context) -> str:
        return super().client_of(ctx) or f"Unknown Client {next(self.nameless)}"


@mutant(kills=IDENTITY, because=r"by another session of[^§]*CONSENT_REQUIRED \(error")
class GoesByTheTitle(ReferenceServer):
    """Takes a title, where there is one, for the name."""

    def client_of(self, ctx: Context) -> str:
        meta = (ctx.params or {}).get("_meta") or {}
        info = meta.get("io.modelcontextprotocol/clientInfo") or {}
        return info.get("title") or super().client_of(ctx)


# ---- caller-isolation


class _OtherKey(Decisions):
    """Finds records by another key."""

    def key(self, caller: str) -> str:
        raise NotImplementedError

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        return self.key(caller), app_id


@mutant(kills=CALLERS, because="after .* was allowed to[^§]*two clients[^§]*tool run")
@in_extension
class KeyedByAppOnly(_OtherKey):
    """What one client is allowed, all are allowed."""

    def key(self, caller: str) -> str:
        return ""


@mutant(kills=CALLERS, because="another case[^§]*, tool run")
@in_extension
class FoldsTheCaseOfCallers(_OtherKey):
    """Takes Cursor and cursor for one."""

    def key(self, caller: str) -> str:
        return caller.casefold()


@mutant(kills=CALLERS, because="another Unicode form[^§]*, tool run")
@in_extension
class ComposesCallers(_OtherKey):
    """Takes two spellings of an accent for one name."""

    def key(self, caller: str) -> str:
        return unicodedata.normalize("NFC", caller)


@mutant(kills=CALLERS, because="full-width letters[^§]*, tool run")
@in_extension
class FoldsTheWidthOfCallers(_OtherKey):
    """Takes what is compatible for the same."""

    def key(self, caller: str) -> str:
        return unicodedata.normalize("NFKC", caller)


@mutant(kills=CALLERS, because="zero-width space[^§]*, tool run")
@in_extension
class DropsTheInvisible(_OtherKey):
    """Leaves out what cannot be seen."""

    def key(self, caller: str) -> str:
        return "".join(one for one in caller if unicodedata.category(one) != "Cf")


@mutant(kills=CALLERS, because="very long, the end differs[^§]*, tool run")
@in_extension
class CutsNames(_OtherKey):
    """Keeps the first 255 characters of a name."""

    def key(self, caller: str) -> str:
        return caller[:255]


@mutant(kills=CALLERS, because="a NUL in it[^§]*, tool run")
@in_extension
class EndsNamesAtNul(_OtherKey):
    """Reads names as C does."""

    def key(self, caller: str) -> str:
        return caller.partition("\x00")[0]


@mutant(kills=CALLERS, because="a line break[^§]*, tool run")
@in_extension
class ReadsTheFirstLine(_OtherKey):
    """Keeps the first line of a name."""

    def key(self, caller: str) -> str:
        return caller.partition("\n")[0]


@mutant(kills=CALLERS, because="after Authorize All by[^§]*, tool run")
@in_extension
class AllToolsForEverybody(Decisions):
    """Authorize All is kept for the app, whoever asked."""

    everybody: set[str]

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        granted = {key[1] for key in self.vault.keys("consent") if self.record(*key)["allTools"]}
        return True if app_id in granted else super().remembered(caller, app_id, tool)


@mutant(kills=CALLERS, because="after it was allowed once to[^§]*, tool run")
@in_extension
class OnceForAnybody(Decisions):
    """A decision for one call serves whoever calls first."""

    def _mine(self, app_id: str, tool: str, caller: str) -> str:
        return next((one[0] for one in self._once if one[1:] == (app_id, tool)), caller)

    def decided_once(self, caller: str, app_id: str, tool: str) -> bool | None:
        return super().decided_once(self._mine(app_id, tool, caller), app_id, tool)

    def use_up(self, caller: str, app_id: str, tool: str) -> bool | None:
        return super().use_up(self._mine(app_id, tool, caller), app_id, tool)


@mutant(kills=CALLERS, because="a name that means something[^§]*tool run")
@in_extension
class LooksCallersUpInAnObject(Decisions):
    """Takes a built-in property of an object for a decision."""

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        return True if caller in OF_EVERY_OBJECT else super().remembered(caller, app_id, tool)
