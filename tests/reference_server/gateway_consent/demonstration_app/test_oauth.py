"""The app's authorisation server: what it gives, and every way in which it does not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import pytest

from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app import OTHER_CLIENT_ID
from tests.reference_server.gateway_consent.demonstration_app.client import (
    REDIRECT,
    VERIFIER,
    challenge,
    rfc,
)

HOUR = 3600
WEEK = 7 * 24 * HOUR


def refused(page, error="invalid_grant", status=400):
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["content-type"] == "application/json"
    assert "accessToken" not in page.json
    assert "access_token" not in page.json
    return (page.status, page.json["error"]) == (status, error)


# ---- the honest way


def test_the_page_lists_the_tools_and_two_choices(client):
    page = client.ask()
    assert page.status == 200
    assert page.form.buttons == [("decision", "allow"), ("decision", "deny")]
    for text in ("AAI Gateway", "Example Mail", "sendEmail", "Sends an email", "readInbox"):
        assert text in page.text
    assert "deleteEmail" not in page.text


def test_the_page_cannot_be_framed_nor_run_scripts(client):
    headers = client.ask().headers
    assert headers["content-security-policy"] == (
        "default-src 'none'; style-src 'self'; form-action 'self' http://localhost:3000; "
        "frame-ancestors 'none'; base-uri 'none'"
    )
    assert headers["cache-control"] == "no-store"
    assert headers["x-frame-options"] == "DENY"


def test_allow_brings_a_code_the_same_state_and_the_issuer(client):
    state = "a state/with+odd=characters&more %C3%A9 é"
    page = client.allow(state=state)
    assert page.status == 303
    assert page.location.startswith(REDIRECT + "?")
    assert page.brought.keys() == {"code", "state", "iss"}
    assert page.brought["state"] == state
    assert page.brought["iss"] == client.url("")


def test_deny_brings_access_denied_and_the_same_state(client):
    page = client.visitor.send(client.ask(), decision="deny")
    assert page.location.startswith(REDIRECT + "?")
    assert page.brought == {"error": "access_denied", "state": "xyz", "iss": client.url("")}


def test_tokens_in_this_profile_s_spelling(client):
    page = client.redeem(client.code())
    assert page.status == 200
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["pragma"] == "no-cache"
    members = page.json
    assert members.keys() == {"accessToken", "tokenType", "expiresIn", "refreshToken", "scope"}
    assert members["tokenType"] == "Bearer"
    assert members["expiresIn"] == HOUR
    assert members["scope"] == "read write"
    assert client.call(members["accessToken"]) == 200


def test_tokens_in_the_spelling_of_the_rfc(client):
    query = urlencode(rfc(client.request()))
    asked = client.visitor.get(client.url("/authorize?") + query)
    code = client.visitor.send(asked, decision="allow").brought["code"]
    members = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": REDIRECT,
        "code_verifier": VERIFIER,
        "client_id": "aai-gateway",
    }
    given = client.visitor.post(client.url("/oauth/token"), members).json
    assert given.keys() == {"access_token", "token_type", "expires_in", "refresh_token", "scope"}
    assert client.call(given["access_token"]) == 200


def test_a_token_is_good_for_the_tools_that_were_allowed(client):
    token = client.redeem(client.code()).json["accessToken"]
    assert client.call(token, "readInbox") == 200
    assert client.call(token, "deleteEmail") == 403
    assert client.call(token, "unknown") == 404
    assert client.call("another", "readInbox") == 401


def test_scopes_are_narrowed_and_never_widened(client):
    first = client.redeem(client.code(scope="read")).json
    assert first["scope"] == "read"
    assert refused(client.refresh(first["refreshToken"], scope="read write"), "invalid_scope")
    assert client.refresh(first["refreshToken"]).json["scope"] == "read"


# ---- the authorisation request: nobody is sent to where the client does not belong

NOT_REDIRECTED = {
    "no client": {"clientId": None},
    "unknown client": {"clientId": "nobody"},
    "no redirectUri": {"redirectUri": None},
    "another host": {"redirectUri": "http://attacker.example/callback"},
    "another port": {"redirectUri": "http://localhost:3001/callback"},
    "another path": {"redirectUri": REDIRECT + "/more"},
    "a query more": {"redirectUri": REDIRECT + "?x=1"},
    "another case": {"redirectUri": REDIRECT.replace("callback", "Callback")},
    "a line more": {"redirectUri": REDIRECT + "\n"},
    "dots": {"redirectUri": REDIRECT + "/../callback"},
    "user": {"redirectUri": "http://localhost:3000@attacker.example/callback"},
    "of another client": {"clientId": OTHER_CLIENT_ID},
}


@pytest.mark.parametrize("changes", NOT_REDIRECTED.values(), ids=NOT_REDIRECTED.keys())
def test_nobody_is_redirected_to_an_unregistered_address(client, changes):
    page = client.ask(**changes)
    assert page.status == 400
    assert "location" not in page.headers
    assert client.ask().status == 200


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("clientId=aai-gateway", "client_id=aai-gateway"),
        ("redirectUri=http%3A%2F%2Flocalhost%3A3000%2Fcallback", "redirectUri=http%3A%2F%2Fa.b"),
        ("state=xyz", "state=other"),
        ("aaiTools=sendEmail", "aai_tools=deleteEmail"),
    ],
)
def test_a_parameter_that_comes_twice_is_refused(client, first, second):
    name = first.partition("=")[0]
    query = urlencode(client.request(**{name: None}))
    page = client.visitor.get(client.url(f"/authorize?{query}&{first}&{second}"))
    assert page.status == 400
    assert client.visitor.get(client.url(f"/authorize?{query}&{first}")).status == 200


TOLD_TO_THE_CLIENT = {
    "no state": ({"state": None}, "invalid_request"),
    "empty state": ({"state": ""}, "invalid_request"),
    "no responseType": ({"responseType": None}, "invalid_request"),
    "implicit": ({"responseType": "token"}, "unsupported_response_type"),
    "hybrid": ({"responseType": "code token"}, "unsupported_response_type"),
    "no challenge": ({"codeChallenge": None}, "invalid_request"),
    "no method": ({"codeChallengeMethod": None}, "invalid_request"),
    "plain": ({"codeChallengeMethod": "plain"}, "invalid_request"),
    "s256 in small": ({"codeChallengeMethod": "s256"}, "invalid_request"),
    "short challenge": ({"codeChallenge": "abc"}, "invalid_request"),
    "padded challenge": ({"codeChallenge": challenge() + "="}, "invalid_request"),
    "odd challenge": ({"codeChallenge": "é" * 43}, "invalid_request"),
    "unknown scope": ({"scope": "admin"}, "invalid_scope"),
    "no tools": ({"aaiTools": None}, "invalid_request"),
    "unknown tool": ({"aaiTools": "sendEmail,<b>x</b>"}, "invalid_request"),
    "one tool twice": ({"aaiTools": "sendEmail,sendEmail"}, "invalid_request"),
}


@pytest.mark.parametrize(
    ("changes", "error"), TOLD_TO_THE_CLIENT.values(), ids=TOLD_TO_THE_CLIENT.keys()
)
def test_the_client_is_told_of_its_mistakes(client, changes, error):
    page = client.ask(**changes)
    assert page.status == 302
    assert page.location.startswith(REDIRECT + "?")
    assert page.brought["error"] == error
    assert page.brought.get("state") == (None if "state" in changes else "xyz")
    assert "code" not in page.brought


# ---- the answer of the person


def test_a_question_is_answered_once(client):
    page = client.ask()
    assert client.visitor.send(page, decision="allow").status == 303
    assert client.visitor.send(page, decision="allow").status == 400


def test_a_question_ends(client, clock):
    page = client.ask()
    clock.advance(600)
    assert client.visitor.send(page, decision="allow").status == 400


@pytest.mark.parametrize("question", ["", "guessed"])
def test_a_question_cannot_be_made_up(client, question):
    assert client.visitor.send(client.ask(), decision="allow", question=question).status == 400


def test_a_form_of_another_page_is_refused(client):
    page = client.ask()
    for origin in ("http://attacker.example", "null", "http://localhost:1"):
        members = {**page.form.members, "decision": "allow"}
        assert client.visitor.post(page.url, members, Origin=origin).status == 400
    assert client.visitor.send(page, decision="allow").status == 303


def test_only_allow_allows(client):
    page = client.ask()
    for decision in ("", "yes", "ALLOW"):
        assert client.visitor.send(page, decision=decision).status == 400
    assert client.visitor.send(page, decision="allow").status == 303


# ---- the code

WRONG_CODES = {
    "no verifier": ({"codeVerifier": None}, "invalid_request"),
    "another verifier": ({"codeVerifier": VERIFIER + "x"}, "invalid_grant"),
    "the challenge itself": ({"codeVerifier": challenge()}, "invalid_grant"),
    "a short verifier": ({"codeVerifier": "x"}, "invalid_grant"),
    "an odd verifier": ({"codeVerifier": "é" * 50}, "invalid_grant"),
    "no redirectUri": ({"redirectUri": None}, "invalid_request"),
    "another redirectUri": ({"redirectUri": REDIRECT + "/"}, "invalid_grant"),
    "another client": ({"clientId": OTHER_CLIENT_ID}, "invalid_grant"),
    "no code": ({"code": None}, "invalid_request"),
    "another code": ({"code": "guessed"}, "invalid_grant"),
    "no grantType": ({"grantType": None}, "unsupported_grant_type"),
    "password": ({"grantType": "password"}, "unsupported_grant_type"),
    "client credentials": ({"grantType": "client_credentials"}, "unsupported_grant_type"),
    "both spellings": ({"grant_type": "authorization_code"}, "invalid_request"),
}


@pytest.mark.parametrize(("changes", "error"), WRONG_CODES.values(), ids=WRONG_CODES.keys())
def test_a_code_is_redeemed_just_as_it_was_asked_for(client, changes, error):
    code = client.code()
    assert refused(client.redeem(code, **changes), error)
    assert client.redeem(code).status == 200


def test_a_client_that_nobody_knows_is_refused(client):
    page = client.redeem(client.code(), clientId="nobody")
    assert refused(page, "invalid_client", 401)
    assert "www-authenticate" in page.headers


def test_the_verifier_of_another_flow_is_refused(client):
    """A code that was put into another flow of the same client (code injection)."""
    other = "another-verifier-that-is-long-enough-to-be-one-01234"
    stolen = client.code(codeChallenge=challenge(other))
    assert refused(client.redeem(stolen))
    assert client.redeem(stolen, codeVerifier=other).status == 200


def test_the_right_client_may_be_named(client):
    assert client.redeem(client.code(), clientId="aai-gateway").status == 200


def test_a_code_is_good_once_and_its_second_use_ends_everything(client):
    code = client.code()
    given = client.redeem(code).json
    assert client.call(given["accessToken"]) == 200
    assert refused(client.redeem(code))
    assert client.call(given["accessToken"]) == 401
    assert refused(client.refresh(given["refreshToken"]))


def test_a_second_use_ends_only_its_own(client):
    other = client.redeem(client.code()).json
    code = client.code()
    client.redeem(code)
    client.redeem(code)
    assert client.call(other["accessToken"]) == 200


def test_of_many_at_once_one_code_gives_one_token(client):
    code = client.code()
    with ThreadPoolExecutor(8) as pool:
        pages = list(pool.map(lambda _: client.redeem(code), range(8), timeout=20))
    assert sorted(page.status for page in pages) == [200] + 7 * [400]


def test_a_code_ends_within_ten_minutes(client, clock):
    early, late = client.code(), client.code()
    clock.advance(299)
    assert client.redeem(early).status == 200
    clock.advance(1)
    assert refused(client.redeem(late))


# ---- tokens


def test_an_access_token_lasts_an_hour(client, clock):
    token = client.redeem(client.code()).json["accessToken"]
    clock.advance(HOUR - 1)
    assert client.call(token) == 200
    clock.advance(1)
    assert client.call(token) == 401


def test_a_refresh_token_lasts_seven_days(client, clock):
    first, second = (client.redeem(client.code()).json["refreshToken"] for _ in range(2))
    clock.advance(WEEK - 1)
    assert client.refresh(first).status == 200
    clock.advance(1)
    assert refused(client.refresh(second))


def test_a_refresh_gives_new_tokens_for_the_same_tools(client):
    first = client.redeem(client.code()).json
    second = client.refresh(first["refreshToken"]).json
    assert second.keys() == first.keys()
    assert second["refreshToken"] != first["refreshToken"]
    assert second["accessToken"] != first["accessToken"]
    assert client.call(second["accessToken"]) == 200
    assert client.call(second["accessToken"], "deleteEmail") == 403


def test_a_refresh_token_that_comes_back_ends_the_whole_line(client):
    first = client.redeem(client.code()).json
    second = client.refresh(first["refreshToken"]).json
    assert refused(client.refresh(first["refreshToken"]))
    assert client.call(second["accessToken"]) == 401
    assert refused(client.refresh(second["refreshToken"]))


def test_a_refresh_token_belongs_to_its_client(client):
    token = client.redeem(client.code()).json["refreshToken"]
    assert refused(client.refresh(token, clientId=OTHER_CLIENT_ID))
    assert client.refresh(token, clientId="aai-gateway").status == 200


@pytest.mark.parametrize("token", [None, "guessed"])
def test_a_refresh_token_cannot_be_made_up(client, token):
    error = "invalid_request" if token is None else "invalid_grant"
    assert refused(client.refresh(token), error)


def test_a_code_is_no_token_and_a_token_is_no_code(client):
    code = client.code()
    assert client.call(code) == 401
    given = client.redeem(code).json
    assert client.call(given["refreshToken"]) == 401
    assert refused(client.refresh(given["accessToken"]))
    assert refused(client.redeem(given["refreshToken"]))


# ---- the form of a token request


def test_the_token_end_point_takes_forms_only(client):
    code = client.code()
    members = {"grantType": "authorization_code", "code": code, "redirectUri": REDIRECT}
    members["codeVerifier"] = VERIFIER
    assert refused(client.visitor.post_json(client.url("/oauth/token"), members), "invalid_request")
    in_query = client.url("/oauth/token?") + urlencode(members)
    assert refused(client.visitor.post(in_query, members), "invalid_request")
    assert client.visitor.get(client.url("/oauth/token")).status == 405
    assert client.visitor.post(client.url("/oauth/token"), members).status == 200


@pytest.mark.parametrize("body", [b"", b"%zz", b"\xff\xfe", b"code=%ff", b"=&=", b"&" * 200])
def test_what_is_no_form_gets_an_answer(client, body):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    page = client.visitor.request("POST", client.url("/oauth/token"), body, headers)
    assert page.status == 400
    assert page.json["error"] in ("invalid_request", "unsupported_grant_type")
