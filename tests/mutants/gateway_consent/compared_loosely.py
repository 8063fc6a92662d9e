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

from pytest_mcp_approval.families.gateway_consent import vocabulary as words
from pytest_mcp_approval.reference_server.gateway_consent.consent import Decisions
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
    Redirect,
    RegisteredClient,
)
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
