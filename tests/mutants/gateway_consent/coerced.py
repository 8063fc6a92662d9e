"""Gateways and apps that write or read a value as another type."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import (
    parse_qsl,
    quote,
    unquote,
    unquote_plus,
    urlencode,
)

from starlette.requests import Request
from starlette.responses import Response

from pytest_mcp_approval.families.gateway_consent import vocabulary as words
from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    Choice,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.api_key import ApiKeys
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.cookies import Cookies
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import (
    Credentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import OAuth2
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import (
    DialogStep,
    Sending,
    text_setting,
)
from pytest_mcp_approval.reference_server.gateway_consent.consent import (
    ConsentQuestion,
    Decisions,
)
from pytest_mcp_approval.reference_server.gateway_consent.consent_page import ConsentPages
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.grants import Allowed
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App
from pytest_mcp_approval.reference_server.gateway_consent.extension import GatewayExtension
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.gateway_consent.refusals import GatewayRefusal
from pytest_mcp_approval.reference_server.server.extension import Caller
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

REQUIRED = "gateway_consent/consent-required"
SHAPE = "gateway_consent/storage-shape"


# ---- what is stored


class _OtherValues(Decisions):
    """Exports a tool's decision with other types."""

    def changed(self, own: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def export(self) -> dict[str, Any]:
        nested = super().export()
        for apps in nested.values():
            for record in apps.values():
                tools = record[words.TOOLS]
                record[words.TOOLS] = {name: self.changed(own) for name, own in tools.items()}
        return nested


@mutant(kills=SHAPE, because='"granted":1')
@in_extension
class StoresGrantedAsNumber(_OtherValues):
    """Stores 1 for granted and 0 for denied."""

    def changed(self, own: dict[str, Any]) -> dict[str, Any]:
        return {**own, words.GRANTED: int(own[words.GRANTED])}


@mutant(kills=SHAPE, because='"remember":"yes"')
@in_extension
class StoresRememberAsText(_OtherValues):
    """Stores remember as the word that the form sent."""

    def changed(self, own: dict[str, Any]) -> dict[str, Any]:
        return {**own, words.REMEMBERED: "yes"}


@mutant(kills=SHAPE, because='"allTools":0')
@in_extension
class StoresAllToolsAsNumber(Decisions):
    """Stores allTools as 0 and 1."""

    def export(self) -> dict[str, Any]:
        nested = super().export()
        for apps in nested.values():
            for record in apps.values():
                record[words.ALL_TOOLS] = int(record[words.ALL_TOOLS])
        return nested


@mutant(kills=SHAPE, because="grantedAt [0-9]{13}")
@in_extension
class StoresGrantedAtAsNumber(Decisions):
    """Stores grantedAt as milliseconds, as it does with credentials."""

    def instant(self) -> Any:
        return int(self.clock.now().timestamp() * 1000)


class _OtherCredentials(Credentials):
    def changed(self, record: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def export(self) -> dict[str, dict[str, Any]]:
        return {
            caller: {app: self.changed(record) for app, record in apps.items()}
            for caller, apps in super().export().items()
        }


@mutant(kills="gateway_consent/credential-shape", because='createdAt "[0-9]{13}"')
@in_extension
class StoresInstantsAsText(_OtherCredentials):
    """Stores the milliseconds of an instant as text."""

    def changed(self, record: dict[str, Any]) -> dict[str, Any]:
        instants = (words.CREATED_AT, words.EXPIRES_AT)
        return {name: str(one) if name in instants else one for name, one in record.items()}


@mutant(kills="gateway_consent/credential-shape", because="expiresAt [0-9]{10}$")
@in_extension
class StoresEndsInSeconds(_OtherCredentials):
    """Stores createdAt in milliseconds, and expiresAt in seconds."""

    def changed(self, record: dict[str, Any]) -> dict[str, Any]:
        ends = record.get(words.EXPIRES_AT)
        return record if ends is None else {**record, words.EXPIRES_AT: ends // 1000}


@mutant(kills="gateway_consent/credential-shape", because=r"expiresAt 7[0-9]{6}\b")
@in_extension
class StoresLifetimes(_OtherCredentials):
    """Stores how long a token lasts where it should store when it ends."""

    def changed(self, record: dict[str, Any]) -> dict[str, Any]:
        ends = record.get(words.EXPIRES_AT)
        return record if ends is None else {**record, words.EXPIRES_AT: ends - self.now()}


# ---- what is told


@mutant(kills=REQUIRED, because='toolParameters "{')
class TellsParametersAsText(GatewayExtension):
    """Tells the agent the parameters as JSON in a text."""

    def refuse(self, refusal: GatewayRefusal) -> dict[str, Any]:
        if words.TOOL_PARAMETERS in refusal.data:
            given = json.dumps(refusal.data[words.TOOL_PARAMETERS])
            refusal.data[words.TOOL_PARAMETERS] = given
        return super().refuse(refusal)


@mutant(kills=REQUIRED, because=r'toolParameters \["path","force"')
class TellsNamesOfParameters(GatewayExtension):
    """Tells the agent the parameters as a list of their names."""

    def refuse(self, refusal: GatewayRefusal) -> dict[str, Any]:
        if words.TOOL_PARAMETERS in refusal.data:
            refusal.data[words.TOOL_PARAMETERS] = list(refusal.data[words.TOOL_PARAMETERS])
        return super().refuse(refusal)


class _WritesTools(OAuth2):
    """Writes aaiTools in another way."""

    def written(self, tools: Sequence[str]) -> str:
        raise NotImplementedError

    def start(self, app: App, caller: str, consented: Sequence[str]) -> Any:
        start = super().start(app, caller, consented)
        base, _, rest = start.location.partition(f"{words.AAI_TOOLS}=")
        tools = self.aai_tools(app, consented)
        following = "".join(rest.partition("&")[1:])
        location = f"{base}{words.AAI_TOOLS}={quote(self.written(tools), safe='')}{following}"
        return replace(start, location=location)


@mutant(kills="gateway_consent/aai-tools-only-consented", because="aaiTools read write")
@in_extension
class SeparatesToolsByBlanks(_WritesTools):
    """Separates the tools by blanks, as scopes are."""

    def written(self, tools: Sequence[str]) -> str:
        return " ".join(tools)


@mutant(kills="gateway_consent/aai-tools-only-consented", because="aaiTools read, write")
@in_extension
class SeparatesToolsByCommaAndBlank(_WritesTools):
    """Writes a blank after each comma."""

    def written(self, tools: Sequence[str]) -> str:
        return ", ".join(tools)


@mutant(kills="gateway_consent/oauth-token", because="not as it should be: expiresIn")
@in_extension
class TellsLifetimesAsText(AuthorisationServer):
    """Tells expiresIn as a text."""

    def given(self, allowed: Allowed, scopes: Sequence[str]) -> dict[str, Any]:
        given = super().given(allowed, scopes)
        return {**given, "expires_in": str(given["expires_in"])}


# ---- what is read


@mutant(kills="gateway_consent/deny", because="denied for ever, the first call[^§]*, tool run")
@in_extension
class ReadsDecisionsAsText(Decisions):
    """Stores a decision as text, and takes every text for true."""

    def write(self, record: dict[str, Any], question: ConsentQuestion, choice: Choice) -> None:
        super().write(record, question, choice)
        own = record[words.TOOLS][question.tool]
        own[words.GRANTED] = str(own[words.GRANTED]).lower()


# ---- further ones


@mutant(
    kills="gateway_consent/oauth-token",
    because="for 3600000 s, a second before its end[^§]*it does not",
)
@in_extension
class TellsLifetimesInMilliseconds(AuthorisationServer):
    """Tells expiresIn in milliseconds."""

    def given(self, allowed: Allowed, scopes: Sequence[str]) -> dict[str, Any]:
        given = super().given(allowed, scopes)
        return {**given, "expires_in": given["expires_in"] * 1000}


@mutant(
    kills="gateway_consent/remember", because="a denial remembered, after a restart[^§]*, tool run"
)
@in_extension
class ReadsDenialsAsGrantsAtItsStart(Decisions):
    """Takes the text false for true when it reads at its start what it has stored."""

    def __init__(self, vault: Any, clock: Any) -> None:
        super().__init__(vault, clock)
        for key in vault.keys("consent"):
            record = vault.load("consent", *key)
            for own in record[words.TOOLS].values():
                own[words.GRANTED] = bool(str(own[words.GRANTED]))
            vault.save("consent", record, *key)


@mutant(
    kills="gateway_consent/consent-required",
    because="whose form was sent with no button pressed[^§]*, tool run",
)
@in_extension
class TakesEnterForYes(ConsentPages):
    """Takes a form in which no button was pressed for the first button."""

    async def take(self, request: Request) -> Response:
        sent = (await request.body()).decode("ascii", "replace")
        chosen = [value for name, value in parse_qsl(sent) if name == words.CHOICE_MEMBER]
        if not any(chosen):
            kept = [(name, one) for name, one in parse_qsl(sent) if name != words.CHOICE_MEMBER]
            request._body = urlencode([*kept, (words.CHOICE_MEMBER, Choice.TOOL.value)]).encode()
        return await super().take(request)


@mutant(kills="gateway_consent/consent-required", because="a first call of[^§]*without '")
class TellsTypesOnly(GatewayExtension):
    """Tells the agent the type of each parameter as a word."""

    def refuse(self, refusal: GatewayRefusal) -> dict[str, Any]:
        given = refusal.data.get(words.TOOL_PARAMETERS) or {}
        if given:
            told = {name: schema.get("type", "any") for name, schema in given.items()}
            refusal.data[words.TOOL_PARAMETERS] = told
        return super().refuse(refusal)


@mutant(kills="gateway_consent/caller-isolation", because="a number as a fraction[^§]*, tool run")
@in_extension
class ComparesNamesAsNumbers(Decisions):
    """Takes two names that are the same number for one."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        try:
            return str(float(caller)), app_id
        except ValueError:
            return caller, app_id


@mutant(kills="gateway_consent/caller-isolation", because="allowed once to[^§]*, tool run")
@in_extension
class TakesWordsForNothing(Gateway):
    """Takes a client that is called by any word for nothing for one that has no name."""

    def caller_name(self, who: Caller, arguments: Any) -> str:
        words_for_nothing = {"null", "none", "nil", "nan", "undefined", "void", "n/a", "-", "false"}
        nothing = who.client.strip().lower() in words_for_nothing
        return super().caller_name(replace(who, client="") if nothing else who, arguments)


@mutant(kills="gateway_consent/cookie", because="authorised by the cookies[^§]*the cookies? ")
@in_extension
class UnescapesCookies(Cookies):
    """Reads the percent signs in the values of cookies before it keeps them."""

    def check(self, app: App, step: DialogStep, value: str) -> str:
        return unquote(super().check(app, step, value))


@mutant(kills="gateway_consent/api-key", because="authorised by the key[^§]*the key '")
@in_extension
class DropsThePaddingOfKeys(ApiKeys):
    """Takes the equals signs at the end of a key for padding, and drops them."""

    def check(self, app: App, step: DialogStep, value: str) -> str:
        return super().check(app, step, value).rstrip("=")


@mutant(kills="gateway_consent/api-key", because="authorised by the key[^§]*the key '")
@in_extension
class DoesNotEscapeKeys(ApiKeys):
    """Puts a key into a query as it is: a plus arrives as a blank, and an ampersand ends it."""

    def placed(self, app: App, key: str) -> Sending:
        right = super().placed(app, key)
        raw = {name: unquote_plus(one.partition("&")[0]) for name, one in right.query.items()}
        return Sending(right.headers, raw)


@mutant(kills="gateway_consent/api-key", because="X-Key: 'Token <key>'")
@in_extension
class CapitalisesPrefixes(ApiKeys):
    """Writes the prefix of a key with a capital letter and small ones."""

    def placed(self, app: App, key: str) -> Sending:
        right, prefix = super().placed(app, key), text_setting(app, "prefix")
        written = f"{prefix.capitalize()} {key}" if prefix else key
        return Sending(dict.fromkeys(right.headers, written), right.query)
