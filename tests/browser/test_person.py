"""The person in front of the browser, in both kinds: each gesture, and what a page sees of it."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.browser import BrowserError

KINDS = ["bridge", "cdp"]


@pytest.fixture(params=KINDS)
def key(request, approval_page):
    return approval_page.key("touch-id", kind=request.param)


@pytest.fixture
def enrolled(key, ask, party):
    """The id of a credential on the key."""
    response = ask.response("create", party.creation_options())
    party.accept_registration(response)
    return response["id"]


def test_what_ends_a_request_looks_the_same_to_a_page(key, ask, party, enrolled):
    seen = set()
    for gesture in ("decline", "time-out", "remove"):
        key.person.will(gesture)
        outcome = ask("get", party.request_options([enrolled]))
        assert outcome["isDom"]
        seen.add((outcome["error"], outcome["message"]))
        assert key.prompts[-1].error == "NotAllowedError"
        assert key.prompts[-1].why
        # The person is willing again: one gesture is for one request.
        party.accept_assertion(ask.response("get", party.request_options([enrolled])))
    assert [error for error, _ in seen] == ["NotAllowedError"], "a page must not learn which"


def test_nobody_is_registered_who_declines(key, ask, party):
    key.person.will("decline")
    assert ask("create", party.creation_options())["error"] == "NotAllowedError"
    assert key.credentials == []


def test_a_wrong_finger_is_asked_again_within_the_request(key, ask, party, enrolled):
    key.person.will("wrong-finger")
    strict = party.request_options([enrolled], userVerification="required")
    party.accept_assertion(ask.response("get", strict))
    assert len(key.prompts) == 2
    assert key.person.planned == []
    key.person.will("wrong-finger", "decline", "approve")
    assert ask("get", party.request_options([enrolled]))["error"] == "NotAllowedError"
    assert key.person.planned == ["approve"]
    key.person.will("approve", "wrong-finger", "wrong-finger", "wrong-finger")
    for error in (None, None, "NotAllowedError"):
        outcome = ask("get", party.request_options([enrolled], userVerification="required"))
        assert outcome.get("error") == error
    party.accept_assertion(ask.response("get", party.request_options([enrolled])))


@pytest.mark.parametrize(
    ("act", "error"),
    [
        ("approves", None),
        ("declines", "NotAllowedError"),
        ("times_out", "NotAllowedError"),
        ("removes", "NotAllowedError"),
    ],
)
def test_a_prompt_stays_open_until_somebody_acts(key, ask, party, enrolled, site, act, error):
    key.person.will("wait")
    options = party.request_options([enrolled])
    ask.begin("get", options)
    prompt = key.asked()
    assert (prompt.kind, prompt.origin, prompt.rp_id) == ("get", site.origin, "localhost")
    assert prompt.options["challenge"] == options["challenge"]
    assert prompt.options["allowCredentials"] == options["allowCredentials"]
    assert not prompt.cross_origin
    # The page goes on, and so does the test.
    assert ask.frame.evaluate("[1 + 1, globalThis.outcome]") == [2, None]
    assert prompt.waits
    getattr(key.person, act)()
    assert not prompt.is_open
    outcome = ask.outcome()
    assert outcome.get("error") == error
    assert prompt.error == error
    if error is None:
        party.accept_assertion(outcome["response"])
        assert prompt.response == outcome["response"]


def test_a_wrong_finger_leaves_the_prompt_open_until_the_third(key, ask, party, enrolled):
    key.person.will("wait", "wait")
    ask.begin("get", party.request_options([enrolled], userVerification="required"))
    key.asked()
    key.person.shows_wrong_finger()
    key.person.shows_wrong_finger()
    assert key.asked().waits
    key.person.approves()
    party.accept_assertion(ask.outcome()["response"])
    ask.begin("get", party.request_options([enrolled], userVerification="required"))
    for _ in range(3):
        key.person.shows_wrong_finger()
    assert ask.outcome()["error"] == "NotAllowedError"


def test_the_page_can_abort_an_open_prompt(key, ask, party, enrolled):
    key.person.will("wait")
    ask.begin("get", party.request_options([enrolled]), abortable=True)
    prompt = key.asked()
    ask.frame.evaluate("stop.abort()")
    assert ask.outcome()["error"] == "AbortError"
    ask.opened.until(lambda: not prompt.is_open, "the prompt to close")
    assert prompt.error == "AbortError"
    party.accept_assertion(ask.response("get", party.request_options([enrolled])))


def test_an_aborted_signal_asks_nobody(key, ask, party, enrolled):
    error = ask.frame.evaluate(
        """async (options) => {
          const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
          const reason = new RangeError('my reason');
          return navigator.credentials.get({publicKey, signal: AbortSignal.abort(reason)})
            .catch((caught) => caught === reason);
        }""",
        party.request_options([enrolled]),
    )
    assert error is True
    assert len(key.prompts) == 1


def test_a_second_request_has_to_wait_its_turn(key, ask, party, enrolled):
    key.person.will("wait")
    ask.begin("get", party.request_options([enrolled]))
    key.asked()
    second = ask.frame.evaluate(
        """(options) => navigator.credentials.get(
          {publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options)})
          .catch((error) => error.name)""",
        party.request_options([enrolled]),
    )
    assert second == "OperationError"
    key.person.declines()
    assert ask.outcome()["error"] == "NotAllowedError"


def test_a_prompt_ends_with_its_page(key, ask, party, enrolled, site):
    key.person.will("wait")
    ask.begin("get", party.request_options([enrolled]))
    prompt = key.asked()
    ask.opened.goto(f"{site.origin}/other")
    ask.opened.until(lambda: not prompt.is_open, "the prompt to close")
    party.accept_assertion(ask.response("get", party.request_options([enrolled])))


def test_always(key, ask, party, enrolled):
    key.person.always = "decline"
    for _ in range(2):
        assert ask("get", party.request_options([enrolled]))["error"] == "NotAllowedError"
    key.person.will("approve")
    party.accept_assertion(ask.response("get", party.request_options([enrolled])))
    with pytest.raises(BrowserError, match=r"got 'wrong-finger', which would never end"):
        key.person.always = "wrong-finger"
    with pytest.raises(BrowserError, match=r"got 'sleep', expected one of approve, decline"):
        key.person.will("sleep")


def test_waiting_for_a_prompt_that_does_not_come_ends(key, ask, enrolled):
    with pytest.raises(BrowserError, match=r"waited 0.2 s in vain for a prompt .*asked 1 times"):
        key.asked(timeout=0.2)
