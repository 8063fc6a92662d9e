"""Gateways that leave secrets lying about: in files, logs, answers, on the way; or lose the order
of what they keep."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytest_mcp_approval.reference_server.gateway_consent.authorisation import Sending
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import (
    Credentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.consent import ConsentQuestion, Decisions
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.execution import url_of
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.gateway_consent.refusals import GatewayRefusal
from pytest_mcp_approval.reference_server.gateway_consent.vault_file import HEAD, FileVault
from pytest_mcp_approval.support.connection import is_loopback
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

STORED = "gateway_consent/stored-encrypted"
SHAPE = "gateway_consent/storage-shape"
LOGGED = "gateway_consent/never-logged"


# ---- stored-encrypted


class _OtherSeal(FileVault):
    """Keeps its records in another way."""

    def seal(self, plain: bytes) -> bytes:
        return HEAD + plain

    def unseal(self, content: bytes) -> bytes:
        return content[len(HEAD) :]


@mutant(kills=STORED, because="decisions on two clients[^§]*in clear in vault")
@in_extension
class StoresPlainJson(_OtherSeal):
    """Keeps everything in a JSON file."""


@mutant(kills=STORED, because="in base64 in vault")
@in_extension
class StoresBase64(_OtherSeal):
    """Takes base64 for encryption."""

    def seal(self, plain: bytes) -> bytes:
        return HEAD + base64.b64encode(plain)

    def unseal(self, content: bytes) -> bytes:
        return base64.b64decode(content[len(HEAD) :])


@mutant(kills=STORED, because="in hexadecimal in vault")
@in_extension
class StoresHexadecimal(_OtherSeal):
    """Takes hexadecimal digits for encryption."""

    def seal(self, plain: bytes) -> bytes:
        return HEAD + plain.hex().encode()

    def unseal(self, content: bytes) -> bytes:
        return bytes.fromhex(content[len(HEAD) :].decode())


class _WritesBeside(Credentials):
    """Keeps a copy of some records in a file of its own."""

    def line(self, record: Mapping[str, Any]) -> str:
        raise NotImplementedError

    def save(self, caller: str, app_id: str, record: dict[str, Any]) -> None:
        super().save(caller, app_id, record)
        folder: Path | None = getattr(self._vault, "folder", None)
        if folder is not None:
            with (folder / "cache.json").open("a") as handle:
                handle.write(self.line(record))


@mutant(kills=STORED, because="the API key in clear in cache.json")
@in_extension
class CachesKeys(_WritesBeside):
    """Has a copy of API keys, to be quicker."""

    def line(self, record: Mapping[str, Any]) -> str:
        return json.dumps(record.get("value") if record.get("type") == "apiKey" else None)


@mutant(kills=STORED, because="the cookie web_session in clear in cache.json")
@in_extension
class CachesCookies(_WritesBeside):
    """Has a copy of cookies, as browsers do."""

    def line(self, record: Mapping[str, Any]) -> str:
        return json.dumps(record.get("value") if record.get("type") == "cookie" else None)


@mutant(kills=STORED, because="the app secret in clear in cache.json")
@in_extension
class CachesSecrets(_WritesBeside):
    """Encrypts the token, and not the secret that it comes from."""

    def line(self, record: Mapping[str, Any]) -> str:
        return json.dumps(record.get("appSecret"))


@mutant(kills=STORED, because="the refresh token of oauth in clear in cache.json")
@in_extension
class CachesRefreshTokens(_WritesBeside):
    """Encrypts what ends in an hour, and not what lasts for a week."""

    def line(self, record: Mapping[str, Any]) -> str:
        return json.dumps(record.get("refreshToken"))


@mutant(kills=STORED, because="the access token of oauth in base64 in cache.json")
@in_extension
class CachesTokens(_WritesBeside):
    """Has a copy of access tokens as headers have them."""

    def line(self, record: Mapping[str, Any]) -> str:
        token = str(record.get("accessToken"))
        return base64.b64encode(f"Bearer {token}".encode()).decode()


@mutant(kills=STORED, because="decision on one client in clear in a file's name")
@in_extension
class NamesFilesByCallers(Decisions):
    """Notes in a file's name whom a decision is about, and what was decided."""

    def keep(self, question: ConsentQuestion, choice: Any) -> None:
        super().keep(question, choice)
        folder: Path | None = getattr(self.vault, "folder", None)
        if folder is not None:
            (folder / f"consent-{question.caller}-{question.tool}.seal").touch()


# ---- storage-shape


@mutant(kills=SHAPE, because='caller → app → record[^§]*stored: {"consents"')
@in_extension
class ExportsAList(Decisions):
    """Stores and exports a flat list."""

    def export(self) -> dict[str, Any]:
        flat = [
            {"caller": caller, "app": app, "tool": tool, **own}
            for caller, apps in super().export().items()
            for app, record in apps.items()
            for tool, own in record["tools"].items()
        ]
        return {"consents": flat}


@mutant(kills=SHAPE, because=r'caller → app → record[^§]*stored: \{"com.example')
@in_extension
class ExportsByApp(Decisions):
    """Has the app first, and the caller below."""

    def export(self) -> dict[str, Any]:
        turned: dict[str, Any] = {}
        for caller, apps in super().export().items():
            for app, record in apps.items():
                turned.setdefault(app, {})[caller] = record
        return turned


class _OtherRecord(Decisions):
    def change(self, record: dict[str, Any]) -> None:
        raise NotImplementedError

    def export(self) -> dict[str, Any]:
        nested = super().export()
        for apps in nested.values():
            for record in apps.values():
                self.change(record)
        return nested


@mutant(kills=SHAPE, because="allTools false[^§]*stored")
@in_extension
class ExportsNoAllTools(_OtherRecord):
    """Leaves allTools out where it is false."""

    def change(self, record: dict[str, Any]) -> None:
        if not record["allTools"]:
            del record["allTools"]


@mutant(kills=SHAPE, because=r'allTools true, tools an object[^§]*stored: \{"allTools":false')
@in_extension
class ExportsAllAsFalse(_OtherRecord):
    """Stores all tools as if they had been allowed one by one."""

    def change(self, record: dict[str, Any]) -> None:
        record["allTools"] = False


@mutant(kills=SHAPE, because='grantedAt: the instant[^§]*grantedAt "[0-9T:-]+"')
@in_extension
class StoresLocalTime(Decisions):
    """Writes times without their zone."""

    def instant(self) -> str:
        return self.clock.now().strftime("%Y-%m-%dT%H:%M:%S")


@mutant(
    kills=SHAPE,
    because=r"granted false, remember true[^§]*stored: \{[^§]*createEvent[^}]*\}\}\}",
)
@in_extension
class ExportsGrantsOnly(_OtherRecord):
    """Leaves denials out."""

    def change(self, record: dict[str, Any]) -> None:
        record["tools"] = {name: own for name, own in record["tools"].items() if own["granted"]}


@mutant(kills=SHAPE, because=r'nothing stored that would be remembered[^§]*stored: \{"com')
@in_extension
class StoresEverything(Decisions):
    """Stores decisions for one call as well."""

    def keep_for_one_call(self, question: ConsentQuestion, choice: Any) -> None:
        super().keep_for_one_call(question, choice)
        self.keep(question, choice)


# ---- never-logged


class _Tells(Credentials):
    """Tells of every record that is kept."""

    def tell(self, record: Mapping[str, Any]) -> None:
        raise NotImplementedError

    def save(self, caller: str, app_id: str, record: dict[str, Any]) -> None:
        super().save(caller, app_id, record)
        self.tell(record)


@mutant(kills=LOGGED, because="the access token of oauth in clear in the log")
@in_extension
class LogsTokens(_Tells):
    """Logs tokens when they come."""

    def tell(self, record: Mapping[str, Any]) -> None:
        logging.getLogger(__name__).info("got %s", record.get("accessToken"))


@mutant(kills=LOGGED, because="the API key in clear in the log")
@in_extension
class PrintsKeys(_Tells):
    """Prints what was typed in."""

    def tell(self, record: Mapping[str, Any]) -> None:
        print(record.get("value"))


@mutant(kills=LOGGED, because="the app secret in clear in the log")
@in_extension
class LogsSecrets(_Tells):
    """Logs what is exchanged."""

    def tell(self, record: Mapping[str, Any]) -> None:
        logging.getLogger(__name__).warning("%s", json.dumps(dict(record)))


@mutant(kills=LOGGED, because="the cookie web_session in base64 in the log")
@in_extension
class LogsEncodedCookies(_Tells):
    """Logs cookies, encoded."""

    def tell(self, record: Mapping[str, Any]) -> None:
        text = str(record.get("value"))
        logging.getLogger(__name__).info("%s", base64.b64encode(text.encode()).decode())


@mutant(kills=LOGGED, because="key-query[^§]*the API key in clear in the log")
@in_extension
class LogsAddresses(Gateway):
    """Logs the addresses that it calls, with the key in them."""

    def run(self, app: App, tool: AppTool, arguments: Any, sending: Sending | None) -> Any:
        for value in sending.query.values() if sending is not None else ():
            logging.getLogger(__name__).info("POST %s?key=%s", url_of(app, tool), value)
        return super().run(app, tool, arguments, sending)


@mutant(kills=LOGGED, because="in clear in an answer")
@in_extension
class AnswersWithHeaders(Gateway):
    """Shows the agent what was sent."""

    def run(self, app: App, tool: AppTool, arguments: Any, sending: Sending | None) -> Any:
        result = super().run(app, tool, arguments, sending)
        return {**result, "sent": dict(sending.headers) if sending is not None else {}}


@mutant(kills=LOGGED, because="break down[^§]*in clear in an answer")
@in_extension
class ReportsWhatItSent(Gateway):
    """Explains a failure of an app with the request that it made."""

    def run(self, app: App, tool: AppTool, arguments: Any, sending: Sending | None) -> Any:
        try:
            return super().run(app, tool, arguments, sending)
        except GatewayRefusal as refusal:
            if sending is not None:
                refusal.data["request"] = {**sending.headers, **sending.query}
            raise


@mutant(kills=LOGGED, because="break down[^§]*in clear in the log")
@in_extension
class LogsFailedRequests(Gateway):
    """Logs the whole request when an app fails, for the operator."""

    def run(self, app: App, tool: AppTool, arguments: Any, sending: Sending | None) -> Any:
        try:
            return super().run(app, tool, arguments, sending)
        except GatewayRefusal:
            if sending is not None:
                sent = {**sending.headers, **sending.query}
                logging.getLogger(__name__).warning("a request failed: %s", sent)
            raise


@mutant(kills=LOGGED, because="no key over plain http beyond loopback[^§]*the key in: header")
@in_extension
class TrustsEveryAddress(Gateway):
    """Sends what it has wherever the descriptor says."""

    def call_web(self, caller: str, app: App, tool: AppTool, arguments: dict[str, Any]) -> Any:
        authoriser = self.authoriser()
        authoriser.check_transport = lambda _: None  # type: ignore[assignment]
        return super().call_web(caller, app, tool, arguments)

    def run(self, app: App, tool: AppTool, arguments: Any, sending: Sending | None) -> Any:
        parts = urlsplit(url_of(app, tool))
        if is_loopback(parts.hostname or "") or sending is None:
            return super().run(app, tool, arguments, sending)
        connection = HTTPConnection(parts.netloc, timeout=10)
        connection.request("POST", parts.path, "{}", dict(sending.headers))
        connection.getresponse().read()
        connection.close()
        return {}
