"""An app's authorisation server: codes, verifiers, tokens and their ends, right and wrong."""

import secrets

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.gateway_consent.app_double import challenge_of
from pytest_mcp_approval.families.gateway_consent.oauth_steps import (
    expect_given,
    expect_no_token,
    honest_tokens,
    honest_way,
    need_resource,
)
from pytest_mcp_approval.families.gateway_consent.outcome import shown
from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    ACCESS_TOKEN_SECONDS,
    REFRESH_TOKEN_SECONDS,
)
from pytest_mcp_approval.wire.reply import show_json

LONGEST_CODE = 600
"""What RFC 6749, section 4.1.2, recommends; there it has to end "shortly"."""
FAR_TOO_LONG_A_CODE = 3600
LONGEST_LEEWAY = 600
LONGEST_TOKEN = 366 * 24 * 3600
"""No clock is moved further than that."""


# ---- oauth-pkce


@requirement("gateway_consent/oauth-pkce")
@pytest.mark.parametrize("spelling", ["camel", "rfc"])
def test_an_honest_code_is_redeemed(consents, spelling):
    """In this profile's spelling. RFC 6749's is accepted as well, and never failed."""
    client = consents.oauth(spelling)
    if spelling == "rfc":
        way = client.ask()
        if not way.code or not client.redeem(way).given:
            consents.not_applicable("this server knows this profile's spelling only")
        return
    answer = client.redeem(honest_way(client))
    expect_given(consents, answer, "a fresh code with its verifier, redirectUri and client")


VERIFIERS = {
    "another verifier": lambda _: secrets.token_urlsafe(48),
    "no verifier": lambda _: None,
    "an empty verifier": lambda _: "",
    "the challenge in place of the verifier": lambda way: challenge_of(way.verifier),
    "the verifier without its last character": lambda way: way.verifier[:-1],
    "the verifier and one character more": lambda way: f"{way.verifier}A",
    "the verifier in another case": lambda way: way.verifier.swapcase(),
}


@requirement("gateway_consent/oauth-pkce")
@pytest.mark.parametrize("what", VERIFIERS)
def test_a_code_needs_its_verifier(consents, what):
    client = consents.oauth()
    honest_tokens(client)
    way = honest_way(client)
    answer = client.redeem(way, codeVerifier=VERIFIERS[what](way))
    expect_no_token(consents, answer, f"a fresh code with {what}")


@requirement("gateway_consent/oauth-pkce")
@pytest.mark.parametrize("method", ["plain", None, "S512"], ids=["plain", "no method", "S512"])
def test_the_verifier_is_never_sent_in_the_open(consents, method):
    """With the method plain (or none, which means plain) the challenge is the verifier itself:
    whoever sees the request could redeem the code."""
    client = consents.oauth()
    honest_tokens(client)
    verifier = secrets.token_urlsafe(48)
    way = client.ask(codeChallenge=verifier, codeChallengeMethod=method)
    if not way.code:
        return
    answer = client.redeem(way, codeVerifier=verifier)
    expect_no_token(consents, answer, f"a code that was asked for with the method {method}")


@requirement("gateway_consent/oauth-pkce")
def test_without_a_challenge_there_is_no_code(consents):
    client = consents.oauth()
    honest_tokens(client)
    way = client.ask(codeChallenge=None, codeChallengeMethod=None)
    if not way.code:
        return
    answer = client.redeem(way, codeVerifier=None)
    expect_no_token(consents, answer, "a code that was asked for without codeChallenge")


@requirement("gateway_consent/oauth-pkce")
def test_verifiers_of_two_codes_are_not_swapped(consents):
    client = consents.oauth()
    honest_tokens(client)
    first, second = honest_way(client), honest_way(client)
    answer = client.redeem(first, codeVerifier=second.verifier)
    expect_no_token(consents, answer, "a fresh code with the verifier of another code")


@requirement("gateway_consent/oauth-pkce")
def test_a_code_serves_once(consents):
    """And a second use ends what the first one got (RFC 6749, section 4.1.2)."""
    client = consents.oauth()
    way = honest_way(client)
    first = client.redeem(way)
    if not first.given:
        raise NotVerified(f"an honest code was not redeemed: {first.describe()}")
    expect_no_token(consents, client.redeem(way), "a code that was redeemed before")
    if client.oauth.resource and client.opens(first.access):
        consents.warn("a code was redeemed twice, and the token of the first time still serves")


@requirement("gateway_consent/oauth-pkce")
def test_a_code_is_for_its_own_address(consents):
    """redirectUri of the token request is that of the authorisation request. OAuth 2.1 no longer
    has it, since PKCE replaces it: accepting a code without one is a warning."""
    client = consents.oauth()
    honest_tokens(client)
    others = {
        "another redirectUri": "http://localhost:1/elsewhere",
        "a longer redirectUri": f"{client.oauth.redirect}/more",
    }
    with consents.several() as several:
        for what, address in others.items():
            answer = client.redeem(honest_way(client), redirectUri=address)
            with several.one(what):
                expect_no_token(consents, answer, f"a fresh code with {what}")
    if client.redeem(honest_way(client), redirectUri=None).given:
        consents.warn("a code is redeemed without redirectUri, as in OAuth 2.1")


@requirement("gateway_consent/oauth-pkce")
def test_nobody_is_sent_to_an_unknown_address(consents):
    """A code that goes to an attacker's address is the attacker's."""
    client = consents.oauth()
    honest_tokens(client)
    own = client.oauth.redirect
    for address in (
        "http://localhost:1/elsewhere",
        "https://attacker.example/callback",
        f"{own}/../elsewhere",
        f"{own}@attacker.example/",
        f"{own}.attacker.example/",
    ):
        way = client.ask(redirectUri=address)
        consents.expect(
            not way.code,
            sent=f"an authorisation request with redirectUri {shown(address)}",
            expected="a refusal, and nobody sent anywhere with a code",
            got=way.describe(),
        )


@requirement("gateway_consent/oauth-pkce")
def test_a_code_is_for_its_own_client(consents):
    """Mixed up: another client, also a registered one, has the code."""
    client = consents.oauth()
    honest_tokens(client)
    stranger = client.redeem(honest_way(client), clientId="nobody-knows-this-client")
    if stranger.given and client.redeem(honest_way(client), clientId=None).given:
        # The document's token request names no client: this server does not look for one.
        consents.warn("a code is redeemed whoever brings it, as long as the verifier is right")
        return
    expect_no_token(consents, stranger, "a fresh code, by a client that nobody knows")
    other = client.oauth.other_client
    if not other:
        consents.not_applicable("no second client of the server is named (oauth.other-client)")
    answer = client.redeem(honest_way(client), clientId=other)
    expect_no_token(consents, answer, "a fresh code, by another client of the server")
    answer = client.redeem(
        honest_way(client), clientId=other, redirectUri=client.oauth.other_redirect or None
    )
    expect_no_token(consents, answer, "a fresh code, by another client with its own address")


@requirement("gateway_consent/oauth-pkce")
def test_what_nobody_gave_out_is_no_code(consents):
    client = consents.oauth()
    way = honest_way(client)
    codes = {
        "a made-up code": secrets.token_urlsafe(32),
        "an empty code": "",
        "no code": None,
        "a code and one character more": f"{way.code}A",
    }
    with consents.several() as several:
        for what, code in codes.items():
            answer = client.redeem(way, code=code)
            with several.one(what):
                expect_no_token(consents, answer, f"a token request with {what}")
    consents.expect(
        client.redeem(way).given,
        sent="the real code, after made-up ones were refused",
        expected="HTTP 200 with an access token",
        got="a refusal",
    )


@requirement("gateway_consent/oauth-pkce", needs=["oauth", "clock"])
def test_a_code_ends_soon(consents):
    """Ten minutes are recommended: more is a warning, more than an hour is not soon any more."""
    client = consents.oauth()
    honest_tokens(client)
    first, second = honest_way(client), honest_way(client)
    consents.clock.advance(LONGEST_CODE + 1)
    if not client.redeem(first).given:
        return
    consents.clock.advance(FAR_TOO_LONG_A_CODE - LONGEST_CODE)
    sent = f"a code, {FAR_TOO_LONG_A_CODE + 1} s old"
    expect_no_token(consents, client.redeem(second), sent)
    consents.warn(f"a code serves after {LONGEST_CODE} s: RFC 6749 recommends that it does not")


# ---- oauth-token


@requirement("gateway_consent/oauth-token", needs=["oauth"])
def test_both_grants_give_a_whole_answer(consents):
    """accessToken, tokenType Bearer, expiresIn, refreshToken; by code and by refresh. A scope, and
    a refresh token that is not a new one, may be left out (RFC 6749, sections 5.1 and 6): the
    document shows them, and its list of members does not have the scope."""
    client = consents.oauth()
    first = client.redeem(honest_way(client))
    second = client.renew(first.refresh) if first.refresh else first
    for sent, answer in (("grantType authorization_code", first), ("refresh_token", second)):
        lasts = answer.members.get("expiresIn")
        right = {
            "accessToken": bool(answer.access),
            "tokenType": answer.text("tokenType").lower() == "bearer",
            "expiresIn": isinstance(lasts, int) and not isinstance(lasts, bool) and lasts > 0,
            "refreshToken": bool(answer.refresh) or answer is not first,
        }
        wrong = [name for name, holds in right.items() if not holds]
        consents.expect(
            answer.status == 200 and not wrong,
            sent=sent,
            expected="accessToken, tokenType Bearer, expiresIn, refreshToken",
            got=f"{answer.describe()}; not as it should be: {', '.join(wrong)}",
        )
        for name in ("refreshToken", "scope"):
            if not answer.text(name) and (name != "scope" or client.oauth.scope):
                consents.warn(f"{sent}: the answer has no {name}; the document shows one")
        if lasts > ACCESS_TOKEN_SECONDS:
            consents.warn(f"expiresIn {lasts}: an hour ({ACCESS_TOKEN_SECONDS}) is recommended")


@requirement("gateway_consent/oauth-token", needs=["oauth"])
def test_other_grants_give_nothing(consents):
    client = consents.oauth()
    given = honest_tokens(client)
    with consents.several() as several:
        for kind in ("password", "client_credentials", "implicit", "", None):
            answer = client.token(
                grantType=kind,
                clientId=client.oauth.client,
                username="a",
                password="b",
                refreshToken=given.refresh,
            )
            with several.one(str(kind)):
                expect_no_token(consents, answer, f"grantType {show_json(kind)}")


@requirement("gateway_consent/oauth-token")
def test_an_access_token_ends_when_it_said(consents):
    """A second before it opens the app, at its end it does not."""
    client = consents.oauth()
    need_resource(client)
    given = honest_tokens(client)
    lasts = given.members.get("expiresIn")
    if not isinstance(lasts, int) or not 0 < lasts <= LONGEST_TOKEN:
        raise NotVerified(f"needs an expiresIn in seconds, got {show_json(lasts)}")
    if not client.opens(given.access):
        raise NotVerified("a fresh token does not open the resource that is named")
    consents.clock.advance(lasts - 1, at_most=lasts)
    consents.expect(
        client.opens(given.access),
        sent=f"a token for {lasts} s, a second before its end",
        expected="the app opens",
        got="it does not",
    )
    consents.clock.advance(2)
    consents.expect(
        not client.opens(given.access),
        sent=f"a token for {lasts} s, a second after its end",
        expected="the app does not open",
        got="it opens",
    )


@requirement("gateway_consent/oauth-token")
def test_a_refresh_token_ends(consents):
    """Later than the access token. Seven days are a recommendation: more is a warning, more than a
    year is as good as for ever."""
    client = consents.oauth()
    given = honest_tokens(client)
    if not consents.clock.stops:
        raise NotVerified("needs a clock that can be put ahead by days")
    consents.clock.advance(ACCESS_TOKEN_SECONDS + 1)
    renewed = client.renew(given.refresh)
    expect_given(consents, renewed, "a refresh token, when its access token is over")
    consents.clock.advance(REFRESH_TOKEN_SECONDS + 1)
    late = client.renew(renewed.refresh or given.refresh)  # one that is not renewed goes on
    if not late.given:
        expect_no_token(consents, late, "a refresh token, seven days and a second old")
        return
    consents.clock.advance(LONGEST_TOKEN)
    last = client.renew(late.refresh or renewed.refresh or given.refresh)
    expect_no_token(consents, last, "a refresh token that was not used for a year")
    consents.warn("a refresh token serves for more than seven days, which are recommended")


@requirement("gateway_consent/oauth-token", needs=["oauth"])
def test_a_used_refresh_token_is_refused(consents):
    """Each use gives a new one; the old one, when it comes again, was stolen. The document does not
    mention it: if both work for a while, in case an answer was lost, that is a warning."""
    client = consents.oauth()
    given = honest_tokens(client)
    renewed = client.renew(given.refresh)
    expect_given(consents, renewed, "a fresh refresh token")
    if renewed.refresh in ("", given.refresh):
        consents.warn("a refresh token is not replaced after its use: it never changes")
        return
    sent = "a refresh token that was used before"
    again = client.renew(given.refresh)
    if not again.given:
        expect_no_token(consents, again, sent)
        return
    consents.warn(f"{sent}, and just now, is taken once more")
    if consents.target.clock.movable and consents.target.clock.stops:
        consents.clock.advance(LONGEST_LEEWAY)
        expect_no_token(consents, client.renew(given.refresh), f"{sent}, {LONGEST_LEEWAY} s later")


@requirement("gateway_consent/oauth-token", needs=["oauth"])
def test_a_refresh_token_is_for_its_own_client(consents):
    client = consents.oauth()
    given = honest_tokens(client)
    tokens = {
        "a made-up refresh token": secrets.token_urlsafe(32),
        "an access token": given.access,
        "no refresh token": None,
    }
    with consents.several() as several:
        for what, token in tokens.items():
            answer = client.token(
                grantType="refresh_token", refreshToken=token, clientId=client.oauth.client
            )
            with several.one(what):
                expect_no_token(consents, answer, f"{what}, as a refresh token")
        stranger = client.renew(given.refresh, clientId="nobody-knows-this-client")
        if stranger.given and client.renew(stranger.refresh or given.refresh, clientId=None).given:
            # The document's token request names no client: this server does not look for one.
            consents.warn("a refresh token serves whoever brings it")
            return
        with several.one("an unknown client"):
            expect_no_token(consents, stranger, "a refresh token, by an unknown client")
        other = client.oauth.other_client
        if not other:
            consents.not_applicable("no second client of the server is named (oauth.other-client)")
        with several.one("another client"):
            answer = client.renew(given.refresh, clientId=other)
            expect_no_token(consents, answer, "a refresh token, by another client")
    consents.expect(
        client.renew(given.refresh).given,
        sent="the real refresh token by its own client, after others were refused",
        expected="HTTP 200 with an access token",
        got="a refusal",
    )


@requirement("gateway_consent/oauth-token", needs=["apps", "clock"])
def test_the_gateway_renews_its_token_by_itself(consents):
    """The app is asked with the refresh token. The document has the request but does not say when
    it is made: asking the person again breaks nothing, and is a warning."""
    apps = consents.with_apps()
    client = apps.client()
    tool = apps.app_tool("oauth")
    apps.let_in(client, tool)
    apps.clock.advance(ACCESS_TOKEN_SECONDS + 1)
    answer = client.call(tool)
    sent = f"{tool.name}, {ACCESS_TOKEN_SECONDS + 1} s after its app gave a token for an hour"
    if answer.needs_authorization:
        apps.warn(f"{sent}: the person is asked again, and the refresh token is not used")
        return
    apps.expect(
        answer.succeeded,
        sent=sent,
        expected="served with a new token, or the person asked",
        got=answer.describe(),
    )
    kinds = [one.form.get("grantType") for one in apps.double.seen("oauth", "/oauth/oauth/token")]
    apps.expect(
        kinds == ["authorization_code", "refresh_token"],
        sent=sent,
        expected="one exchange with the refresh token",
        got=f"exchanges: {', '.join(map(str, kinds))}",
    )
