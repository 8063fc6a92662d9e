"""Gateways and apps that take two spellings for one."""

from __future__ import annotations

import fnmatch
import re
import sqlite3
import unicodedata
from collections.abc import Mapping
from contextlib import closing
from typing import Any
from urllib.parse import unquote

from mcp_types import CallToolResult

from pytest_mcp_approval.families.gateway_consent import vocabulary as words
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.flows import Flow, Flows
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import OAuth2
from pytest_mcp_approval.reference_server.gateway_consent.consent import Decisions
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.grants import (
    Allowed,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
    Redirect,
    RegisteredClient,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App
from pytest_mcp_approval.reference_server.gateway_consent.extension import GatewayExtension
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.server.mcp_server import Context, ReferenceServer
from pytest_mcp_approval.reference_server.server.secret_text import sha256_challenge
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

COLLISION = "gateway_consent/key-collision"
CALLERS = "gateway_consent/caller-isolation"
TOOLS = "gateway_consent/tool-isolation"
AUTHORIZE = "gateway_consent/oauth-authorize"


# ---- callers


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


# ---- tools and apps


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


# ---- OAuth


@mutant(kills=AUTHORIZE, because='what a URL escapes[^§]*"state":"a b')
@in_extension
class UnescapesStates(AuthorisationServer):
    """Reads the percent signs of a state once more before it sends it back."""

    def send_back(self, uri: str, state: str, **told: str) -> Redirect:
        return super().send_back(uri, unquote(state), **told)


@mutant(kills=AUTHORIZE, because='responseType "code token"[^§]*sent back with a code')
@in_extension
class FindsCodeInTheType(AuthorisationServer):
    """Looks whether the word code is in the response type."""

    def check_request(self, asked: Mapping[str, str]) -> None:
        kind = asked.get("response_type", "")
        super().check_request({**asked, "response_type": "code" if "code" in kind else kind})


# ---- further ones


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


@mutant(
    kills="gateway_consent/oauth-pkce",
    because="the verifier in another case[^§]*HTTP 200 with an access token",
)
@in_extension
class FoldsTheCaseOfVerifiers(AuthorisationServer):
    """Takes a verifier in another case for the same."""

    def check_verifier(self, held: Any, asked: Mapping[str, str]) -> None:
        verifier = asked.get("code_verifier", "")
        spelled = {verifier, verifier.swapcase(), verifier.lower(), verifier.upper()}
        if not any(sha256_challenge(one) == held.challenge for one in spelled):
            super().check_verifier(held, asked)


@mutant(kills="gateway_consent/oauth-pkce", because=r"/\.\./elsewhere?[^§]*sent back with a code")
@in_extension
class FindsTheAddressInside(AuthorisationServer):
    """Looks whether a registered address stands somewhere in the one that it is given."""

    def is_registered(self, client: RegisteredClient, redirect_uri: str) -> bool:
        return any(one in redirect_uri for one in client.redirect_uris())


# ---- tools and apps


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


# ---- secrets


class _FoldsSecrets(AuthorisationServer):
    """Looks a secret up in a table in which case does not count."""

    def held(self, ledger: Any, asked: Mapping[str, str], name: str) -> Any:
        known: dict[str, str] = self.__dict__.setdefault("known", {})
        given = asked.get(name, "")
        return super().held(ledger, {**asked, name: known.get(given.lower(), given)}, name)

    def note(self, secret: str) -> None:
        self.__dict__.setdefault("known", {})[secret.lower()] = secret


@mutant(kills="gateway_consent/oauth-pkce", because="a code, in another case[^§]*HTTP 200")
@in_extension
class FoldsCodes(_FoldsSecrets):
    """Keeps codes in a column in which case does not count."""

    def send_back(self, uri: str, state: str, **told: str) -> Redirect:
        self.note(told.get("code", ""))
        return super().send_back(uri, state, **told)


@mutant(
    kills="gateway_consent/oauth-token", because="a refresh token, in another case[^§]*HTTP 200"
)
@in_extension
class FoldsRefreshTokens(_FoldsSecrets):
    """Keeps refresh tokens in a column in which case does not count."""

    def given(self, allowed: Allowed, scopes: Any) -> dict[str, Any]:
        given = super().given(allowed, scopes)
        self.note(given["refresh_token"])
        return given


@mutant(
    kills="gateway_consent/oauth-token",
    because="with an access token, in another case[^§]*it opens",
)
@in_extension
class FoldsAccessTokens(_FoldsSecrets):
    """Keeps access tokens in a column in which case does not count."""

    def given(self, allowed: Allowed, scopes: Any) -> dict[str, Any]:
        given = super().given(allowed, scopes)
        self.note(given["access_token"])
        return given

    def opened(self, access_token: str) -> Allowed | None:
        known = self.__dict__.setdefault("known", {})
        return super().opened(known.get(access_token.lower(), access_token))


class _FoldedFlows(Flows):
    """Finds a state in which case does not count."""

    def begin(self, *given: Any) -> tuple[str, str]:
        state, cookie = super().begin(*given)
        self.__dict__.setdefault("known", {})[state.lower()] = state
        return state, cookie

    def take(self, state: str) -> Flow:
        return super().take(self.__dict__.get("known", {}).get(state.lower(), state))


@mutant(kills="gateway_consent/oauth-callback", because="its state, in another case[^§]*1 redeemed")
@in_extension
class FoldsStates(OAuth2):
    """Keeps states in a column in which case does not count."""

    def __init__(self, credentials: Any, vault: Any, pages_url: Any) -> None:
        super().__init__(credentials, vault, pages_url)
        self.flows = _FoldedFlows(vault, credentials)


@mutant(
    kills="gateway_consent/oauth-pkce",
    because="redirectUri with a path in capitals[^§]*with a code",
)
@in_extension
class FoldsAddresses(AuthorisationServer):
    """Compares the addresses of clients as hosts are compared: without regard to case."""

    def is_registered(self, client: RegisteredClient, redirect_uri: str) -> bool:
        return redirect_uri.lower() in [one.lower() for one in client.redirect_uris()]


# ---- what is stored


@mutant(kills="gateway_consent/storage-shape", because="denied to '[^§]*stored: null")
@in_extension
class ExportsPlainNames(Decisions):
    """Writes a low line for whatever is no letter or digit in a name."""

    def export(self) -> dict[str, Any]:
        return {re.sub(r"[^\w -]", "_", name): own for name, own in super().export().items()}
