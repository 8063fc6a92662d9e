"""Where a credential goes, for every way in: not along with a redirect, not in the open, not to a
domain that is near; as it was typed, and in the request that the document shows."""

import json

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.gateway_consent.app_descriptors import NEAR_DOMAINS, PREFIXES
from pytest_mcp_approval.families.gateway_consent.outcome import shown
from pytest_mcp_approval.families.gateway_consent.settings import TABLE

# ---- redirects and plain connections


def _approach(apps, client, tool):
    """Consent, and whatever the gateway then wants to know; the call may rightly fail."""
    apps.decided(client, tool)
    answer = client.call(tool)
    if answer.needs_authorization:
        apps.type_in(answer, apps.typed(tool))
        answer = client.call(tool)
    return answer


def _secrets_in(apps, requests):
    """Which secrets stand in these requests, and where."""
    return sorted(
        {
            f"the {what} in: {place}"
            for one in requests
            for secret, what in apps.double.secrets().items()
            for place in one.places_of(secret)
        }
    )


MOVED = {
    "gateway_consent/api-key": ("key-plain-moved", "key-query-moved"),
    "gateway_consent/app-credential": ("office-moved", "office-exchange-moved"),
    "gateway_consent/oauth-token": ("oauth-moved", "oauth-exchange-moved"),
}


def _no_redirect_takes_it_along(consents, rule):
    apps = consents.with_apps(twins=True)
    client = apps.client()
    honest = MOVED[rule][0].removesuffix("-moved")
    apps.let_in(client, apps.app_tool(honest))
    with apps.several() as several:
        for app in MOVED[rule]:
            tool = apps.app_tool(app)
            _approach(apps, client, tool)
            if not apps.double.seen(app, f"/{app}/moved/"):
                raise NotVerified(f"{tool.name}: the gateway did not come to the redirect")
            found = _secrets_in(apps, apps.double.seen(app, f"/{app}/arrived"))
            what = "token end point" if "exchange" in app else "tool"
            with several.one(app):
                apps.expect(
                    not found,
                    sent=f"{tool.name}, whose {what} redirects to another host",
                    expected="no credential at the other host",
                    got=", ".join(found),
                )


@requirement("gateway_consent/api-key")
def test_no_place_of_a_key_follows_a_redirect(consents):
    """In a header of its own or in the address: those are not taken off by themselves."""
    _no_redirect_takes_it_along(consents, "gateway_consent/api-key")


@requirement("gateway_consent/app-credential", needs=["apps"])
def test_app_credentials_do_not_follow_a_redirect(consents):
    """Neither the token to where a tool redirects, nor the secret to where its end point does."""
    _no_redirect_takes_it_along(consents, "gateway_consent/app-credential")


@requirement("gateway_consent/oauth-token", needs=["apps"])
def test_tokens_and_codes_do_not_follow_a_redirect(consents):
    """Neither the token, nor the code with its verifier."""
    _no_redirect_takes_it_along(consents, "gateway_consent/oauth-token")


FAR = (
    *("key-plain-far", "key-query-far", "cookie-far", "office-far", "oauth-far"),
    *("office-exchange-far", "oauth-exchange-far"),
)


@requirement("gateway_consent/never-logged")
def test_no_way_in_goes_unencrypted_beyond_loopback(consents):
    """Every way in; the app's tools, or its token end point, are at http://0.0.0.0."""
    apps = consents.with_apps(twins=True)
    client = apps.client()
    for app in apps.each_app("key-plain", "key-query", "cookie", "office", "oauth"):
        apps.let_in(client, apps.app_tool(app))
    with apps.several() as several:
        for app in apps.each_app(*FAR):
            tool = apps.app_tool(app)
            answer = _approach(apps, client, tool)
            far = [one for one in apps.double.seen(app) if one.header("host").startswith("0.0.0.0")]
            found = _secrets_in(apps, far)
            what = "token end point" if "exchange" in app else "app"
            sent = f"{tool.name}, whose {what} is at http://0.0.0.0"
            with several.one(app):
                apps.expect(
                    not found,
                    sent=sent,
                    expected="no credential over plain http",
                    got=", ".join(found),
                )
                apps.expect_not_run(answer, sent=sent)


# ---- cookies


@requirement("gateway_consent/cookie")
def test_cookies_go_to_no_domain_that_is_near(consents):
    """A domain that ends or begins like the host, or like a part of an IP address, is another."""
    apps = consents.with_apps(twins=True)
    client = apps.client()
    apps.let_in(client, apps.app_tool("cookie"))
    with apps.several() as several:
        for number, (host, domain) in enumerate(NEAR_DOMAINS):
            app = f"cookie-near-{number}"
            tool = apps.app_tool(app)
            _approach(apps, client, tool)
            found = _secrets_in(apps, apps.double.seen(app))
            with several.one(domain):
                apps.expect(
                    not found,
                    sent=f"{tool.name} at {host}, whose cookies are for the domain {domain}",
                    expected="no cookie there",
                    got=", ".join(found),
                )


# ---- as it was typed

BREAKS = {"CR LF": "\r\n", "LF": "\n", "an escaped line end": "%0d%0a", "NUL": "\x00"}
PLANTED = "X-Suite-Planted"


@requirement("gateway_consent/api-key")
def test_a_key_makes_no_header_of_its_own(consents):
    """A line end in it: refused, or left where it is, but never a header more."""
    _type_in_line_ends(consents, "key-plain")


@requirement("gateway_consent/cookie")
def test_cookies_make_no_header_of_their_own(consents):
    _type_in_line_ends(consents, "cookie")


def _type_in_line_ends(consents, app):
    apps = consents.with_apps()
    tool = apps.app_tool(app)
    with apps.several() as several:
        for what, line_end in BREAKS.items():
            client = apps.client(f"Client {what}")
            (honest,) = apps.typed(tool)
            typed = f"{honest}{line_end}{PLANTED}: 1"
            apps.type_in(apps.needing(client, tool), (typed,))
            client.call(tool)
            made = [one for one in apps.double.seen(app) if one.header(PLANTED)]
            with several.one(what):
                apps.expect(
                    not made,
                    sent=f"{tool.name}, after {what} was typed in behind its credential",
                    expected="no header more than the descriptor's",
                    got=f"the header {PLANTED}",
                )
    apps.let_in(apps.client("Honest"), tool)


ODD_KEYS = ("a+b/c==", "a&admin=1;b,c", "a%41%20b#c?d=e", "{key}$1\\1__proto__", "k" * 1500)


@requirement("gateway_consent/api-key")
def test_a_key_arrives_as_it_was_typed(consents):
    """Character for character, in each place; a gateway may refuse a key of such characters."""
    apps = consents.with_apps()
    taken = 0
    with apps.several() as several:
        for app, read in {
            "key-header": lambda one: one.header("authorization").removeprefix("Bearer "),
            "key-plain": lambda one: one.header("x-suite-key"),
            "key-query": lambda one: dict(one.query).get("suite_key", ""),
        }.items():
            tool, client = apps.app_tool(app), apps.client()
            for odd in ODD_KEYS:
                key = f"key-{apps.mark}-{odd}"
                # The app does not know it, so that the person is asked again.
                apps.type_in(apps.needing(client, tool), (key,))
                before = len(apps.double.seen(app))
                client.call(tool)
                seen = apps.double.seen(app)[before:]
                taken += bool(seen)
                for one in seen[:1]:
                    names = [name for name, _ in one.query if name != "suite_key"]
                    with several.one(f"{app}, {odd}"):
                        apps.expect(
                            read(one) == key and not names,
                            sent=f"{tool.name}, authorised by the key {shown(key)}",
                            expected="that key, and nothing else",
                            got=f"the key {shown(read(one))}"
                            f"{f', and {shown(names[0])} in the query' if names else ''}",
                        )
            apps.let_in(client, tool)
    if not taken:
        raise NotVerified("a key is refused that has any of the signs that a URL escapes")


@requirement("gateway_consent/api-key")
def test_a_prefix_arrives_as_the_descriptor_writes_it(consents):
    """In its own case and with its own signs, and a blank behind it."""
    apps = consents.with_apps(more=lambda double: double.prefixed())
    client = apps.client()
    with apps.several() as several:
        for number, prefix in enumerate(PREFIXES):
            app = f"key-prefix-{number}"
            tool = apps.made(app)
            if not apps.lists(tool):
                continue  # a gateway may refuse such an app
            apps.type_in(apps.needing(client, tool), (apps.double.key,))
            client.call(tool)
            sent_as = [one.header("x-key") for one in apps.double.seen(app, f"/{app}/tools")]
            if not sent_as:
                raise NotVerified(f"the gateway did not call {tool.name}")
            value = sent_as[0].replace(apps.double.key, "<key>")
            with several.one(prefix):
                apps.expect(
                    value == f"{prefix} <key>",
                    sent=f"{tool.name}, whose descriptor has the prefix {prefix!r}",
                    expected=f"X-Key: {prefix} <key>",
                    got=f"X-Key: {shown(value)}",
                )
    apps.let_in(client, apps.app_tool("key-plain"))


ODD_COOKIES = ("a=b==", "a%3Db%20c", "a+b/c", '"quoted"', "a|b~c", "c" * 1500)


@requirement("gateway_consent/cookie")
def test_cookies_arrive_as_they_were_typed(consents):
    """Character for character; a gateway may refuse cookies of such characters."""
    apps = consents.with_apps()
    client, tool = apps.client(), apps.app_tool("cookie")
    taken = 0
    with apps.several() as several:
        for odd in ODD_COOKIES:
            own = f"web_session={apps.mark}{odd}; web_signature=x{odd}"
            # The app does not know it, so that the person is asked again.
            apps.type_in(apps.needing(client, tool), (own,))
            before = len(apps.double.seen("cookie", "/cookie/tools"))
            client.call(tool)
            seen = apps.double.seen("cookie", "/cookie/tools")[before:]
            taken += bool(seen)
            for one in seen[:1]:
                got = {part.strip() for part in one.header("cookie").split(";")}
                with several.one(odd):
                    apps.expect(
                        got == set(own.split("; ")),
                        sent=f"{tool.name}, authorised by the cookies {shown(own)}",
                        expected="those cookies",
                        got=f"the cookies {shown('; '.join(sorted(got)))}",
                    )
    apps.let_in(client, tool)
    if not taken:
        raise NotVerified("cookies are refused that have any but letters and digits")


# ---- token requests

REQUESTS = {
    "authorization_code": {"grantType", "code", "redirectUri", "codeVerifier"},
    "refresh_token": {"grantType", "refreshToken"},
}
FORM = "application/x-www-form-urlencoded"


def _expect_sent_by_post(apps, one, kind, sent):
    """As the document shows it; nothing of it in the address, where servers log it."""
    got = one.header("content-type").partition(";")[0].strip().lower()
    apps.expect(
        one.method == "POST" and got == kind and not one.query,
        sent=sent,
        expected=f"POST with {kind}, and nothing in the address",
        got=f"{one.method} with {got or 'no type'}{', with a query' if one.query else ''}",
    )


@requirement("gateway_consent/token-request")
def test_tokens_are_asked_for_as_the_document_shows(consents):
    """A form, by POST, with the members that the document lists, for a code and for a refresh."""
    apps = consents.with_apps()
    client, tool = apps.client(), apps.app_tool("oauth")
    asked = apps.asked_for(client, tool)
    client.call(tool)
    if apps.target.clock.movable:
        apps.clock.advance(3601)
        client.call(tool)
    seen = apps.double.seen("oauth", "/oauth/oauth/token")
    if not seen:
        raise NotVerified("the gateway asked the app for no token")
    with apps.several() as several:
        for one in seen:
            grant = one.form.get("grantType", "")
            sent = f"{tool.name}, to the app's token end point"
            with several.one(grant):
                _expect_sent_by_post(apps, one, FORM, sent)
                lacking = REQUESTS.get(grant, {"grantType"}) - one.form.keys()
                apps.expect(
                    grant in REQUESTS and not lacking,
                    sent=sent,
                    expected=" or ".join(
                        f"grantType={name} with {', '.join(sorted(own - {'grantType'}))}"
                        for name, own in REQUESTS.items()
                    ),
                    got=f"grantType {shown(grant)} without {', '.join(sorted(lacking)) or 'fault'}",
                )
                if grant == "authorization_code":
                    back = one.form["redirectUri"]
                    apps.expect(
                        back == asked.get("redirectUri"),
                        sent=sent,
                        expected="redirectUri as in the authorisation request",
                        got=f"redirectUri {shown(back)}",
                    )


@requirement("gateway_consent/app-token-request")
def test_app_tokens_are_asked_for_as_the_document_shows(consents):
    """JSON, by POST: appId and appSecret."""
    apps = consents.with_apps()
    client, tool = apps.client(), apps.app_tool("office")
    needed = apps.needing(client, tool)
    apps.type_in(needed, apps.typed(tool))
    client.call(tool)
    seen = apps.double.seen("office", "/office/auth/token")
    if not seen:
        raise NotVerified(f"the gateway asked the app for no token; {needed.describe()}; {TABLE}")
    for one in seen:
        sent = f"{tool.name}, to the app's token end point"
        _expect_sent_by_post(apps, one, "application/json", sent)
        try:
            members = json.loads(one.body)
        except ValueError:
            members = None
        names = sorted(members) if isinstance(members, dict) else []
        apps.expect(
            {"appId", "appSecret"} <= set(names),
            sent=sent,
            expected="appId, appSecret",
            got=f"members {', '.join(names) or 'that are none'}",
        )
