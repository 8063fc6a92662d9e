"""Gateways that take a host for another whose name is near."""

from __future__ import annotations

from urllib.parse import urlsplit

from pytest_mcp_approval.reference_server.gateway_consent.authorisation.cookies import Cookies
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import text_setting
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
