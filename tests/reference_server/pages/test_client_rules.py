"""What SEP-2672 asks of a client, seen from a server that answers as a test tells it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_mcp_approval.families.sep2672.vocabulary import META_KEY, Reason
from tests.reference_server.pages.visiting import SIGNS, Scripted, listing

VERBATIM = {
    "markup": "<img src=x onerror=\"document.title='pwned'\"><b>bold</b> &amp; &lt;",
    "bidi": "pay \u202e001\u202c to \u2066\u05d0\u05d1\u2069\u200b\ufeff nobody",
    "white space": "\n\n  two  spaces\ttab\r\nline\n\n\n\u00a0end \n",
    "controls": "a\u0000b\u0007c\u001b[31mred",
    "surrogates": "half \ud800 of a pair",
    "long": "".join(f"line {number} of a very long text\n" for number in range(4000)),
    "one long word": "A" * 60_000,
    "marks": "Z" + "\u0351\u0352\u0353" * 400 + " end",
    "empty": "",
}


@pytest.fixture
def scripted(visit, files):
    def open_with(**answers):
        visit.page.add_init_script(SIGNS)
        server = Scripted(visit, **answers)
        visit.open(files.url)
        return server

    return open_with


def with_text(text):
    return {
        "challengeId": "c-1",
        "displayText": text,
        "expiresAt": "2030-01-01T12:00:00.000Z",
        "requestOptions": {"challenge": "AAAA", "rpId": "localhost"},
    }


@pytest.mark.parametrize("width", [1240, 390])
def test_display_text_is_shown_to_the_letter(visit, scripted, width):
    server = scripted()
    visit.page.set_viewport_size({"width": width, "height": 800})
    for name, text in VERBATIM.items():
        server.envelope = {**with_text(text), "challengeId": name}
        check_display_text(visit, name, text, width)
    assert visit.problems == []


def check_display_text(visit, name, text, width):
    page = visit.page
    shown = visit.ask()
    # As JSON: halves of pairs do not survive the way to this test otherwise.
    assert json.loads(shown.evaluate("one => JSON.stringify(one.textContent)")) == text
    assert shown.locator("*").count() == 0
    style = shown.evaluate(
        """one => { const { whiteSpace, unicodeBidi, overflowY } = getComputedStyle(one);
        return { whiteSpace, unicodeBidi, overflowY }; }"""
    )
    assert style == {"whiteSpace": "pre-wrap", "unicodeBidi": "plaintext", "overflowY": "auto"}
    # However long: it scrolls to its end within its place, and the buttons stay in sight.
    assert shown.evaluate("one => one.scrollWidth <= one.clientWidth + 1")
    shown.evaluate("one => { one.scrollTop = one.scrollHeight; }")
    assert shown.evaluate("one => one.scrollTop + one.clientHeight >= one.scrollHeight - 1")
    for button in ("Approve", "Decline"):
        box = visit.button(button).bounding_box()
        assert min(box["x"], box["y"]) >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= 800
    assert page.title() != "pwned"
    note = page.locator("#review-oddities")
    assert note.is_visible() == (name in ("bidi", "controls", "surrogates", "white space"))
    assert "U+202E" in note.inner_text() or name != "bidi"
    # And it was shown when the passkey was asked.
    visit.approve()
    asked = page.evaluate("JSON.stringify(globalThis.askedWith)")
    assert json.loads(asked) == text


def test_nothing_is_asked_of_a_passkey_before_approve(visit, scripted):
    scripted()
    visit.ask()
    assert visit.page.evaluate("globalThis.askedWith") is None
    assert "tools/call" not in visit.methods()
    visit.approve()
    assert visit.page.evaluate("globalThis.askedWith") == "Do it"


def test_the_evidence_goes_out_unmodified_after_the_challenge(visit, scripted):
    scripted()
    visit.choose("act")
    visit.page.get_by_label("Write the arguments as JSON").check()
    given = {"b": 1.5, "a": ["x", {"__proto__": None}], "ü": "\u202e", "0": True}
    visit.page.get_by_label("Arguments (JSON)").fill(json.dumps(given))
    visit.ask()
    visit.approve()
    (asked,), (called,) = (
        visit.params_of(method) for method in ("approval/challenge/create", "tools/call")
    )
    assert asked["toolName"] == called["name"] == "act"
    assert asked["arguments"] == called["arguments"] == given
    assert called["_meta"][META_KEY] == {
        "method": "webauthn",
        "challengeId": "c-1",
        "response": {
            "id": "AQ",
            "rawId": "AQ",
            "type": "public-key",
            "clientExtensionResults": {},
            "unknownMember": {"kept": True},
            "response": {"signature": "AQ", "later": [1]},
        },
    }


def test_a_challenge_that_comes_twice_is_not_used_twice(visit, scripted):
    scripted()
    visit.ask()
    assert visit.approve().get_attribute("data-outcome") == "executed"
    visit.button("Ask for approval").click()
    outcome = visit.page.locator("#call-outcome[data-outcome=failed]")
    outcome.wait_for()
    assert "no usable challenge" in outcome.inner_text()
    assert len(visit.params_of("tools/call")) == 1


@pytest.mark.parametrize(
    "envelope", [{}, {"challengeId": "c"}, None, "text", {**with_text(""), "displayText": 7}]
)
def test_what_is_no_challenge_is_not_approved(visit, scripted, envelope):
    scripted(envelope=envelope)
    visit.button("Ask for approval").click()
    assert "no usable challenge" in visit.outcome("call").inner_text()
    assert "tools/call" not in visit.methods()


def test_unknown_members_and_classes_are_let_be(visit, scripted):
    gated = listing("act", authenticatorClass="cross-platform", since=2031, nested={"a": []})
    scripted(tools=[gated, listing("later")], capabilities={"extensions": {"verifiedApproval": 7}})
    badges = visit.page.locator(".badge").all_inner_texts()
    assert badges == ["approval · cross-platform", "approval · cross-platform, by default"]
    assert visit.page.locator(".notice:visible").count() == 0
    visit.ask()
    assert visit.approve().get_attribute("data-outcome") == "executed"


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"capabilities": {"tools": {}}}, "the capability verifiedApproval is missing"),
        ({"tools": [{**listing("act"), "_meta": {META_KEY: {"required": "yes"}}}]}, '"yes"'),
        ({"tools": [listing("act", authenticatorClass="lunar")]}, '"lunar"'),
    ],
)
def test_what_does_not_fit_together_is_logged_and_shown(visit, scripted, answers, said):
    scripted(**answers)
    assert any(said in warning for warning in visit.warnings)
    assert said in visit.page.locator("#notices .notice").first.inner_text()
    # Any mark, even a malformed one, still means approval first.
    visit.ask()


def test_a_listing_in_several_pages_is_read_to_its_end(visit, files):
    pages = {None: ("one", "next"), "next": ("two", None)}

    def answer(route):
        message = json.loads(route.request.post_data)
        result: dict[str, Any] = {"supportedVersions": ["2026-07-28"], "capabilities": {}}
        if message["method"] == "tools/list":
            name, cursor = pages[message["params"].get("cursor")]
            result = {"tools": [listing(name, gated=False)]}
            result |= {} if cursor is None else {"nextCursor": cursor}
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
        # An event stream with all that is allowed in one: comments, other lines, other messages.
        other = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
        cut = body.index(",") + 1
        stream = f": hello\r\ndata: {other}\r\n\r\nevent: message\r"
        stream += f"data: {body[:cut]}\rdata:{body[cut:]}\r\r"
        route.fulfill(content_type="text/event-stream; charset=utf-8", body=stream)

    visit.page.route("**/mcp", answer)
    visit.open(files.url)
    assert visit.page.locator("button.tool code").all_inner_texts() == ["one", "two"]


# ---- section 4.10: every reason can be told apart

METHOD_OF = {
    Reason.CREDENTIAL_ALREADY_ENROLLED: "approval/enroll/finish",
    Reason.NO_PENDING_ENROLLMENT: "approval/enroll/finish",
    Reason.VERIFICATION_FAILED: "approval/enroll/finish",
    Reason.TOOL_NOT_APPROVED_REQUIRED: "approval/challenge/create",
    Reason.NO_ELIGIBLE_CREDENTIAL: "approval/challenge/create",
}


def refusal(reason, message="<i>as the server says</i>"):
    return {"code": -32001, "message": message, "data": {"reason": reason, "more": {"x": 1}}}


def test_every_reason_reaches_the_person_in_words_of_its_own(visit, scripted):
    server = scripted()
    titles = {}
    server.results["approval/enroll/begin"] = {"options": {}}
    visit.page.evaluate(
        """() => { PublicKeyCredential.parseCreationOptionsFromJSON = (options) => options;
        CredentialsContainer.prototype.create = CredentialsContainer.prototype.get; }"""
    )
    for number, reason in enumerate(Reason):
        method = METHOD_OF.get(reason, "tools/call")
        server.errors = {method: refusal(reason.value)}
        server.envelope = {**server.envelope, "challengeId": f"c-{number}"}
        if method == "approval/enroll/finish":
            visit.button("Enrol a passkey").click()
        else:
            visit.button("Ask for approval").click()
            if method == "tools/call":
                visit.button("Approve").click()
        outcome = visit.page.locator(f".outcome[data-reason='{reason.value}']")
        outcome.wait_for()
        assert outcome.get_attribute("data-outcome") == "refused"
        text = outcome.inner_text()
        assert f"{reason.value} · -32001 · {method}" in text
        assert "<i>as the server says</i>" in text
        titles[outcome.locator("h3").inner_text()] = reason
    assert len(titles) == len(Reason)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (refusal("not_yet_invented"), "does not know"),
        ({"code": -32602, "message": "symbol: got 7"}, "cannot use these arguments"),
        ({"code": -32601, "message": "Method not found"}, "does not know this request"),
        ({"code": -32001, "message": "timed out"}, "gives no reason"),
        ({"code": -32603, "message": "Internal error", "data": None}, "gives no reason"),
    ],
)
def test_other_errors_are_told_too(visit, scripted, error, words):
    scripted(errors={"approval/challenge/create": error})
    visit.button("Ask for approval").click()
    outcome = visit.outcome("call")
    assert words in outcome.inner_text()
    assert error["message"] in outcome.inner_text()


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("NotAllowedError", "declined", "declined, closed, or ran out of time"),
        ("SecurityError", "failed", "cannot be used at this address"),
        ("NotSupportedError", "failed", "No suitable device"),
        ("UnknownError", "failed", "went wrong"),
    ],
)
def test_what_the_browser_says_no_to_is_told(visit, scripted, name, kind, words):
    scripted()
    visit.page.evaluate(
        """name => { CredentialsContainer.prototype.get = async () => {
        throw new DOMException("no", name); }; }""",
        name,
    )
    visit.ask()
    outcome = visit.approve()
    assert outcome.get_attribute("data-outcome") == kind
    assert words in outcome.inner_text()
    assert name in outcome.inner_text()
    assert "tools/call" not in visit.methods()


@pytest.mark.parametrize(
    ("result", "kind", "words"),
    [
        ({"content": [{"type": "text", "text": "<b>hi</b>"}]}, "executed", "<b>hi</b>"),
        ({"content": [{"type": "image", "data": "AA"}]}, "executed", '"image"'),
        ({"content": [{"type": "text", "text": "oh"}], "isError": True}, "tool-error", "oh"),
        ({"content": []}, "executed", "said nothing"),
        ({"structuredContent": {"a": [1]}, "content": None}, "executed", '"a"'),
    ],
)
def test_results_of_every_kind_are_shown_as_text(visit, scripted, result, kind, words):
    scripted(results={"tools/call": result})
    visit.choose("look")
    visit.button("Call").click()
    outcome = visit.outcome("call")
    assert outcome.get_attribute("data-outcome") == kind
    assert words in outcome.inner_text()
    assert visit.problems == []
