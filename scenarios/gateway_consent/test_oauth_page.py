"""The way of OAuth through a real browser: the gateway's request, the app's page, the way back."""

import re
from urllib.parse import parse_qsl, urlsplit

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.gateway_consent.outcome import shown
from pytest_mcp_approval.families.gateway_consent.vocabulary import AAI_TOOLS, PROFILE_NAMES
from pytest_mcp_approval.wire.reply import show_json

SHORTEST_STATE = 16


def _parameters(url):
    return {PROFILE_NAMES.get(name, name): value for name, value in parse_qsl(urlsplit(url).query)}


def _is_at(url, end_point):
    return url.partition("?")[0] == end_point.partition("?")[0]


def _at_the_app(consents, rendered_page, client):
    """A tool that was consented to, and the browser at its app's question."""
    oauth = consents.driver.facts(client).oauth
    for tool in consents.tools():
        if not tool.own_authorisation:
            continue
        consents.decided(client, tool)
        needed = client.call(tool)
        if not needed.needs_authorization:
            continue
        rendered_page.open(needed.auth_url)
        requests = [url for url in rendered_page.requested if _is_at(url, oauth.authorize)]
        if requests:
            return tool, _parameters(requests[-1]), oauth
    raise NotVerified(
        "needs a tool whose app is authorised at oauth.authorize: own-authorisation = true in "
        "tools.'NAME' of [gateway_consent]"
    )


@requirement("gateway_consent/oauth-authorize")
def test_the_gateways_request_is_whole(consents, rendered_page):
    """As the browser sends it."""
    tool, asked, oauth = _at_the_app(consents, rendered_page, consents.client())
    right = {
        "responseType": asked.get("responseType") == "code",
        "clientId": asked.get("clientId") == oauth.client,
        "redirectUri": asked.get("redirectUri") == oauth.redirect,
        "scope": bool(asked.get("scope")) or not oauth.scope,
        "state": bool(asked.get("state")),
        "codeChallenge": bool(re.fullmatch("[A-Za-z0-9_-]{43}", asked.get("codeChallenge", ""))),
        "codeChallengeMethod": asked.get("codeChallengeMethod") == "S256",
        "aaiTools": asked.get(AAI_TOOLS) == tool.tool,
    }
    wrong = {name: asked.get(name) for name, holds in right.items() if not holds}
    consents.expect(
        not wrong,
        sent=f"{tool.name}, to the app's authorisation end point",
        expected="responseType=code, clientId, redirectUri, scope, state, codeChallenge, "
        "codeChallengeMethod=S256, aaiTools",
        got=f"not as it should be: {show_json(wrong)}",
    )
    if len(asked["state"]) < SHORTEST_STATE:
        consents.warn(
            f"a state of {len(asked['state'])} characters can be guessed: RFC 6749, section 10.10"
        )


@requirement("gateway_consent/oauth-authorize")
def test_every_request_has_a_state_and_a_challenge_of_its_own(consents, rendered_page):
    """What is the same twice can be guessed or used again."""
    _, first, _ = _at_the_app(consents, rendered_page, consents.client("First"))
    rendered_page.requested.clear()
    _, second, _ = _at_the_app(consents, rendered_page, consents.client("Second"))
    for name in ("state", "codeChallenge"):
        consents.expect(
            first.get(name) != second.get(name),
            sent="two authorisation requests of the gateway",
            expected=f"two values of {name}",
            got="one value",
        )


@requirement("gateway_consent/oauth-authorize")
def test_the_whole_way_there_and_back(consents, rendered_page):
    """Allow is pressed; the browser comes back with a code and the same state; the call is
    served."""
    client = consents.client()
    tool, asked, oauth = _at_the_app(consents, rendered_page, client)
    button = rendered_page.page.get_by_role(
        "button", name=consents.driver.table.page.allow, exact=True
    )
    with rendered_page.page.expect_navigation():
        button.click()
    back = [url for url in rendered_page.requested if _is_at(url, oauth.redirect)]
    answer = _parameters(back[-1]) if back else {}
    consents.expect(
        bool(answer.get("code")) and answer.get("state") == asked.get("state"),
        sent=f"'Allow' on the app's page for {tool.name}",
        expected="sent back with a code and the same state",
        got=f"{len(back)} request(s) to the gateway, "
        f"{'a code' if answer.get('code') else 'no code'}, "
        f"{'the same' if answer.get('state') == asked.get('state') else 'another'} state",
    )
    served = client.call(tool)
    consents.expect(
        served.succeeded and served.executed,
        sent=f"{tool.name}, after 'Allow'",
        expected="the tool run",
        got=served.describe(),
    )


@requirement("gateway_consent/oauth-authorize")
def test_the_page_lists_the_tools(consents, rendered_page):
    """Those of aaiTools, each of them, and no other tool of the app."""
    client = consents.oauth()
    tools = client.oauth.tools
    told: dict[str, int] = {}
    for chosen in (tools, tools[:1]):
        asked = client.parameters("v" * 64, **{AAI_TOOLS: ",".join(chosen)})
        rendered_page.open(client.address(asked))
        text = rendered_page.text()
        missing = [name for name in chosen if name not in text]
        # A name may be a word of the page too, or a part of another name: then it is there less
        # often than when it was listed.
        surplus = [name for name in tools if name not in chosen and text.count(name) >= told[name]]
        told = {name: text.count(name) for name in tools}
        consents.expect(
            not missing and not surplus,
            sent=f"an authorisation request with aaiTools={','.join(chosen)}",
            expected=f"a page that lists {', '.join(chosen)} and no other",
            got=f"the page shows {shown(text, 200)}",
        )


STATES = {
    "plain": "xyz",
    "with what a URL escapes": "a b&c=d%20e+f#g?h/i",
    "beyond ASCII": "caf\u00e9 \u2603",
    "long": "s" * 500,
}


@requirement("gateway_consent/oauth-authorize", needs=["oauth"])
@pytest.mark.parametrize("what", STATES)
def test_the_state_comes_back_as_it_went(consents, what):
    """Character for character, allowed or denied."""
    client = consents.oauth()
    for press in (None, "Deny"):
        way = client.ask(press=press, state=STATES[what])
        decided = "denied" if press else "allowed"
        if not way.back:
            if press:
                continue  # no such button
            raise NotVerified(f"an honest authorisation was not answered: {way.describe()}")
        if not STATES[what].isascii() and not way.code and not press:
            consents.not_applicable("a state is of printable ASCII (RFC 6749, appendix A.5)")
        consents.expect(
            way.answer.get("state") == STATES[what],
            sent=f"an authorisation request with a state ({what}), {decided}",
            expected="sent back with the same state",
            got=way.describe(),
        )
        consents.expect(
            bool(way.code) is (press is None),
            sent=f"an authorisation request, {decided}",
            expected="no code" if press else "a code",
            got=way.describe(),
        )


@requirement("gateway_consent/oauth-authorize", needs=["oauth"])
def test_nothing_but_a_code_is_given(consents):
    """Another responseType would put a token into an address."""
    client = consents.oauth()
    if not client.ask().code:
        raise NotVerified("an honest authorisation brought no code")
    for kind in ("token", "code token", "id_token", None):
        way = client.ask(responseType=kind)
        consents.expect(
            # A token would come after a '#', which is not part of the query.
            not way.code and "accesstoken" not in way.back.lower().replace("_", ""),
            sent=f"an authorisation request with responseType {show_json(kind)}",
            expected="neither a code nor a token",
            got=way.describe(),
        )


@requirement("gateway_consent/oauth-authorize", needs=["oauth"])
def test_an_unknown_client_is_sent_nowhere(consents):
    client = consents.oauth()
    if not client.ask().code:
        raise NotVerified("an honest authorisation brought no code")
    for what, name in {"an unknown": "nobody-knows-this-client", "no": None}.items():
        way = client.ask(clientId=name)
        consents.expect(
            not way.code,
            sent=f"an authorisation request with {what} clientId",
            expected="no code",
            got=way.describe(),
        )
