"""Gateways that keep, show or send one kind of credential or decision rightly, and not another."""

from __future__ import annotations

import contextlib
import json
import logging
import zlib
from collections.abc import Mapping
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from pytest_mcp_approval.families.gateway_consent import vocabulary as words
from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    APP_TOKEN_SECONDS,
    Choice,
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
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.execution import url_of
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.gateway_consent.http_client import SendingError
from pytest_mcp_approval.reference_server.gateway_consent.refusals import GatewayRefusal
from pytest_mcp_approval.reference_server.gateway_consent.vault_file import HEAD, FileVault
from pytest_mcp_approval.support.fetch import fetch
from tests.mutants.gateway_consent.parts import in_extension, sent_on
from tests.mutants.registry import mutant

STORED = "gateway_consent/stored-encrypted"


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
            sent_on("POST", url_of(app, tool), sending.headers, b"{}")
        return super().run(app, tool, arguments, sending)


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


@mutant(kills="gateway_consent/two-layers", because="[1-9] call\\(s\\) without one")
@in_extension
class CallsWithoutATokenThatItCannotGet(Gateway):
    """Goes on without a token where its end point gives none, and lets the app decide."""

    def authorise(
        self, caller: str, app: App, tool: AppTool, consented: list[str]
    ) -> Sending | None:
        try:
            return super().authorise(caller, app, tool, consented)
        except GatewayRefusal as refusal:
            if refusal.code is words.Refusal.APP_FAILED:
                return None
            raise
