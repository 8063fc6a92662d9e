"""Gateways that take a host for another whose name is near."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    Choice,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.api_key import ApiKeys
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.cookies import Cookies
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import (
    Credentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import (
    OAuth2,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import (
    Asking,
    DialogStep,
    Sending,
    text_setting,
)
from pytest_mcp_approval.reference_server.gateway_consent.consent import ConsentQuestion, Decisions
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App
from tests.mutants.gateway_consent.neighbours import _Joins, _NearCallers
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

COOKIE = "gateway_consent/cookie"


class _NearHosts(Cookies):
    def near(self, host: str, domain: str) -> bool:
        raise NotImplementedError

    def goes_to(self, app: App, url: str) -> bool:
        host = urlsplit(url).hostname or ""
        return super().goes_to(app, url) or self.near(host, text_setting(app, "domain"))


@mutant(kills=COOKIE, because="at 127.0.0.1[^§]*the cookies web_session, web_signature")
@in_extension
class TakesEveryLoopbackForOne(_NearHosts):
    """Takes localhost and 127.0.0.1 for one host."""

    def near(self, host: str, domain: str) -> bool:
        loopback = ("localhost", "127.0.0.1", "::1")
        return host in loopback and domain.lstrip(".") in loopback


@mutant(
    kills="gateway_consent/api-key", because="typed in behind its credential[^§]*the header X-Suite"
)
@in_extension
class WritesKeysIntoHeaders(ApiKeys):
    """Writes a key into the request as it was typed in, line ends included."""

    def check(self, app: App, step: DialogStep, value: str) -> str:
        return value

    def placed(self, app: App, key: str) -> Sending:
        first, *more = key.splitlines() or [""]
        sending = super().placed(app, first)
        lines = (line.partition(":") for line in more)
        added = {name.strip(): value.strip() for name, _, value in lines if value}
        return Sending({**sending.headers, **added}, sending.query)


class _NearApps(Decisions):
    """Opens the apps whose ids are near to that of one whose tools were all allowed."""

    def near(self, known: str, app_id: str) -> bool:
        raise NotImplementedError

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        kept = super().remembered(caller, app_id, tool)
        own = [key for key in self.vault.keys("consent") if key[0] == caller]
        near = any(self.near(key[1], app_id) and self.record(*key)["allTools"] for key in own)
        return True if kept is None and near else kept


@mutant(
    kills="gateway_consent/caller-isolation", because="without its last character[^§]*, tool run"
)
@in_extension
class MatchesLongerCallers(_NearCallers):
    """Takes a client with whose name a known one begins for that one."""

    def near(self, known: str, caller: str) -> bool:
        return known.startswith(caller)


@mutant(
    kills="gateway_consent/authorize-all",
    because=r"after Authorize All Tools of com\.shop[^§]*, tool run",
)
@in_extension
class OpensAppsThatEndAlike(_NearApps):
    """All tools of an app are all tools of those whose ids end like its own."""

    def near(self, known: str, app_id: str) -> bool:
        return app_id.endswith(known)


@mutant(
    kills="gateway_consent/authorize-all",
    because=r"after Authorize All Tools of com\.shop[^§]*, tool run",
)
@in_extension
class OpensAppsBelow(_NearApps):
    """All tools of an app are all tools of those whose ids are below its own."""

    def near(self, known: str, app_id: str) -> bool:
        return app_id.startswith(f"{known}.")


@mutant(kills="gateway_consent/tool-isolation", because="after another was allowed[^§]*, tool run")
@in_extension
class TakesAStarForAllTools(Decisions):
    """Writes a star for all tools, and takes a tool that is called so for them."""

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        star = self.record(caller, app_id)["tools"].get("*", {})
        kept = super().remembered(caller, app_id, tool)
        return True if kept is None and star.get("granted") else kept


@mutant(kills="gateway_consent/key-collision", because="was allowed for good to[^§]*, tool run")
@in_extension
class JoinsByTwoColons(_Joins):
    """Keeps a record under consent::{caller}::{app}."""

    separator = "::"


@mutant(kills="gateway_consent/key-collision", because="was allowed for good to[^§]*, tool run")
@in_extension
class JoinsByNothing(_Joins):
    """Keeps a record under caller and app, one right after the other."""

    separator = ""


@mutant(kills="gateway_consent/key-collision", because="was allowed for good to[^§]*, tool run")
@in_extension
class DoublesHyphens(Decisions):
    """Joins by a hyphen and doubles those in names, which does not tell where a name ends."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        return ("-".join(one.replace("-", "--") for one in ("consent", caller, app_id)),)


@mutant(kills="gateway_consent/key-collision", because="was allowed once to[^§]*, tool run")
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


@mutant(
    kills="gateway_consent/key-collision",
    because=r"who gave no key for it[^§]*AUTHORIZATION_REQUIRED \(error",
)
@in_extension
class JoinsNamesOfCredentials(Credentials):
    """Keeps a credential under {caller}-{app}: that of one app is sent to another."""

    def load(self, caller: str, app_id: str) -> dict[str, Any] | None:
        return super().load(f"{caller}-{app_id}", "")

    def save(self, caller: str, app_id: str, record: dict[str, Any]) -> None:
        super().save(f"{caller}-{app_id}", "", record)

    def forget(self, caller: str, app_id: str) -> None:
        super().forget(f"{caller}-{app_id}", "")


@mutant(
    kills="gateway_consent/cookie",
    because="at localhost, whose cookies are for the domain host[^§]*the cookies? ",
)
@in_extension
class SendsCookiesToHostsThatEndAlike(_NearHosts):
    """Sends cookies to every host whose name ends with the domain."""

    def near(self, host: str, domain: str) -> bool:
        return host.endswith(domain.lstrip("."))


@mutant(
    kills="gateway_consent/cookie",
    because="at localhost, whose cookies are for the domain local[^§]*the cookies? ",
)
@in_extension
class SendsCookiesToHostsThatBeginAlike(_NearHosts):
    """Sends cookies to every host whose name begins with the domain."""

    def near(self, host: str, domain: str) -> bool:
        return host.startswith(domain.lstrip("."))


@mutant(
    kills="gateway_consent/cookie",
    because=r"localhost, whose cookies are for the domain sub\.localhost[^§]*the cookies? ",
)
@in_extension
class SendsCookiesToHostsAbove(_NearHosts):
    """Sends the cookies of a host to the hosts above it."""

    def near(self, host: str, domain: str) -> bool:
        return domain.lstrip(".").endswith(f".{host}")


@mutant(
    kills="gateway_consent/aai-tools-only-consented",
    because=r"the only tool that was consented to[^§]*\naaiTools read,wipe",
)
@in_extension
class TellsToolsWithCommas(OAuth2):
    """Lists a tool with a comma in its name, which reads as two tools."""

    def aai_tools(self, app: App, consented: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name in app.tools if name in consented)


@mutant(kills=COOKIE, because="typed in behind its credential[^§]*the header X-Suite")
@in_extension
class WritesCookiesIntoHeaders(Cookies):
    """Writes cookies into the request as they were typed in, line ends included."""

    def check(self, app: App, step: DialogStep, value: str) -> str:
        super().check(app, step, value.splitlines()[0] if value else value)
        return value

    def sending(self, asking: Asking) -> Sending | None:
        sending = super().sending(asking)
        if sending is None or "Cookie" not in sending.headers:
            return sending
        first, *more = sending.headers["Cookie"].splitlines()
        lines = (line.partition(":") for line in more)
        added = {name.strip(): value.strip() for name, _, value in lines if value}
        return Sending({"Cookie": first, **added})
