"""Apps whose authorisation server gives too much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app import (
    DemonstrationApp,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
    Redirect,
    RegisteredClient,
)
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

AUTHORIZE = "gateway_consent/oauth-authorize"
PKCE = "gateway_consent/oauth-pkce"
TOKEN = "gateway_consent/oauth-token"


# ---- oauth-authorize: the app


class _SendsBack(AuthorisationServer):
    def changed(self, given: dict[str, str]) -> dict[str, str]:
        raise NotImplementedError

    def decide(self, question_id: str, allow: bool) -> Redirect:
        parts = urlsplit(super().decide(question_id, allow).location)
        given = self.changed(dict(parse_qsl(parts.query)))
        return Redirect(parts._replace(query=urlencode(given)).geturl())


@mutant(kills=AUTHORIZE, because=r'sent back with the same state[^§]*with a code, \{"iss"')
@in_extension
class LosesTheState(_SendsBack):
    """Sends people back without the state."""

    def changed(self, given: dict[str, str]) -> dict[str, str]:
        return {name: value for name, value in given.items() if name != "state"}


@mutant(kills=AUTHORIZE, because=r'a state \(long\)[^§]*the same state[^§]*"state":"s{100}"')
@in_extension
class CutsTheState(_SendsBack):
    """Keeps the first hundred characters of a state."""

    def changed(self, given: dict[str, str]) -> dict[str, str]:
        return {**given, "state": given["state"][:100]}


@mutant(kills=AUTHORIZE, because="no code[^§]*sent back with a code")
@in_extension
class TakesDenyForAllow(AuthorisationServer):
    """Gives a code whichever button is pressed."""

    def decide(self, question_id: str, allow: bool) -> Redirect:
        return super().decide(question_id, True)


@mutant(kills=AUTHORIZE, because="a page that lists[^§]*the page shows")
@in_extension
class ListsNoTools(DemonstrationApp):
    """Asks about the account, and does not list the tools."""

    def tools_shown(self, server: AuthorisationServer, tools: Sequence[str]) -> dict[str, str]:
        return {}


@mutant(kills=AUTHORIZE, because="a page that lists readInbox and no other[^§]*the page shows")
@in_extension
class ListsEveryTool(DemonstrationApp):
    """Lists all its tools, whichever were asked for."""

    def tools_shown(self, server: AuthorisationServer, tools: Sequence[str]) -> dict[str, str]:
        return dict(server.tools)


# ---- oauth-pkce


@mutant(kills=PKCE, because="a fresh code with another verifier[^§]*HTTP 200")
@in_extension
class DoesNotCompareVerifiers(AuthorisationServer):
    """Wants a verifier, and does not look at it."""

    def check_verifier(self, held: Any, asked: Mapping[str, str]) -> None:
        if "code_verifier" not in asked:
            super().check_verifier(held, asked)


@mutant(kills=PKCE, because="a fresh code with no verifier[^§]*HTTP 200")
@in_extension
class NeedsNoVerifier(AuthorisationServer):
    """Compares a verifier where there is one."""

    def check_verifier(self, held: Any, asked: Mapping[str, str]) -> None:
        if "code_verifier" in asked:
            super().check_verifier(held, asked)


@mutant(kills=PKCE, because="asked for with the method plain[^§]*HTTP 200")
@in_extension
class KnowsPlain(AuthorisationServer):
    """Knows the method plain as well."""

    def check_challenge(self, asked: Mapping[str, str]) -> None:
        if asked.get("code_challenge_method", "plain") != "plain":
            super().check_challenge(asked)

    def check_verifier(self, held: Any, asked: Mapping[str, str]) -> None:
        if asked.get("code_verifier") != held.challenge:
            super().check_verifier(held, asked)


@mutant(kills=PKCE, because="asked for without codeChallenge[^§]*HTTP 200")
@in_extension
class LeavesPkceToTheClient(AuthorisationServer):
    """Has PKCE for those who want it."""

    def check_challenge(self, asked: Mapping[str, str]) -> None:
        if "code_challenge" in asked:
            super().check_challenge(asked)

    def check_verifier(self, held: Any, asked: Mapping[str, str]) -> None:
        if held.challenge:
            super().check_verifier(held, asked)


class _UsesNothingUp(AuthorisationServer):
    def check_unused(self, held: Any) -> bool:
        return True

    def spend(self, held: Any) -> None:
        """Nothing is used up."""


@mutant(kills=PKCE, because="a code that was redeemed before[^§]*HTTP 200")
@in_extension
class RedeemsTwice(_UsesNothingUp):
    """Does not mark codes as used."""


@mutant(kills=PKCE, because="a fresh code with another redirectUri[^§]*HTTP 200")
@in_extension
class ForgetsTheAddress(AuthorisationServer):
    """Does not compare redirectUri when the code is redeemed."""

    def check_redirect_uri(self, held: Any, asked: Mapping[str, str]) -> None:
        """One is as good as another."""


@mutant(kills=PKCE, because="an authorisation request with redirectUri[^§]*sent back with a code")
@in_extension
class SendsAnywhere(AuthorisationServer):
    """Sends people wherever the request says."""

    def is_registered(self, client: RegisteredClient, redirect_uri: str) -> bool:
        return True


@mutant(
    kills=PKCE,
    because="an authorisation request with redirectUri[^§]*callback[^§]*sent back with a code",
)
@in_extension
class ComparesBeginnings(AuthorisationServer):
    """Compares the beginning of an address."""

    def is_registered(self, client: RegisteredClient, redirect_uri: str) -> bool:
        return any(redirect_uri.startswith(one) for one in client.redirect_uris())


@mutant(kills=PKCE, because="by another client of the server[^§]*HTTP 200")
@in_extension
class GivesToAnyClient(AuthorisationServer):
    """Does not look whose code it is."""

    def check_client(self, held: Any, client_id: str) -> bool:
        return True


@mutant(kills=PKCE, because="601 s old[^§]*HTTP 200")
@in_extension
class KeepsCodes(AuthorisationServer):
    """Lets a code live for a day."""

    code_seconds = 86400


# ---- oauth-token


@mutant(kills=TOKEN, because="not used for a year[^§]*HTTP 200")
@in_extension
class RefreshesForEver(AuthorisationServer):
    """Gives refresh tokens that never end."""

    refresh_seconds = 3650 * 86400


@mutant(kills=TOKEN, because="when its access token is over[^§]*HTTP 400")
@in_extension
class EndsBothAtOnce(AuthorisationServer):
    """Ends the refresh token with the access token."""

    refresh_seconds = 3600


@mutant(kills=TOKEN, because="a second after its end[^§]*it opens")
@in_extension
class OpensForEver(AuthorisationServer):
    """Does not look whether an access token is over."""

    def opened(self, access_token: str) -> Any:
        held = self.access.find(access_token)
        return held.allowed if held else None


@mutant(kills=TOKEN, because="a second before its end[^§]*it does not")
@in_extension
class EndsEarly(AuthorisationServer):
    """Ends access tokens before the time that it tells."""

    def opened(self, access_token: str) -> Any:
        held = self.access.find(access_token)
        early = held is None or self.clock.now() >= held.expires_at - timedelta(minutes=5)
        return None if early else super().opened(access_token)


@mutant(kills=TOKEN, because="a refresh token that was used before, 600 s later[^§]*HTTP 200")
@in_extension
class RefreshesTwice(_UsesNothingUp):
    """Gives a new refresh token, and goes on taking the old one."""


@mutant(kills=TOKEN, because="a refresh token, by another client[^§]*HTTP 200")
@in_extension
class RefreshesForAnybody(AuthorisationServer):
    """Does not look whose refresh token it is."""

    def check_client(self, held: Any, client_id: str) -> bool:
        return True


class _Answers(AuthorisationServer):
    member: str
    value: Any = None

    def token_members(self, parameters: Any, members: Mapping[str, Any]) -> Mapping[str, Any]:
        found = dict(super().token_members(parameters, members))
        if self.member in found:
            found.pop(self.member)
            if self.value is not None:
                found[self.member] = self.value
        return found


@mutant(kills=TOKEN, because="not as it should be: expiresIn")
@in_extension
class TellsNoEnd(_Answers):
    """Does not say when a token ends."""

    member = "expiresIn"


@mutant(kills=TOKEN, because="not as it should be: refreshToken")
@in_extension
class GivesNoRefreshToken(_Answers):
    """Gives no refresh token."""

    member = "refreshToken"


@mutant(kills=TOKEN, because="not as it should be: tokenType")
@in_extension
class CallsItsTokensOtherwise(_Answers):
    """Gives tokens of another type."""

    member, value = "tokenType", "mac"
