"""Every preview has a token of its own."""

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.prepare_confirm.vocabulary import TwoStepReason

TIMES = 12


@requirement("prepare_confirm/nonce")
def test_the_same_preview_has_another_token_each_time(two_step):
    """Even at the same moment: the clock is stopped if it can be."""
    clock = two_step.target.clock
    if clock.movable and clock.stops:
        clock.move_to(clock.now())
    for pair in two_step.pairs() or [two_step.pair]:
        two_step.preview(pair)
        tokens = [two_step.driver.prepare(pair).token for _ in range(TIMES)]
        two_step.expect(
            len(set(tokens)) == TIMES,
            sent=f"{pair.prepare} {TIMES} times with the same arguments",
            expected=f"{TIMES} different tokens",
            got=f"{len(set(tokens))} different ones",
        )


@requirement("prepare_confirm/nonce")
def test_using_one_token_does_not_use_its_sisters(two_step):
    """Two previews of the same thing; one is used, and the other does not count as used."""
    clock = two_step.target.clock
    if clock.movable and clock.stops:
        clock.move_to(clock.now())
    pair = two_step.pair
    two_step.honest(pair)
    first, second = two_step.preview(pair), two_step.preview(pair)
    two_step.confirm(first)
    outcome = two_step.confirm(second)
    # What the first one did may well prevent the second; but it is not "already used".
    two_step.expect(
        TwoStepReason.USED not in outcome.meanings,
        sent=f"{pair.confirm} with the second of two tokens for the same thing",
        expected="it is done, or there is nothing left to do; the token was never used",
        got=outcome.describe(),
    )


@requirement("prepare_confirm/nonce", needs=["restart"])
def test_new_tokens_are_new_after_a_restart(two_step):
    """With the same key, and whatever the server remembers: a fresh token was never used."""
    other = two_step.with_key("a key for tokens before and after a restart 4b")
    for _ in range(3):
        other.honest()
    other.target.restart()
    other.driver.forget()
    other.disturbed()
    for number in ("first", "second", "third"):
        preview = other.preview()
        other.expect_done(
            other.confirm(preview),
            preview,
            sent=f"{preview.pair.confirm} with the {number} token after a restart",
        )
