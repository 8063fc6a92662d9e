"""An app's authorisation server, what is nearly right and what comes later: other spellings of
codes and tokens, many at once, long after, in RFC 6749's names."""

import secrets
from concurrent.futures import ThreadPoolExecutor

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.base.look_alikes import nearly
from pytest_mcp_approval.families.base.people import form_client_for
from pytest_mcp_approval.families.gateway_consent.app_double import challenge_of
from pytest_mcp_approval.families.gateway_consent.lookalikes import (
    SECRETS,
    WHOLE_SECRETS,
    is_whole,
)
from pytest_mcp_approval.families.gateway_consent.oauth_steps import (
    expect_given,
    expect_no_token,
    honest_tokens,
    honest_way,
)
from pytest_mcp_approval.families.gateway_consent.outcome import shown
from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    AAI_TOOLS,
)

AT_ONCE = 6
HOUR = 3600


# ---- oauth-pkce


@requirement("gateway_consent/oauth-pkce")
def test_nearly_the_right_code_is_none(consents):
    """Compared loosely, or in part, codes could be guessed. The code itself is redeemed after
    that; a server may end it after so many guesses (a warning)."""
    client = consents.oauth()
    way = honest_way(client)
    with consents.several() as several:
        for what, code in nearly(way.code, {**SECRETS, **WHOLE_SECRETS}).items():
            answer = client.redeem(way, code=code)
            with several.one(what):
                expect_no_token(
                    consents, answer, f"a code, {what}", left_open=is_whole(what, way.code)
                )
                if answer.given:
                    return  # it is used up
    answer = client.redeem(way)
    if not answer.given:
        honest_tokens(client)  # else it serves nobody any more, and the refusals say nothing
        consents.warn(f"the code as it was given, after others were refused: {answer.describe()}")


VERIFIERS = (f"{'a' * 40}.~_-", "A" * 43, f"{'.~_-' * 32}")
"""Of every character, and of the least and the most that RFC 7636 (section 4.1) allows."""


@requirement("gateway_consent/oauth-pkce")
def test_every_verifier_of_the_rfc_serves(consents):
    client = consents.oauth()
    honest_tokens(client)
    with consents.several() as several:
        for verifier in VERIFIERS:
            way = honest_way(client, codeChallenge=challenge_of(verifier))
            sent = f"a fresh code with its verifier, {len(verifier)} characters: {shown(verifier)}"
            with several.one(verifier):
                expect_given(consents, client.redeem(way, codeVerifier=verifier), sent)


@requirement("gateway_consent/oauth-pkce")
def test_a_code_is_redeemed_once_by_many_at_once(consents):
    """Six at once: one gets a token at most. Those that lost do not get one later."""
    client = consents.oauth()
    honest_tokens(client)
    way = honest_way(client)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda _: client.redeem(way), range(AT_ONCE)))
    given = sum(1 for one in answers if one.given)
    consents.expect(
        given <= 1,
        sent=f"a code, redeemed by {AT_ONCE} at once",
        expected="one token at most",
        got=f"{given} tokens",
    )
    if given:
        sent = "a code that many tried to redeem, once more"
        expect_no_token(consents, client.redeem(way), sent)
    honest_tokens(client)


@requirement("gateway_consent/oauth-pkce", needs=["oauth", "clock"])
def test_a_used_code_is_used_for_ever(consents):
    """A minute, four minutes, an hour and a day later, with codes of others redeemed meanwhile."""
    client = consents.oauth()
    used = [honest_way(client) for _ in range(4)]
    for way in used:
        if not client.redeem(way).given:
            raise NotVerified("an honest code was not redeemed")
    passed = 0
    with consents.several() as several:
        for way, after in zip(used, (61, 241, HOUR, 24 * HOUR), strict=True):
            consents.clock.advance(after - passed)
            passed = after
            honest_tokens(client)
            with several.one(f"{after} s later"):
                for time in ("second", "third"):
                    sent = f"a used code, {after} s later, the {time} time"
                    expect_no_token(consents, client.redeem(way), sent)


@requirement("gateway_consent/oauth-pkce", needs=["oauth", "clock"])
def test_trying_in_vain_does_not_prolong_a_code(consents):
    """Every four minutes it is tried with a wrong verifier: an hour later it is over all the
    same."""
    client = consents.oauth()
    honest_tokens(client)
    way = honest_way(client)
    for _ in range(16):
        consents.clock.advance(240)
        sent = "a code with another verifier"
        expect_no_token(consents, client.redeem(way, codeVerifier=secrets.token_urlsafe(48)), sent)
    answer = client.redeem(way)
    expect_no_token(consents, answer, "a code, an hour old, that was tried in vain meanwhile")
    honest_tokens(client)


@requirement("gateway_consent/oauth-pkce")
def test_in_the_other_spelling_nothing_is_easier(consents):
    """A server that knows RFC 6749's names as well looks at the same things under those."""
    client = consents.oauth("rfc")
    way = client.ask()
    if not way.code or not client.redeem(way).given:
        consents.not_applicable("this server knows this profile's spelling only")
    other: dict[str, str | None] = {"redirectUri": "http://localhost:1/elsewhere"}
    faults: dict[str, dict[str, str | None]] = {
        "another verifier": {"codeVerifier": secrets.token_urlsafe(48)},
        "no verifier": {"codeVerifier": None},
        "the challenge in place of the verifier": {},
        "another redirectUri": other,
    }
    # The document's token request names no client: a server need not look for one.
    if not client.redeem(honest_way(client), clientId=None).given:
        stranger = client.oauth.other_client or "nobody-knows-this-client"
        faults["another client"] = {"clientId": stranger}
    with consents.several() as several:
        for what, changes in faults.items():
            fresh = honest_way(client)
            challenge = {} if changes else {"codeVerifier": challenge_of(fresh.verifier)}
            with several.one(what):
                answer = client.redeem(fresh, **changes, **challenge)
                expect_no_token(consents, answer, f"a code with {what}, in RFC 6749's names")
        with several.one("used before"):
            answer = client.redeem(way)
            expect_no_token(
                consents, answer, "a code that was redeemed before, in RFC 6749's names"
            )
        for what, method in {"the method plain": "plain", "no method": None}.items():
            verifier = secrets.token_urlsafe(48)
            with several.one(what):
                open_way = client.ask(codeChallenge=verifier, codeChallengeMethod=method)
                if open_way.code:
                    answer = client.redeem(open_way, codeVerifier=verifier)
                    expect_no_token(consents, answer, f"a code with {what}, in RFC 6749's names")


NEAR_ADDRESSES = {
    "in another host": lambda uri: uri.replace("localhost", "localhost.attacker.example", 1),
    "with a user before its host": lambda uri: uri.replace("://", "://attacker@", 1),
    "as a user of another host": lambda uri: uri.replace("://", "://x.example\\@", 1),
    "in another scheme": lambda uri: uri.replace("http", "javascript", 1),
    "with a path up": lambda uri: f"{uri}/..%2f..%2felsewhere",
    "with another path": lambda uri: f"{uri}2",
    "cut": lambda uri: uri[:-1],
    "with a path in capitals": lambda uri: uri[:-4] + uri[-4:].upper(),
}
OWN_ADDRESSES = {
    "with a slash behind it": lambda uri: f"{uri}/",
    "with a query": lambda uri: f"{uri}?next=https://attacker.example",
    "with a fragment": lambda uri: f"{uri}#attacker",
}
"""They lead to the client itself: RFC 9700 (section 2.1) refuses them, the document is silent."""


@requirement("gateway_consent/oauth-pkce")
def test_nobody_is_sent_to_an_address_that_is_near(consents):
    """Neither at the start, nor is a code redeemed with such an address."""
    client = consents.oauth()
    honest_tokens(client)
    own = client.oauth.redirect
    with consents.several() as several:
        for what, near in (NEAR_ADDRESSES | OWN_ADDRESSES).items():
            address = near(own)
            if address == own:
                continue
            way = client.ask(redirectUri=address)
            sent = f"an authorisation request with redirectUri {what}: {shown(address)}"
            if way.code and what in OWN_ADDRESSES:
                consents.warn(f"{sent}: {way.describe()}")
                continue
            with several.one(what):
                consents.expect(
                    not way.code,
                    sent=sent,
                    expected="a refusal, and nobody sent anywhere with a code",
                    got=way.describe(),
                )
        for what in ("in another host", "with another path", "cut"):
            answer = client.redeem(honest_way(client), redirectUri=NEAR_ADDRESSES[what](own))
            with several.one(f"{what}, redeemed"):
                expect_no_token(consents, answer, f"a fresh code with its redirectUri {what}")


# ---- oauth-authorize

MARKUP = "\"'><b data-suite>x</b>"
REFLECTED = ("state", "scope", "clientId", "redirectUri", "responseType", AAI_TOOLS)


@requirement("gateway_consent/oauth-authorize", needs=["oauth"])
def test_a_request_writes_nothing_into_the_page(consents):
    """Whatever stands in the address of the authorisation page is text there, or not there."""
    client = consents.oauth()
    if not client.ask().code:
        raise NotVerified("an honest authorisation brought no code")
    with consents.several() as several:
        for name in REFLECTED:
            asked = client.parameters("v" * 64)
            asked[name] = f"{asked.get(name, '')}{MARKUP}"
            browser = form_client_for(consents.target)
            page = browser.get(client.address(asked), follow=False)
            # What a browser does not read as HTML makes no element.
            is_html = "html" in page.headers.get("content-type", "html").lower()
            raw = is_html and b"<b data-suite>" in page.body
            with several.one(name):
                consents.expect(
                    not raw,
                    sent=f"an authorisation request with markup in {name}",
                    expected="no element of it in the page",
                    got=f"{page.describe()} with the element <b data-suite>",
                )
