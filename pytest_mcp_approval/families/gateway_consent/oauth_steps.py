"""What scenarios about an app's authorisation server share: honest steps, and two expectations."""

from __future__ import annotations

from ...catalogue import Finding, Grade, NotVerified
from .oauth_client import AuthorisationAnswer, OAuthClient, TokenAnswer
from .scenario import Consents


def honest_way(client: OAuthClient, **changes: str | None) -> AuthorisationAnswer:
    """An honest authorisation, up to the code."""
    way = client.ask(**changes)
    if not way.code:
        raise NotVerified(f"an honest authorisation brought no code: {way.describe()}")
    return way


def honest_tokens(client: OAuthClient) -> TokenAnswer:
    """An honest authorisation, up to the tokens."""
    given = client.redeem(honest_way(client))
    if not given.given:
        raise NotVerified(f"an honest code was not redeemed: {given.describe()}")
    return given


def expect_no_token(
    consents: Consents, answer: TokenAnswer, sent: str, *, left_open: bool = False
) -> None:
    """A refusal in another form than in RFC 6749 (section 5.2) is a warning, and so is a token
    where the document leaves it open."""
    if answer.access and left_open:
        consents.warn(f"{sent}: {answer.describe()}")
        return
    if answer.access:
        raise Finding(
            sent=sent,
            expected="HTTP 400 with an error, and no token",
            got=answer.describe(),
            grade=Grade.RAN,
        )
    if not 400 <= answer.status < 500:
        consents.warn(f"{sent}: no token, but {answer.describe()}; expected HTTP 400")


def expect_given(consents: Consents, answer: TokenAnswer, sent: str) -> None:
    consents.expect(
        answer.given, sent=sent, expected="HTTP 200 with an access token", got=answer.describe()
    )


def need_resource(client: OAuthClient) -> None:
    if not client.oauth.resource:
        raise NotVerified("needs resource, a URL that a token opens: oauth in [gateway_consent]")
