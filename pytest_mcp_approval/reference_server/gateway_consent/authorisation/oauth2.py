"""The gateway as a client of OAuth 2.0 with PKCE, in this profile's spelling.

Knows no page and no consent: it is told which tools were allowed.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from ....families.gateway_consent import vocabulary as words
from ....families.gateway_consent.vocabulary import ACCESS_TOKEN_SECONDS, AuthType
from ...server.secret_text import digest, sha256_challenge
from .. import http_client
from ..descriptors import App
from ..vault import Vault
from .credentials import Credentials
from .flows import Flow, FlowError, Flows
from .renewing import RenewalRefusedError, RenewingWay
from .ways import (
    Asking,
    NotSentError,
    is_visible,
    lifetime,
    member,
    members_of,
    needed_setting,
    text_setting,
)

CALLBACK = "/callback"
COOKIE = "gateway_flow_"
_PLAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_TOOLS = "tools"


@dataclass(frozen=True)
class FlowStart:
    """Where the browser goes, and the cookie that it needs when it comes back."""

    location: str = field(repr=False)
    cookie_name: str
    cookie: str = field(repr=False)


@dataclass(frozen=True)
class Return:
    """What the browser brings back."""

    place: str
    """The last part of the address that it came to."""
    parameters: Mapping[str, str] = field(repr=False)
    cookies: Sequence[str] = field(repr=False)


class OAuth2(RenewingWay):
    kind = AuthType.OAUTH2
    early = 60 * 1000

    def __init__(
        self, credentials: Credentials, vault: Vault, pages_url: Callable[[], str]
    ) -> None:
        super().__init__(credentials)
        self.flows = Flows(vault, credentials)
        self.pages_url = pages_url

    # ---- what is sent

    def serves(self, record: Mapping[str, Any], asking: Asking) -> bool:
        """Whether the app was asked about this tool (or all these tools)."""
        wanted = asking.consented if asking.tool is None else [asking.tool]
        return set(wanted) <= set(record.get(_TOOLS, ()))

    def after_refusal(self, asking: Asking, record: dict[str, Any]) -> dict[str, Any] | None:
        """Another process may have renewed it meanwhile; if not, the record is worthless."""
        now_kept = self.load(asking)
        if now_kept is not None and now_kept != record:
            return now_kept
        return super().after_refusal(asking, record)

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        token = record.get(words.REFRESH_TOKEN)
        if not token:
            raise RenewalRefusedError
        return self.ask_for_tokens(app, {"grantType": "refresh_token", "refreshToken": token})

    # ---- the way there

    def redirect_uri(self, app: App) -> str:
        """One for each app, so that no app's answer can be taken for another's (RFC 9700, section
        4.4.2): an app redirects only to the address registered with it."""
        return f"{self.pages_url()}{CALLBACK}/{place_of(app.id)}"

    def start(self, app: App, caller: str, consented: Sequence[str]) -> FlowStart:
        client_id = needed_setting(app, "clientId")
        end_point = needed_setting(app, "authorizationEndpoint")
        http_client.checked(end_point)
        verifier = self.new_verifier()
        tools = self.aai_tools(app, consented)
        redirect_uri = self.redirect_uri(app)
        state, cookie = self.flows.begin(caller, app.id, redirect_uri, tools, verifier)
        parameters = {
            "responseType": "code",
            "clientId": client_id,
            "redirectUri": redirect_uri,
            "scope": text_setting(app, "scope"),
            "state": state,
            "codeChallenge": sha256_challenge(verifier),
            "codeChallengeMethod": "S256",
            words.AAI_TOOLS: ",".join(tools),
        }
        parts = urlsplit(end_point)
        given = {name: value for name, value in parameters.items() if value}
        query = "&".join(part for part in (parts.query, urlencode(given)) if part)
        location = parts._replace(query=query, fragment="").geturl()
        # Each flow has its own cookie name: two flows in one browser do not interfere.
        return FlowStart(location, cookie_name(state), cookie)

    def new_verifier(self) -> str:
        return secrets.token_urlsafe(48)

    def aai_tools(self, app: App, consented: Sequence[str]) -> tuple[str, ...]:
        """Only what was allowed, for this caller. A comma in a name would split it in two."""
        if any("," in name for name in consented):
            raise NotSentError("one of its tools has a comma in its name, which cannot be listed")
        return tuple(name for name in app.tools if name in consented)

    # ---- the way back

    def finish(self, back: Return, apps: Mapping[str, App]) -> Flow:
        """Store the tokens; `FlowError` says why not."""
        flow = self.flows.take(self.state_of(back))
        app = apps.get(flow.app_id)
        if app is None:
            raise FlowError("This app is not known here any more.")
        self.check_place(back, flow)
        self.check_browser(back, flow)
        self.check_issuer(back, app)
        self.check_allowed(back)
        self.redeem(app, flow, self.code_of(back))
        return flow

    def state_of(self, back: Return) -> str:
        state = back.parameters.get("state")
        if not state:
            raise FlowError("This answer does not say which request it belongs to (state).")
        return state

    def check_place(self, back: Return, flow: Flow) -> None:
        """One app's answer must not count as another's."""
        if back.place != place_of(flow.app_id):
            raise FlowError("This is the answer of another app.")

    def check_browser(self, back: Return, flow: Flow) -> None:
        """The browser that comes back is the one that left (RFC 6749, section 10.12)."""
        if not any(hmac.compare_digest(digest(one), flow.binding) for one in back.cookies):
            raise FlowError("This was started in another browser (is a cookie lost?).")

    def check_issuer(self, back: Return, app: App) -> None:
        """RFC 9207, if the descriptor names the issuer."""
        expected = text_setting(app, "issuer")
        if expected and back.parameters.get("iss") != expected:
            raise FlowError("This answer was issued by somebody else (iss).")

    def check_allowed(self, back: Return) -> None:
        """The app's own words are not shown: anybody can put them into an address."""
        if back.parameters.get("error") == "access_denied":
            raise FlowError("Access was denied. The agent cannot use this app.")
        if "error" in back.parameters:
            raise FlowError("The app did not accept the request.")

    def code_of(self, back: Return) -> str:
        code = back.parameters.get("code")
        if not code:
            raise FlowError("This answer has no code.")
        return code

    def redeem(self, app: App, flow: Flow, code: str) -> None:
        asked = {
            "grantType": "authorization_code",
            "code": code,
            "redirectUri": flow.redirect_uri,
            "codeVerifier": flow.verifier,
        }
        try:
            fresh = self.ask_for_tokens(app, asked)
        except RenewalRefusedError:
            raise FlowError("The app did not accept its own code.") from None
        except http_client.SendingError:
            raise FlowError("The app could not be asked for a token: try again.") from None
        with self.credentials.alone(flow.caller, app.id):
            self.credentials.save(flow.caller, app.id, {**fresh, _TOOLS: list(flow.tools)})

    # ---- the token endpoint

    def ask_for_tokens(self, app: App, asked: Mapping[str, str]) -> dict[str, Any]:
        """The members to store. The client is named too, as in RFC 6749, section 4.1.3."""
        answer = http_client.send(
            "POST",
            needed_setting(app, "tokenEndpoint"),
            {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"},
            urlencode({**asked, "clientId": needed_setting(app, "clientId")}).encode(),
        )
        if 400 <= answer.status < 500:
            raise RenewalRefusedError
        members = members_of(answer.body)
        if not 200 <= answer.status < 300:
            raise NotSentError(f"its token endpoint answered with the status {answer.status}")
        return self.read_tokens(members)

    def read_tokens(self, members: Mapping[str, Any]) -> dict[str, Any]:
        token, kind = member(members, "accessToken"), member(members, "tokenType")
        if not is_visible(token) or not isinstance(kind, str) or kind.lower() != "bearer":
            raise NotSentError("its token endpoint gave no bearer token")
        lasts = lifetime(member(members, "expiresIn"), ACCESS_TOKEN_SECONDS)
        kept: dict[str, Any] = {
            words.ACCESS_TOKEN: token,
            words.EXPIRES_AT: self.credentials.now() + lasts,
            words.TOKEN_TYPE: "Bearer",
        }
        refresh = member(members, "refreshToken")
        return {**kept, words.REFRESH_TOKEN: refresh} if is_visible(refresh) else kept


def cookie_name(state: str) -> str:
    return COOKIE + digest(state)[:16]


def place_of(app_id: str) -> str:
    """A part of an address for any id, unique for each."""
    if _PLAIN_ID.fullmatch(app_id):
        return app_id
    return "~" + digest(app_id)
