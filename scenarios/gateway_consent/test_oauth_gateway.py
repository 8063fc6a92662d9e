"""The gateway as a client of OAuth: what it asks an app for, and which answers it accepts.

The app is the suite's own, so that the suite sees the gateway's requests.
"""

from urllib.parse import parse_qsl, urlencode, urlsplit

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.base.people import form_client_for
from pytest_mcp_approval.families.gateway_consent.vocabulary import AAI_TOOLS, Choice

# ---- aai-tools-only-consented


def _expect_tools(apps, form, tools, sent):
    given = [name for name in form.get(AAI_TOOLS, "").split(",") if name]
    apps.expect(
        sorted(given) == sorted(tools),
        sent=sent,
        expected=f"aaiTools {','.join(tools)}",
        got=f"aaiTools {form.get(AAI_TOOLS, 'left out')}",
    )


@requirement("gateway_consent/aai-tools-only-consented")
def test_one_tool_consented_is_one_tool_told(consents):
    apps = consents.with_apps()
    client = apps.client()
    tool = apps.app_tool("oauth")
    _expect_tools(apps, apps.asked_for(client, tool), ["read"], f"{tool.name}, consented to")


@requirement("gateway_consent/aai-tools-only-consented")
def test_denied_tools_are_not_told(consents):
    apps = consents.with_apps()
    client = apps.client()
    apps.decided(client, apps.app_tool("oauth", "wipe"), Choice.DENY)
    apps.decided(client, apps.app_tool("oauth", "write"))
    tool = apps.app_tool("oauth")
    _expect_tools(
        apps,
        apps.asked_for(client, tool),
        ["read", "write"],
        f"{tool.name}, with 'write' consented to and 'wipe' denied",
    )


@requirement("gateway_consent/aai-tools-only-consented")
def test_what_another_client_may_use_is_not_told(consents):
    apps = consents.with_apps()
    apps.decided(apps.client("Other"), apps.app_tool("oauth", "write"))
    apps.decided(apps.client("Third"), apps.app_tool("oauth", "wipe"), Choice.ALL)
    tool = apps.app_tool("oauth")
    form = apps.asked_for(apps.client(), tool)
    _expect_tools(apps, form, ["read"], f"{tool.name}, with others' consents to other tools")


@requirement("gateway_consent/aai-tools-only-consented")
def test_what_was_allowed_in_another_app_is_not_told(consents):
    apps = consents.with_apps()
    client = apps.client()
    apps.decided(client, apps.app_tool("other-oauth", "write"))
    tool = apps.app_tool("oauth")
    _expect_tools(
        apps,
        apps.asked_for(client, tool),
        ["read"],
        f"{tool.name}, with 'write' of another app consented to",
    )


@requirement("gateway_consent/aai-tools-only-consented")
def test_all_tools_are_told_when_all_are_allowed(consents):
    apps = consents.with_apps()
    client = apps.client()
    tool = apps.app_tool("oauth")
    apps.decided(client, tool, Choice.ALL)
    _expect_tools(
        apps,
        apps.asked_for(client, tool),
        ["read", "write", "wipe"],
        f"{tool.name}, with Authorize All Tools",
    )


# ---- oauth-callback


def _expect_no_access(apps, client, tool, sent):
    answer = client.call(tool)
    apps.expect(
        not answer.succeeded and not answer.executed,
        sent=sent,
        expected="no access to the app",
        got=answer.describe(),
    )


def _exchanges(apps):
    """Requests to any token end point."""
    return [one for one in apps.double.seen() if one.path.endswith("/oauth/token")]


STATES = {
    "without its state": None,
    "with an empty state": "",
    "with another state": "0" * 43,
}


@requirement("gateway_consent/oauth-callback")
def test_an_answer_needs_the_state_of_the_request(consents):
    """An attacker's code must not become the user's access (RFC 6749, section 10.12)."""
    apps = consents.with_apps()
    apps.comes_back(apps.client("Honest"))
    with apps.several() as several:
        for what, state in STATES.items():
            client = apps.client(what)
            tool, asked, browser = apps.under_way(client)
            browser.get(apps.double.way_back(asked, state=state))
            with several.one(what):
                sent = f"the app's answer {what}, at the gateway's callback"
                _expect_no_access(apps, client, tool, sent)


@requirement("gateway_consent/oauth-callback")
def test_a_state_serves_once(consents):
    """A second answer with the same state and a code of somebody else changes nothing."""
    apps = consents.with_apps()
    client = apps.client()
    tool, asked, browser = apps.under_way(client)
    again = browser.copy()  # keeps what the gateway now removes from the browser
    browser.get(apps.double.way_back(asked))
    if not client.call(tool).succeeded:
        raise NotVerified("an honest answer of the app was not taken")
    before = len(_exchanges(apps))
    again.get(apps.double.way_back(asked))
    apps.expect(
        len(_exchanges(apps)) == before,
        sent="a second answer with a state that was answered before",
        expected="its code is not redeemed",
        got="its code was redeemed",
    )


@requirement("gateway_consent/oauth-callback")
def test_one_apps_answer_is_not_taken_for_anothers(consents):
    """Two apps at once: the answer of one comes with the state of the other."""
    apps = consents.with_apps()
    apps.comes_back(apps.client("Honest"))
    client = apps.client()
    tool, asked, browser = apps.under_way(client)
    other_tool, other, _ = apps.under_way(client, "other-oauth")
    if asked["redirectUri"] == other["redirectUri"]:
        consents.not_applicable("both apps answer at one address: the issuer would have to tell")
    before = len(_exchanges(apps))
    parts = urlsplit(apps.double.way_back(other))
    given = {**dict(parse_qsl(parts.query)), "state": asked["state"]}
    browser.get(parts._replace(query=urlencode(given)).geturl())
    sent = "the answer of one app with the state of another"
    apps.expect(
        len(_exchanges(apps)) == before,
        sent=sent,
        expected="its code is sent to no app",
        got="its code was sent to a token end point",
    )
    _expect_no_access(apps, client, tool, sent)
    _expect_no_access(apps, client, other_tool, sent)


@requirement("gateway_consent/oauth-callback")
def test_another_browser_brings_no_answer(consents):
    """Somebody lured to the callback with an attacker's code and state did not start anything."""
    apps = consents.with_apps()
    apps.comes_back(apps.client("Honest"))
    client = apps.client()
    tool, asked, browser = apps.under_way(client)
    form_client_for(apps.target).get(apps.double.way_back(asked))
    sent = "the app's answer, brought by another browser"
    if urlsplit(browser.visited[0].url).netloc == urlsplit(apps.double.url()).netloc:
        # Reading: authUrl is the app's own address, so the gateway never saw the browser.
        if client.call(tool).succeeded:
            apps.warn(f"{sent}, was taken: authUrl leads past the gateway, which cannot know it")
        return
    _expect_no_access(apps, client, tool, sent)


@requirement("gateway_consent/oauth-callback")
def test_a_refusal_of_the_app_gives_no_access(consents):
    apps = consents.with_apps()
    apps.comes_back(apps.client("Honest"))
    client = apps.client()
    tool, asked, browser = apps.under_way(client)
    browser.get(apps.double.way_back(asked, code=None, error="access_denied"))
    _expect_no_access(apps, client, tool, "the app's answer: access_denied")


@requirement("gateway_consent/oauth-callback")
def test_access_is_for_the_client_that_asked(consents):
    """The person gave one client access to the app, not all of them."""
    apps = consents.with_apps()
    client, other = apps.client(), apps.client("Other")
    apps.comes_back(client)
    tool = apps.app_tool("oauth")
    apps.expect_asked(other.call(tool), sent=f"{tool.name} by a client that nobody consented to")
