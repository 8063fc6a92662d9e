"""Gateways and apps that look at a part of what they have to look at."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pytest_mcp_approval.families.gateway_consent import vocabulary as words
from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    Choice,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.api_key import ApiKeys
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.cookies import Cookies
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import (
    Credentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import (
    FlowStart,
    OAuth2,
    Return,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import (
    DialogStep,
)
from pytest_mcp_approval.reference_server.gateway_consent.consent import ConsentQuestion, Decisions
from pytest_mcp_approval.reference_server.gateway_consent.consent_page import ConsentPages
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.grants import (
    Grant,
    Ledger,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
    Redirect,
    RegisteredClient,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.extension import GatewayExtension
from pytest_mcp_approval.reference_server.gateway_consent.refusals import GatewayRefusal
from pytest_mcp_approval.reference_server.gateway_consent.vault import Record
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

CALLERS = "gateway_consent/caller-isolation"
PKCE = "gateway_consent/oauth-pkce"


# ---- names


class _PartOfCallers(Decisions):
    """Finds records by a part of the caller's name."""

    def part(self, caller: str) -> str:
        raise NotImplementedError

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        return self.part(caller), app_id


@mutant(kills=CALLERS, because="a longer name[^§]*, tool run")
@in_extension
class KeepsTheFirstWordOfCallers(_PartOfCallers):
    """Takes the first word of a client's name for the product."""

    def part(self, caller: str) -> str:
        return caller.split(" ", maxsplit=1)[0]


@mutant(kills="gateway_consent/key-collision", because="tool not run[^§]*, tool run")
@in_extension
class KeepsThePublisherOfApps(Decisions):
    """Goes by the first two labels of an app's id, which name the publisher."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        return caller, ".".join(app_id.split(".")[:2])


# ---- OAuth


@mutant(kills=PKCE, because="a longer redirectUri[^§]*HTTP 200 with an access token")
@in_extension
class ComparesHostsOfAddresses(AuthorisationServer):
    """When a code is redeemed, compares the host of the address, and not its path."""

    def check_redirect_uri(self, held: Any, asked: Mapping[str, str]) -> None:
        given = asked.get("redirect_uri", "")
        if given.split("/")[:3] != held.redirect_uri.split("/")[:3]:
            super().check_redirect_uri(held, asked)


# ---- further ones


@mutant(kills=CALLERS, because=r"by '\.\./Cursor[^§]*, tool run")
@in_extension
class KeepsTheEndOfCallers(_PartOfCallers):
    """Takes what follows the last slash of a client's name for the name."""

    def part(self, caller: str) -> str:
        return caller.rpartition("/")[2] or caller


@mutant(kills="gateway_consent/key-collision", because="ids look alike[^§]*, tool run")
@in_extension
class KeepsTheLastLabelOfApps(Decisions):
    """Goes by the last label of an app's id, which is its short name."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        return caller, app_id.rpartition(".")[2]


@mutant(kills="gateway_consent/key-collision", because="com.l{60}[^§]*, tool run")
@in_extension
class CutsAppIds(Decisions):
    """Keeps the first 64 characters of an app's id."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        return caller, app_id[:64]


@mutant(kills=PKCE, because="one character more[^§]*HTTP 200 with an access token")
@in_extension
class CutsVerifiers(AuthorisationServer):
    """Keeps the first 64 characters of a verifier, and may then not know its challenge."""

    def check_verifier(self, held: Any, asked: Mapping[str, str]) -> None:
        verifier = asked.get("code_verifier", "")
        super().check_verifier(held, {**asked, "code_verifier": verifier[:64]})


@mutant(
    kills="gateway_consent/oauth-authorize",
    because=r"a state \(long\)[^§]*sent back with a code[^§]*\([0-9]{3} bytes\)",
)
@in_extension
class KeepsStatesInAColumn(AuthorisationServer):
    """Keeps the first 255 characters of a state."""

    def send_back(self, uri: str, state: str, **told: str) -> Redirect:
        return super().send_back(uri, state[:255], **told)


@mutant(
    kills="gateway_consent/cookie", because=r"of which one is missing[^§]*not run, 1 request\(s\)"
)
@in_extension
class ChecksTheFirstCookie(Cookies):
    """Looks for the first of the required cookies, and not for the others."""

    def check_required(self, app: App, found: Mapping[str, str]) -> None:
        super().check_required(app, {**dict.fromkeys(self.required(app)[1:], "?"), **found})


_log = logging.getLogger(__name__)


class _HalfLedger(Ledger[Grant]):
    """Finds what it has issued by its first half."""

    def add(self, secret: str, record: Grant) -> None:
        super().add(secret[: len(secret) // 2], record)

    def find(self, secret: str) -> Grant | None:
        return super().find(secret[: len(secret) // 2])


@mutant(
    kills="gateway_consent/caller-isolation",
    because="name differs at its end from one that it was allowed to[^§]*, tool run",
)
@in_extension
class CutsNamesAtFourKilobytes(_PartOfCallers):
    """Keeps the first 4096 characters of a client's name."""

    def part(self, caller: str) -> str:
        return caller[:4096]


@mutant(
    kills="gateway_consent/caller-isolation",
    because="name differs a quarter on from one that it was allowed to[^§]*, tool run",
)
@in_extension
class KeepsBothEndsOfCallers(_PartOfCallers):
    """Shortens a long name in its middle before it looks for decisions."""

    def part(self, caller: str) -> str:
        return caller if len(caller) <= 64 else f"{caller[:30]}...{caller[-30:]}"


@mutant(kills="gateway_consent/caller-isolation", because="one hash code in Java[^§]*, tool run")
@in_extension
class KeysByHashCode(_PartOfCallers):
    """Finds records by a hash of 32 bits that anybody can make collide."""

    def part(self, caller: str) -> str:
        code = 0
        for one in caller:
            code = (31 * code + ord(one)) & 0xFFFFFFFF
        return str(code)


@mutant(kills="gateway_consent/tool-isolation", because="after another was allowed[^§]*, tool run")
@in_extension
class CutsToolNames(Decisions):
    """Keeps the first 64 characters of a tool's name."""

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        return super().remembered(caller, app_id, tool[:64])

    def write(self, record: Record, question: ConsentQuestion, choice: Choice) -> None:
        super().write(record, replace(question, tool=question.tool[:64]), choice)


@mutant(
    kills="gateway_consent/oauth-pkce",
    because="with a query: [^§]*sent back with a code",
    warned=True,
)
@in_extension
class ComparesAddressesWithoutQuery(AuthorisationServer):
    """Compares where people are sent back to up to the question mark."""

    def is_registered(self, client: RegisteredClient, redirect_uri: str) -> bool:
        return super().is_registered(client, redirect_uri.partition("?")[0])


@mutant(
    kills="gateway_consent/oauth-pkce",
    because="an authorisation request with redirectUri in another host[^§]*sent back with a code",
)
@in_extension
class ComparesPathsOfAddresses(AuthorisationServer):
    """Compares the path of the address that people are sent back to, and not its host."""

    def is_registered(self, client: RegisteredClient, redirect_uri: str) -> bool:
        paths = [urlsplit(one).path for one in client.redirect_uris()]
        return urlsplit(redirect_uri).path in paths


@mutant(
    kills="gateway_consent/oauth-pkce", because="a code, without its last character[^§]*HTTP 200"
)
@in_extension
class ComparesHalfOfCodes(AuthorisationServer):
    """Finds a code by its first half."""

    def __init__(self, clock: Any, issuer: Any, clients: Any, tools: Any) -> None:
        super().__init__(clock, issuer, clients, tools)
        self.codes = _HalfLedger()


@mutant(
    kills="gateway_consent/oauth-token",
    because="a refresh token, without its last character[^§]*HTTP 200",
)
@in_extension
class ComparesHalfOfRefreshTokens(AuthorisationServer):
    """Finds a refresh token by its first half."""

    def __init__(self, clock: Any, issuer: Any, clients: Any, tools: Any) -> None:
        super().__init__(clock, issuer, clients, tools)
        self.refresh = _HalfLedger()


@mutant(
    kills="gateway_consent/oauth-token",
    because="resource with an access token, without its last character[^§]*it opens",
)
@in_extension
class ComparesHalfOfAccessTokens(AuthorisationServer):
    """Finds an access token by its first half."""

    def __init__(self, clock: Any, issuer: Any, clients: Any, tools: Any) -> None:
        super().__init__(clock, issuer, clients, tools)
        self.access = _HalfLedger()


@mutant(
    kills="gateway_consent/oauth-callback",
    because="the app's answer with its state, without its last character[^§]*, tool run",
)
@in_extension
class ComparesTheBeginningOfStates(OAuth2):
    """Finds the request that an answer belongs to by the first half of its state."""

    def start(self, app: App, caller: str, consented: Sequence[str]) -> FlowStart:
        start = super().start(app, caller, consented)
        state = parse_qs(urlsplit(start.location).query)["state"][0]
        self.__dict__.setdefault("started", []).append(state)
        return start

    def state_of(self, back: Return) -> str:
        state = super().state_of(back)
        half = state[: len(state) // 2]
        known: list[str] = self.__dict__.get("started", [])
        return next((one for one in known if half and one.startswith(half)), state)


@mutant(kills="gateway_consent/cookie", because="authorised by the cookies[^§]*the cookies? ")
@in_extension
class CutsCookiesAtTheSecondSign(Cookies):
    """Splits a cookie at every equals sign, and takes the second piece for its value."""

    def check(self, app: App, step: DialogStep, value: str) -> str:
        parts = [part.split("=") for part in super().check(app, step, value).split("; ")]
        return "; ".join("=".join(pieces[:2]) for pieces in parts)


@mutant(kills="gateway_consent/api-key", because="authorised by the key[^§]*the key '")
@in_extension
class CutsKeys(ApiKeys):
    """Keeps the first 255 characters of a key."""

    def check(self, app: App, step: DialogStep, value: str) -> str:
        return super().check(app, step, value)[:255]


@mutant(kills="gateway_consent/consent-required", because='a first call of[^§]*toolDescription "')
class CutsToldDescriptions(GatewayExtension):
    """Tells the agent the first 200 characters of a description."""

    def refuse(self, refusal: GatewayRefusal) -> dict[str, Any]:
        if words.TOOL_DESCRIPTION in refusal.data:
            refusal.data[words.TOOL_DESCRIPTION] = refusal.data[words.TOOL_DESCRIPTION][:200]
        return super().refuse(refusal)


@mutant(kills="gateway_consent/consent-required", because="a first call of[^§]*without '")
class TellsFlatParameters(GatewayExtension):
    """Tells type and description of a parameter, and nothing of what is inside it."""

    def refuse(self, refusal: GatewayRefusal) -> dict[str, Any]:
        given = refusal.data.get(words.TOOL_PARAMETERS)
        if given:
            refusal.data[words.TOOL_PARAMETERS] = {
                name: {key: one for key, one in schema.items() if key in ("type", "description")}
                for name, schema in given.items()
            }
        return super().refuse(refusal)


@mutant(
    kills="gateway_consent/aai-tools-only-consented",
    because="with Authorize All Tools of 12[^§]*in aaiTools",
)
@in_extension
class TellsTenTools(OAuth2):
    """Tells an app of the first ten tools that were allowed."""

    def aai_tools(self, app: App, consented: Sequence[str]) -> tuple[str, ...]:
        return super().aai_tools(app, consented)[:10]


@mutant(
    kills="gateway_consent/dialog-fields",
    because="the page of the app id of the[^§]*the page shows",
)
@in_extension
class ShowsTenParameters(ConsentPages):
    """Shows the first ten parameters of a tool."""

    def parameters(self, tool: AppTool) -> str:
        return super().parameters(replace(tool, parameters=dict([*tool.parameters.items()][:10])))


@mutant(
    kills="gateway_consent/dialog-fields",
    because="the page of the app id of the[^§]*the page shows",
)
@in_extension
class ShowsTheFirstLine(ConsentPages):
    """Shows the first line of a description."""

    def fields(self, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        first = tool.description.partition("\n")[0]
        return super().fields(question, app, replace(tool, description=first))


@mutant(
    kills="gateway_consent/never-logged", because="the API key in clear in the log, but for its end"
)
@in_extension
class MasksTheLastFour(Credentials):
    """Logs a key or a token with its last four characters masked."""

    def save(self, caller: str, app_id: str, record: dict[str, Any]) -> None:
        super().save(caller, app_id, record)
        key = record.get(words.VALUE) if record.get(words.TYPE) == "apiKey" else None
        if secret := key or record.get(words.ACCESS_TOKEN):
            _log.info("kept %s****", secret[:-4])
