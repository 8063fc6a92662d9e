"""Without a token, or with something else in its place: a clear error, and nothing happens."""

import pytest

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.prepare_confirm.driver import NOT_GIVEN
from pytest_mcp_approval.wire import Outcome, RawJson

INSTEAD = {
    "no token": NOT_GIVEN,
    "an empty text": "",
    "null": None,
    "a blank": " ",
    "a number": 12345,
    "zero": 0,
    "true": True,
    "a list": ["a"],
    "an empty list": [],
    "an object": {"token": "a"},
    "a word": "yes",
    "the separator": "|",
    "separators": "|||",
    "null|null": "null|null",
    "JSON of another kind": "[1]|[2]",
    "a zero byte": "\x00",
    "beyond ASCII": "é中🔑|é中🔑",
    "very long": "0" * 200_000,
    "deep JSON": f"{'[' * 5000}|{'0' * 64}",
    "a format string": "%s%n{0}{token}",
    "a number beyond all doubles": RawJson("1e400"),
    "an object with special members": {"__proto__": {"a": 1}, "constructor": 1, "length": 3},
}


@requirement("prepare_confirm/missing-token")
@pytest.mark.parametrize("instead", INSTEAD)
def test_what_is_no_token_gets_a_clear_error(two_step, instead):
    """Success false, a tool error or an error of the base protocol: all are clear. An exception
    that nobody caught is not, nor is silence. Afterwards an honest call is served.

    What a strict JSON parser cannot read need not be answered under its id, as long as nothing
    happens."""
    everywhere = instead in ("no token", "an empty text", "a number")
    for pair in two_step.pairs() if everywhere else [two_step.pair]:
        two_step.put_in_place(pair)
        params = two_step.driver.confirm_params(pair, INSTEAD[instead])
        outcome = two_step.submit(pair, params["arguments"])
        sent = f"{pair.confirm} with {instead} for a token"
        unread = isinstance(INSTEAD[instead], RawJson) and not outcome.answer.answered
        if unread and not outcome.executed:
            continue
        two_step.expect_refusal(outcome, sent=sent, plain_form=False)
        two_step.expect_clear(outcome, sent=sent)
    two_step.expect(
        two_step.honest().answer.reply.outcome is Outcome.RESULT,
        sent=f"an honest confirmation after {instead} for a token",
        expected="a result",
        got="none",
    )


@requirement("prepare_confirm/missing-token")
def test_confirming_without_arguments_at_all(two_step):
    """A call whose params have no `arguments`."""
    two_step.honest()
    for pair in two_step.pairs():
        two_step.put_in_place(pair)
        two_step.preview(pair)  # so that there is something to be confirmed
        outcome = two_step.driver.submit(pair, {"name": pair.confirm})
        sent = f"{pair.confirm} without any arguments"
        two_step.expect_refusal(outcome, sent=sent, plain_form=False)
        two_step.expect_clear(outcome, sent=sent)


@requirement("prepare_confirm/missing-token")
def test_arguments_do_not_stand_in_for_a_token(two_step):
    """The arguments of prepare, given to confirm: nothing was shown, so nothing is done."""
    for pair in two_step.pairs() or [two_step.pair]:
        two_step.honest(pair)
        two_step.put_in_place(pair)
        outcome = two_step.submit(pair, dict(pair.arguments))
        two_step.expect_refusal(
            outcome,
            sent=f"{pair.confirm} with the arguments of {pair.prepare} and no token",
            plain_form=False,
        )
