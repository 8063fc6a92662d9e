"""Gateways and apps that break the document, and that no scenario finds out yet.

Of the same form as the mutants of the family; the registry does not load them. Each says what would
show it over the wire.
"""

from __future__ import annotations

import contextlib
import datetime
import fnmatch
import html
import json
import logging
import posixpath
import re
import unicodedata
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, parse_qsl, unquote, unquote_plus, urlencode, urljoin, urlsplit

from pytest_mcp_approval.families.gateway_consent import vocabulary as words
from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    APP_TOKEN_SECONDS,
    AuthType,
    Choice,
    Kind,
    Refusal,
)
from pytest_mcp_approval.reference_server.gateway_consent import execution, http_client, pages
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.api_key import ApiKeys
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.app_credential import (
    AppCredentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.authoriser import Authoriser
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.cookies import Cookies
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import (
    KIND as CREDENTIALS,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import (
    Credentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.dialogs import (
    Dialogs,
    Ticket,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.flows import KIND as FLOWS
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.flows import Flow, FlowError
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import (
    FlowStart,
    OAuth2,
    Return,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.renewing import (
    RenewalRefusedError,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import (
    Asking,
    DialogStep,
    NotAcceptedError,
    NotSentError,
    Sending,
    TypedWay,
    lifetime,
    members_of,
    needed_setting,
    settings_of,
    text_setting,
)
from pytest_mcp_approval.reference_server.gateway_consent.consent import ConsentQuestion, Decisions
from pytest_mcp_approval.reference_server.gateway_consent.consent_page import ConsentPages
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.grants import (
    Allowed,
    Grant,
    Ledger,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
    RegisteredClient,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.extension import GatewayExtension
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.gateway_consent.http_client import SendingError
from pytest_mcp_approval.reference_server.gateway_consent.refusals import GatewayRefusal
from pytest_mcp_approval.reference_server.gateway_consent.vault import Record
from pytest_mcp_approval.reference_server.gateway_consent.vault_file import HEAD, FileVault
from pytest_mcp_approval.reference_server.server.extension import Caller
from pytest_mcp_approval.reference_server.server.mcp_server import Context, ReferenceServer
from pytest_mcp_approval.reference_server.server.secret_text import digest
from pytest_mcp_approval.support.fetch import fetch
from tests.mutants.gateway_consent.compared_loosely import _Normalises, _SameTools
from tests.mutants.gateway_consent.neighbours import _Joins, _NearCallers
from tests.mutants.gateway_consent.neighbours_by_name import _NearHosts
from tests.mutants.gateway_consent.only_a_part import _PartOfCallers
from tests.mutants.gateway_consent.pages import _Rewrites
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.gateway_consent.shown_not_meant import _ShowsAnother
from tests.mutants.gateway_consent.untested_twin import _Regards, _Trusts
from tests.mutants.registry import mutant

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


CALLERS = "gateway_consent/caller-isolation"
IDENTITY = "gateway_consent/caller-identity"
TOOLS = "gateway_consent/tool-isolation"
PKCE = "gateway_consent/oauth-pkce"
TOKEN = "gateway_consent/oauth-token"
REQUIRED = "gateway_consent/consent-required"
REMEMBER = "gateway_consent/remember"
STORED = "gateway_consent/stored-encrypted"
CREDENTIAL = "gateway_consent/app-credential"
LOGGED = "gateway_consent/never-logged"
COOKIE = "gateway_consent/cookie"
FIELDS = "gateway_consent/dialog-fields"
INJECTION = "gateway_consent/dialog-injection"
TOLD = "gateway_consent/aai-tools-only-consented"
_log = logging.getLogger(__name__)


class _HalfLedger(Ledger[Grant]):
    """Finds what it has issued by its first half."""

    def add(self, secret: str, record: Grant) -> None:
        super().add(secret[: len(secret) // 2], record)

    def find(self, secret: str) -> Grant | None:
        return super().find(secret[: len(secret) // 2])


class _FoldingLedger(Ledger[Grant]):
    """Finds what it has issued without regard to case."""

    def add(self, secret: str, record: Grant) -> None:
        super().add(secret.lower(), record)

    def find(self, secret: str) -> Grant | None:
        return super().find(secret.lower())


class _NearApps(Decisions):
    """Opens the apps whose ids are near to that of one whose tools were all allowed."""

    def near(self, known: str, app_id: str) -> bool:
        raise NotImplementedError

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        kept = super().remembered(caller, app_id, tool)
        own = [key for key in self.vault.keys("consent") if key[0] == caller]
        near = any(self.near(key[1], app_id) and self.record(*key)["allTools"] for key in own)
        return True if kept is None and near else kept


# ---- absent


# shows: the first call of an app whose descriptor names no platforms runs
@mutant(kills="gateway_consent/all-platforms", because=".")
@in_extension
class TrustsAppsWithoutPlatforms(Gateway):
    """Asks about the apps of each platform, and about none that names no platform."""

    def needs_consent(self, app: App) -> bool:
        return bool(app.platforms)


# shows: a token endpoint that tells no expire: after the descriptor's expiresIn the app gets the
#     old token
@mutant(kills="gateway_consent/app-credential", because=".")
@in_extension
class TokensWithoutEndNeverEnd(AppCredentials):
    """Takes a token whose end the app does not tell for one that has none, whatever the descriptor
    says."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        endless = {**settings_of(app), "expiresIn": 10**8}
        auth = app.auth and replace(app.auth, settings=endless)
        return super().fresh(replace(app, auth=auth), record)


# shows: an app whose refresh answer has no refreshToken: at the second renewal the person is
#     asked again
@mutant(kills="gateway_consent/oauth-token", because=".", warned=True)
@in_extension
class LosesTheRefreshToken(OAuth2):
    """Drops its refresh token when the answer to a refresh brings no new one."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        return {words.REFRESH_TOKEN: None, **super().fresh(app, record)}


# ---- coerced


# shows: the page's form sent with an empty choice (Enter in a browser), or none: the tool runs
@mutant(kills="gateway_consent/dialog-fields", because=".")
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


# shows: toolParameters are words, not the schemas that the app has
@mutant(kills=REQUIRED, because=".")
class TellsTypesOnly(GatewayExtension):
    """Tells the agent the type of each parameter as a word."""

    def refuse(self, refusal: GatewayRefusal) -> dict[str, Any]:
        given = refusal.data.get(words.TOOL_PARAMETERS) or {}
        if given:
            told = {name: schema.get("type", "any") for name, schema in given.items()}
            refusal.data[words.TOOL_PARAMETERS] = told
        return super().refuse(refusal)


# shows: allowed to '1000', the client '1e3' is served
@mutant(kills="gateway_consent/caller-isolation", because=".")
@in_extension
class ComparesNamesAsNumbers(Decisions):
    """Takes two names that are the same number for one."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        try:
            return str(float(caller)), app_id
        except ValueError:
            return caller, app_id


# shows: allowed to 'null', a client called 'undefined', or without a name, is served
@mutant(kills="gateway_consent/caller-isolation", because=".")
@in_extension
class TakesWordsForNothing(Gateway):
    """Takes a client that is called null, undefined or None for one that has no name."""

    def caller_name(self, who: Caller, arguments: Any) -> str:
        nothing = who.client in ("null", "undefined", "None", "nil", "NaN")
        return super().caller_name(replace(who, client="") if nothing else who, arguments)


# shows: a cookie whose value holds %3D arrives at the app as =
@mutant(kills="gateway_consent/cookie", because=".")
@in_extension
class UnescapesCookies(Cookies):
    """Reads the percent signs in the values of cookies before it keeps them."""

    def check(self, app: App, step: DialogStep, value: str) -> str:
        return unquote(super().check(app, step, value))


# shows: a key that ends with == arrives at the app without it
@mutant(kills="gateway_consent/api-key", because=".")
@in_extension
class DropsThePaddingOfKeys(ApiKeys):
    """Takes the equals signs at the end of a key for padding, and drops them."""

    def check(self, app: App, step: DialogStep, value: str) -> str:
        return super().check(app, step, value).rstrip("=")


# shows: a key with + or & (location query) arrives at the app as another
@mutant(kills="gateway_consent/api-key", because=".")
@in_extension
class DoesNotEscapeKeys(ApiKeys):
    """Puts a key into a query as it is: a plus arrives as a blank, and an ampersand ends it."""

    def placed(self, app: App, key: str) -> Sending:
        right = super().placed(app, key)
        raw = {name: unquote_plus(one.partition("&")[0]) for name, one in right.query.items()}
        return Sending(right.headers, raw)


# shows: a descriptor with the prefix 'token': the app gets 'Token <key>'
@mutant(kills="gateway_consent/api-key", because=".")
@in_extension
class CapitalisesPrefixes(ApiKeys):
    """Writes the prefix of a key with a capital letter and small ones."""

    def placed(self, app: App, key: str) -> Sending:
        right, prefix = super().placed(app, key), text_setting(app, "prefix")
        written = f"{prefix.capitalize()} {key}" if prefix else key
        return Sending(dict.fromkeys(right.headers, written), right.query)


# ---- compared loosely


# shows: allowed to 'a b', the client 'a  b' is served without a question
@mutant(kills=CALLERS, because=".")
@in_extension
class CollapsesBlanks(_Normalises):
    """Takes several blanks in a name for one."""

    def same(self, caller: str) -> str:
        return re.sub(r"(?<=\S)\s+(?=\S)", " ", caller)


# shows: allowed to 'a b', the client 'a%20b' is served without a question
@mutant(kills=CALLERS, because=".")
@in_extension
class ReadsEscapesInCallers(_Normalises):
    """Reads the percent signs in a name as escapes."""

    def same(self, caller: str) -> str:
        return unquote(caller)


# shows: allowed to 'a&b', the client 'a&amp;b' is served without a question
@mutant(kills=CALLERS, because=".")
@in_extension
class ReadsEntitiesInCallers(_Normalises):
    """Reads entities of HTML in a name."""

    def same(self, caller: str) -> str:
        return html.unescape(caller)


# shows: allowed to one name of Cyrillic letters, another of the same length is served
@mutant(kills=CALLERS, because=".")
@in_extension
class WritesNamesInAscii(_Normalises):
    """Writes a question mark for each letter that is not in ASCII."""

    def same(self, caller: str) -> str:
        return caller.encode("ascii", "replace").decode()


# shows: allowed to 'Claude', 'Claude' with an emoji behind it is served
@mutant(kills=CALLERS, because=".")
@in_extension
class DropsWhatNeedsFourBytes(_Normalises):
    """Keeps names in a column that has no room for characters of four bytes."""

    def same(self, caller: str) -> str:
        return "".join(one for one in caller if ord(one) < 0x10000)


# shows: allowed to 'a/b', the client 'a:b' is served
@mutant(kills=CALLERS, because=".")
@in_extension
class MakesFileNamesOfCallers(_Normalises):
    """Writes an underscore for whatever a file's name should not have."""

    def same(self, caller: str) -> str:
        return re.sub(r"[^\w .-]", "_", caller)


# shows: allowed to 'Cursor', the client 'Cursor (work)' is served
@mutant(kills=CALLERS, because=".")
@in_extension
class DropsWhatIsInBrackets(_Normalises):
    """Takes what is in brackets at the end of a name for a remark."""

    def same(self, caller: str) -> str:
        return re.sub(r"\s*\([^()]*\)$", "", caller) or caller


# shows: allowed to 'Cursor', the client 'x/../Cursor' is served
@mutant(kills=CALLERS, because=".")
@in_extension
class ResolvesPathsInNames(_Normalises):
    """Uses a client's name as a path, in which two dots lead back."""

    def same(self, caller: str) -> str:
        return posixpath.normpath(caller) if caller else caller


# shows: allowed to 'Cur%' (or 'Cur*'), the client 'Cursor' is served
@mutant(kills=CALLERS, because=".")
@in_extension
class TakesStoredNamesForPatterns(Decisions):
    """Looks whether a caller is like one of the names that it has, which may hold wildcards."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        known = [key for key in self.vault.keys("consent") if key[1] == app_id]
        if (caller, app_id) in known:
            return caller, app_id
        like = (key for key in known if fnmatch.fnmatchcase(caller, key[0].replace("%", "*")))
        return next(like, (caller, app_id))


# shows: allowed to 'Cursor', the client 'Curso.' is served
@mutant(kills=CALLERS, because=".")
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


# shows: in an app with the tools 'look' and 'look ', allowing the first opens the second
@mutant(kills=TOOLS, because=".")
@in_extension
class TrimsToolNames(_SameTools):
    """Takes the blanks around a tool's name off."""

    def same(self, own: str, tool: str) -> bool:
        return own.strip() == tool.strip()


# shows: in an app with a tool in NFC and one in NFD, allowing the first opens the second
@mutant(kills=TOOLS, because=".")
@in_extension
class ComposesToolNames(_SameTools):
    """Takes two spellings of an accent in a tool's name for one."""

    def same(self, own: str, tool: str) -> bool:
        return unicodedata.normalize("NFC", own) == unicodedata.normalize("NFC", tool)


# shows: a fresh code with the case of its letters swapped, and its verifier: HTTP 200
@mutant(kills="gateway_consent/oauth-pkce", because=".")
@in_extension
class FoldsTheCaseOfCodes(AuthorisationServer):
    """Looks codes up without regard to case, as some databases do."""

    def __init__(self, clock: Any, issuer: Any, clients: Any, tools: Any) -> None:
        super().__init__(clock, issuer, clients, tools)
        self.codes = _FoldingLedger()


# shows: a refresh token with the case of its letters swapped: HTTP 200
@mutant(kills="gateway_consent/oauth-token", because=".")
@in_extension
class FoldsTheCaseOfRefreshTokens(AuthorisationServer):
    """Looks refresh tokens up without regard to case, as some databases do."""

    def __init__(self, clock: Any, issuer: Any, clients: Any, tools: Any) -> None:
        super().__init__(clock, issuer, clients, tools)
        self.refresh = _FoldingLedger()


# shows: an authorisation request whose redirectUri has another case in its path gets a code
@mutant(kills="gateway_consent/oauth-pkce", because=".")
@in_extension
class FoldsTheCaseOfAddresses(AuthorisationServer):
    """Compares the address that people are sent back to without regard to case."""

    def is_registered(self, client: RegisteredClient, redirect_uri: str) -> bool:
        return redirect_uri.lower() in [one.lower() for one in client.redirect_uris()]


# shows: an authorisation request whose redirectUri has one slash more at its end gets a code
@mutant(kills="gateway_consent/oauth-pkce", because=".")
@in_extension
class DropsTheSlashOfAddresses(AuthorisationServer):
    """Takes the slash at the end of an address off before it compares."""

    def is_registered(self, client: RegisteredClient, redirect_uri: str) -> bool:
        return super().is_registered(client, redirect_uri.rstrip("/"))


# shows: at the callback, the state with its case swapped (same browser): access
@mutant(kills="gateway_consent/oauth-callback", because=".")
@in_extension
class FoldsTheCaseOfStates(OAuth2):
    """Compares states without regard to case."""

    def start(self, app: App, caller: str, consented: Any) -> Any:
        start = super().start(app, caller, consented)
        state = parse_qs(urlsplit(start.location).query)["state"][0]
        self.__dict__.setdefault("folded", {})[state.lower()] = state
        return start

    def state_of(self, back: Return) -> str:
        state = super().state_of(back)
        return str(self.__dict__.get("folded", {}).get(state.lower(), state))


# shows: web_session typed in as WEB_SESSION is taken for the required cookie
@mutant(kills="gateway_consent/cookie", because=".")
@in_extension
class FoldsTheCaseOfCookies(Cookies):
    """Looks for the required cookies without regard to case."""

    def check_required(self, app: App, found: Mapping[str, str]) -> None:
        folded = {name.lower(): value for name, value in found.items()}
        same = {name: folded.get(name.lower(), "") for name in self.required(app)}
        super().check_required(app, same)


# ---- forgotten too soon, or never


# shows: a remembered grant after 31 days: CONSENT_REQUIRED
@mutant(kills=REMEMBER, because=".")
@in_extension
class RemembersForAMonth(Decisions):
    """Forgets what was to be remembered after thirty days."""

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        own = self.record(caller, app_id)["tools"].get(tool)
        decided = datetime.datetime.fromisoformat(own["grantedAt"]) if own else self.clock.now()
        over = self.clock.now() - decided > datetime.timedelta(days=30)
        return None if over else super().remembered(caller, app_id, tool)


# shows: a remembered denial after two days: CONSENT_REQUIRED
@mutant(kills="gateway_consent/deny", because=".")
@in_extension
class DeniesForADay(Decisions):
    """Asks again a day after a denial that was to be remembered."""

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        own = self.record(caller, app_id)["tools"].get(tool)
        kept = super().remembered(caller, app_id, tool)
        if own is None or kept:
            return kept
        decided = datetime.datetime.fromisoformat(own["grantedAt"])
        return None if self.clock.now() - decided > datetime.timedelta(days=1) else kept


# shows: an API key after 31 days: AUTHORIZATION_REQUIRED
@mutant(kills="gateway_consent/api-key", because=".")
@in_extension
class KeysEndAfterAMonth(ApiKeys):
    """Asks for an API key again after thirty days, though it never expires."""

    def load(self, asking: Asking) -> dict[str, Any] | None:
        record = super().load(asking)
        age = 0 if record is None else self.credentials.now() - record["createdAt"]
        return record if age < 30 * 86_400_000 else None


# shows: app credentials after two days: AUTHORIZATION_REQUIRED
@mutant(kills="gateway_consent/app-credential", because=".")
@in_extension
class SecretsEndAfterADay(AppCredentials):
    """Asks for app id and secret again after a day."""

    def load(self, asking: Asking) -> dict[str, Any] | None:
        record = super().load(asking)
        age = 0 if record is None else self.credentials.now() - record["createdAt"]
        return record if age < 86_400_000 else None


# shows: eleven tools of an app remembered: the first asks again
@mutant(kills=REMEMBER, because=".")
@in_extension
class RemembersTenTools(Decisions):
    """Remembers the ten latest decisions on the tools of an app."""

    def write(self, record: dict[str, Any], question: ConsentQuestion, choice: Choice) -> None:
        super().write(record, question, choice)
        record["tools"] = dict([*record["tools"].items()][-10:])


# shows: a code redeemed a second time, 61 s after the first: HTTP 200
@mutant(kills="gateway_consent/oauth-pkce", because=".")
@in_extension
class ForgetsUsedCodes(AuthorisationServer):
    """Knows for a minute that a code was used, which lives for five."""

    def check_unused(self, held: Grant) -> bool:
        used: dict[int, datetime.datetime] = self.__dict__.setdefault("used", {})
        since = used.get(id(held))
        if held.used and held.challenge and since is not None and self.clock.now() >= since:
            held._use.release()
        return super().check_unused(held)

    def spend(self, held: Grant) -> None:
        super().spend(held)
        self.__dict__.setdefault("used", {})[id(held)] = self.after(60)


# shows: a refresh token used a second time, two days after the first: HTTP 200
@mutant(kills="gateway_consent/oauth-token", because=".")
@in_extension
class ForgetsUsedRefreshTokens(AuthorisationServer):
    """Knows for a day that a refresh token was used, which lives for seven."""

    def check_unused(self, held: Grant) -> bool:
        used: dict[int, datetime.datetime] = self.__dict__.setdefault("used", {})
        since = used.get(id(held))
        if held.used and not held.challenge and since is not None and self.clock.now() >= since:
            held._use.release()
        return super().check_unused(held)

    def spend(self, held: Grant) -> None:
        super().spend(held)
        self.__dict__.setdefault("used", {})[id(held)] = self.after(86400)


# shows: a state answered a second time, 61 s after the first (same browser): its code is redeemed
@mutant(kills="gateway_consent/oauth-callback", because=".")
@in_extension
class ForgetsAnsweredStates(OAuth2):
    """Knows for a minute that a state was answered, which lives for ten."""

    def finish(self, back: Return, apps: Mapping[str, App]) -> Flow:
        key, now = digest(self.state_of(back)), self.credentials.now()
        vault, answered = self.credentials._vault, self.__dict__.setdefault("answered", {})
        flow, until = answered.get(key, (vault.load(FLOWS, key), 0))
        if until and now >= until:
            vault.save(FLOWS, flow, key)
        answered[key] = (flow, until or now + 60_000)
        return super().finish(back, apps)


# shows: read allowed once and called, then write allowed: aaiTools has read too
@mutant(kills="gateway_consent/aai-tools-only-consented", because=".")
@in_extension
class TellsSpentTools(Gateway):
    """Tells an app of tools that were allowed for one call, also after that call."""

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        super().take_consent(caller, app, tool)
        self.__dict__.setdefault("spent", set()).add((caller, app.id, tool.name))

    def consented(self, caller: str, app: App) -> list[str]:
        spent: set[Any] = self.__dict__.setdefault("spent", set())
        now = super().consented(caller, app)
        return [one for one in app.tools if one in now or (caller, app.id, one) in spent]


# ---- fractions of time


# shows: a token endpoint that tells expire 600: after 700 s the app gets the old token
@mutant(kills="gateway_consent/app-credential", because=".")
@in_extension
class RoundsLifetimesUp(AppCredentials):
    """Keeps the lifetime of a token in whole hours, rounded up."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        fresh, now, hour = super().fresh(app, record), self.credentials.now(), 3_600_000
        hours = -(-(fresh[words.EXPIRES_AT] - now) // hour)
        return {**fresh, words.EXPIRES_AT: now + hours * hour}


# ---- life renewed


# shows: an access token, refreshed after 50 minutes, still opens after 61
@mutant(kills=TOKEN, because=".")
@in_extension
class RefreshProlongsOldTokens(AuthorisationServer):
    """Has one end for all tokens of a session: a refresh prolongs those given before."""

    def given(self, allowed: Allowed, scopes: Sequence[str]) -> dict[str, Any]:
        for held in self.access._records.values():
            if held.allowed is allowed:
                held.expires_at = self.after(self.access_seconds)
        return super().given(allowed, scopes)


# shows: a code, tried every four minutes with a wrong verifier, serves after more than an hour
@mutant(kills=PKCE, because=".")
@in_extension
class AttemptsRenewCodes(AuthorisationServer):
    """Gives a code its whole time again whenever somebody tries to redeem it."""

    def held(self, ledger: Ledger[Grant], asked: Mapping[str, str], name: str) -> Grant:
        held = super().held(ledger, asked, name)
        if name == "code":
            held.expires_at = self.after(self.code_seconds)
        return held


# shows: a refresh token, tried by another client every six days, serves after more than seven
@mutant(kills=TOKEN, because=".", warned=True)
@in_extension
class AttemptsRenewRefreshTokens(AuthorisationServer):
    """Gives a refresh token its whole time again whenever it is shown, also where it is refused."""

    def held(self, ledger: Ledger[Grant], asked: Mapping[str, str], name: str) -> Grant:
        found = ledger.find(asked.get(name, ""))
        if name == "refresh_token" and found is not None and self.is_good(found):
            found.expires_at = self.after(self.refresh_seconds)
        return super().held(ledger, asked, name)


# shows: calls at once, after an hour and after 7300 s: the last comes with the first token, which
#     is over
@mutant(kills="gateway_consent/app-credential", because=".")
@in_extension
class UseRenewsAppTokens(AppCredentials):
    """Takes a token that was used for one that has its whole time again."""

    def sending(self, asking: Asking) -> Sending | None:
        sent = super().sending(asking)
        record = self.load(asking)
        if sent is not None and record is not None:
            ends = self.credentials.now() + APP_TOKEN_SECONDS * 1000
            renewed = {**record, words.EXPIRES_AT: ends}
            self.credentials.save(asking.caller, asking.app.id, renewed)
        return sent


# shows: createdAt of app credentials before and after a renewal: it moved
@mutant(kills="gateway_consent/credential-shape", because=".")
@in_extension
class RenewalsRedateCredentials(AppCredentials):
    """Writes down anew when a credential was created, whenever its token is renewed."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        return {**super().fresh(app, record), words.CREATED_AT: self.credentials.now()}


# shows: grantedAt before and after a call some minutes later: it moved
@mutant(kills="gateway_consent/storage-shape", because=".")
@in_extension
class CallsRedateGrants(Gateway):
    """Writes the instant of the latest call where that of the grant belongs."""

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        super().take_consent(caller, app, tool)
        with self.decisions.vault.exclusive():
            record = self.decisions.record(caller, app.id)
            if tool.name in record[words.TOOLS]:
                record[words.TOOLS][tool.name][words.GRANTED_AT] = self.decisions.instant()
                self.decisions.save_record(record, caller, app.id)


# ---- neighbours by name


# shows: allowed to 'Claude Desktop', the client 'Claude' is served
@mutant(kills="gateway_consent/caller-isolation", because=".")
@in_extension
class MatchesLongerCallers(_NearCallers):
    """Takes a client with whose name a known one begins for that one."""

    def near(self, known: str, caller: str) -> bool:
        return known.startswith(caller)


# shows: Authorize All Tools of com.x opens b-com.x
@mutant(kills="gateway_consent/authorize-all", because=".")
@in_extension
class OpensAppsThatEndAlike(_NearApps):
    """All tools of an app are all tools of those whose ids end like its own."""

    def near(self, known: str, app_id: str) -> bool:
        return app_id.endswith(known)


# shows: Authorize All Tools of com.x opens com.x.sub
@mutant(kills="gateway_consent/authorize-all", because=".")
@in_extension
class OpensAppsBelow(_NearApps):
    """All tools of an app are all tools of those whose ids are below its own."""

    def near(self, known: str, app_id: str) -> bool:
        return app_id.startswith(f"{known}.")


# shows: in an app with a tool called *, allowing it opens the others
@mutant(kills="gateway_consent/tool-isolation", because=".")
@in_extension
class TakesAStarForAllTools(Decisions):
    """Writes a star for all tools, and takes a tool that is called so for them."""

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        star = self.record(caller, app_id)["tools"].get("*", {})
        kept = super().remembered(caller, app_id, tool)
        return True if kept is None and star.get("granted") else kept


# shows: 'a::b' allowed app c: 'a' is served by app b::c
@mutant(kills="gateway_consent/key-collision", because=".")
@in_extension
class JoinsByTwoColons(_Joins):
    """Keeps a record under consent::{caller}::{app}."""

    separator = "::"


# shows: 'ab' allowed app c: 'a' is served by app bc
@mutant(kills="gateway_consent/key-collision", because=".")
@in_extension
class JoinsByNothing(_Joins):
    """Keeps a record under caller and app, one right after the other."""

    separator = ""


# shows: 'a-' allowed app b: 'a' is served by app -b
@mutant(kills="gateway_consent/key-collision", because=".")
@in_extension
class DoublesHyphens(Decisions):
    """Joins by a hyphen and doubles those in names, which does not tell where a name ends."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        return ("-".join(one.replace("-", "--") for one in ("consent", caller, app_id)),)


# shows: com.x:look allowed once to 'A-b': b-com.x:look is served to 'A'
@mutant(kills="gateway_consent/key-collision", because=".")
@in_extension
class JoinsWhatServesOnce(Decisions):
    """Has records for what is remembered, and joins names by hyphens for what serves one call."""

    def joined(self, caller: str, app_id: str, tool: str) -> tuple[str, str, str]:
        return f"{caller}-{app_id}-{tool}", "", ""

    def decided_once(self, caller: str, app_id: str, tool: str) -> bool | None:
        return super().decided_once(*self.joined(caller, app_id, tool))

    def use_up(self, caller: str, app_id: str, tool: str) -> bool | None:
        return super().use_up(*self.joined(caller, app_id, tool))

    def keep_for_one_call(self, question: ConsentQuestion, choice: Choice) -> None:
        caller, app_id, tool = self.joined(question.caller, question.app_id, question.tool)
        joined = replace(question, caller=caller, app_id=app_id, tool=tool)
        super().keep_for_one_call(joined, choice)


# shows: the key that 'A-b' gave for the app x is sent to the app b-x for 'A', who gave none
@mutant(kills="gateway_consent/key-collision", because=".")
@in_extension
class JoinsNamesOfCredentials(Credentials):
    """Keeps a credential under {caller}-{app}: that of one app is sent to another."""

    def load(self, caller: str, app_id: str) -> dict[str, Any] | None:
        return super().load(f"{caller}-{app_id}", "")

    def save(self, caller: str, app_id: str, record: dict[str, Any]) -> None:
        super().save(f"{caller}-{app_id}", "", record)

    def forget(self, caller: str, app_id: str) -> None:
        super().forget(f"{caller}-{app_id}", "")


# shows: domain 'host' and an app at localhost: the app gets the cookies
@mutant(kills=COOKIE, because=".")
@in_extension
class SendsCookiesToHostsThatEndAlike(_NearHosts):
    """Sends cookies to every host whose name ends with the domain."""

    def near(self, host: str, domain: str) -> bool:
        return host.endswith(domain.lstrip("."))


# shows: domain 'local' and an app at localhost: the app gets the cookies
@mutant(kills=COOKIE, because=".")
@in_extension
class SendsCookiesToHostsThatBeginAlike(_NearHosts):
    """Sends cookies to every host whose name begins with the domain."""

    def near(self, host: str, domain: str) -> bool:
        return host.startswith(domain.lstrip("."))


# shows: domain 'sub.localhost' and an app at localhost: the app gets the cookies
@mutant(kills=COOKIE, because=".")
@in_extension
class SendsCookiesToHostsAbove(_NearHosts):
    """Sends the cookies of a host to the hosts above it."""

    def near(self, host: str, domain: str) -> bool:
        return domain.lstrip(".").endswith(f".{host}")


# shows: a tool called 'read,wipe' allowed: aaiTools names wipe, which nobody allowed
@mutant(kills="gateway_consent/aai-tools-only-consented", because=".")
@in_extension
class TellsToolsWithCommas(OAuth2):
    """Lists a tool with a comma in its name, which reads as two tools."""

    def aai_tools(self, app: App, consented: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name in app.tools if name in consented)


# ---- not told


# shows: cookies typed in of which one is missing: those that were there are in the log
@mutant(kills=LOGGED, because=".")
@in_extension
class LogsWhatIsNotAccepted(Cookies):
    """Logs cookies that it does not accept, with their values."""

    def check(self, app: App, step: DialogStep, value: str) -> str:
        try:
            return super().check(app, step, value)
        except NotAcceptedError:
            _log.warning("not accepted: %s", value)
            raise


# shows: the token endpoint answers 503 or 401: the app secret is in the log
@mutant(kills=LOGGED, because=".")
@in_extension
class LogsFailedTokenRequests(AppCredentials):
    """Logs what it sent when a token endpoint fails."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return super().fresh(app, record)
        except (SendingError, RenewalRefusedError):
            _log.warning("no token for %s %s", record["appId"], record[words.APP_SECRET])
            raise


# shows: a refresh is refused (HTTP 400): the refresh token is in the log
@mutant(kills=LOGGED, because=".")
@in_extension
class LogsFailedRefreshes(OAuth2):
    """Logs a refresh token that is refused."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return super().fresh(app, record)
        except RenewalRefusedError:
            _log.warning("refused: %s", record.get(words.REFRESH_TOKEN))
            raise


# shows: the app answers 401: the key is in the log
@mutant(kills=LOGGED, because=".")
@in_extension
class LogsRejectedCredentials(Gateway):
    """Logs the headers of a request that an app rejects with the status 401."""

    def run(self, app: App, tool: AppTool, arguments: Any, sending: Any) -> dict[str, Any]:
        try:
            return super().run(app, tool, arguments, sending)
        except execution.RejectedError:
            _log.warning("rejected: %s", dict(sending.headers) if sending is not None else {})
            raise


# shows: a token endpoint that answers with another member: the agent is told the token in the
#     error
@mutant(kills=LOGGED, because=".")
@in_extension
class QuotesTheTokenEndpoint(AppCredentials):
    """Quotes the answer of a token endpoint to the agent when it finds no token in it."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return super().fresh(app, record)
        except NotSentError:
            told = {name: record[name] for name in ("appId", words.APP_SECRET)}
            where, kind = needed_setting(app, "tokenEndpoint"), {"Content-Type": "application/json"}
            answer = http_client.send("POST", where, kind, json.dumps(told).encode())
            raise NotSentError(f"no token in {answer.body.decode('utf-8', 'replace')}") from None


# ---- only a part is looked at


# shows: allowed to a name of 5000 characters, one whose end differs is served
@mutant(kills=CALLERS, because=".")
@in_extension
class CutsNamesAtFourKilobytes(_PartOfCallers):
    """Keeps the first 4096 characters of a client's name."""

    def part(self, caller: str) -> str:
        return caller[:4096]


# shows: allowed to a name of 81 characters, one that differs in the middle is served
@mutant(kills=CALLERS, because=".")
@in_extension
class KeepsBothEndsOfCallers(_PartOfCallers):
    """Shortens a long name in its middle before it looks for decisions."""

    def part(self, caller: str) -> str:
        return caller if len(caller) <= 64 else f"{caller[:30]}...{caller[-30:]}"


# shows: allowed to 'AaAa', the client 'BBBB' is served (any two names with one String.hashCode)
@mutant(kills=CALLERS, because=".")
@in_extension
class KeysByHashCode(_PartOfCallers):
    """Finds records by a hash of 32 bits that anybody can make collide."""

    def part(self, caller: str) -> str:
        code = 0
        for one in caller:
            code = (31 * code + ord(one)) & 0xFFFFFFFF
        return str(code)


# shows: of two tools whose names differ after 64 characters, allowing one opens the other
@mutant(kills="gateway_consent/tool-isolation", because=".")
@in_extension
class CutsToolNames(Decisions):
    """Keeps the first 64 characters of a tool's name."""

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        return super().remembered(caller, app_id, tool[:64])

    def write(self, record: Record, question: ConsentQuestion, choice: Choice) -> None:
        super().write(record, replace(question, tool=question.tool[:64]), choice)


# shows: an authorisation request whose redirectUri has a query more gets a code
@mutant(kills=PKCE, because=".")
@in_extension
class ComparesAddressesWithoutQuery(AuthorisationServer):
    """Compares where people are sent back to up to the question mark."""

    def is_registered(self, client: RegisteredClient, redirect_uri: str) -> bool:
        return super().is_registered(client, redirect_uri.partition("?")[0])


# shows: an authorisation request whose redirectUri has another host, and the same path, gets a
#     code
@mutant(kills=PKCE, because=".")
@in_extension
class ComparesPathsOfAddresses(AuthorisationServer):
    """Compares the path of the address that people are sent back to, and not its host."""

    def is_registered(self, client: RegisteredClient, redirect_uri: str) -> bool:
        paths = [urlsplit(one).path for one in client.redirect_uris()]
        return urlsplit(redirect_uri).path in paths


# shows: a fresh code with another last character, and its verifier: HTTP 200
@mutant(kills=PKCE, because=".")
@in_extension
class ComparesHalfOfCodes(AuthorisationServer):
    """Finds a code by its first half."""

    def __init__(self, clock: Any, issuer: Any, clients: Any, tools: Any) -> None:
        super().__init__(clock, issuer, clients, tools)
        self.codes = _HalfLedger()


# shows: a refresh token with another last character: HTTP 200
@mutant(kills="gateway_consent/oauth-token", because=".")
@in_extension
class ComparesHalfOfRefreshTokens(AuthorisationServer):
    """Finds a refresh token by its first half."""

    def __init__(self, clock: Any, issuer: Any, clients: Any, tools: Any) -> None:
        super().__init__(clock, issuer, clients, tools)
        self.refresh = _HalfLedger()


# shows: an access token with another last character opens the app
@mutant(kills="gateway_consent/oauth-token", because=".")
@in_extension
class ComparesHalfOfAccessTokens(AuthorisationServer):
    """Finds an access token by its first half."""

    def __init__(self, clock: Any, issuer: Any, clients: Any, tools: Any) -> None:
        super().__init__(clock, issuer, clients, tools)
        self.access = _HalfLedger()


# shows: at the callback, the state with another last character (same browser): access
@mutant(kills="gateway_consent/oauth-callback", because=".")
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


# shows: a cookie whose value holds an equals sign arrives at the app without its end
@mutant(kills="gateway_consent/cookie", because=".")
@in_extension
class CutsCookiesAtTheSecondSign(Cookies):
    """Splits a cookie at every equals sign, and takes the second piece for its value."""

    def check(self, app: App, step: DialogStep, value: str) -> str:
        parts = [part.split("=") for part in super().check(app, step, value).split("; ")]
        return "; ".join("=".join(pieces[:2]) for pieces in parts)


# shows: a key of 300 characters arrives at the app cut
@mutant(kills="gateway_consent/api-key", because=".")
@in_extension
class CutsKeys(ApiKeys):
    """Keeps the first 255 characters of a key."""

    def check(self, app: App, step: DialogStep, value: str) -> str:
        return super().check(app, step, value)[:255]


# shows: toolDescription of a tool whose description has more than 200 characters is cut
@mutant(kills=REQUIRED, because=".")
class CutsToldDescriptions(GatewayExtension):
    """Tells the agent the first 200 characters of a description."""

    def refuse(self, refusal: GatewayRefusal) -> dict[str, Any]:
        if words.TOOL_DESCRIPTION in refusal.data:
            refusal.data[words.TOOL_DESCRIPTION] = refusal.data[words.TOOL_DESCRIPTION][:200]
        return super().refuse(refusal)


# shows: toolParameters of an app whose schemas have items, properties or enum lack them
@mutant(kills=REQUIRED, because=".")
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


# shows: Authorize All Tools of an app with more than ten tools: aaiTools has ten
@mutant(kills="gateway_consent/aai-tools-only-consented", because=".")
@in_extension
class TellsTenTools(OAuth2):
    """Tells an app of the first ten tools that were allowed."""

    def aai_tools(self, app: App, consented: Sequence[str]) -> tuple[str, ...]:
        return super().aai_tools(app, consented)[:10]


# shows: the page of a tool with eleven parameters shows ten
@mutant(kills="gateway_consent/dialog-fields", because=".")
@in_extension
class ShowsTenParameters(ConsentPages):
    """Shows the first ten parameters of a tool."""

    def parameters(self, tool: AppTool) -> str:
        return super().parameters(replace(tool, parameters=dict([*tool.parameters.items()][:10])))


# shows: the page of a tool whose description has two lines shows one
@mutant(kills="gateway_consent/dialog-fields", because=".")
@in_extension
class ShowsTheFirstLine(ConsentPages):
    """Shows the first line of a description."""

    def fields(self, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        first = tool.description.partition("\n")[0]
        return super().fields(question, app, replace(tool, description=first))


# shows: the log holds an API key but for its last four characters
@mutant(kills="gateway_consent/never-logged", because=".")
@in_extension
class MasksTheLastFour(Credentials):
    """Logs a key or a token with its last four characters masked."""

    def save(self, caller: str, app_id: str, record: dict[str, Any]) -> None:
        super().save(caller, app_id, record)
        key = record.get(words.VALUE) if record.get(words.TYPE) == "apiKey" else None
        if secret := key or record.get(words.ACCESS_TOKEN):
            _log.info("kept %s****", secret[:-4])


# ---- shown, not meant


# shows: a parameter whose type holds markup: the page has an element of it
@mutant(kills=INJECTION, because=".")
@in_extension
class TrustsTypesOfParameters(_Rewrites):
    """Writes the types of parameters into the page as HTML."""

    def rewritten(self, html: str, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        for schema in tool.parameters.values():
            sort = str(schema.get("type", "any"))
            html = html.replace(escape(sort), sort)
        return html


# shows: instructions with markup: the dialog for a credential has an element of it
@mutant(kills=INJECTION, because=".")
@in_extension
class TrustsInstructions(Dialogs):
    """Lets an app's instructions for a credential have markup."""

    def instructions(self, app: App) -> str:
        given = settings_of(app).get("instructions")
        text = given.get("short") if isinstance(given, Mapping) else given
        return f"<p>{text}</p>" if text else ""


# shows: a description with [text](http://...) or **bold**: the page has a link or bold text, and
#     hides signs
@mutant(kills=INJECTION, because=".")
@in_extension
class ReadsMarkdown(_Rewrites):
    """Reads descriptions as Markdown: a link shows what the app wants in place of its address."""

    def rewritten(self, html: str, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        shown = pages.shown(tool.description)
        links = re.sub(r"\[([^\]]*)\]\((https?://[^)\s]*)\)", r'<a href="\2">\1</a>', shown)
        return html.replace(shown, re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", links))


# shows: two apps with a tool of one name: the page of the second has the first's description
@mutant(kills=FIELDS, because=".")
@in_extension
class ShowsTheToolOfAnotherApp(_ShowsAnother):
    """Keeps what a tool does by its name: that of a second app is shown as the first's."""

    def tool_shown(self, tool: AppTool) -> AppTool:
        first: dict[str, AppTool] = self.__dict__.setdefault("first_tools", {})
        return first.setdefault(tool.name, tool)


# shows: two apps with a tool of one name: toolDescription of the second is the first's
@mutant(kills="gateway_consent/consent-required", because=".")
@in_extension
class TellsTheToolOfAnotherApp(Gateway):
    """Keeps what a tool does by its name: the agent is told what a tool of another app does."""

    def ask(self, caller: str, app: App, tool: AppTool) -> GatewayRefusal:
        first: dict[str, AppTool] = self.__dict__.setdefault("first_tools", {})
        known = first.setdefault(tool.name, tool)
        return super().ask(caller, app, known)


# ---- somebody else


# shows: two tools of an app asked about, the second's page answered: the first runs, the second
#     asks
@mutant(kills="gateway_consent/tool-isolation", because=".")
@in_extension
class OneQuestionForTheApp(Decisions):
    """Leads to the question about an app that is open already, though it is about another tool."""

    def ask(self, caller: str, app_id: str, tool: str) -> ConsentQuestion:
        asked = [*self.questions._open.values()]
        same = (one for one in asked if (one.caller, one.app_id) == (caller, app_id))
        return next(same, None) or super().ask(caller, app_id, tool)


# shows: one client asks, then another: the first's consentUrl is 404
@mutant(kills=CALLERS, because=".")
@in_extension
class OneQuestionAtATime(Decisions):
    """Has one question at a time: that of a second client ends that of the first."""

    def ask(self, caller: str, app_id: str, tool: str) -> ConsentQuestion:
        for one in [*self.questions._open.values()]:
            if one.caller != caller:
                self.questions.drop(*one.subject)
        return super().ask(caller, app_id, tool)


# shows: two apps wait for keys: the key typed at the second's authUrl is sent to the first
@mutant(kills="gateway_consent/api-key", because=".")
@in_extension
class OneDialogForAllApps(Authoriser):
    """Leads to a dialog that a client has open already: the key of one app goes to another."""

    def ask(self, app: App, caller: str, consented: Sequence[str]) -> str:
        mine = (one for one in [*self.tickets._open.values()] if one.caller == caller)
        ticket = next(mine, None)
        if ticket is None:
            return super().ask(app, caller, consented)
        return self.pages_url() + self.dialogs.path(ticket)


# shows: two clients wait for a key: the key given for the second serves the first, and the second
#     asks again
@mutant(kills="gateway_consent/api-key", because=".")
@in_extension
class OneDialogForAllCallers(Authoriser):
    """Leads a second client to the dialog that the first has open: what is typed is the first's."""

    def ask(self, app: App, caller: str, consented: Sequence[str]) -> str:
        same = (one for one in [*self.tickets._open.values()] if one.app_id == app.id)
        ticket = next(same, None)
        if ticket is None:
            return super().ask(app, caller, consented)
        return self.pages_url() + self.dialogs.path(ticket)


# shows: two clients start an authorisation of one app: the first's honest answer is refused
@mutant(kills="gateway_consent/oauth-callback", because=".")
@in_extension
class OneFlowForEachApp(OAuth2):
    """Has one request for each app: that of a second client ends that of the first."""

    def start(self, app: App, caller: str, consented: Sequence[str]) -> FlowStart:
        vault = self.credentials._vault
        for key in vault.keys(FLOWS):
            if (vault.load(FLOWS, *key) or {}).get("app_id") == app.id:
                vault.delete(FLOWS, *key)
        return super().start(app, caller, consented)


# shows: two clients start an authorisation of one app, the first finishes: its call still needs
#     authorisation
@mutant(kills="gateway_consent/oauth-callback", because=".")
@in_extension
class GivesTokensToTheLastCaller(OAuth2):
    """Keeps the tokens for the client that asked last, whoever the answer is for."""

    def start(self, app: App, caller: str, consented: Sequence[str]) -> FlowStart:
        self.last = caller
        return super().start(app, caller, consented)

    def redeem(self, app: App, flow: Flow, code: str) -> None:
        super().redeem(app, replace(flow, caller=self.last), code)


# shows: a key given for one app is sent to another that asked for none (not verified today)
@mutant(kills="gateway_consent/api-key", because=".")
@in_extension
class OneKeyForAllApps(ApiKeys):
    """Has one API key for each client, and sends it to every app that wants one."""

    def load(self, asking: Asking) -> dict[str, Any] | None:
        own = super().load(asking)
        keys = self.credentials._vault.keys(CREDENTIALS)
        kept = (self.credentials.load(*key) for key in keys if key[0] == asking.caller)
        return own or next((one for one in kept if one and one.get("type") == "apiKey"), None)


# shows: a second tool of an authorised appCredential app: AUTHORIZATION_REQUIRED
@mutant(kills="gateway_consent/app-credential", because=".")
@in_extension
class WantsASecretForEachTool(AppCredentials):
    """Asks for app id and secret again when another tool of the app is called."""

    def sending(self, asking: Asking) -> Sending | None:
        tools: dict[Any, Any] = self.__dict__.setdefault("tools", {})
        sent = super().sending(asking)
        known = tools.setdefault((asking.caller, asking.app.id), asking.tool) if sent else None
        return sent if known == asking.tool else None


# shows: com.x:look denied and remembered: b-com.x:look is refused without a question
@mutant(kills="gateway_consent/deny", because=".")
@in_extension
class DeniesTheNameInEveryApp(Decisions):
    """Denies a tool's name, in whichever app it is."""

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        for key in self.vault.keys("consent"):
            own = self.record(*key)["tools"].get(tool)
            if key[0] == caller and own and not own["granted"]:
                return False
        return super().remembered(caller, app_id, tool)


# shows: denied to one client and remembered, all tools allowed to another: the first is asked
#     again
@mutant(kills=CALLERS, because=".")
@in_extension
class AllToolsEndsEverybodysDenials(Decisions):
    """Where one client may use all tools of an app, the denials of other clients end too."""

    def keep(self, question: ConsentQuestion, choice: Choice) -> None:
        super().keep(question, choice)
        for caller, app_id in self.vault.keys("consent"):
            if choice is Choice.ALL and app_id == question.app_id:
                record = self.record(caller, app_id)
                own = record["tools"].items()
                record["tools"] = {name: one for name, one in own if one["granted"]}
                self.save_record(record, caller, app_id)


# shows: read allowed and authUrl asked for, then write allowed: aaiTools is read alone
@mutant(kills=TOLD, because=".")
@in_extension
class TellsWhatWasAskedFirst(Authoriser):
    """Tells an app of the tools that were allowed when its page was first asked for."""

    def ask(self, app: App, caller: str, consented: Sequence[str]) -> str:
        opened = [*self.tickets._open.values()]
        same = (one for one in opened if one.subject == (caller, app.id))
        ticket = next(same, None)
        return super().ask(app, caller, consented if ticket is None else ticket.consented)


# ---- undone by failure


# shows: allowed once, the app answers HTTP 500; the next call reaches the app without a question
@mutant(kills=REMEMBER, because=".")
@in_extension
class GivesConsentBackWhenAnAppFails(Gateway):
    """A consent for one call comes back when the app fails, though the app was called."""

    def run(self, app: App, tool: AppTool, arguments: Any, sending: Any) -> dict[str, Any]:
        try:
            return super().run(app, tool, arguments, sending)
        except GatewayRefusal:
            self.decisions._once.update(self.taken)
            raise

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        subject: tuple[str, ...] = (caller, app.id, tool.name)
        self.taken = {one: once for one, once in self.decisions._once.items() if one == subject}
        super().take_consent(caller, app, tool)


# shows: remembered, the app answers HTTP 500; the next call asks for consent again
@mutant(kills=REMEMBER, because=".")
@in_extension
class ForgetsGrantsWhenAnAppFails(Gateway):
    """Takes a grant back that was remembered when the app fails."""

    def call_web(
        self, caller: str, app: App, tool: AppTool, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        try:
            return super().call_web(caller, app, tool, arguments)
        except GatewayRefusal as refusal:
            if refusal.code is Refusal.APP_FAILED:
                self.decisions.vault.delete("consent", caller, app.id)
            raise


# shows: with a key kept, the app answers HTTP 500; the next call asks for the key again
@mutant(kills="gateway_consent/api-key", because=".")
@in_extension
class ForgetsKeysWhenAnAppFails(Gateway):
    """Takes any failure of an app for a wrong key, and asks for the key again."""

    def call_web(
        self, caller: str, app: App, tool: AppTool, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        try:
            return super().call_web(caller, app, tool, arguments)
        except GatewayRefusal as refusal:
            if refusal.code is Refusal.APP_FAILED:
                self.authoriser().credentials.forget(caller, app.id)
            raise


# shows: the token endpoint answers 503 at a renewal; afterwards a person is asked for the secret
#     again
@mutant(kills=CREDENTIAL, because=".")
@in_extension
class ForgetsSecretsWhenNobodyAnswers(AppCredentials):
    """Takes a token endpoint that is down for one that refuses, and asks for the secret again."""

    def renewed(self, asking: Asking) -> dict[str, Any] | None:
        try:
            return super().renewed(asking)
        except SendingError:
            self.credentials.forget(asking.caller, asking.app.id)
            return None


# shows: the token endpoint answers 503 after the token's end: the app is called with the token
#     that is over
@mutant(kills=CREDENTIAL, because=".")
@in_extension
class GoesOnWhenRenewalFails(AppCredentials):
    """Goes on with the token that it has when it gets no new one, also when that is over."""

    def is_over(self, record: Mapping[str, Any]) -> bool:
        return False


# shows: a state answered with error=access_denied, and then with a code (same browser): access
@mutant(kills="gateway_consent/oauth-callback", because=".")
@in_extension
class GivesTheStateBackAfterAFailure(OAuth2):
    """Undoes that a state was answered when the answer is none that it can use."""

    def finish(self, back: Return, apps: Mapping[str, App]) -> Flow:
        key = digest(self.state_of(back))
        vault = self.credentials._vault
        flow = vault.load(FLOWS, key)
        try:
            return super().finish(back, apps)
        except FlowError:
            if flow is not None:
                vault.save(FLOWS, flow, key)
            raise


# shows: app id given, cancelled at the secret; the next dialog begins with the secret
@mutant(kills="gateway_consent/credential-dialog", because=".")
@in_extension
class CancelKeepsTheFirstStep(Dialogs):
    """Goes on, after a dialog was cancelled, where it was left."""

    def next_step(self, way: TypedWay, app: App, ticket: Ticket) -> DialogStep:
        left: dict[Any, dict[str, str]] = self.__dict__.setdefault("left", {})
        ticket.values = left.setdefault(ticket.subject, ticket.values)
        return super().next_step(way, app, ticket)


# shows: a code brought a third time: HTTP 200
@mutant(kills="gateway_consent/oauth-pkce", because=".")
@in_extension
class GivesCodesBackAfterAReplay(AuthorisationServer):
    """Undoes that a code was used when it is brought again, and so takes it the third time."""

    def check_unused(self, held: Grant) -> bool:
        fresh = not held.used
        if not fresh:
            held._use.release()
        return fresh


# ---- the untested twin


# shows: a tool of a command app, denied and remembered (or not), runs
@mutant(kills="gateway_consent/deny", because=".")
@in_extension
class RunsDeniedCommands(Gateway):
    """Asks about commands, and does not look what the answer was."""

    def denied(self, caller: str, app: App, tool: AppTool) -> bool:
        decided = self.decisions.granted(caller, app.id, tool.name)
        return app.kind is Kind.COMMAND and decided is False

    def check_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if not self.denied(caller, app, tool):
            super().check_consent(caller, app, tool)

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if not self.denied(caller, app, tool):
            super().take_consent(caller, app, tool)


# shows: a tool of a web app, denied and remembered, is asked about again
@mutant(kills="gateway_consent/deny", because=".")
@in_extension
class AsksAboutDeniedWebApps(Gateway):
    """Does not keep that a tool of a web app was denied, and asks again."""

    def check_consent(self, caller: str, app: App, tool: AppTool) -> None:
        kept = self.decisions.remembered(caller, app.id, tool.name)
        if app.kind is Kind.WEB and kept is False:
            raise self.ask(caller, app, tool)
        super().check_consent(caller, app, tool)


# shows: a tool of a command app allowed to one client is served to another
@mutant(kills="gateway_consent/caller-isolation", because=".")
@in_extension
class SharesConsentsToCommands(_Trusts):
    """Lets every client run a command that one client may run: all run as the same user."""

    def trusted(self, app: App, tool: AppTool) -> bool:
        callers = [key[0] for key in self.decisions.vault.keys("consent") if key[1] == app.id]
        granted = (self.decisions.remembered(one, app.id, tool.name) for one in callers)
        return app.kind is Kind.COMMAND and any(granted)


# shows: a tool of a web app allowed to one client is served to another
@mutant(kills="gateway_consent/caller-isolation", because=".")
@in_extension
class SharesConsentsToWebApps(_Trusts):
    """Lets every client use what one client may use of a web app, which has users of its own."""

    def trusted(self, app: App, tool: AppTool) -> bool:
        callers = [key[0] for key in self.decisions.vault.keys("consent") if key[1] == app.id]
        granted = (self.decisions.remembered(one, app.id, tool.name) for one in callers)
        return app.kind is Kind.WEB and any(granted)


# shows: of a command app's two tools, allowing one opens the other
@mutant(kills="gateway_consent/tool-isolation", because=".")
@in_extension
class TakesAllCommandsForOne(_Trusts):
    """Takes the commands of an app for one tool."""

    def check_consent(self, caller: str, app: App, tool: AppTool) -> None:
        self.caller = caller
        super().check_consent(caller, app, tool)

    def trusted(self, app: App, tool: AppTool) -> bool:
        caller = self.__dict__.get("caller", "")
        return app.kind is Kind.COMMAND and any(self.decisions.tools_granted(app, caller))


# shows: Authorize All Tools of a web app, then another of its tools: CONSENT_REQUIRED
@mutant(kills="gateway_consent/authorize-all", because=".")
@in_extension
class AsksForEachToolOfWebApps(Gateway):
    """Knows Authorize All Tools for apps on this machine, and asks about each tool of a web app."""

    def check_consent(self, caller: str, app: App, tool: AppTool) -> None:
        tools = self.decisions.record(caller, app.id)[words.TOOLS]
        once = self.decisions.decided_once(caller, app.id, tool.name)
        if app.kind is Kind.WEB and tool.name not in tools and once is None:
            raise self.ask(caller, app, tool)
        super().check_consent(caller, app, tool)


# shows: a tool of a web app allowed once is served twice
@mutant(kills=REMEMBER, because=".")
@in_extension
class UsesNothingUpForWebApps(Gateway):
    """Uses a decision for one call up on this machine, and not where it sends a request."""

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if app.kind is not Kind.WEB:
            super().take_consent(caller, app, tool)


# shows: the first call of a web app without auth runs
@mutant(kills="gateway_consent/all-platforms", because=".")
@in_extension
class TrustsOpenApps(_Trusts):
    """Asks nobody about web apps that need no authorisation."""

    def trusted(self, app: App, tool: AppTool) -> bool:
        return app.kind is Kind.WEB and app.auth is None


# shows: a second, undecided tool of a cookie app that is authorised runs
@mutant(kills="gateway_consent/two-layers", because=".")
@in_extension
class TrustsAppsWithCookies(Gateway):
    """Takes the cookies of an app, which a person has copied by hand, for consent to all of it."""

    def needs_consent(self, app: App) -> bool:
        kept = any(app.id == key[1] for key in self.decisions.vault.keys("cred"))
        return not (kept and app.auth is not None and app.auth.type is AuthType.COOKIE)


# shows: a second, undecided tool of an appCredential app that is authorised runs
@mutant(kills="gateway_consent/two-layers", because=".")
@in_extension
class TrustsAppsWithSecrets(Gateway):
    """Takes app id and secret, which a person has typed in, for consent to all of the app."""

    def needs_consent(self, app: App) -> bool:
        kept = any(app.id == key[1] for key in self.decisions.vault.keys("cred"))
        return not (kept and app.auth is not None and app.auth.type is AuthType.APP_CREDENTIAL)


# shows: an access token that came with a refresh opens after its expiresIn
@mutant(kills=TOKEN, because=".")
@in_extension
class RefreshedTokensNeverEnd(_Regards):
    """Gives the access tokens of a code an end, and those of a refresh none."""

    def refreshed(self, access: Grant, refresh: Grant) -> None:
        access.expires_at = self.after(3650 * 86400)


# shows: the second refresh token, used a second time twenty minutes later: HTTP 200
@mutant(kills=TOKEN, because=".")
@in_extension
class RefreshedTokensServeTwice(_Regards):
    """Uses the first refresh token up, and none of those that follow."""

    def refreshed(self, access: Grant, refresh: Grant) -> None:
        self.later.append(refresh)

    def check_unused(self, held: Grant) -> bool:
        return any(held is one for one in self.later) or super().check_unused(held)

    def spend(self, held: Grant) -> None:
        if not any(held is one for one in self.later):
            super().spend(held)


# shows: the second refresh token, brought with another client's id: HTTP 200
@mutant(kills=TOKEN, because=".")
@in_extension
class RefreshedTokensAreAnybodys(_Regards):
    """Knows whose the first refresh token is, and not whose those are that follow."""

    def refreshed(self, access: Grant, refresh: Grant) -> None:
        self.later.append(refresh)

    def check_client(self, held: Grant, client_id: str) -> bool:
        return any(held is one for one in self.later) or super().check_client(held, client_id)


# shows: a wrong verifier in a request in the RFC's spelling: HTTP 200
@mutant(kills="gateway_consent/oauth-pkce", because=".")
@in_extension
class ComparesVerifiersInCamelCase(AuthorisationServer):
    """Compares the verifier of requests in this profile's spelling, and not in the RFC's."""

    def token(self, body: str) -> Mapping[str, Any]:
        self.camel = "codeVerifier=" in body or "code_verifier=" not in body
        return super().token(body)

    def check_verifier(self, held: Grant, asked: Mapping[str, str]) -> None:
        if self.camel:
            super().check_verifier(held, asked)


# shows: a code redeemed twice by requests in the RFC's spelling: HTTP 200 twice
@mutant(kills="gateway_consent/oauth-pkce", because=".")
@in_extension
class UsesUpCodesInCamelCase(AuthorisationServer):
    """Marks a code as used in requests of this profile's spelling, and not of the RFC's."""

    def token(self, body: str) -> Mapping[str, Any]:
        self.camel = "grantType=" in body
        return super().token(body)

    def spend(self, held: Grant) -> None:
        if self.camel or not held.challenge:
            super().spend(held)


# shows: an honest exchange whose verifier has dots and tildes is refused
@mutant(kills="gateway_consent/oauth-pkce", because=".")
@in_extension
class KnowsVerifiersOfBase64(AuthorisationServer):
    """Takes verifiers of base64url only, though a verifier may have dots and tildes."""

    def check_verifier(self, held: Grant, asked: Mapping[str, str]) -> None:
        bare = re.sub(r"[^A-Za-z0-9_-]", "", asked.get("code_verifier", ""))
        super().check_verifier(held, {**asked, "code_verifier": bare} if bare else asked)


# shows: a tool of an OAuth app allowed once: aaiTools lacks it
@mutant(kills="gateway_consent/aai-tools-only-consented", because=".")
@in_extension
class TellsRememberedTools(Gateway):
    """Tells an app of the tools that were allowed for good, and not of the one for this call."""

    def consented(self, caller: str, app: App) -> list[str]:
        return [tool for tool in app.tools if self.decisions.remembered(caller, app.id, tool)]


# shows: authorised for read, then write is allowed: write is called with a token for read
@mutant(kills="gateway_consent/aai-tools-only-consented", because=".")
@in_extension
class UsesOneTokenForAllTools(OAuth2):
    """Uses a token for tools that were allowed later, of which the app was never told."""

    def serves(self, record: Mapping[str, Any], asking: Asking) -> bool:
        return True


# shows: after Authorize All Tools a file of the gateway says so in clear (a warning today, not a
#     failure)
@mutant(kills=STORED, because=".")
@in_extension
class WritesAllToolsDown(Decisions):
    """Keeps a list of the clients that may use all tools in a file of its own."""

    def keep(self, question: ConsentQuestion, choice: Choice) -> None:
        super().keep(question, choice)
        folder: Path | None = getattr(self.vault, "folder", None)
        if folder is not None and choice is Choice.ALL:
            with (folder / "trusted.txt").open("a") as handle:
                handle.write(f"{question.caller} {question.app_id}: all tools\n")


# shows: a file of the gateway, decompressed (zlib), holds decisions in clear
@mutant(kills=STORED, because=".")
@in_extension
class StoresCompressed(FileVault):
    """Takes compression for encryption."""

    def seal(self, plain: bytes) -> bytes:
        return HEAD + zlib.compress(plain)

    def unseal(self, content: bytes) -> bytes:
        return zlib.decompress(content[len(HEAD) :])


# shows: the page that asks for the app secret does not name the app
@mutant(kills="gateway_consent/credential-dialog", because=".")
@in_extension
class NamesTheAppInTheFirstStep(Dialogs):
    """Says whose app id it asks for, and not whose secret."""

    def dialog(self, ticket: Ticket, app: App, step: DialogStep, wrong: str = "") -> Response:
        second = bool(ticket.values)
        return super().dialog(ticket, replace(app, name="the app") if second else app, step, wrong)


# shows: a tokenEndpoint at http://0.0.0.0 gets app id and secret
@mutant(kills="gateway_consent/never-logged", because=".")
@in_extension
class AsksForTokensInClear(AppCredentials):
    """Looks where it sends a token, and not where it sends the secret that the token comes from."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        where = text_setting(app, "tokenEndpoint")
        with contextlib.suppress(SendingError):
            http_client.checked(where)
            return super().fresh(app, record)
        told = {name: record[name] for name in ("appId", words.APP_SECRET)}
        answer = fetch(where, seconds=10, method="POST", body=json.dumps(told).encode())
        token = members_of(answer.body)[text_setting(app, "tokenType")]
        ends = self.credentials.now() + APP_TOKEN_SECONDS * 1000
        return {words.ACCESS_TOKEN: token, words.EXPIRES_AT: ends}


# ---- read from the wrong place


# shows: descriptor 7200, token endpoint tells expire 600: after 700 s the app gets the old token
@mutant(kills="gateway_consent/app-credential", because=".")
@in_extension
class BelievesTheDescriptor(AppCredentials):
    """Takes the lifetime of a token from the descriptor, and not from the answer that brings it."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        fresh = super().fresh(app, record)
        usual = lifetime(settings_of(app).get("expiresIn"), APP_TOKEN_SECONDS)
        return {**fresh, words.EXPIRES_AT: self.credentials.now() + usual}


# shows: a question answered after five minutes: grantedAt is five minutes early
@mutant(kills="gateway_consent/storage-shape", because=".")
@in_extension
class DatesGrantsByTheQuestion(Decisions):
    """Writes when a person was asked where it should write when they decided."""

    def write(self, record: Record, question: ConsentQuestion, choice: Choice) -> None:
        super().write(record, question, choice)
        asked = question.asked_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        record[words.TOOLS][question.tool][words.GRANTED_AT] = asked


# shows: in the era without handshake, _meta.clientInfo.name of a client that was allowed: the
#     tool runs
@mutant(kills=IDENTITY, because=".")
class TakesAnotherKeyOfMeta(ReferenceServer):
    """Believes a member of _meta that any request may have, before the one of the protocol."""

    def client_of(self, ctx: Context) -> str:
        meta = (ctx.params or {}).get("_meta")
        info = meta.get("clientInfo") if isinstance(meta, dict) else ""
        name = info.get("name") if isinstance(info, dict) else info
        return name if isinstance(name, str) else super().client_of(ctx)


# shows: the address /mcp?client=<name of one that was allowed>: the tool runs
@mutant(kills=IDENTITY, because=".")
class TakesTheCallerFromTheAddress(ReferenceServer):
    """Goes by a parameter of the address that a request comes to."""

    def client_of(self, ctx: Context) -> str:
        query = ctx.request.query_params if ctx.request is not None else {}
        names = ("client", "clientName", "client_name", "caller")
        found = next((query[name] for name in names if query.get(name)), None)
        return found or super().client_of(ctx)


# shows: a token endpoint that redirects (307) to another host: that host gets the secret
@mutant(kills="gateway_consent/app-credential", because=".")
@in_extension
class FollowsTheTokenEndpoint(AppCredentials):
    """Follows a token endpoint that redirects to another host, and sends the secret there."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        where = text_setting(app, "tokenEndpoint")
        told = {name: record[name] for name in ("appId", words.APP_SECRET)}
        kind = {"Content-Type": "application/json"}
        answer = http_client.send("POST", where, kind, json.dumps(told).encode())
        moved = answer.header("location") if 300 <= answer.status < 400 else ""
        settings = {**settings_of(app), "tokenEndpoint": urljoin(where, moved)}
        auth = app.auth and replace(app.auth, settings=settings)
        return super().fresh(replace(app, auth=auth), record)


# shows: an appCredential app that redirects to another host: that host gets the token
@mutant(kills="gateway_consent/app-credential", because=".")
@in_extension
class TakesTheTokenAlong(Gateway):
    """Follows redirects of an app with app credentials, with the token."""

    def run(self, app: App, tool: AppTool, arguments: Any, sending: Any) -> dict[str, Any]:
        if app.auth is None or app.auth.type is not AuthType.APP_CREDENTIAL or sending is None:
            return super().run(app, tool, arguments, sending)
        where, body = execution.url_of(app, tool), json.dumps(arguments).encode()
        answer = http_client.send("POST", where, sending.headers, body)
        moved = answer.header("location") if 300 <= answer.status < 400 else ""
        if not moved:
            return super().run(app, tool, arguments, sending)
        there = http_client.send("POST", urljoin(where, moved), sending.headers, body)
        return {"status": there.status}
