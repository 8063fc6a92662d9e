"""Gateways that take names of callers, apps and tools for others that are only alike."""

from __future__ import annotations

import fnmatch
import html
import posixpath
import re
import sqlite3
import unicodedata
from contextlib import closing
from typing import Any
from urllib.parse import unquote

from mcp_types import CallToolResult

from pytest_mcp_approval.families.gateway_consent import vocabulary as words
from pytest_mcp_approval.reference_server.gateway_consent.consent import Decisions
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App
from pytest_mcp_approval.reference_server.gateway_consent.extension import GatewayExtension
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.server.mcp_server import Context, ReferenceServer
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

COLLISION = "gateway_consent/key-collision"
CALLERS = "gateway_consent/caller-isolation"
TOOLS = "gateway_consent/tool-isolation"


class _Normalises(Decisions):
    def same(self, caller: str) -> str:
        raise NotImplementedError

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        return self.same(caller), app_id


@mutant(kills=CALLERS, because="another Unicode form[^§]*, tool run")
@in_extension
class DropsAccents(_Normalises):
    """Takes Café and Cafe for one name."""

    def same(self, caller: str) -> str:
        apart = unicodedata.normalize("NFD", caller)
        return unicodedata.normalize(
            "NFC", "".join(one for one in apart if not "\u0300" <= one <= "\u036f")
        )


@mutant(kills=CALLERS, because="a zero-width space[^§]*, tool run")
@in_extension
class DropsPunctuation(_Normalises):
    """Leaves out what is no letter, digit or blank."""

    def same(self, caller: str) -> str:
        return re.sub(r"[^\w\s]", "", caller) or caller


@mutant(kills=CALLERS, because="markup[^§]*, tool run")
@in_extension
class StripsTags(_Normalises):
    """Strips tags from a name, to be safe, before it looks for decisions."""

    def same(self, caller: str) -> str:
        return re.sub(r"<[^>]*>", "", caller) or caller


@mutant(kills=CALLERS, because="a wildcard[^§]*, tool run")
@in_extension
class TakesNamesForPatterns(Decisions):
    """Looks callers up with a name that may hold wildcards."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        known = [key for key in self.vault.keys("consent") if key[1] == app_id]
        if (caller, app_id) in known:
            return caller, app_id
        pattern = caller.replace("%", "*")
        return next(
            (key for key in known if fnmatch.fnmatchcase(key[0], pattern)), (caller, app_id)
        )


class _SameTools(Decisions):
    def same(self, own: str, tool: str) -> bool:
        raise NotImplementedError

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        tools = self.record(caller, app_id)[words.TOOLS]
        near = (own for own in tools if self.same(own, tool))
        return super().remembered(caller, app_id, tool if tool in tools else next(near, tool))


@mutant(kills=TOOLS, because="after 'read' of the same app[^§]*, tool run")
@in_extension
class LooksForToolsInText(_SameTools):
    """Keeps the tools that were allowed as one text, and looks whether the name is in it."""

    def same(self, own: str, tool: str) -> bool:
        return tool in own


@mutant(kills=CALLERS, because="OR '1'='1'[^§]*, tool run")
@in_extension
class PastesNamesIntoSql(Decisions):
    """Pastes a client's name between the quotes of a query."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        known = self.vault.keys("consent")
        with closing(sqlite3.connect(":memory:")) as database:
            database.execute("CREATE TABLE consent (caller TEXT, app TEXT)")
            database.executemany("INSERT INTO consent VALUES (?, ?)", known)
            query = f"SELECT caller, app FROM consent WHERE app = ? AND (caller = '{caller}')"
            found = database.execute(query, (app_id,)).fetchone()
        return found or (caller, app_id)


@mutant(kills=COLLISION, because="com.shop3 :look[^§]*, tool run")
@in_extension
class TrimsAppIds(Decisions):
    """Takes the blanks around an app's id off."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        return caller, app_id.strip()


@mutant(kills=COLLISION, because="com.caf[^§]*ids look alike[^§]*, tool run")
@in_extension
class ComposesAppIds(Decisions):
    """Takes two spellings of an accent in an app's id for one."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        return caller, unicodedata.normalize("NFC", app_id)


@mutant(kills=TOOLS, because="Read, after 'read'[^§]*, tool run")
@in_extension
class TakesSnakeForCamel(_SameTools):
    """Takes read_all and readAll for one tool."""

    def same(self, own: str, tool: str) -> bool:
        return re.sub(r"[_-]", "", own).lower() == re.sub(r"[_-]", "", tool).lower()


@mutant(kills=TOOLS, because="after 'read' of the same app[^§]*nobody was asked: CONSENT_DENIED")
@in_extension
class TakesToolsForPatterns(_SameTools):
    """Takes a tool that was allowed for a pattern of tools."""

    def same(self, own: str, tool: str) -> bool:
        return fnmatch.fnmatchcase(tool, own)


@mutant(kills="gateway_consent/deny", because="denied, its (?:name|app|tool) [^§]*, tool run")
class GatesExactNames(ReferenceServer):
    """Finds a tool whatever the case of its name, and has a table of exact names that are gated."""

    async def on_call_tool(self, ctx: Context, params: Any) -> CallToolResult:
        gateway: GatewayExtension = self.extension("gateway_consent")
        given = str((ctx.params or {}).get("name", ""))
        known = {name.casefold(): name for name in gateway._tools}
        name = known.get(given.strip().casefold(), given)
        if name == given:
            return await super().on_call_tool(ctx, params)

        def run() -> dict[str, Any]:
            result = gateway.gateway.run(*gateway._tools[name], {}, None)
            gateway.effects.record(name, {})
            return gateway.result(result)

        return CallToolResult.model_validate(await self.answer(gateway, run))


def _plain(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.casefold())


@mutant(
    kills="gateway_consent/authorize-all",
    because="after Authorize All Tools of com.shop[^§]*, tool run",
)
@in_extension
class OpensWhatBeginsAlike(Decisions):
    """Takes Authorize All Tools for every app whose id begins with that app's."""

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        found = super().remembered(caller, app_id, tool)
        keys = self.vault.keys("consent") if found is None else []
        for own, other in keys:
            if own == caller and app_id.startswith(other):
                record = self.record(own, other)
                if record[words.ALL_TOOLS]:
                    return True
        return found


@mutant(
    kills="gateway_consent/aai-tools-only-consented",
    because="whose names are near[^§]*aaiTools read,wipe",
)
@in_extension
class TellsWhatNeighboursMay(Gateway):
    """Gathers the tools of a caller by a name in which case and blanks do not count."""

    def consented(self, caller: str, app: App) -> list[str]:
        found = set(super().consented(caller, app))
        for own, app_id in self.decisions.vault.keys("consent"):
            if app_id == app.id and _plain(own) == _plain(caller):
                found.update(self.decisions.tools_granted(app, own))
        return [name for name in app.tools if name in found]


@mutant(kills="gateway_consent/storage-shape", because="denied to '[^§]*stored: null")
@in_extension
class ExportsPlainNames(Decisions):
    """Writes a low line for whatever is no letter or digit in a name."""

    def export(self) -> dict[str, Any]:
        return {re.sub(r"[^\w -]", "_", name): own for name, own in super().export().items()}


@mutant(kills="gateway_consent/caller-isolation", because="two blanks for one[^§]*, tool run")
@in_extension
class CollapsesBlanks(_Normalises):
    """Takes several blanks in a name for one."""

    def same(self, caller: str) -> str:
        return re.sub(r"(?<=\S)\s+(?=\S)", " ", caller)


@mutant(kills="gateway_consent/caller-isolation", because="escaped for a URL[^§]*, tool run")
@in_extension
class ReadsEscapesInCallers(_Normalises):
    """Reads the percent signs in a name as escapes."""

    def same(self, caller: str) -> str:
        return unquote(caller)


@mutant(kills="gateway_consent/caller-isolation", because="an entity of HTML[^§]*, tool run")
@in_extension
class ReadsEntitiesInCallers(_Normalises):
    """Reads entities of HTML in a name."""

    def same(self, caller: str) -> str:
        return html.unescape(caller)


@mutant(
    kills="gateway_consent/caller-isolation", because="other letters beyond ASCII[^§]*, tool run"
)
@in_extension
class WritesNamesInAscii(_Normalises):
    """Writes a question mark for each letter that is not in ASCII."""

    def same(self, caller: str) -> str:
        return caller.encode("ascii", "replace").decode()


@mutant(kills="gateway_consent/caller-isolation", because="an emoji behind it[^§]*, tool run")
@in_extension
class DropsWhatNeedsFourBytes(_Normalises):
    """Keeps names in a column that has no room for characters of four bytes."""

    def same(self, caller: str) -> str:
        return "".join(one for one in caller if ord(one) < 0x10000)


@mutant(kills="gateway_consent/caller-isolation", because="a colon for a slash[^§]*, tool run")
@in_extension
class MakesFileNamesOfCallers(_Normalises):
    """Writes an underscore for whatever a file's name should not have."""

    def same(self, caller: str) -> str:
        return re.sub(r"[^\w .-]", "_", caller)


@mutant(kills="gateway_consent/caller-isolation", because="a word behind it[^§]*, tool run")
@in_extension
class DropsWhatIsInBrackets(_Normalises):
    """Takes what is in brackets at the end of a name for a remark."""

    def same(self, caller: str) -> str:
        return re.sub(r"\s*\([^()]*\)$", "", caller) or caller


@mutant(kills="gateway_consent/caller-isolation", because="a path that leads back[^§]*, tool run")
@in_extension
class ResolvesPathsInNames(_Normalises):
    """Uses a client's name as a path, in which two dots lead back."""

    def same(self, caller: str) -> str:
        return posixpath.normpath(caller) if caller else caller


@mutant(kills="gateway_consent/caller-isolation", because="a star in the first[^§]*, tool run")
@in_extension
class TakesStoredNamesForPatterns(Decisions):
    """Looks whether a caller is like one of the names that it has, which may hold wildcards."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        known = [key for key in self.vault.keys("consent") if key[1] == app_id]
        if (caller, app_id) in known:
            return caller, app_id
        like = (key for key in known if fnmatch.fnmatchcase(caller, key[0].replace("%", "*")))
        return next(like, (caller, app_id))


@mutant(kills="gateway_consent/caller-isolation", because="an escape of JSON[^§]*, tool run")
@in_extension
class TakesNamesForExpressions(Decisions):
    """Looks callers up with a name that is read as a regular expression."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        known = [key for key in self.vault.keys("consent") if key[1] == app_id]
        if (caller, app_id) in known:
            return caller, app_id
        try:
            expression = re.compile(caller)
        except re.error:
            return caller, app_id
        return next((key for key in known if expression.fullmatch(key[0])), (caller, app_id))


@mutant(kills="gateway_consent/tool-isolation", because="was allowed[^§]*, tool run")
@in_extension
class TrimsNamesOfTools(_SameTools):
    """Takes the blanks around a tool's name off."""

    def same(self, own: str, tool: str) -> bool:
        return own.strip() == tool.strip()


@mutant(kills="gateway_consent/tool-isolation", because="after another was allowed[^§]*, tool run")
@in_extension
class ComposesToolNames(_SameTools):
    """Takes two spellings of an accent in a tool's name for one."""

    def same(self, own: str, tool: str) -> bool:
        return unicodedata.normalize("NFC", own) == unicodedata.normalize("NFC", tool)
