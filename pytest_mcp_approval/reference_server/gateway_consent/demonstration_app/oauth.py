"""The app's authorisation server: oauthlib's end points over this app's rules.

Framework-neutral: text in, an outcome out. oauthlib fits with three adjustments: the spelling of
this profile is translated at the door (`spelling.py`), "plain" is taken out of its PKCE methods,
and codes and refresh tokens are used up in one step of ours (`Validator.spend`). Responses name the
issuer (RFC 9207), so that a client of several apps can tell whose they are. Knows no HTML.
"""

from __future__ import annotations

import json
import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar
from urllib.parse import urlencode

from oauthlib.common import add_params_to_uri  # type: ignore[import-untyped]
from oauthlib.oauth2 import (  # type: ignore[import-untyped]
    AuthorizationEndpoint,
    BearerToken,
    TokenEndpoint,
)
from oauthlib.oauth2.rfc6749 import errors  # type: ignore[import-untyped]
from oauthlib.oauth2.rfc6749.grant_types import (  # type: ignore[import-untyped]
    AuthorizationCodeGrant,
    RefreshTokenGrant,
)

from ...server.clock import Clock
from . import spelling
from .grants import Allowed, Grants
from .spelling import Parameters, SpellingError
from .validator import RegisteredClient, Validator

QUESTION_SECONDS = 600
_MOST_QUESTIONS = 1000


class NotAskedError(ValueError):
    """A request that a person is told about and nobody is sent anywhere for. Holds no value."""


@dataclass(frozen=True)
class AuthorisationQuestion:
    """What a person is asked: may this client use these tools?"""

    id: str = field(repr=False)
    client_id: str
    redirect_uri: str
    scopes: tuple[str, ...]
    tools: tuple[str, ...]
    expires_at: datetime
    parameters: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True)
class Redirect:
    """Where the person's browser goes next: always a registered address."""

    location: str = field(repr=False)


@dataclass(frozen=True)
class TokenEndpointAnswer:
    status: int
    headers: Mapping[str, str]
    members: Mapping[str, Any] = field(repr=False)


class S256CodeGrant(AuthorizationCodeGrant):  # type: ignore[misc]
    """Without the method "plain", which a request without a method would mean (RFC 7636, 4.3)."""

    _code_challenge_methods: ClassVar[Mapping[str, Callable[[str, str], bool]]] = {
        "S256": AuthorizationCodeGrant._code_challenge_methods["S256"]
    }

    def create_authorization_code(self, request: Any) -> dict[str, str]:
        """Not the library's own, which writes the code to the log."""
        return {"code": secrets.token_urlsafe(32), "state": request.state}


class AuthorisationServer:
    """One app's. `issuer` says under which address it is reached, once it is."""

    validator_class: type[Validator] = Validator
    code_grant_class: type[AuthorizationCodeGrant] = S256CodeGrant

    def __init__(
        self,
        clock: Clock,
        issuer: Callable[[], str],
        clients: Mapping[str, RegisteredClient],
        tools: Mapping[str, str],
    ) -> None:
        # At DEBUG the library writes codes and refresh tokens into the log.
        logging.getLogger("oauthlib").setLevel(logging.WARNING)
        self.clock = clock
        self.issuer = issuer
        self.tools = tools
        self.grants = Grants()
        self.validator = self.validator_class(clock, self.grants, clients, list(tools))
        self._lock = threading.Lock()
        self._questions: OrderedDict[str, AuthorisationQuestion] = OrderedDict()
        self._authorisation, self._token = self._end_points()

    def _end_points(self) -> tuple[Any, Any]:
        rules = self.validator
        code = self.code_grant_class(
            rules,
            pre_auth=[rules.check_state, rules.check_challenge, rules.check_tools],
            post_token=[rules.spend],
        )
        refresh = RefreshTokenGrant(rules, post_token=[rules.spend])
        bearer = BearerToken(rules, _new_token, rules.access_seconds)
        return (
            AuthorizationEndpoint("code", bearer, {"code": code}),
            TokenEndpoint(
                "authorization_code",
                bearer,
                {"authorization_code": code, "refresh_token": refresh},
            ),
        )

    # ---- the authorisation end point

    def ask(self, query: str) -> AuthorisationQuestion | Redirect:
        """What to show; where the client is told of its mistake; else `NotAskedError`."""
        try:
            parameters = spelling.read(query).values
            scopes, found = self._authorisation.validate_authorization_request(_uri(parameters))
        except SpellingError as error:
            raise NotAskedError(str(error)) from None
        except errors.FatalClientError as error:
            raise NotAskedError(error.description) from None
        except errors.OAuth2Error as error:
            return self.send_back(error.redirect_uri, dict(error.twotuples))
        question = AuthorisationQuestion(
            id=secrets.token_urlsafe(32),
            client_id=found["client_id"],
            redirect_uri=found["redirect_uri"],
            scopes=tuple(scopes),
            tools=tuple(found["tools"]),
            expires_at=self.clock.now() + timedelta(seconds=QUESTION_SECONDS),
            parameters=parameters,
        )
        with self._lock:
            self._questions[question.id] = question
            while len(self._questions) > _MOST_QUESTIONS:
                self._questions.popitem(last=False)
        return question

    def decide(self, question_id: str, allow: bool) -> Redirect:
        """The person's answer, taken once."""
        with self._lock:
            question = self._questions.pop(question_id, None)
        if question is None or self.clock.now() >= question.expires_at:
            raise NotAskedError("this question is answered, or too old: start again at the agent")
        if not allow:
            return self.send_back(
                question.redirect_uri,
                {"error": "access_denied", "state": question.parameters["state"]},
            )
        try:
            headers, _, _ = self._authorisation.create_authorization_response(
                _uri(question.parameters), credentials={"lineage": secrets.token_hex(16)}
            )
        except errors.FatalClientError as error:
            raise NotAskedError(error.description) from None
        return self.send_back(headers["Location"], {})

    def send_back(self, uri: str, parameters: Mapping[str, str]) -> Redirect:
        named = {**parameters, "iss": self.issuer()}
        return Redirect(add_params_to_uri(uri, list(named.items())))

    # ---- the token end point

    def token(self, body: str) -> TokenEndpointAnswer:
        """An answer in the spelling of the request; errors are those of RFC 6749, section 5.2."""
        try:
            parameters = spelling.read(body)
        except SpellingError as error:
            return _refusal(errors.InvalidRequestError(description=str(error)))
        try:
            headers, text, status = self._token.create_token_response(
                self.issuer(), "POST", urlencode(parameters.values), {}
            )
        except errors.OAuth2Error as error:
            return _refusal(error)
        return TokenEndpointAnswer(
            status, headers, self.token_members(parameters, json.loads(text))
        )

    def token_members(
        self, parameters: Parameters, members: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Errors keep the RFC's names: this profile has none of its own for them. What was asked is
        not repeated: the state belongs to the other end point."""
        if "error" in members:
            return {name: members[name] for name in members if name != "state"}
        return parameters.answer(members)

    # ---- what a token is good for

    def opened(self, access_token: str) -> Allowed | None:
        return self.validator.opened(access_token)

    def clear(self) -> None:
        self.grants.clear()
        with self._lock:
            self._questions.clear()


def _uri(parameters: Mapping[str, str]) -> str:
    """oauthlib takes its parameters out of an address; which one does not matter to it."""
    return f"http://localhost/authorize?{urlencode(parameters)}"


def _new_token(_: Any) -> str:
    return secrets.token_urlsafe(32)


def _refusal(error: Any) -> TokenEndpointAnswer:
    headers = {"Cache-Control": "no-store", "Pragma": "no-cache", **error.headers}
    members = {"error": error.error, "error_description": error.description}
    return TokenEndpointAnswer(error.status_code, headers, members)
