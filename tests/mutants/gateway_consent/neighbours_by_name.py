"""Gateways that take a host for another whose name is near."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, urlsplit

from pytest_mcp_approval.reference_server.gateway_consent.authorisation.api_key import ApiKeys
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.cookies import Cookies
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import OAuth2
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import (
    DialogStep,
    Sending,
    text_setting,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App
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


@mutant(kills=COOKIE, because="for the domain [^§]*the cookie web_session in: header")
@in_extension
class ComparesEndsOfHosts(_NearHosts):
    """Takes every host that ends like the domain for one of it."""

    def near(self, host: str, domain: str) -> bool:
        return host.endswith(domain.lstrip("."))


@mutant(kills=COOKIE, because=r"one is in another case[^§]*[1-9] request\(s\)")
@in_extension
class FoldsCookieNames(Cookies):
    """Looks for the required cookies as for headers: without regard to case."""

    def check_required(self, app: App, found: Mapping[str, str]) -> None:
        folded = {name.lower(): value for name, value in found.items()}
        super().check_required(app, {name: folded.get(name, "") for name in self.required(app)})


@mutant(
    kills="gateway_consent/aai-tools-only-consented",
    because="the only tool that was consented to[^§]*aaiTools read,wipe",
)
@in_extension
class ListsCommas(OAuth2):
    """Joins the names of tools by commas, whatever is in them."""

    def aai_tools(self, app: App, consented: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name in app.tools if name in consented)


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


@mutant(
    kills="gateway_consent/api-key", because="authorised by the key [^§]*the key 'key-[0-9a-f]+-a"
)
@in_extension
class WritesKeysIntoAddresses(ApiKeys):
    """Writes a key into an address without escaping it."""

    def placed(self, app: App, key: str) -> Sending:
        sending = super().placed(app, key)
        written = "&".join(f"{name}={value}" for name, value in sending.query.items())
        return Sending(sending.headers, dict(parse_qsl(written)))
