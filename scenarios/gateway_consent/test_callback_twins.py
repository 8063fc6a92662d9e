"""The gateway's callback: states that are nearly right, many answers at once, answers of others."""

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qsl, urlencode, urlsplit

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.gateway_consent.lookalikes import SECRETS, is_whole

AT_ONCE = 6


def _exchanges(apps):
    return apps.double.seen("oauth", "/oauth/oauth/token")


def _expect_no_access(apps, client, tool, before, sent):
    """Its code goes to no token end point, and the call is not served."""
    redeemed = len(_exchanges(apps)) - before
    answer = client.call(tool)
    apps.expect(
        not redeemed and not answer.succeeded and not answer.executed,
        sent=sent,
        expected="its code is not redeemed, no access to the app",
        got=f"{redeemed} redeemed, {answer.describe()}",
    )


@requirement("gateway_consent/oauth-callback")
def test_nearly_the_right_state_is_none(consents):
    """Compared loosely, or in part, a state could be guessed. A gateway may end the request after
    one wrong answer: the honest twin is one of its own."""
    apps = consents.with_apps()
    apps.comes_back(apps.client("Honest"))
    client = apps.client()
    with apps.several() as several:
        for what, near in SECRETS.items():
            tool, asked, browser = apps.under_way(client)
            before = len(_exchanges(apps))
            own = asked.get("state", "")
            state = near(own)
            if state == own or is_whole(what, own):
                continue
            browser.get(apps.double.way_back(asked, state=state))
            with several.one(what):
                sent = f"the app's answer with its state, {what}"
                _expect_no_access(apps, client, tool, before, sent)
    apps.comes_back(apps.client("Honest afterwards"))


@requirement("gateway_consent/oauth-callback")
def test_of_many_answers_at_once_one_is_taken(consents):
    """Six codes at once with one state: one is redeemed, and none of the others later."""
    apps = consents.with_apps()
    client = apps.client()
    tool, asked, browser = apps.under_way(client)
    browsers = [browser.copy() for _ in range(AT_ONCE)]
    late = browser.copy()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda one: one.get(apps.double.way_back(asked)), browsers))
    sent = f"{AT_ONCE} answers at once with one state"
    if not client.call(tool).succeeded:
        raise NotVerified(f"{sent}: none was taken")
    late.get(apps.double.way_back(asked))
    redeemed = len(_exchanges(apps))
    apps.expect(
        redeemed == 1,
        sent=f"{sent}, and one later",
        expected="one code redeemed",
        got=f"{redeemed} codes redeemed",
    )


@requirement("gateway_consent/oauth-callback")
def test_one_clients_answer_is_not_anothers(consents):
    """Two clients at one app at the same time: each gets the access that was given to it. With the
    state of the one and the browser of the other nobody gets anything."""
    apps = consents.with_apps()
    first, second = apps.client("First"), apps.client("Second")
    tool, asked, browser = apps.under_way(first)
    _, other, other_browser = apps.under_way(second)
    before = len(_exchanges(apps))
    swapped = other_browser.copy()
    swapped.get(apps.double.way_back(asked))
    if urlsplit(browser.visited[0].url).netloc != urlsplit(apps.double.url()).netloc:
        _expect_no_access(
            apps, second, tool, before, "the state of one client's request, in another's browser"
        )
        tool, asked, browser = apps.under_way(first)  # the first state may be used up by that
    browser.get(apps.double.way_back(asked))
    sent = "the app's answer to the first of two clients"
    answer = first.call(tool)
    apps.expect(answer.succeeded, sent=sent, expected="access for it", got=answer.describe())
    other_browser.get(apps.double.way_back(other))
    answer = second.call(tool)
    sent = "the app's answer to the second of two clients"
    apps.expect(answer.succeeded, sent=sent, expected="access for it", got=answer.describe())


TWICE = {
    "two states": lambda given: [*given.items(), ("state", "A" * 43)],
    "two states, the wrong one first": lambda given: [("state", "A" * 43), *given.items()],
    "an error beside its code": lambda given: [*given.items(), ("error", "access_denied")],
    "an empty code": lambda given: [("state", given["state"]), ("code", "")],
    "no code": lambda given: [("state", given["state"])],
}


@requirement("gateway_consent/oauth-callback")
def test_an_answer_that_says_two_things_gives_no_access(consents):
    """Two states, a code and an error, or nothing to redeem. The document leaves open which of two
    counts: a code that is redeemed with the right state is a warning."""
    apps = consents.with_apps()
    apps.comes_back(apps.client("Honest"))
    with apps.several() as several:
        for what, made in TWICE.items():
            client = apps.client(f"Client {what}")
            tool, asked, browser = apps.under_way(client)
            parts = urlsplit(apps.double.way_back(asked))
            query = urlencode(made(dict(parse_qsl(parts.query))))
            before = len(_exchanges(apps))
            browser.get(parts._replace(query=query).geturl())
            sent = f"the app's answer with {what}"
            if "two states" in what or "error" in what:
                if client.call(tool).succeeded:
                    apps.warn(f"{sent}, was taken")
                continue
            with several.one(what):
                answer = client.call(tool)
                apps.expect(
                    not answer.succeeded and not answer.executed,
                    sent=sent,
                    expected="no access to the app",
                    got=f"{len(_exchanges(apps)) - before} redeemed, {answer.describe()}",
                )
    apps.comes_back(apps.client("Honest afterwards"))


@requirement("gateway_consent/oauth-callback")
def test_a_state_serves_once_also_later(consents):
    """A minute, an hour and a day after it was answered, with requests of others meanwhile."""
    consents.need_long_times()
    apps = consents.with_apps()
    client = apps.client()
    tool, asked, browser = apps.under_way(client)
    later = browser.copy()
    browser.get(apps.double.way_back(asked))
    if not client.call(tool).succeeded:
        raise NotVerified("an honest answer of the app was not taken")
    passed = 0
    with apps.several() as several:
        for after in (61, 3601, 24 * 3600):
            apps.clock.advance(after - passed)
            passed = after
            apps.comes_back(apps.client(f"Client {after}"))
            before = len(_exchanges(apps))
            later.copy().get(apps.double.way_back(asked))
            redeemed = len(_exchanges(apps)) - before
            with several.one(f"{after} s later"):
                apps.expect(
                    not redeemed,
                    sent=f"a second answer with a state that was answered {after} s before",
                    expected="its code is not redeemed",
                    got=f"{redeemed} redeemed",
                )


@requirement("gateway_consent/oauth-callback")
def test_a_refusal_is_an_answer(consents):
    """The app said no: a code that comes later with the same state changes nothing."""
    apps = consents.with_apps()
    apps.comes_back(apps.client("Honest"))
    client = apps.client()
    tool, asked, browser = apps.under_way(client)
    later = browser.copy()
    browser.get(apps.double.way_back(asked, code=None, error="access_denied"))
    before = len(_exchanges(apps))
    later.get(apps.double.way_back(asked))
    sent = "a code with a state that the app had answered with access_denied"
    _expect_no_access(apps, client, tool, before, sent)
