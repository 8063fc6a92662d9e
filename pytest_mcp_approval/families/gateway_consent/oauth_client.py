"""A client of OAuth 2.0 with PKCE that does what it is told, right or wrong.

It speaks to an app's authorisation server as the gateway does, with a person at its page. Standard
library only; knows no verdicts and shares no code with the reference gateway.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from ...support.json_reading import JsonError, read_json
from ...support.text import neutralise
from ...target import Target
from ...wire.reply import show_json
from ..base.form_client import FetchedPage, FormClient
from ..base.people import form_client_for
from .app_double import challenge_of
from .settings import OAuth, Words
from .vocabulary import AAI_TOOLS, PROFILE_NAMES, RFC_NAMES


@dataclass(frozen=True)
class AuthorisationAnswer:
    """What came of an authorisation request, up to the redirect back."""

    asked: Mapping[str, str]
    verifier: str = field(repr=False)
    page: FetchedPage
    """The app's question, or what it answered instead."""
    back: str = ""
    """Where the browser is sent with the answer; "" if it is not."""

    @property
    def answer(self) -> dict[str, str]:
        pairs = parse_qsl(urlsplit(self.back).query)
        return {PROFILE_NAMES.get(name, name): value for name, value in pairs}

    @property
    def code(self) -> str:
        return self.answer.get("code", "")

    def describe(self) -> str:
        if not self.back:
            return self.page.describe()
        shown = {name: value for name, value in self.answer.items() if name != "code"}
        return f"sent back with {'a code' if self.code else 'no code'}, {show_json(shown)}"


@dataclass(frozen=True)
class TokenAnswer:
    """What the token endpoint said."""

    status: int
    members: Mapping[str, Any] = field(repr=False)
    """Under this profile's names."""

    @property
    def given(self) -> bool:
        return self.status == 200 and bool(self.access)

    def text(self, name: str) -> str:
        value = self.members.get(name)
        return value if isinstance(value, str) else ""

    @property
    def access(self) -> str:
        return self.text("accessToken")

    @property
    def refresh(self) -> str:
        return self.text("refreshToken")

    def describe(self) -> str:
        if self.given:
            return f"HTTP {self.status} with an access token"
        return f"HTTP {self.status} {neutralise(str(self.members.get('error', '')), 60)}".rstrip()


@dataclass(frozen=True)
class OAuthClient:
    """`spelling` is "camel" for this profile's names, "rfc" for those of RFC 6749."""

    target: Target
    oauth: OAuth
    words: Words
    spelling: str = "camel"

    # ---- the authorisation endpoint

    def parameters(self, verifier: str, **changes: str | None) -> dict[str, str]:
        """An honest request with changes; None leaves a parameter out."""
        honest: dict[str, str | None] = {
            "responseType": "code",
            "clientId": self.oauth.client,
            "redirectUri": self.oauth.redirect,
            "scope": self.oauth.scope or None,
            "state": secrets.token_urlsafe(16),
            "codeChallenge": challenge_of(verifier),
            "codeChallengeMethod": "S256",
            AAI_TOOLS: ",".join(self.oauth.tools),
        }
        return {name: value for name, value in {**honest, **changes}.items() if value is not None}

    def address(self, asked: Mapping[str, str]) -> str:
        joint = "&" if "?" in self.oauth.authorize else "?"
        return f"{self.oauth.authorize}{joint}{urlencode(self.spelled(asked))}"

    def ask(self, *, press: str | None = None, **changes: str | None) -> AuthorisationAnswer:
        """An authorisation request, and a person who presses Allow (or another button)."""
        verifier = secrets.token_urlsafe(48)
        asked = self.parameters(verifier, **changes)
        browser = form_client_for(self.target)
        page = browser.get(self.address(asked), follow=False)
        page = self._within(browser, page)
        if page.location:
            return AuthorisationAnswer(asked, verifier, page, page.location)
        button = press or self.words.allow
        form = next((one for one in page.forms() if one.button(button)), None)
        if form is None:
            return AuthorisationAnswer(asked, verifier, page)
        after = browser.submit(page, form, form.button(button), follow=False)
        return AuthorisationAnswer(asked, verifier, page, self._within(browser, after).location)

    def _within(self, browser: FormClient, page: FetchedPage) -> FetchedPage:
        """Follow redirects between pages of the app itself."""
        own = urlsplit(self.oauth.authorize).netloc
        back = tuple(filter(None, (self.oauth.redirect, self.oauth.other_redirect)))
        for _ in range(5):
            there = page.location
            if not there or urlsplit(there).netloc != own or there.startswith(back):
                return page
            page = browser.get(there, follow=False)
        return page

    # ---- the token endpoint

    def redeem(self, way: AuthorisationAnswer, **changes: str | None) -> TokenAnswer:
        """Exchange the code; None leaves a parameter out."""
        honest: dict[str, str | None] = {
            "grantType": "authorization_code",
            "code": way.code,
            "redirectUri": way.asked.get("redirectUri"),
            "codeVerifier": way.verifier,
            "clientId": way.asked.get("clientId"),
        }
        return self.token(**{**honest, **changes})

    def renew(self, refresh: str, **changes: str | None) -> TokenAnswer:
        client = changes.get("clientId", self.oauth.client)
        return self.token(grantType="refresh_token", refreshToken=refresh, clientId=client)

    def token(self, **parameters: str | None) -> TokenAnswer:
        asked = {name: value for name, value in parameters.items() if value is not None}
        form = urlencode(self.spelled(asked))
        page = form_client_for(self.target).fetch("POST", self.oauth.token, form, follow=False)
        try:
            members = read_json(page.body)
        except JsonError:
            members = {}
        given: dict[str, Any] = members if isinstance(members, dict) else {}
        named = {PROFILE_NAMES.get(name, name): value for name, value in given.items()}
        return TokenAnswer(page.status, named)

    # ---- what a token opens

    def opens(self, access: str) -> bool:
        """Whether the app accepts this token now."""
        headers = {"Authorization": f"Bearer {access}", "Content-Type": "application/json"}
        page = form_client_for(self.target).fetch(
            "POST", self.oauth.resource, "{}", headers, follow=False
        )
        return 200 <= page.status < 300

    def spelled(self, given: Mapping[str, str]) -> dict[str, str]:
        if self.spelling == "camel":
            return dict(given)
        return {RFC_NAMES.get(name, name): value for name, value in given.items()}
