"""Tokens of an app's authorisation server: nearly right ones, many uses at once, and long after."""

from concurrent.futures import ThreadPoolExecutor

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.base.look_alikes import nearly
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
    need_resource,
)
from pytest_mcp_approval.families.gateway_consent.outcome import shown
from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    REFRESH_TOKEN_SECONDS,
)
from pytest_mcp_approval.wire.reply import show_json

AT_ONCE = 6
HOUR = 3600


# ---- oauth-token


@requirement("gateway_consent/oauth-token", needs=["oauth"])
def test_nearly_the_right_refresh_token_is_none(consents):
    """The token itself serves after that; a server may end it after so many guesses (a
    warning)."""
    client = consents.oauth()
    given = honest_tokens(client)
    with consents.several() as several:
        for what, token in nearly(given.refresh, {**SECRETS, **WHOLE_SECRETS}).items():
            answer = client.renew(token)
            whole = is_whole(what, given.refresh)
            with several.one(what):
                expect_no_token(consents, answer, f"a refresh token, {what}", left_open=whole)
                if answer.given:
                    return  # it is used up
    answer = client.renew(given.refresh)
    if not answer.given:
        honest_tokens(client)  # else it serves nobody any more, and the refusals say nothing
        consents.warn(
            f"the refresh token as it was given, after others were refused: {answer.describe()}"
        )


@requirement("gateway_consent/oauth-token", needs=["oauth"])
def test_nearly_the_right_access_token_opens_nothing(consents):
    """Nor does what is no access token: a refresh token, a code, nothing."""
    client = consents.oauth()
    need_resource(client)
    way = honest_way(client)
    given = client.redeem(honest_way(client))
    if not client.opens(given.access):
        raise NotVerified("a fresh token does not open the resource that is named")
    tokens = nearly(given.access, SECRETS)
    tokens |= {"a refresh token": given.refresh, "a code": way.code, "nothing": ""}
    with consents.several() as several:
        for what, token in tokens.items():
            opens, sent = client.opens(token), f"the app's resource with an access token, {what}"
            if opens and is_whole(what, given.access):
                consents.warn(f"{sent}: it opens")
                continue
            with several.one(what):
                consents.expect(
                    not opens, sent=sent, expected="the app does not open", got="it opens"
                )
    if not client.opens(given.access):
        raise NotVerified("the token itself opens nothing after that, so the refusals say nothing")


@requirement("gateway_consent/oauth-token", needs=["oauth"])
def test_a_refresh_token_is_used_once_by_many_at_once(consents):
    """Six at once, where each use gives a new one: one gets it. Others' tokens are as before; a
    server may have one authorisation of a client at a time, and may end all of them after a second
    use (a warning)."""
    client = consents.oauth()
    renewed = client.renew(honest_tokens(client).refresh)
    if not renewed.refresh:
        consents.not_applicable("a refresh token is not replaced after its use")
    given = honest_tokens(client)
    bystander = client.renew(renewed.refresh)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda _: client.renew(given.refresh), range(AT_ONCE)))
    found = {one.refresh for one in answers if one.given}
    if not found:
        raise NotVerified(f"of {AT_ONCE} uses of a refresh token at once none was served")
    sent = f"a refresh token, used by {AT_ONCE} at once"
    if found == {given.refresh}:
        consents.warn(f"{sent}: it is not replaced")
    elif len(found) > 1:
        late = len(found)
        if consents.target.clock.movable and consents.target.clock.stops:
            consents.clock.advance(600)
            expect_no_token(consents, client.renew(given.refresh), f"{sent}, ten minutes later")
        consents.warn(f"{sent}: {late} new ones; where each use gives a new one, one is right")
    if bystander.given:
        answer = client.renew(bystander.refresh or renewed.refresh)
        if not answer.given:
            honest_tokens(client)
            consents.warn(f"another refresh token, after that: {answer.describe()}")


@requirement("gateway_consent/oauth-token", needs=["oauth", "clock"])
def test_a_used_refresh_token_is_used_for_ever(consents):
    """Two hours, three days and nearly seven days later, after other traffic."""
    client = consents.oauth()
    used = [honest_tokens(client) for _ in range(3)]
    for one in used:
        renewed = client.renew(one.refresh)
        if renewed.refresh in ("", one.refresh):
            consents.not_applicable("a refresh token is not replaced after its use")
    passed = 0
    days = 24 * HOUR
    with consents.several() as several:
        for one, after in zip(used, (2 * HOUR, 3 * days, 7 * days - HOUR), strict=True):
            consents.clock.advance(after - passed)
            passed = after
            client.renew(honest_tokens(client).refresh)
            with several.one(f"{after} s later"):
                answer = client.renew(one.refresh)
                expect_no_token(consents, answer, f"a used refresh token, {after} s later")


@requirement("gateway_consent/oauth-token", needs=["oauth", "clock"])
def test_nothing_prolongs_an_access_token(consents):
    """It is used, refused for another's, and its refresh token is used: it ends when it said."""
    client = consents.oauth()
    need_resource(client)
    given = honest_tokens(client)
    lasts = given.members.get("expiresIn")
    if not isinstance(lasts, int) or not 60 < lasts <= 24 * HOUR:
        raise NotVerified(f"needs an expiresIn in seconds, got {show_json(lasts)}")
    if not client.opens(given.access):
        raise NotVerified("a fresh token does not open the resource that is named")
    consents.clock.advance(lasts // 2)
    client.opens(given.access)
    client.opens(f"{given.access}A")
    renewed = client.renew(given.refresh)
    consents.clock.advance(lasts - lasts // 2)
    sent = f"a token for {lasts} s, at its end, renewed and used meanwhile"
    consents.expect(
        not client.opens(given.access), sent=sent, expected="the app does not open", got="it opens"
    )
    if renewed.given:
        consents.expect(
            client.opens(renewed.access),
            sent=f"the token that replaced it, {lasts // 2} s old",
            expected="the app opens",
            got="it does not",
        )


@requirement("gateway_consent/oauth-token", needs=["oauth", "clock"])
def test_trying_in_vain_does_not_prolong_a_refresh_token(consents):
    """Tried by a client that nobody knows, day after day, for more than a year: over all the same.
    That it serves for longer than seven days is a warning elsewhere."""
    client = consents.oauth()
    given = honest_tokens(client)
    if not consents.clock.stops:
        raise NotVerified("needs a clock that can be put ahead by days")
    for _ in range(63):
        consents.clock.advance(REFRESH_TOKEN_SECONDS - HOUR)
        stranger = client.renew(given.refresh, clientId="nobody-knows-this-client")
        if stranger.given:
            consents.not_applicable("a refresh token serves whoever brings it")
    answer = client.renew(given.refresh)
    expect_no_token(consents, answer, "a refresh token, a year old, that was tried in vain")
    honest_tokens(client)


@requirement("gateway_consent/oauth-token", needs=["oauth"])
def test_a_scope_does_not_grow(consents):
    """Asked for a part, the rest is not given: not with the code, and not by a refresh (RFC 6749,
    section 6)."""
    client = consents.oauth()
    whole = client.oauth.scope.split()
    if len(whole) < 2:
        consents.not_applicable("the server has one scope (oauth.scope)")
    way, other = honest_way(client, scope=whole[0]), honest_way(client, scope=whole[0])
    given = client.redeem(way)
    if not given.given:
        raise NotVerified(f"an honest code was not redeemed: {given.describe()}")
    wider = " ".join(whole)
    answers = {
        "redeemed with more": client.redeem(other, scope=wider),
        "refreshed with more": client.token(
            grantType="refresh_token",
            refreshToken=given.refresh,
            clientId=client.oauth.client,
            scope=wider,
        ),
    }
    for what, answer in answers.items():
        grown = set(answer.text("scope").split()) & set(whole[1:]) - {whole[0]}
        consents.expect(
            not (answer.given and grown),
            sent=f"an authorisation for the scope {whole[0]}, {what}: {wider}",
            expected=f"a refusal, or the scope {whole[0]}",
            got=f"{answer.describe()}, scope {shown(answer.text('scope'))}",
        )


@requirement("gateway_consent/oauth-token", needs=["oauth", "clock"])
def test_tokens_of_a_refresh_are_held_to_the_same(consents):
    """The access token that a refresh brought ends, and the refresh token serves its own client,
    once."""
    client = consents.oauth()
    need_resource(client)
    second = client.renew(honest_tokens(client).refresh)
    if not second.given or not second.refresh:
        consents.not_applicable("a refresh token is not replaced after its use")
    stranger = client.renew(second.refresh, clientId="nobody-knows-this-client")
    if stranger.given:
        consents.not_applicable("a refresh token serves whoever brings it")
    if client.oauth.other_client:
        answer = client.renew(second.refresh, clientId=client.oauth.other_client)
        expect_no_token(consents, answer, "the second refresh token, by another client")
    lasts = second.members.get("expiresIn")
    if not isinstance(lasts, int) or not 0 < lasts <= 24 * HOUR:
        raise NotVerified(f"needs an expiresIn in seconds, got {show_json(lasts)}")
    expect_given(consents, client.renew(second.refresh), "the second refresh token, by its client")
    consents.clock.advance(lasts + 1)
    consents.expect(
        not client.opens(second.access),
        sent=f"a token for {lasts} s that a refresh brought, after its end",
        expected="the app does not open",
        got="it opens",
    )
    answer = client.renew(second.refresh)
    expect_no_token(consents, answer, f"the second refresh token, used {lasts + 1} s before")
