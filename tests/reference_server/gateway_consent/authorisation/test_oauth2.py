"""OAuth 2.0 with PKCE on the gateway's side, with the real app over loopback."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from pytest_mcp_approval.reference_server.gateway_consent import http_client
from pytest_mcp_approval.reference_server.gateway_consent.authorisation import (
    AuthorisationNeeded,
    NotSentError,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import KIND
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import place_of
from tests.reference_server.gateway_consent.authorisation.desk import MILLISECONDS
from tests.reference_server.gateway_consent.visitor import Visitor

HOUR = 3600


def query_of(url):
    return dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))


def with_query(url, **changes):
    found = {**query_of(url), **changes}
    kept = {name: value for name, value in found.items() if value is not None}
    return urlsplit(url)._replace(query=urlencode(kept)).geturl()


# ---- the honest way


def test_the_request_has_every_parameter_of_the_profile(desk):
    left = desk.visitor.get(desk.needed("mail", consented=["sendEmail", "readInbox"]))
    asked = query_of(left.location)
    assert left.location.startswith(f"{desk.site.url}/mail/authorize?")
    assert asked.pop("state")
    assert len(asked.pop("codeChallenge")) == 43
    assert asked == {
        "responseType": "code",
        "clientId": "aai-gateway",
        "redirectUri": f"{desk.listener.url}/callback/com.example.mail",
        "scope": "read write",
        "codeChallengeMethod": "S256",
        "aaiTools": "sendEmail,readInbox",
    }


def test_allowed_once_it_serves_all_calls(desk):
    url = desk.needed("mail")
    page = desk.allow(url)
    assert page.status == 200
    assert "has access" in page.text
    assert desk.call("mail") == 200
    assert desk.call("mail") == 200
    assert desk.visitor.get(url).status == 404


def test_the_record_is_the_document_s_with_the_tools_beside_it(desk):
    desk.allow(desk.needed("mail"))
    record = desk.record("mail")
    assert record.keys() == {"accessToken", "refreshToken", "expiresAt", "tokenType", "tools"}
    assert record["expiresAt"] == MILLISECONDS + HOUR * 1000
    assert record["tokenType"] == "Bearer"
    assert record["tools"] == ["sendEmail"]
    assert desk.vault.keys("flow") == []


def test_every_start_has_its_own_state_and_challenge(desk):
    url = desk.needed("mail")
    first, second = (query_of(desk.visitor.get(url).location) for _ in range(2))
    assert first["state"] != second["state"]
    assert first["codeChallenge"] != second["codeChallenge"]


def test_two_tabs_do_not_disturb_each_other(desk):
    url = desk.needed("mail")
    first, second = desk.back(url), desk.back(url)
    assert desk.visitor.get(first).status == 200
    assert desk.visitor.get(second).status == 200


def test_the_verifier_is_shown_to_nobody_but_the_token_end_point(desk):
    left = desk.visitor.get(desk.needed("mail"))
    (key,) = desk.vault.keys("flow")
    verifier = desk.vault.load("flow", *key)["verifier"]
    assert verifier not in left.location
    assert verifier not in left.text
    assert verifier not in str(left.headers)


# ---- who may do what


def test_callers_are_let_in_one_by_one(desk):
    desk.allow(desk.needed("mail", "Claude"))
    assert desk.call("mail", "Claude") == 200
    desk.needed("mail", "Cursor")
    desk.allow(desk.needed("mail", "Cursor"))
    assert desk.record("mail", "Claude") != desk.record("mail", "Cursor")


def test_a_new_consent_is_told_to_the_app(desk):
    desk.allow(desk.needed("mail", consented=["sendEmail"]))
    url = desk.needed("mail", consented=["sendEmail", "deleteEmail"])
    page = desk.question(url)
    assert "deleteEmail" in page.text
    assert "listContacts" not in page.text


def test_a_token_serves_the_tools_that_it_was_given_for(desk):
    desk.allow(desk.needed("mail", consented=["sendEmail"]))
    both = ["sendEmail", "deleteEmail"]
    assert desk.authorise("mail", consented=both, tool="sendEmail").headers
    with pytest.raises(AuthorisationNeeded):
        desk.authorise("mail", consented=both, tool="deleteEmail")


def test_a_tool_with_a_comma_cannot_become_two(desk):
    page = desk.visitor.get(desk.needed("mail", consented=["sendEmail,deleteEmail"]))
    assert page.status == 502
    assert "location" not in page.headers


# ---- the way back: what is not taken


def refused(desk, page):
    assert page.status == 400
    assert desk.record("mail") is None
    return True


def test_denied_is_denied(desk):
    page = desk.visitor.get(desk.back(desk.needed("mail"), "deny"))
    assert refused(desk, page)
    assert "denied" in page.text
    assert desk.site.exchanges == 0


WRONG_RETURNS = {
    "no state": {"state": None},
    "empty state": {"state": ""},
    "a foreign state": {"state": "guessed"},
    "no code": {"code": None},
    "a foreign code": {"code": "guessed"},
    "an error": {"error": "server_error", "error_description": "<b>call 555-0100</b>"},
}


@pytest.mark.parametrize("changes", WRONG_RETURNS.values(), ids=WRONG_RETURNS.keys())
def test_what_was_not_asked_for_is_not_taken(desk, changes):
    page = desk.visitor.get(with_query(desk.back(desk.needed("mail")), **changes))
    assert refused(desk, page)
    assert "555" not in page.text


def test_a_state_is_taken_once(desk):
    back = desk.back(desk.needed("mail"))
    assert desk.visitor.get(back).status == 200
    first = desk.record("mail")
    assert desk.visitor.get(back).status == 400
    assert desk.site.exchanges == 1
    assert desk.record("mail") == first


def test_of_many_at_once_one_state_is_taken(desk):
    back = desk.back(desk.needed("mail"))
    with ThreadPoolExecutor(8) as pool:
        pages = list(pool.map(lambda _: desk.visitor.get(back), range(8), timeout=20))
    assert sorted(page.status for page in pages) == [200] + 7 * [400]
    assert desk.site.exchanges == 1


def test_a_state_that_came_back_wrong_is_used_up(desk):
    back = desk.back(desk.needed("mail"))
    assert refused(desk, desk.visitor.get(with_query(back, code=None)))
    assert refused(desk, desk.visitor.get(back))


def test_a_flow_ends_after_ten_minutes(desk):
    url = desk.needed("mail")
    desk.clock.advance(300)  # the app's own code lasts no longer than that
    left = desk.visitor.get(url)
    desk.clock.advance(599)
    early = with_query(
        f"{desk.listener.url}/callback/com.example.mail",
        state=query_of(left.location)["state"],
        code="x",
    )
    assert "did not accept its own code" in desk.visitor.get(early).text
    left = desk.visitor.get(desk.needed("mail"))
    desk.clock.advance(600)
    late = with_query(early, state=query_of(left.location)["state"])
    assert "too long" in desk.visitor.get(late).text


def test_another_browser_cannot_finish_it(desk):
    back = desk.back(desk.needed("mail"))
    page = Visitor().get(back)
    assert refused(desk, page)
    assert "another browser" in page.text
    assert desk.site.exchanges == 0


def test_a_parameter_that_comes_twice_is_refused(desk):
    back = desk.back(desk.needed("mail"))
    assert refused(desk, desk.visitor.get(f"{back}&state=other"))
    assert desk.visitor.get(back).status == 200


# ---- mix-up


@pytest.fixture
def evil(desk):
    """A second OAuth app, which is hostile; it is at the same address, since there is no other."""
    app = desk.app("mail")
    other = replace(app, id="com.evil.mail", name="Evil Mail")
    desk.located[other.id] = other
    return other


def needed_for(desk, app, caller="Cursor"):
    with pytest.raises(AuthorisationNeeded) as needed:
        desk.authoriser.authorise(app, caller, ["sendEmail"], f"{app.base_url}/tools/sendEmail")
    return needed.value.url


def test_the_answer_of_one_app_is_not_taken_for_another_s(desk, evil):
    """RFC 9700, section 4.4: the evil app sends the browser on to the honest one."""
    left = desk.visitor.get(needed_for(desk, evil))
    honest = f"{desk.listener.url}/callback/com.example.mail"
    asked = desk.visitor.get(with_query(left.location, redirectUri=honest))
    back = desk.visitor.send(asked, decision="allow").location
    assert back.startswith(honest + "?")
    page = desk.visitor.get(back)
    assert page.status == 400
    assert "another app" in page.text
    assert desk.site.exchanges == 0
    assert desk.vault.keys(KIND) == []


def test_a_state_of_one_app_does_not_serve_another(desk, evil):
    back = desk.back(needed_for(desk, evil))
    moved = back.replace("/callback/com.evil.mail", "/callback/com.example.mail")
    assert moved != back
    assert desk.visitor.get(moved).status == 400
    assert desk.vault.keys(KIND) == []


def test_the_issuer_is_looked_at_where_it_is_known(desk):
    desk.change("mail", issuer=f"{desk.site.url}/mail")
    for wrong in ("http://attacker.example", None, f"{desk.site.url}/mail/"):
        page = desk.visitor.get(with_query(desk.back(desk.needed("mail")), iss=wrong))
        assert refused(desk, page)
    assert desk.allow(desk.needed("mail")).status == 200


def test_a_code_of_another_caller_s_flow_is_refused(desk):
    """A code that was put into another flow: the verifier does not fit."""
    stolen = query_of(desk.back(desk.needed("mail", "Claude")))["code"]
    page = desk.visitor.get(with_query(desk.back(desk.needed("mail", "Cursor")), code=stolen))
    assert refused(desk, page)


@pytest.mark.parametrize("app_id", ["a/b", "", ".", "..", "~x", "é", "a b", "x" * 300, "%2F"])
def test_every_id_has_a_place_of_its_own(app_id):
    place = place_of(app_id)
    assert place.startswith("~")
    assert place_of(place) != place
    assert place.isascii()
    assert "/" not in place


# ---- renewal


def test_a_token_is_renewed_shortly_before_its_end(desk):
    desk.allow(desk.needed("mail"))
    first = desk.record("mail")
    desk.clock.advance(HOUR - 61)
    assert desk.call("mail") == 200
    assert desk.record("mail") == first
    desk.clock.advance(1)
    assert desk.call("mail") == 200
    second = desk.record("mail")
    assert second["accessToken"] != first["accessToken"]
    assert second["refreshToken"] != first["refreshToken"]
    assert second["expiresAt"] == MILLISECONDS + (2 * HOUR - 60) * 1000
    assert second["tools"] == first["tools"]


def test_parallel_calls_renew_once(desk):
    desk.allow(desk.needed("mail"))
    desk.clock.advance(HOUR)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: desk.call("mail"), range(8), timeout=20)) == {200}
    assert desk.site.exchanges == 2


def test_after_seven_days_the_person_is_asked_again(desk):
    desk.allow(desk.needed("mail"))
    desk.clock.advance(7 * 24 * HOUR)
    desk.needed("mail")
    assert desk.record("mail") is None


def test_an_app_that_is_away_costs_nobody_their_access(desk):
    desk.allow(desk.needed("mail"))
    record = desk.record("mail")
    right = desk.app("mail").auth.settings["tokenEndpoint"]
    desk.change("mail", tokenEndpoint="http://localhost:1/oauth/token")
    desk.clock.advance(HOUR - 30)
    assert desk.call("mail") == 200
    desk.clock.advance(30)
    with pytest.raises(http_client.SendingError):
        desk.authorise("mail")
    assert desk.record("mail") == record
    desk.change("mail", tokenEndpoint=right)
    assert desk.call("mail") == 200


def test_a_rejected_token_is_renewed_and_then_given_up(desk):
    desk.allow(desk.needed("mail"))
    desk.authoriser.rejected(desk.app("mail"), "Cursor")
    assert desk.call("mail") == 200
    desk.authoriser.rejected(desk.app("mail"), "Cursor")
    desk.needed("mail")


def test_a_revoked_line_is_asked_for_again(desk):
    desk.allow(desk.needed("mail"))
    desk.site.locks["mail"].clear()
    assert desk.call("mail") == 401
    desk.authoriser.rejected(desk.app("mail"), "Cursor")
    desk.needed("mail")


# ---- what an app answers

ANSWERS = {
    "no token": {"tokenType": "Bearer", "expiresIn": 3600},
    "no text": {"accessToken": 5, "tokenType": "Bearer"},
    "a line more": {"accessToken": "a\r\nX-Injected: 1", "tokenType": "Bearer"},
    "another type": {"accessToken": "a", "tokenType": "mac"},
    "no type": {"accessToken": "a"},
}


@pytest.mark.parametrize("members", ANSWERS.values(), ids=ANSWERS.keys())
def test_answers_without_a_bearer_token_are_refused(desk, members):
    with pytest.raises(NotSentError):
        desk.authoriser.oauth2.read_tokens(members)


@pytest.mark.parametrize(
    ("given", "seconds"),
    [(10, 10), (None, HOUR), ("10", HOUR), (-1, HOUR), (True, HOUR), (1e300, HOUR), (0, HOUR)],
)
def test_a_lifetime_is_a_number_of_seconds_or_an_hour(desk, given, seconds):
    members = {"access_token": "a", "token_type": "bearer", "expires_in": given}
    kept = desk.authoriser.oauth2.read_tokens(members)
    assert kept["expiresAt"] == MILLISECONDS + seconds * 1000
    assert "refreshToken" not in kept


def test_plain_http_to_others_is_never_used(desk):
    for name in ("authorizationEndpoint", "tokenEndpoint"):
        right = desk.app("mail").auth.settings[name]
        desk.change("mail", **{name: "http://app.example/oauth"})
        url = desk.needed("mail")
        if name == "authorizationEndpoint":
            assert desk.visitor.get(url).status == 502
        else:
            assert refused(desk, desk.visitor.get(desk.back(url)))
        desk.change("mail", **{name: right})


def test_flows_that_nobody_ends_do_not_pile_up(desk):
    url = desk.needed("mail")
    for _ in range(210):
        desk.authoriser.oauth2.start(desk.app("mail"), "Cursor", ["sendEmail"])
    assert len(desk.vault.keys("flow")) <= 200
    assert desk.allow(url).status == 200
