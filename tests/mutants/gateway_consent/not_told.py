"""Gateways that tell a log or an agent what they must not."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.gateway_consent import vocabulary as words
from pytest_mcp_approval.reference_server.gateway_consent import execution, http_client
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.app_credential import (
    AppCredentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.cookies import Cookies
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import (
    Credentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import (
    OAuth2,
    Return,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.renewing import (
    RenewalRefusedError,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import (
    DialogStep,
    NotAcceptedError,
    NotSentError,
    needed_setting,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.extension import GatewayExtension
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.gateway_consent.http_client import SendingError
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

LOGGED = "gateway_consent/never-logged"
_log = logging.getLogger(__name__)


@mutant(kills=LOGGED, because="the app token of office in clear in the log")
@in_extension
class LogsRenewedTokens(AppCredentials):
    """Logs a token when it replaces another."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        fresh = super().fresh(app, record)
        if words.ACCESS_TOKEN in record:
            _log.info("renewed: %s", fresh[words.ACCESS_TOKEN])
        return fresh


@mutant(kills=LOGGED, because="the refresh token of oauth in clear in the log")
@in_extension
class LogsRefreshTokens(OAuth2):
    """Logs a refresh token when it is used."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        _log.info("refreshing with %s", record.get(words.REFRESH_TOKEN))
        return super().fresh(app, record)


@mutant(kills=LOGGED, because="the authorisation code in clear in the log")
@in_extension
class LogsCallbacks(OAuth2):
    """Logs the answers that browsers bring back, with their codes."""

    def code_of(self, back: Return) -> str:
        code = super().code_of(back)
        _log.info("a browser came back with %s", code)
        return code


@mutant(kills=LOGGED, because="the app token of office in clear in the log")
@in_extension
class PrintsTokensAsErrors(Credentials):
    """Prints tokens on standard error, where operators look for trouble."""

    def save(self, caller: str, app_id: str, record: dict[str, Any]) -> None:
        super().save(caller, app_id, record)
        if words.ACCESS_TOKEN in record:
            print(record[words.ACCESS_TOKEN], file=sys.stderr)


@mutant(kills="gateway_consent/key-store", because="the API key in clear in a name")
class NamesEntriesByCredentials(GatewayExtension):
    """Has the beginning of an API key in the name of its entry in the key store, to tell keys
    apart."""

    def key_store(self) -> dict[str, Any]:
        entries = super().key_store()["entries"]
        for caller, app_id in self.vault.keys("cred"):
            record = self.vault.load("cred", caller, app_id) or {}
            for entry in entries:
                if entry["account"].startswith(f"cred-{app_id}") and words.VALUE in record:
                    entry["account"] += f"-{record[words.VALUE]}"
        return {"entries": entries}


@mutant(
    kills="gateway_consent/never-logged",
    because="the mistyped credential of cookie in clear in the log",
)
@in_extension
class LogsWhatIsNotAccepted(Cookies):
    """Logs cookies that it does not accept, with their values."""

    def check(self, app: App, step: DialogStep, value: str) -> str:
        try:
            return super().check(app, step, value)
        except NotAcceptedError:
            _log.warning("not accepted: %s", value)
            raise


@mutant(kills="gateway_consent/never-logged", because="the app secret in clear in the log")
@in_extension
class LogsFailedTokenRequests(AppCredentials):
    """Logs what it sent when a token endpoint fails."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return super().fresh(app, record)
        except (SendingError, RenewalRefusedError):
            _log.warning("no token for %s %s", record["appId"], record[words.APP_SECRET])
            raise


@mutant(
    kills="gateway_consent/never-logged", because="the refresh token of oauth in clear in the log"
)
@in_extension
class LogsFailedRefreshes(OAuth2):
    """Logs a refresh token that is refused."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return super().fresh(app, record)
        except RenewalRefusedError:
            _log.warning("refused: %s", record.get(words.REFRESH_TOKEN))
            raise


@mutant(
    kills="gateway_consent/never-logged", because="that failed[^§]*the API key in clear in the log"
)
@in_extension
class LogsRejectedCredentials(Gateway):
    """Logs the headers of a request that an app rejects with the status 401."""

    def run(self, app: App, tool: AppTool, arguments: Any, sending: Any) -> dict[str, Any]:
        try:
            return super().run(app, tool, arguments, sending)
        except execution.RejectedError:
            _log.warning("rejected: %s", dict(sending.headers) if sending is not None else {})
            raise


@mutant(
    kills="gateway_consent/never-logged", because="the app token of office in clear in an answer"
)
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
