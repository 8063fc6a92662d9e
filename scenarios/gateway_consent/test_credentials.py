"""What goes to an app, and what does not: keys, app credentials and cookies.

The apps are the suite's own, so that the suite sees what arrives.
"""

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.gateway_consent.outcome import shown
from pytest_mcp_approval.families.gateway_consent.vocabulary import APP_TOKEN_SECONDS

MINUTE = 60

# ---- api-key

PLACES = {
    "key-header": ["header Authorization"],
    "key-plain": ["header X-Suite-Key"],
    "key-query": ["query suite_key"],
}


def _last_call(apps, app, part="/tools"):
    calls = apps.double.seen(app, f"/{app}{part}")
    if not calls:
        raise NotVerified(f"the gateway answered, and the app {app} was not called")
    return calls[-1]


@requirement("gateway_consent/api-key")
@pytest.mark.parametrize("app", PLACES)
def test_the_key_stands_where_the_descriptor_says(consents, app):
    """There, and nowhere else in the request."""
    apps = consents.with_apps()
    tool = apps.app_tool(app)
    client = apps.client()
    needed = apps.needing(client, tool)
    apps.type_in(needed, apps.typed(tool))
    answer = client.call(tool)
    places = _last_call(apps, app).places_of(apps.double.key)
    apps.expect(
        [place.lower() for place in places] == [place.lower() for place in PLACES[app]],
        sent=f"{tool.name}, whose descriptor wants the key in: {PLACES[app][0]}",
        expected=f"the key in: {PLACES[app][0]}, and nowhere else",
        got=f"the key in: {', '.join(places) or 'nothing'}",
    )
    apps.expect_served(answer, tool, sent=f"{tool.name}, authorised by a key")


@requirement("gateway_consent/api-key")
def test_the_prefix_is_the_descriptors(consents):
    """'Bearer' and a blank if the descriptor has that prefix, the bare key if it has none."""
    apps = consents.with_apps()
    client = apps.client()
    for app, header, expected in (
        ("key-header", "Authorization", f"Bearer {apps.double.key}"),
        ("key-plain", "X-Suite-Key", apps.double.key),
    ):
        tool = apps.app_tool(app)
        apps.type_in(apps.needing(client, tool), apps.typed(tool))
        client.call(tool)
        value = _last_call(apps, app).header(header)
        apps.expect(
            value == expected,
            sent=f"{tool.name}, authorised by a key",
            expected=f"{header}: {expected.replace(apps.double.key, '<key>')}",
            got=f"{header}: {shown(value.replace(apps.double.key, '<key>'))}",
        )


@requirement("gateway_consent/api-key")
def test_the_key_is_asked_for_once(consents):
    """Not again for the next call, nor for another tool of the app."""
    apps = consents.with_apps()
    client = apps.client()
    tool, other = apps.app_tool("key-header"), apps.app_tool("key-header", "write")
    apps.let_in(client, tool)
    apps.expect_served(client.call(tool), tool, sent=f"{tool.name}, the second call")
    apps.decided(client, other)
    answer = client.call(other)
    apps.expect(
        answer.succeeded,
        sent=f"{other.name}, of an app whose key is known",
        expected="served, without asking for the key again",
        got=answer.describe(),
    )


@requirement("gateway_consent/api-key", needs=["apps", "restart"])
def test_the_key_is_kept_over_a_restart(consents):
    apps = consents.with_apps(stored=True)
    client = apps.client()
    tool = apps.app_tool("key-header")
    apps.let_in(client, tool)
    apps.restart()
    answer = client.call(tool)
    apps.expect(
        answer.succeeded,
        sent=f"{tool.name}, after a restart",
        expected="served, without asking for the key again",
        got=answer.describe(),
    )


@requirement("gateway_consent/api-key")
def test_the_key_does_not_follow_a_redirect(consents):
    """The app sends the gateway elsewhere: whoever is there is not the app."""
    apps = consents.with_apps()
    client = apps.client()
    apps.let_in(client, apps.app_tool("key-header"))
    tool = apps.app_tool("key-moved")
    apps.type_in(apps.needing(client, tool), apps.typed(tool))
    client.call(tool)
    _last_call(apps, "key-moved", "/moved")
    arrived = apps.double.seen("key-moved", "/key-moved/arrived")
    places = [place for one in arrived for place in one.places_of(apps.double.key)]
    apps.expect(
        not places,
        sent=f"{tool.name}, which the app redirects to another host",
        expected="no key at the other host",
        got=f"the key in: {', '.join(places)}",
    )


# ---- app-credential


def _exchanges(apps):
    return apps.double.seen("office", "/office/auth/token")


def _expect_no_stale(apps, sent):
    stale = [one for one in apps.double.seen("office", "/office/tools") if one.stale]
    apps.expect(
        not stale,
        sent=sent,
        expected="a token whose time is not over",
        got=f"{len(stale)} call(s) with a token that was over",
    )


@requirement("gateway_consent/app-credential", needs=["apps"])
def test_id_and_secret_are_exchanged_for_a_token(consents):
    """At the token end point; the tool is called with the token and without the secret. A token
    that is kept need not be asked for again: to do so breaks nothing, and is a warning."""
    apps = consents.with_apps()
    client = apps.client()
    tool = apps.app_tool("office")
    apps.let_in(client, tool)
    before = len(_exchanges(apps))  # one or two to try them out would do no harm
    apps.expect(
        before > 0,
        sent=f"{tool.name}, authorised by app id and secret",
        expected="an exchange at tokenEndpoint",
        got="none",
    )
    call = _last_call(apps, "office")
    places = call.places_of(apps.double.app_secret)
    apps.expect(
        not places,
        sent=f"{tool.name}, authorised by app id and secret",
        expected="a token, and the secret nowhere",
        got=f"the secret in: {', '.join(places)}",
    )
    again = client.call(tool)
    sent = f"{tool.name}, called again at once"
    apps.expect(again.succeeded, sent=sent, expected="served", got=again.describe())
    more = len(_exchanges(apps)) - before
    if more:
        apps.warn(f"{sent}: {more} more exchange(s) for a token that has two hours to go")


@requirement("gateway_consent/app-credential")
@pytest.mark.parametrize(
    "after", [APP_TOKEN_SECONDS, APP_TOKEN_SECONDS + 1, APP_TOKEN_SECONDS + 60 * MINUTE]
)
def test_a_token_is_renewed_by_itself(consents, after):
    """At its end, and later: a new token, and nobody is asked."""
    apps = consents.with_apps()
    client = apps.client()
    tool = apps.app_tool("office")
    apps.let_in(client, tool)
    apps.clock.advance(after)
    answer = client.call(tool)
    sent = f"{tool.name}, {after} s after its app gave a token for {APP_TOKEN_SECONDS} s"
    _expect_no_stale(apps, sent)
    apps.expect(
        answer.succeeded,
        sent=sent,
        expected="served with a new token, without asking anybody",
        got=answer.describe(),
    )


@requirement("gateway_consent/app-credential")
def test_near_its_end_a_token_still_serves(consents):
    """A second before: the old token or a new one, but served; and then over and over."""
    apps = consents.with_apps()
    client = apps.client()
    tool = apps.app_tool("office")
    apps.let_in(client, tool)
    for number in range(1, 4):
        apps.clock.advance(APP_TOKEN_SECONDS - 1)
        answer = client.call(tool)
        sent = f"{tool.name}, a second before the end of a token, time {number}"
        _expect_no_stale(apps, sent)
        apps.expect(answer.succeeded, sent=sent, expected="served", got=answer.describe())


@requirement("gateway_consent/app-credential", needs=["apps", "restart", "clock"])
def test_credentials_are_kept_over_a_restart(consents):
    """Also when the token is over by then."""
    apps = consents.with_apps(stored=True)
    client = apps.client()
    tool = apps.app_tool("office")
    apps.let_in(client, tool)
    apps.restart()
    apps.clock.advance(APP_TOKEN_SECONDS + 1)
    answer = client.call(tool)
    sent = f"{tool.name}, after a restart and the end of the token"
    _expect_no_stale(apps, sent)
    apps.expect(
        answer.succeeded,
        sent=sent,
        expected="served with a new token, without asking anybody",
        got=answer.describe(),
    )


@requirement("gateway_consent/app-credential", needs=["apps"])
def test_wrong_credentials_give_no_access(consents):
    """What the app does not know is not kept as if it were good."""
    apps = consents.with_apps()
    client = apps.client()
    tool = apps.app_tool("office")
    needed = apps.needing(client, tool)
    apps.type_in(needed, (apps.double.app_id, "mistyped-secret-0000"))
    answer = client.call(tool)
    apps.expect_not_run(answer, sent=f"{tool.name}, after a wrong app secret was typed in")
    apps.let_in(client, tool)


# ---- cookie


@requirement("gateway_consent/cookie")
def test_all_required_cookies_are_sent(consents):
    apps = consents.with_apps()
    client = apps.client()
    tool = apps.app_tool("cookie")
    apps.let_in(client, tool)
    call = _last_call(apps, "cookie")
    for name, value in apps.double.cookies.items():
        places = call.places_of(value)
        apps.expect(
            [place.lower() for place in places] == ["header cookie"],
            sent=f"{tool.name}, authorised by cookies",
            expected=f"the cookie {name} in the header Cookie, and nowhere else",
            got=f"it stands in: {', '.join(places) or 'nothing'}",
        )


LACKING = {
    "one is missing": lambda cookies: f"web_session={cookies['web_session']}",
    "the other is missing": lambda cookies: f"web_signature={cookies['web_signature']}",
    "one is empty": lambda cookies: f"web_session={cookies['web_session']}; web_signature=",
    "only others": lambda _: "theme=dark; language=en",
    "a name in a value": lambda cookies: f"web_session={cookies['web_session']}-web_signature",
    "a longer name": lambda cookies: (
        f"web_session={cookies['web_session']}; x_web_signature={cookies['web_signature']}"
    ),
    "one is in another case": lambda cookies: (
        f"web_session={cookies['web_session']}; Web_Signature={cookies['web_signature']}"
    ),
    "one has a blank for a value": lambda cookies: (
        f"web_session={cookies['web_session']}; web_signature= "
    ),
    "one has no value at all": lambda cookies: (
        f"web_session={cookies['web_session']}; web_signature"
    ),
    "one is a part of the other's value": lambda cookies: (
        f"web_session={cookies['web_session']},web_signature={cookies['web_signature']}"
    ),
    "one is of a longer name": lambda cookies: (
        f"web_session={cookies['web_session']}; web_signature2={cookies['web_signature']}"
    ),
    "one has a dot before it": lambda cookies: (
        f"web_session={cookies['web_session']}; .web_signature={cookies['web_signature']}"
    ),
    "one is written with a colon": lambda cookies: (
        f"web_session={cookies['web_session']}; web_signature:{cookies['web_signature']}"
    ),
    "no cookies at all": lambda _: "web_session web_signature",
}


@requirement("gateway_consent/cookie")
def test_without_a_required_cookie_nothing_is_kept(consents):
    """Refused as a whole, each time: the tool is not run and the app is not called; and the whole
    cookies are taken after that."""
    apps = consents.with_apps()
    client = apps.client()
    tool = apps.app_tool("cookie")
    with apps.several() as several:
        for what, made in LACKING.items():
            before = len(apps.double.seen("cookie", "/cookie/tools"))
            apps.type_in(apps.needing(client, tool), (made(apps.double.cookies),))
            answer = client.call(tool)
            called = len(apps.double.seen("cookie", "/cookie/tools")) - before
            with several.one(what):
                apps.expect(
                    answer.refused and not answer.executed and not called,
                    sent=f"{tool.name}, after cookies were typed in of which {what}",
                    expected="a refusal, and no request to the app",
                    got=f"{answer.describe()}, {called} request(s)",
                )
    apps.let_in(client, tool)


def _expect_no_cookies(apps, seen, sent):
    found = sorted({name for one in seen for name, value in apps.double.cookies.items()
                    if one.places_of(value)})  # fmt: skip
    apps.expect(
        not found,
        sent=sent,
        expected="no cookie there",
        got=f"the cookies {', '.join(found)}",
    )


@requirement("gateway_consent/cookie")
def test_cookies_go_to_their_own_domain_only(consents):
    """The descriptor's domain is localhost; this app is at 127.0.0.1."""
    apps = consents.with_apps()
    client = apps.client()
    apps.let_in(client, apps.app_tool("cookie"))
    tool = apps.app_tool("cookie-elsewhere")
    apps.decided(client, tool)
    answer = client.call(tool)
    if answer.needs_authorization:
        apps.type_in(answer, apps.typed(tool))
        client.call(tool)
    _expect_no_cookies(
        apps,
        apps.double.seen("cookie-elsewhere"),
        f"{tool.name} at 127.0.0.1, whose cookies are localhost's",
    )


@requirement("gateway_consent/cookie")
def test_cookies_do_not_follow_a_redirect(consents):
    apps = consents.with_apps()
    client = apps.client()
    tool = apps.app_tool("cookie-moved")
    apps.let_in(client, apps.app_tool("cookie"))
    apps.type_in(apps.needing(client, tool), apps.typed(tool))
    client.call(tool)
    _last_call(apps, "cookie-moved", "/moved")
    _expect_no_cookies(
        apps,
        apps.double.seen("cookie-moved", "/cookie-moved/arrived"),
        f"{tool.name}, which the app redirects to another host",
    )
