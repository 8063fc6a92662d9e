"""Frames and pop-ups: whose origin it is, who may ask, and that the key is there too."""

from __future__ import annotations

import json

import pytest

from pytest_mcp_approval.support.origins import origin_of_url
from tests.browser.site import PLAIN, Asking
from virtual_authenticator.encoding import base64url_decode

KINDS = ["bridge", "cdp"]
BOTH = "publickey-credentials-create; publickey-credentials-get"


def _client_data(response):
    return json.loads(base64url_decode(response["response"]["clientDataJSON"]))


def _frame_of(approval_page, url):
    approval_page.until(
        lambda: any(frame.url == url for frame in approval_page.page.frames), f"a frame at {url}"
    )
    frame = next(frame for frame in approval_page.page.frames if frame.url == url)
    frame.wait_for_load_state()
    return frame


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_of_another_origin_that_is_let(approval_page, site, party, kind):
    inner = f"{site.host('inner.localhost')}/inner"
    outer = site.put(f"/outer-let-{kind}", f'{PLAIN}<iframe src="{inner}" allow="{BOTH}"></iframe>')
    key = approval_page.key("security-key", kind=kind)
    approval_page.goto(outer)
    ask = Asking(approval_page, _frame_of(approval_page, inner))
    # Chromium wants a click before a frame of another origin may register.
    ask.frame.locator("h1").click()
    party.rp_id, party.origin = "inner.localhost", site.host("inner.localhost")
    registered = ask.response("create", party.creation_options())
    party.accept_registration(registered)
    asserted = ask.response("get", party.request_options([registered["id"]]))
    party.accept_assertion(asserted)
    for response in (registered, asserted):
        told = _client_data(response)
        assert told["origin"] == site.host("inner.localhost")
        assert told["crossOrigin"] is True
        assert told["topOrigin"] == site.origin
    prompt = key.prompts[-1]
    assert (prompt.origin, prompt.cross_origin, prompt.top_origin, prompt.url) == (
        site.host("inner.localhost"),
        True,
        site.origin,
        inner,
    )


@pytest.mark.parametrize(
    ("name", "allow"),
    [("none", ""), ("other", 'allow="camera"'), ("elsewhere", 'allow="{} https://example.com"')],
)
def test_a_frame_of_another_origin_that_is_not(approval_page, site, party, name, allow):
    inner = f"{site.host('inner.localhost')}/inner"
    allow = allow.format("publickey-credentials-get")
    outer = site.put(f"/outer-{name}", f'{PLAIN}<iframe src="{inner}" {allow}></iframe>')
    approval_page.goto(outer)
    ask = Asking(approval_page, _frame_of(approval_page, inner))
    for kind in KINDS:
        key = approval_page.key("security-key", kind=kind)
        party.rp_id = "inner.localhost"
        assert ask("get", party.request_options(timeout=2000))["error"] == "NotAllowedError"
        assert key.prompts == []
        assert approval_page.asked[-1].why.startswith("the frame's allow does not name")


def test_a_policy_in_a_header_forbids_as_well(approval_page, site, party):
    address = site.put("/forbidden", Permissions_Policy="publickey-credentials-get=()")
    key = approval_page.key("security-key", kind="bridge")
    approval_page.goto(address)
    ask = Asking(approval_page)
    party.accept_registration(ask.response("create", party.creation_options()))
    assert ask("get", party.request_options())["error"] == "NotAllowedError"
    assert len(key.prompts) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_frames_of_the_same_origin_need_no_leave(approval_page, site, party, kind):
    inner = f"{site.origin}/inner"
    outer = site.put(
        f"/outer-same-{kind}",
        f'{PLAIN}<iframe src="{inner}"></iframe><iframe srcdoc="<h1>here</h1>"></iframe>',
    )
    approval_page.key("security-key", kind=kind)
    approval_page.goto(outer)
    for url in (inner, "about:srcdoc"):
        ask = Asking(approval_page, _frame_of(approval_page, url))
        registered = ask.response("create", party.creation_options())
        party.accept_registration(registered)
        assert _client_data(registered)["crossOrigin"] is False
        party.accept_assertion(ask.response("get", party.request_options([registered["id"]])))


def test_a_sandboxed_frame_has_no_origin_and_no_passkeys(approval_page, site, party):
    inner = f"{site.origin}/inner"
    outer = site.put(
        "/outer-sandboxed",
        f'{PLAIN}<iframe src="{inner}" sandbox="allow-scripts" allow="{BOTH}"></iframe>',
    )
    key = approval_page.key("security-key", kind="bridge")
    approval_page.goto(outer)
    ask = Asking(approval_page, _frame_of(approval_page, inner))
    assert ask("create", party.creation_options())["error"] == "NotAllowedError"
    assert approval_page.asked[-1].origin == "null"
    assert key.credentials == []


def test_two_frames_of_a_page_take_turns(approval_page, site, party):
    inner = f"{site.origin}/inner"
    outer = site.put("/outer-turns", f'{PLAIN}<iframe src="{inner}"></iframe>')
    key = approval_page.key("security-key", kind="bridge")
    approval_page.goto(outer)
    top, below = Asking(approval_page), Asking(approval_page, _frame_of(approval_page, inner))
    key.person.will("wait")
    top.begin("create", party.creation_options())
    key.asked()
    assert below("get", party.request_options())["error"] == "OperationError"
    key.person.declines()
    assert top.outcome()["error"] == "NotAllowedError"
    assert below("get", party.request_options())["error"] == "NotAllowedError"  # none is here


@pytest.mark.parametrize("kind", KINDS)
def test_a_pop_up_has_the_same_key(approval_page, site, party, kind):
    key = approval_page.key("security-key", kind=kind)
    approval_page.goto(f"{site.origin}/")
    opener = Asking(approval_page)
    first = opener.response("create", party.creation_options())
    party.accept_registration(first)
    with approval_page.page.expect_popup() as caught:
        approval_page.page.evaluate("void open('/pop-up')")
    popup = caught.value
    popup.wait_for_load_state()
    ask = Asking(approval_page, popup)
    party.accept_assertion(ask.response("get", party.request_options([first["id"]])))
    party.user_id = b"another account"
    second = ask.response("create", party.creation_options())
    party.accept_registration(second)
    assert key.prompts[-1].url == f"{site.origin}/pop-up"
    popup.close()
    # What the pop-up made is on the key, not in the window.
    for one in (first, second):
        party.accept_assertion(opener.response("get", party.request_options([one["id"]])))
    assert {one.encoded_id for one in key.credentials} == {first["id"], second["id"]}


def test_a_prompt_in_a_pop_up_that_is_closed_is_over(approval_page, site, party):
    key = approval_page.key("security-key", kind="bridge")
    approval_page.goto(f"{site.origin}/")
    with approval_page.page.expect_popup() as caught:
        approval_page.page.evaluate("void open('/pop-up')")
    popup = caught.value
    key.person.will("wait")
    Asking(approval_page, popup).begin("create", party.creation_options())
    prompt = key.asked()
    popup.close()
    assert not prompt.is_open
    assert not prompt.waits


def test_an_empty_pop_up_speaks_for_its_opener(approval_page, site, party):
    approval_page.key("security-key", kind="bridge")
    approval_page.goto(f"{site.origin}/")
    with approval_page.page.expect_popup() as caught:
        approval_page.page.evaluate("void open('about:blank')")
    ask = Asking(approval_page, caught.value)
    party.accept_registration(ask.response("create", party.creation_options()))


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://localhost:80/a?b#c", "http://localhost:80"),
        ("https://example.org/", "https://example.org"),
        ("http://user:word@example.org:8080/", "http://example.org:8080"),
        ("http://[::1]:5/", "http://[::1]:5"),
        ("blob:https://example.org/0b1c", "https://example.org"),
        ("data:text/html,hello", "null"),
        ("file:///etc/hosts", "null"),
        ("chrome-error://chromewebdata/", "null"),
        ("http://[broken/", "null"),
        ("about:blank", None),
        ("about:srcdoc#x", None),
        ("", None),
    ],
)
def test_the_origin_in_an_address(url, origin):
    assert origin_of_url(url) == origin
