"""Gateways and apps that get one kind right, and not its twin."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from starlette.responses import Response

from pytest_mcp_approval.families.gateway_consent import vocabulary as words
from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    APP_TOKEN_SECONDS,
    AuthType,
    Choice,
    Kind,
)
from pytest_mcp_approval.reference_server.gateway_consent import http_client
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.app_credential import (
    AppCredentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import (
    Credentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.dialogs import (
    Dialogs,
    Ticket,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import (
    FlowStart,
    OAuth2,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.renewing import (
    RenewalRefusedError,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import (
    DialogStep,
    Sending,
    TypedWay,
    members_of,
    needed_setting,
    settings_of,
    text_setting,
)
from pytest_mcp_approval.reference_server.gateway_consent.consent import (
    ConsentQuestion,
    Decisions,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.grants import (
    Allowed,
    Grant,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
    Redirect,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.execution import url_of
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.gateway_consent.http_client import SendingError
from pytest_mcp_approval.reference_server.gateway_consent.vault_file import HEAD, FileVault
from pytest_mcp_approval.support.fetch import fetch
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

TOKEN = "gateway_consent/oauth-token"
REQUIRED = "gateway_consent/consent-required"
REMEMBER = "gateway_consent/remember"
STORED = "gateway_consent/stored-encrypted"


# ---- kinds of apps and tools


class _Trusts(Gateway):
    """Asks nobody about some tools."""

    def trusted(self, app: App, tool: AppTool) -> bool:
        raise NotImplementedError

    def check_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if not self.trusted(app, tool):
            super().check_consent(caller, app, tool)

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if not self.trusted(app, tool):
            super().take_consent(caller, app, tool)


@mutant(
    kills="gateway_consent/all-platforms",
    because="of a web app[^§]*nobody was asked: AUTHORIZATION_REQUIRED",
)
@in_extension
class TrustsThisMachine(_Trusts):
    """Asks nobody about web apps that run on this machine."""

    def trusted(self, app: App, tool: AppTool) -> bool:
        host = urlsplit(self.locate(app).base_url or "").hostname
        return app.kind is Kind.WEB and host in ("localhost", "127.0.0.1", "::1")


@mutant(kills=REQUIRED, because="a first call of[^§]*, tool run")
@in_extension
class TrustsToolsThatRead(_Trusts):
    """Asks nobody about tools whose names say that they only look."""

    def trusted(self, app: App, tool: AppTool) -> bool:
        return tool.name.lower().startswith(("get", "list", "read", "look", "search", "find"))


@mutant(kills=REQUIRED, because="a first call of[^§]*, tool run")
@in_extension
class TrustsToolsWithoutParameters(_Trusts):
    """Asks nobody about tools that an agent cannot pass anything to."""

    def trusted(self, app: App, tool: AppTool) -> bool:
        return not tool.parameters


@mutant(kills=REMEMBER, because="allowed once, the second call[^§]*, tool run")
@in_extension
class UsesUpForWebAppsOnly(Gateway):
    """Uses a decision for one call up where it sends a request, and nowhere else."""

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if app.kind is Kind.WEB:
            super().take_consent(caller, app, tool)


# ---- what is stored


class _CopiesSome(Credentials):
    """Keeps a copy of some records in a file."""

    def copied(self, record: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def save(self, caller: str, app_id: str, record: dict[str, Any]) -> None:
        super().save(caller, app_id, record)
        folder: Path | None = getattr(self._vault, "folder", None)
        if folder is not None and (copied := self.copied(record)):
            with (folder / "session.tmp").open("a") as handle:
                handle.write(json.dumps(copied))


@mutant(kills=STORED, because="the app token of office in clear in session.tmp")
@in_extension
class CachesAppTokens(_CopiesSome):
    """Encrypts app id and secret, and keeps the token that they bring in a file."""

    def copied(self, record: Mapping[str, Any]) -> Any:
        return record.get(words.ACCESS_TOKEN) if record.get("type") == "appCredential" else None


@mutant(kills=STORED, because="the decision on one client in clear in denied.txt")
@in_extension
class WritesDenialsDown(Decisions):
    """Keeps a list of what was denied in a file of its own."""

    def keep(self, question: ConsentQuestion, choice: Choice) -> None:
        super().keep(question, choice)
        folder: Path | None = getattr(self.vault, "folder", None)
        if folder is not None and choice is Choice.DENY:
            with (folder / "denied.txt").open("a") as handle:
                handle.write(f"{question.caller} {question.app_id} {question.tool}: denied\n")


# ---- further ones


class _Regards(AuthorisationServer):
    """Has another regard for what is given for a refresh token."""

    def __init__(self, clock: Any, issuer: Any, clients: Any, tools: Any) -> None:
        super().__init__(clock, issuer, clients, tools)
        self.later: list[Grant] = []

    def refreshed(self, access: Grant, refresh: Grant) -> None:
        raise NotImplementedError

    def given(self, allowed: Allowed, scopes: Sequence[str]) -> dict[str, Any]:
        again = any(one.allowed is allowed for one in self.refresh._records.values())
        given = super().given(allowed, scopes)
        access = self.access.find(given["access_token"])
        refresh = self.refresh.find(given["refresh_token"])
        if again and access is not None and refresh is not None:
            self.refreshed(access, refresh)
        return given


class _KeepsSomeElsewhere(Credentials):
    """Has some credentials in a place of its own."""

    def __init__(self, vault: Any, clock: Any) -> None:
        super().__init__(vault, clock)
        self.own: dict[tuple[str, str], dict[str, Any]] = {}

    def elsewhere(self, record: Mapping[str, Any]) -> bool:
        raise NotImplementedError

    def load(self, caller: str, app_id: str) -> dict[str, Any] | None:
        return self.own.get((caller, app_id)) or super().load(caller, app_id)

    def save(self, caller: str, app_id: str, record: dict[str, Any]) -> None:
        if self.elsewhere(record):
            self.own[caller, app_id] = record
        else:
            super().save(caller, app_id, record)

    def forget(self, caller: str, app_id: str) -> None:
        self.own.pop((caller, app_id), None)
        super().forget(caller, app_id)


@mutant(kills=TOKEN, because="not used for a year[^§]*HTTP 200 with an access token")
@in_extension
class RefreshedRefreshTokensNeverEnd(_Regards):
    """Gives the first refresh token an end, and those that follow none."""

    def refreshed(self, access: Grant, refresh: Grant) -> None:
        refresh.expires_at = self.after(3650 * 86400)


@mutant(
    kills="gateway_consent/oauth-authorize",
    because='denied[^§]*sent back with no code, {"error":"access_denied","iss"',
)
@in_extension
class LosesTheStateOfDenials(AuthorisationServer):
    """Sends people back with their state if they allowed it, and without it if they did not."""

    def send_back(self, uri: str, state: str, **told: str) -> Redirect:
        return super().send_back(uri, "" if told.get("error") == "access_denied" else state, **told)


@mutant(kills=TOKEN, because="serves for more than seven days", warned=True)
@in_extension
class RefreshesForAMonth(AuthorisationServer):
    """Gives refresh tokens that last for thirty days."""

    refresh_seconds = 30 * 86400


@mutant(kills=TOKEN, because="expiresIn 86400: an hour", warned=True)
@in_extension
class OpensForADay(AuthorisationServer):
    """Gives access tokens that last for a day, and says so."""

    access_seconds = 86400


@mutant(kills="gateway_consent/oauth-pkce", because="a code serves after 600 s", warned=True)
@in_extension
class KeepsCodesForAQuarter(AuthorisationServer):
    """Lets a code live for a quarter of an hour."""

    code_seconds = 900


@mutant(
    kills="gateway_consent/aai-tools-only-consented",
    because=r"with Authorize All Tools[^§]*aaiTools \*",
)
@in_extension
class TellsAStarForAllTools(OAuth2):
    """Tells an app of a star where all its tools were allowed."""

    def start(self, app: App, caller: str, consented: Sequence[str]) -> FlowStart:
        start = super().start(app, caller, consented)
        every = urlencode({words.AAI_TOOLS: ",".join(app.tools)})
        return replace(start, location=start.location.replace(every, f"{words.AAI_TOOLS}=*"))


@mutant(kills="gateway_consent/key-store", because=r"authorised \(cookie\)[^§]*entries '")
@in_extension
class KeepsCookiesElsewhere(_KeepsSomeElsewhere):
    """Has keys and tokens in the key store, and cookies in a place of its own."""

    def elsewhere(self, record: Mapping[str, Any]) -> bool:
        return record.get(words.TYPE) == "cookie"


@mutant(kills="gateway_consent/key-store", because=r"authorised \(appCredential\)[^§]*entries '")
@in_extension
class KeepsSecretsElsewhere(_KeepsSomeElsewhere):
    """Has keys and tokens in the key store, and app secrets in a place of its own."""

    def elsewhere(self, record: Mapping[str, Any]) -> bool:
        return record.get(words.TYPE) == "appCredential"


@mutant(kills="gateway_consent/key-store", because=r"authorised \(oauth2\)[^§]*entries '")
@in_extension
class KeepsTokensElsewhere(_KeepsSomeElsewhere):
    """Has what was typed in in the key store, and the tokens of OAuth in a place of its own."""

    def elsewhere(self, record: Mapping[str, Any]) -> bool:
        return words.TYPE not in record


@mutant(
    kills="gateway_consent/credential-dialog",
    because="suite.cookie[^§]*a page without 'Ask the suite",
)
@in_extension
class ShowsInstructionsOfKeysOnly(Dialogs):
    """Shows instructions that are an object, and none that are a text, as those of cookies are."""

    def instructions(self, app: App) -> str:
        given = settings_of(app).get("instructions")
        return "" if isinstance(given, str) else super().instructions(app)


# ---- redirects


def _sent_on(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Any:
    """With all redirects, and with everything that was in the first request."""
    for _ in range(3):
        answer = fetch(url, seconds=10, method=method, headers=headers, body=body, follow=False)
        place = answer.header("location")
        if not place:
            return answer
        url = urljoin(url, place)
    return answer


@mutant(
    kills="gateway_consent/api-key",
    because="whose tool redirects to another host[^§]*the API key in: header X-Suite-Key",
)
@in_extension
class TakesOffAuthorizationOnly(Gateway):
    """Follows redirects without the header Authorization, and with all others."""

    def run(
        self, app: App, tool: AppTool, arguments: dict[str, Any], sending: Sending | None
    ) -> dict[str, Any]:
        if sending is not None and "Authorization" not in sending.headers:
            _sent_on("POST", url_of(app, tool), sending.headers, b"{}")
        return super().run(app, tool, arguments, sending)


@mutant(
    kills="gateway_consent/oauth-token",
    because="whose token end point redirects to another host[^§]*the authorisation code in: body",
)
@in_extension
class RedeemsElsewhere(OAuth2):
    """Follows redirects of the token end point, with the code and its verifier."""

    def ask_for_tokens(self, app: App, asked: Mapping[str, str]) -> dict[str, Any]:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        end_point = needed_setting(app, "tokenEndpoint")
        answer = _sent_on("POST", end_point, headers, urlencode(asked).encode())
        if answer.status >= 400:
            raise RenewalRefusedError
        return self.read_tokens(members_of(answer.body))


# ---- plain connections


# ---- token requests


@mutant(
    kills="gateway_consent/token-request",
    because="POST with application/json\\b",
)
@in_extension
class AsksForTokensInJson(OAuth2):
    """Asks for tokens as app credentials are exchanged: in JSON."""

    def ask_for_tokens(self, app: App, asked: Mapping[str, str]) -> dict[str, Any]:
        fetch(
            needed_setting(app, "tokenEndpoint"),
            seconds=10,
            method="POST",
            headers={"Content-Type": "application/json"},
            body=json.dumps(dict(asked)).encode(),
        )
        return super().ask_for_tokens(app, asked)


@mutant(
    kills="gateway_consent/app-token-request",
    because="POST with application/x-www-form-urlencoded",
)
@in_extension
class ExchangesAForm(AppCredentials):
    """Sends id and secret as a form, as OAuth does."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        told = {name: record[name] for name in ("appId", "appSecret")}
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        end_point = needed_setting(app, "tokenEndpoint")
        fetch(end_point, seconds=10, method="POST", headers=headers, body=urlencode(told).encode())
        return super().fresh(app, record)


# ---- the other spelling


@mutant(kills="gateway_consent/oauth-token", because="refreshed with more: [^§]*scope 'read write'")
@in_extension
class RefreshesAnyScope(AuthorisationServer):
    """Looks at the scope when a person is asked, and not when a token is refreshed."""

    def scopes_of(self, asked: Mapping[str, str], most: tuple[str, ...]) -> tuple[str, ...]:
        if asked.get("grant_type") == "refresh_token" and "scope" in asked:
            return tuple(asked["scope"].split())
        return super().scopes_of(asked, most)


# ---- failures


@mutant(
    kills="gateway_consent/never-logged",
    because="authorisations that failed[^§]*mistyped credential of \\w+ in clear in the log",
)
@in_extension
class LogsWhatWasMistyped(Dialogs):
    """Logs what was typed in when it cannot be right, to find out why."""

    def accept(self, ticket: Any, app: App, way: TypedWay, value: str) -> Any:
        answer = super().accept(ticket, app, way, value)
        if answer.status_code == 400:
            logging.getLogger(__name__).warning("not accepted: %s", value)
        return answer


@mutant(kills="gateway_consent/credential-shape", because="called now[^§]*createdAt [0-9]{13}")
@in_extension
class UseMakesCredentialsNew(Credentials):
    """Writes the instant of the last use where a credential's own should be."""

    def load(self, caller: str, app_id: str) -> dict[str, Any] | None:
        record = super().load(caller, app_id)
        if record is not None and words.CREATED_AT in record:
            record[words.CREATED_AT] = self.now()
            self.save(caller, app_id, record)
        return record


@mutant(kills="gateway_consent/credential-dialog", because="step 2[^§]*a page without it")
@in_extension
class HelpsAtTheFirstStep(Dialogs):
    """Says where the app's id is found, and not where its secret is."""

    def form(self, ticket: Any, app: App, step: DialogStep) -> str:
        form = super().form(ticket, app, step)
        return form if step.member != "appSecret" else form.partition("<a ")[0] + "</div></form>"


@mutant(
    kills="gateway_consent/dialog-injection",
    because="whose helpUrl is [^§]*javascript:[^§]*' in the page",
)
@in_extension
class LinksAnywhere(Dialogs):
    """Escapes the address of a link, and does not look where it leads."""

    def form(self, ticket: Any, app: App, step: DialogStep) -> str:
        given = app.auth.settings.get("obtainUrl", "") if app.auth else ""
        return f'{super().form(ticket, app, step)}<a href="{escape(str(given))}">Get one</a>'


@mutant(kills="gateway_consent/deny", because="of a command app, denied for ever[^§]*, tool run")
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


@mutant(
    kills="gateway_consent/deny",
    because=r"of a web app, denied for ever[^§]*CONSENT_REQUIRED \(error",
)
@in_extension
class AsksAboutDeniedWebApps(Gateway):
    """Does not keep that a tool of a web app was denied, and asks again."""

    def check_consent(self, caller: str, app: App, tool: AppTool) -> None:
        kept = self.decisions.remembered(caller, app.id, tool.name)
        if app.kind is Kind.WEB and kept is False:
            raise self.ask(caller, app, tool)
        super().check_consent(caller, app, tool)


@mutant(
    kills="gateway_consent/caller-isolation",
    because="of a command app, by a client that nobody decided on[^§]*, tool run",
)
@in_extension
class SharesConsentsToCommands(_Trusts):
    """Lets every client run a command that one client may run: all run as the same user."""

    def trusted(self, app: App, tool: AppTool) -> bool:
        callers = [key[0] for key in self.decisions.vault.keys("consent") if key[1] == app.id]
        granted = (self.decisions.remembered(one, app.id, tool.name) for one in callers)
        return app.kind is Kind.COMMAND and any(granted)


@mutant(
    kills="gateway_consent/caller-isolation",
    because="by a client that nobody decided on[^§]*nobody was asked: AUTHORIZATION_REQUIRED",
)
@in_extension
class SharesConsentsToWebApps(_Trusts):
    """Lets every client use what one client may use of a web app, which has users of its own."""

    def trusted(self, app: App, tool: AppTool) -> bool:
        callers = [key[0] for key in self.decisions.vault.keys("consent") if key[1] == app.id]
        granted = (self.decisions.remembered(one, app.id, tool.name) for one in callers)
        return app.kind is Kind.WEB and any(granted)


@mutant(kills="gateway_consent/tool-isolation", because="of a command app, after[^§]*, tool run")
@in_extension
class TakesAllCommandsForOne(_Trusts):
    """Takes the commands of an app for one tool."""

    def check_consent(self, caller: str, app: App, tool: AppTool) -> None:
        self.caller = caller
        super().check_consent(caller, app, tool)

    def trusted(self, app: App, tool: AppTool) -> bool:
        caller = self.__dict__.get("caller", "")
        return app.kind is Kind.COMMAND and any(self.decisions.tools_granted(app, caller))


@mutant(
    kills="gateway_consent/authorize-all",
    because=r"of a web app, after all were allowed[^§]*CONSENT_REQUIRED \(error",
)
@in_extension
class AsksForEachToolOfWebApps(Gateway):
    """Knows Authorize All Tools for apps on this machine, and asks about each tool of a web app."""

    def check_consent(self, caller: str, app: App, tool: AppTool) -> None:
        tools = self.decisions.record(caller, app.id)[words.TOOLS]
        once = self.decisions.decided_once(caller, app.id, tool.name)
        if app.kind is Kind.WEB and tool.name not in tools and once is None:
            raise self.ask(caller, app, tool)
        super().check_consent(caller, app, tool)


@mutant(kills="gateway_consent/remember", because="allowed once, the second call[^§]*, tool run")
@in_extension
class UsesNothingUpForWebApps(Gateway):
    """Uses a decision for one call up on this machine, and not where it sends a request."""

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if app.kind is not Kind.WEB:
            super().take_consent(caller, app, tool)


@mutant(
    kills="gateway_consent/all-platforms",
    because=r"a first call of a tool of a web app for \[[^§]*, tool run",
)
@in_extension
class TrustsOpenApps(_Trusts):
    """Asks nobody about web apps that need no authorisation."""

    def trusted(self, app: App, tool: AppTool) -> bool:
        return app.kind is Kind.WEB and app.auth is None


@mutant(kills="gateway_consent/two-layers", because="whose app is authorised[^§]*, tool run")
@in_extension
class TrustsAppsWithCookies(Gateway):
    """Takes the cookies of an app, which a person has copied by hand, for consent to all of it."""

    def needs_consent(self, app: App) -> bool:
        kept = any(app.id == key[1] for key in self.decisions.vault.keys("cred"))
        return not (kept and app.auth is not None and app.auth.type is AuthType.COOKIE)


@mutant(kills="gateway_consent/two-layers", because="whose app is authorised[^§]*, tool run")
@in_extension
class TrustsAppsWithSecrets(Gateway):
    """Takes app id and secret, which a person has typed in, for consent to all of the app."""

    def needs_consent(self, app: App) -> bool:
        kept = any(app.id == key[1] for key in self.decisions.vault.keys("cred"))
        return not (kept and app.auth is not None and app.auth.type is AuthType.APP_CREDENTIAL)


@mutant(
    kills="gateway_consent/oauth-token",
    because="s that a refresh brought, after its end[^§]*it opens",
)
@in_extension
class RefreshedTokensNeverEnd(_Regards):
    """Gives the access tokens of a code an end, and those of a refresh none."""

    def refreshed(self, access: Grant, refresh: Grant) -> None:
        access.expires_at = self.after(3650 * 86400)


@mutant(kills="gateway_consent/oauth-token", because="the second refresh token, used[^§]*HTTP 200")
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


@mutant(
    kills="gateway_consent/oauth-token",
    because="the second refresh token, by another client[^§]*HTTP 200",
)
@in_extension
class RefreshedTokensAreAnybodys(_Regards):
    """Knows whose the first refresh token is, and not whose those are that follow."""

    def refreshed(self, access: Grant, refresh: Grant) -> None:
        self.later.append(refresh)

    def check_client(self, held: Grant, client_id: str) -> bool:
        return any(held is one for one in self.later) or super().check_client(held, client_id)


@mutant(
    kills="gateway_consent/oauth-pkce", because="a code with another verifier, in RFC[^§]*HTTP 200"
)
@in_extension
class ComparesVerifiersInCamelCase(AuthorisationServer):
    """Compares the verifier of requests in this profile's spelling, and not in the RFC's."""

    def token(self, body: str) -> Mapping[str, Any]:
        self.camel = "codeVerifier=" in body or "code_verifier=" not in body
        return super().token(body)

    def check_verifier(self, held: Grant, asked: Mapping[str, str]) -> None:
        if self.camel:
            super().check_verifier(held, asked)


@mutant(
    kills="gateway_consent/oauth-pkce",
    because="a code that was redeemed before, in RFC[^§]*HTTP 200",
)
@in_extension
class UsesUpCodesInCamelCase(AuthorisationServer):
    """Marks a code as used in requests of this profile's spelling, and not of the RFC's."""

    def token(self, body: str) -> Mapping[str, Any]:
        self.camel = "grantType=" in body
        return super().token(body)

    def spend(self, held: Grant) -> None:
        if self.camel or not held.challenge:
            super().spend(held)


@mutant(
    kills="gateway_consent/oauth-pkce",
    because="a fresh code with its verifier, 44 characters[^§]*HTTP 400",
)
@in_extension
class KnowsVerifiersOfBase64(AuthorisationServer):
    """Takes verifiers of base64url only, though a verifier may have dots and tildes."""

    def check_verifier(self, held: Grant, asked: Mapping[str, str]) -> None:
        bare = re.sub(r"[^A-Za-z0-9_-]", "", asked.get("code_verifier", ""))
        super().check_verifier(held, {**asked, "code_verifier": bare} if bare else asked)


@mutant(
    kills="gateway_consent/aai-tools-only-consented", because="allowed once[^§]*aaiTools left out"
)
@in_extension
class TellsRememberedTools(Gateway):
    """Tells an app of the tools that were allowed for good, and not of the one for this call."""

    def consented(self, caller: str, app: App) -> list[str]:
        return [tool for tool in app.tools if self.decisions.remembered(caller, app.id, tool)]


@mutant(
    kills="gateway_consent/stored-encrypted",
    because="in clear in trusted.txt, without what was decided",
    warned=True,
)
@in_extension
class WritesAllToolsDown(Decisions):
    """Keeps a list of the clients that may use all tools in a file of its own."""

    def keep(self, question: ConsentQuestion, choice: Choice) -> None:
        super().keep(question, choice)
        folder: Path | None = getattr(self.vault, "folder", None)
        if folder is not None and choice is Choice.ALL:
            with (folder / "trusted.txt").open("a") as handle:
                handle.write(f"{question.caller} {question.app_id}: all tools\n")


@mutant(
    kills="gateway_consent/stored-encrypted",
    because="authorised and called[^§]*the API key in clear in",
)
@in_extension
class StoresCompressed(FileVault):
    """Takes compression for encryption."""

    def seal(self, plain: bytes) -> bytes:
        return HEAD + zlib.compress(plain)

    def unseal(self, content: bytes) -> bytes:
        return zlib.decompress(content[len(HEAD) :])


@mutant(
    kills="gateway_consent/credential-dialog",
    because="whose credential is asked for, step 2[^§]*a page without",
)
@in_extension
class NamesTheAppInTheFirstStep(Dialogs):
    """Says whose app id it asks for, and not whose secret."""

    def dialog(self, ticket: Ticket, app: App, step: DialogStep, wrong: str = "") -> Response:
        second = bool(ticket.values)
        return super().dialog(ticket, replace(app, name="the app") if second else app, step, wrong)


@mutant(
    kills="gateway_consent/never-logged",
    because="whose token end point is at[^§]*in: (?:header|body|query)",
)
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
