"""When an app fails, answers oddly or ends a token early: nothing is lost, and nothing is let in.

The apps are the suite's own, so that the suite sees what arrives.
"""

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.gateway_consent.app_double import LEFT_OUT

ASKED_ONCE = ("key-header", "key-query", "office")
"""Whose credential a person is asked for once: for the others to ask again is a warning."""


def _served_or_warned(apps, app, answer, sent):
    """Served; a person who is asked again, where the document leaves that open, is a warning."""
    if answer.needs_authorization and app not in ASKED_ONCE:
        apps.warn(f"{sent}: the person is asked again")
        return False
    apps.expect(
        answer.succeeded,
        sent=sent,
        expected="served, without asking anybody",
        got=answer.describe(),
    )
    return True


def _expect_no_stale(apps, app, sent):
    stale = [one for one in apps.double.seen(app, f"/{app}/tools") if one.stale]
    apps.expect(
        not stale,
        sent=sent,
        expected="a token whose time is not over",
        got=f"{len(stale)} call(s) with a token that was over",
    )


# ---- what a failure costs


@requirement("gateway_consent/api-key")
def test_a_breakdown_of_an_app_costs_no_key(consents):
    """The app's tools break down, and then work again: nobody is asked for anything anew."""
    _break_down(consents, "key-header", "key-query")


@requirement("gateway_consent/app-credential", needs=["apps"])
def test_a_breakdown_of_an_app_costs_no_secret(consents):
    """The same with app id and secret; for cookies and OAuth, to ask again is a warning."""
    _break_down(consents, "office", "cookie", "oauth")


def _break_down(consents, *names):
    apps = consents.with_apps()
    client = apps.client()
    with apps.several() as several:
        for app in apps.each_app(*names):
            tool = apps.app_tool(app)
            apps.let_in(client, tool)
            apps.double.fails = True
            apps.expect_failure(client.call(tool), sent=f"{tool.name}, whose app breaks down")
            apps.double.fails = False
            with several.one(app):
                sent = f"{tool.name}, when its app works again"
                _served_or_warned(apps, app, client.call(tool), sent)


def _with_tokens_that_cannot_be_renewed(consents):
    """A client whose tokens of all apps are over, while no app gives another."""
    apps = consents.with_apps()
    client = apps.client()
    found = apps.each_app("office", "oauth")
    for app in found:
        apps.let_in(client, apps.app_tool(app))
    apps.clock.advance(3 * 3600)
    apps.double.token_end_fails = True
    return apps, client, found


@requirement("gateway_consent/app-credential")
def test_a_breakdown_of_a_token_end_point_costs_no_credential(consents):
    """It breaks down when a token has to be renewed: not served with one that is over, and served
    again when it works again."""
    apps, client, found = _with_tokens_that_cannot_be_renewed(consents)
    with apps.several() as several:
        for app in found:
            tool = apps.app_tool(app)
            sent = f"{tool.name}, whose token is over and whose token end point breaks down"
            with several.one(app):
                apps.expect_not_run(client.call(tool), sent=sent)
                if app == "office":
                    _expect_no_stale(apps, app, sent)
        apps.double.token_end_fails = False
        for app in found:
            tool = apps.app_tool(app)
            with several.one(f"{app}, later"):
                sent = f"{tool.name}, when its token end point works again"
                _served_or_warned(apps, app, client.call(tool), sent)


# ---- how long a token lasts


@requirement("gateway_consent/app-credential")
def test_a_token_ends_when_its_app_says(consents):
    """The app's answer counts, also where its descriptor says two hours; and the descriptor where
    the answer says nothing. Over and over."""
    apps = consents.with_apps()
    client = apps.client()
    lives = {"of ten minutes": (600, {}), "of which it says nothing": (7200, {"expire": LEFT_OUT})}
    with apps.several() as several:
        for what, (lasts, told) in lives.items():
            apps.double.lasts, apps.double.told = lasts, told
            tool = apps.app_tool("office")
            client = apps.client(f"Client {what}")
            apps.let_in(client, tool)
            for time in ("first", "second"):
                apps.clock.advance(lasts // 2)
                client.call(tool)  # which gives a token no more time
                apps.clock.advance(lasts // 2 + 1)
                answer = client.call(tool)
                sent = f"{tool.name}, after the end of its {time} token {what}"
                with several.one(f"{what}, the {time}"):
                    _expect_no_stale(apps, "office", sent)
                    apps.expect(
                        answer.succeeded,
                        sent=sent,
                        expected="served with a new token, without asking anybody",
                        got=answer.describe(),
                    )


@requirement("gateway_consent/oauth-token", needs=["apps", "clock"])
def test_the_gateway_renews_over_and_over(consents):
    """The app's expiresIn counts, each refresh token is the newest, and one that is not replaced is
    kept. To ask the person again is a warning."""
    apps = consents.with_apps()
    tool = apps.app_tool("oauth")
    answers = {"replaced": {}, "not replaced": {"refreshToken": LEFT_OUT}}
    with apps.several() as several:
        for what, told in answers.items():
            apps.double.lasts, apps.double.told = 600, {}
            client = apps.client(f"Client {what}")
            apps.let_in(client, tool)
            if told:
                apps.double.keeps_refresh_tokens = True
                apps.double.told = told
            with several.one(what):
                for time in ("first", "second", "third"):
                    apps.clock.advance(601)
                    sent = f"{tool.name}, after the end of its {time} token (refresh token {what})"
                    if not _served_or_warned(apps, "oauth", client.call(tool), sent):
                        break


@requirement("gateway_consent/app-credential")
def test_many_calls_at_the_end_of_a_token_are_served(consents):
    """Eight at once, when a token is over: all are served, and nobody is asked."""
    apps = consents.with_apps()
    client = apps.client()
    found = apps.each_app("office", "oauth")
    with apps.several() as several:
        for app in found:
            tool = apps.app_tool(app)
            apps.let_in(client, tool)
            apps.clock.advance(3 * 3600)
            answers, _ = client.at_once(tool, 8)
            sent = f"one of eight calls of {tool.name} at once, at the end of its token"
            with several.one(app):
                for answer in answers:
                    if not _served_or_warned(apps, app, answer, sent):
                        break
                if app == "office":
                    _expect_no_stale(apps, app, sent)


# ---- odd answers of a token end point

NO_TOKENS = {"no token": LEFT_OUT, "null": None, "a number": 7}
TOKEN_MEMBERS = {"office": "tenantAccessToken", "oauth": "accessToken"}


@requirement("gateway_consent/two-layers")
def test_an_answer_without_a_token_is_no_authorisation(consents):
    """A token end point that answers 200 and gives none: the app's tool is not called with what is
    no token; and after a whole answer the call is served."""
    apps = consents.with_apps()
    client = apps.client()
    with apps.several() as several:
        for app in apps.each_app("office", "oauth"):
            tool = apps.app_tool(app)
            for what, value in NO_TOKENS.items():
                needed = apps.needing(client, tool)
                apps.double.told = {TOKEN_MEMBERS[app]: value}
                apps.type_in(needed, apps.typed(tool))
                answer = client.call(tool)
                called = [
                    one.header("authorization") for one in apps.double.seen(app, f"/{app}/to")
                ]
                apps.double.told = {}
                with several.one(f"{app}, {what}"):
                    apps.expect(
                        answer.refused and not answer.executed and not called,
                        sent=f"{tool.name}, whose token end point answered with {what}",
                        expected="a refusal, and no call of the app's tool",
                        got=f"{answer.describe()}, called with "
                        f"{', '.join(map(repr, called)) or 'nothing'}",
                    )
                if called:
                    break
            apps.let_in(client, tool)


@requirement("gateway_consent/two-layers", needs=["apps", "clock"])
def test_a_token_that_cannot_be_renewed_is_no_authorisation(consents):
    """It is over, and its end point gives no other: the app's tool is not called without one
    either, for it would have the arguments of a call that it has not authorised."""
    apps, client, found = _with_tokens_that_cannot_be_renewed(consents)
    with apps.several() as several:
        for app in found:
            tool = apps.app_tool(app)
            before = len(apps.double.seen(app, f"/{app}/tools"))
            answer = client.call(tool)
            calls = apps.double.seen(app, f"/{app}/tools")[before:]
            bare = [one for one in calls if not one.header("authorization")]
            with several.one(app):
                apps.expect(
                    not answer.executed and not bare,
                    sent=f"{tool.name}, whose token is over and cannot be renewed",
                    expected="no call of the app's tool without a token",
                    got=f"{answer.describe()}, {len(bare)} call(s) without one",
                )
        apps.double.token_end_fails = False
        for app in found:
            tool = apps.app_tool(app)
            with several.one(f"{app}, later"):
                sent = f"{tool.name}, when its token can be renewed again"
                _served_or_warned(apps, app, client.call(tool), sent)


def _serve_another_tool(consents, app):
    apps = consents.with_apps()
    client = apps.client()
    apps.let_in(client, apps.app_tool(app))
    other = apps.app_tool(app, "write")
    apps.decided(client, other)
    apps.expect_served(
        client.call(other), other, sent=f"{other.name}, of an app that is authorised"
    )


@requirement("gateway_consent/app-credential", needs=["apps"])
def test_app_credentials_serve_every_tool(consents):
    """Asked for once: not again for another tool."""
    _serve_another_tool(consents, "office")


@requirement("gateway_consent/cookie")
def test_cookies_serve_every_tool(consents):
    _serve_another_tool(consents, "cookie")


def _serve_for_a_year(consents, app):
    """After days, a month and most of a year."""
    consents.need_long_times()
    apps = consents.with_apps()
    client, tool = apps.client(), apps.app_tool(app)
    apps.let_in(client, tool)
    for days in (2, 30, 334):
        apps.clock.advance(days * 24 * 3600)
        sent = f"{tool.name}, authorised, {days} days after its last call"
        answer = client.call(tool)
        if answer.needs_consent:
            apps.warn(f"{sent}: asked for consent again")
            apps.decide(answer)
            answer = client.call(tool)
        _served_or_warned(apps, app, answer, sent)


@requirement("gateway_consent/api-key")
def test_a_key_never_ends(consents):
    _serve_for_a_year(consents, "key-header")


@requirement("gateway_consent/app-credential", needs=["apps"])
def test_app_id_and_secret_do_not_end(consents):
    _serve_for_a_year(consents, "office")
