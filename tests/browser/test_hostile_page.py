"""A page that talks to the binding itself: it learns nothing, gains nothing, and breaks nothing."""

from __future__ import annotations

import json

import pytest

from pytest_mcp_approval.browser import BrowserError
from pytest_mcp_approval.browser.prompt_broker import LONGEST, MOST_PROMPTS, PromptBroker

# Playwright's own way into Python, which no page can be kept from.
RAW = """(said) => {
  const controller = globalThis.__playwright__binding__controller__;
  const name = [...controller._bindings.keys()].find((one) => one.startsWith('ceremony'));
  return controller.callBinding(name, said).catch((error) => `refused: ${error}`);
}"""
BEGIN = {"step": "begin", "id": "x", "kind": "get", "options": {}, "opaque": False}


@pytest.fixture
def key(approval_page):
    return approval_page.key("touch-id", kind="bridge")


@pytest.fixture
def say(key, ask):
    return lambda said: ask.frame.evaluate(RAW, said if isinstance(said, str) else json.dumps(said))


def test_no_name_of_ours_is_left_for_the_page(key, ask):
    names = ask.frame.evaluate("Object.getOwnPropertyNames(globalThis)")
    assert [name for name in names if "ceremony" in name.lower() or name == "binding"] == []


@pytest.mark.parametrize(
    "said",
    [
        "",
        "not JSON",
        "[]",
        "null",
        "5",
        '"begin"',
        "{}",
        "[" * 100_000,
        '{"step":"begin","id":"x","kind":"get","options":' + '{"a":' * 50_000,
        '{"step": 5}',
        '{"step": "begin"}',
        '{"step": "begin", "id": 5}',
        '{"step": "begin", "id": "' + "x" * 65 + '"}',
        '{"step": "begin", "id": "x", "kind": "store", "options": {}}',
        '{"step": "begin", "id": "x", "kind": "get", "options": []}',
        '{"step": "held", "id": "nobody"}',
        '{"step": "ended", "id": "nobody", "response": {}}',
        "x" * (LONGEST + 1),
    ],
    ids=range(18),
)
def test_what_makes_no_sense_is_answered_harmlessly(say, key, approval_page, said):
    assert say(said)["do"] == "throw"
    assert approval_page.asked == []
    approval_page.check()


def test_an_origin_that_the_page_claims_is_not_believed(say, key, approval_page, site, party):
    party.rp_id = "bank.example"
    claimed = {
        **BEGIN,
        "options": party.request_options(),
        "permitted": True,
        "origin": "https://bank.example",
        "url": "https://bank.example/",
        "top_origin": None,
    }
    assert say(claimed)["name"] == "SecurityError"
    assert approval_page.asked[0].origin == site.origin


def test_a_frame_that_claims_to_be_let_is_not_believed(approval_page, site, party, key):
    inner = f"{site.host('inner.localhost')}/inner"
    approval_page.goto(site.put("/outer-hostile", f'<iframe src="{inner}"></iframe>'))
    approval_page.until(lambda: len(approval_page.page.frames) == 2, "the frame")
    frame = approval_page.page.frames[1]
    frame.wait_for_load_state()
    party.rp_id = "inner.localhost"
    claimed = {**BEGIN, "options": party.request_options(), "permitted": True}
    assert frame.evaluate(RAW, json.dumps(claimed))["name"] == "NotAllowedError"
    assert approval_page.asked[0].cross_origin
    assert key.prompts == []


def test_malformed_options_are_the_page_s_own_error(say, key):
    for number, options in enumerate(({}, {"challenge": 5}, {"challenge": "*"}, {"rpId": []})):
        told = say({**BEGIN, "id": f"x{number}", "options": options, "permitted": True})
        assert told["do"] == "throw"
        assert told["name"] in ("TypeError", "EncodingError")


def test_one_page_cannot_end_the_prompt_of_another(approval_page, ask, key, party, site):
    key.person.will("wait")
    ask.begin("create", party.creation_options())
    prompt = key.asked()
    other = approval_page.context.new_page()
    other.goto(f"{site.origin}/")
    (name,) = [name for name, one in approval_page._broker._by_id.items() if one is prompt]
    for step in ("abort", "over", "ended", "held"):
        other.evaluate(RAW, json.dumps({"step": step, "id": name, "error": "X"}))
    assert prompt.waits
    key.person.approves()
    party.accept_registration(ask.outcome()["response"])


def test_a_page_that_never_stops_asking_is_refused(say, key, approval_page, monkeypatch):
    monkeypatch.setattr("pytest_mcp_approval.browser.prompt_broker.MOST_PROMPTS", 5)
    told = [say({**BEGIN, "id": f"x{number}", "permitted": True}) for number in range(8)]
    assert len(approval_page.asked) == 5
    assert [one["name"] for one in told[5:]] == ["NotAllowedError"] * 3
    assert MOST_PROMPTS < 10_000


def test_a_page_that_changes_what_scripts_are_made_of(key, ask, party):
    ask.frame.evaluate(
        """() => {
          globalThis.btoa = globalThis.atob = () => 'no';
          globalThis.origin = 'https://bank.example';
          ArrayBuffer.isView = () => false;
          Object.defineProperty(ArrayBuffer.prototype, 'byteLength', {get: () => 0});
          PublicKeyCredential.prototype.toJSON = () => ({});
        }"""
    )
    told = ask.frame.evaluate(
        """async (options) => {
          const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
          return (await navigator.credentials.create({publicKey})).toJSON();
        }""",
        party.creation_options(),
    )
    party.accept_registration(told)


def test_what_goes_wrong_in_the_harness_is_told_to_the_test(
    approval_page, ask, key, party, monkeypatch
):
    def broken(*_, **__):
        raise RuntimeError("a bug\x1b[31m of ours")

    monkeypatch.setattr(PromptBroker, "_begin", broken)
    outcome = ask("create", party.creation_options())
    assert (outcome["error"], outcome["message"]) == ("UnknownError", "The request failed.")
    with pytest.raises(BrowserError, match=r"RuntimeError: a bug\\u001b\[31m of ours"):
        approval_page.check()
    approval_page.check()
