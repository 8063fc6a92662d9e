"""A client of the demonstration app's authorisation server that can do everything wrong."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from pytest_mcp_approval.families.gateway_consent.vocabulary import RFC_NAMES
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app import DemonstrationApp
from tests.reference_server.gateway_consent.visitor import Page, Visitor

VERIFIER = "a-verifier-that-is-long-enough-to-be-one-0123456789"
REDIRECT = "http://localhost:3000/callback"


def challenge(verifier: str = VERIFIER) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def rfc(members: dict[str, str]) -> dict[str, str]:
    """The same in the spelling of RFC 6749."""
    return {RFC_NAMES.get(name, name): value for name, value in members.items()}


def changed(members: dict[str, str], changes: dict[str, Any]) -> dict[str, str]:
    """With the changes; None leaves out."""
    return {name: value for name, value in {**members, **changes}.items() if value is not None}


@dataclass
class Client:
    app: DemonstrationApp
    visitor: Visitor = field(default_factory=Visitor)

    def url(self, path: str) -> str:
        return f"{self.app.url}/mail{path}"

    def request(self, **changes: Any) -> dict[str, str]:
        members = {
            "responseType": "code",
            "clientId": "aai-gateway",
            "redirectUri": REDIRECT,
            "scope": "read write",
            "state": "xyz",
            "codeChallenge": challenge(),
            "codeChallengeMethod": "S256",
            "aaiTools": "sendEmail,readInbox",
        }
        return changed(members, changes)

    def ask(self, **changes: Any) -> Page:
        return self.visitor.get(self.url("/authorize?") + urlencode(self.request(**changes)))

    def allow(self, **changes: Any) -> Page:
        return self.visitor.send(self.ask(**changes), decision="allow")

    def code(self, **changes: Any) -> str:
        return self.allow(**changes).brought["code"]

    def redeem(self, code: str, /, **changes: Any) -> Page:
        members = {
            "grantType": "authorization_code",
            "code": code,
            "redirectUri": REDIRECT,
            "codeVerifier": VERIFIER,
        }
        return self.visitor.post(self.url("/oauth/token"), changed(members, changes))

    def refresh(self, token: str | None, /, **changes: Any) -> Page:
        members = {"grantType": "refresh_token"}
        return self.visitor.post(
            self.url("/oauth/token"), changed(members, {"refreshToken": token, **changes})
        )

    def call(self, token: str, tool: str = "sendEmail") -> int:
        page = self.visitor.post_json(
            self.url(f"/tools/{tool}"), {}, Authorization=f"Bearer {token}"
        )
        return page.status
