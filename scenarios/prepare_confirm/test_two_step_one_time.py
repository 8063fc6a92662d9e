"""A token is good for one confirmation in its whole life."""

import datetime

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.prepare_confirm.forging import respelled
from pytest_mcp_approval.families.prepare_confirm.vocabulary import TwoStepReason

KEY = "a key that only these scenarios use 7f3a"
LIFE = 180
"""Minutes: longer than used tokens must be kept."""
MANY = 101
"""More than the hundred that a small memory may hold."""


def _used(two_step, pair=None, arguments=None):
    """A preview whose token has just been used."""
    preview = two_step.preview(pair, arguments)
    outcome = two_step.confirm(preview)
    if not outcome.succeeded:
        raise NotVerified(f"an honest {preview.pair.confirm} failed: {outcome.describe()}")
    two_step.put_in_place(preview.pair)  # so that it could be done once more
    two_step.driver.forget()
    return preview


@requirement("prepare_confirm/one-time", needs=[])
def test_a_token_is_good_once(two_step):
    """For every pair and every way to call it, and however often it is tried."""
    with two_step.several() as several:
        for kind in two_step.kinds():
            preview = _used(two_step, kind.pair, kind.arguments)
            for time in ("second", "third", "fourth"):
                with several.one(f"{kind.name}, the {time} time"):
                    two_step.expect_refusal(
                        two_step.confirm(preview),
                        TwoStepReason.USED,
                        sent=f"{kind.pair.confirm} ({kind.name}) with the same token, "
                        f"the {time} time",
                    )


@requirement("prepare_confirm/one-time", needs=[])
def test_others_do_not_make_it_good_again(two_step):
    """New previews of the same thing, and other confirmations, come in between."""
    preview = _used(two_step)
    two_step.honest()
    two_step.preview()
    two_step.expect_refusal(
        two_step.confirm(preview),
        TwoStepReason.USED,
        sent=f"{preview.pair.confirm} with a used token, after other previews and confirmations",
    )


@requirement("prepare_confirm/one-time", needs=[])
def test_a_used_token_spelled_otherwise_is_still_used(two_step):
    """A server that ignores blanks or case must not remember tokens letter by letter."""
    preview = _used(two_step)
    with two_step.several() as several:
        for name, token in respelled(preview.token).items():
            with several.one(name):
                two_step.expect_refusal(
                    two_step.confirm(preview, token),
                    sent=f"{preview.pair.confirm} with a used token, {name}",
                    plain_form=False,
                )


@requirement("prepare_confirm/one-time", needs=[])
@pytest.mark.parametrize("who", ["another client", "another user"])
def test_a_used_token_is_used_in_every_session(two_step, who):
    """Somebody else has it too: at once, and at the end of its life.

    Reading: whether another user's token is any good is left to the server, so it may be refused
    to them for any reason."""
    reasons = [] if who == "another user" else [TwoStepReason.USED]
    with two_step.somebody_else(who) as other:
        preview = _used(two_step)
        for when in ("at once", "a second before it expires"):
            if when != "at once":
                clock = two_step.target.clock
                if not (clock.movable and clock.stops):
                    return
                clock.move_to(_end(preview) - datetime.timedelta(seconds=1))
            two_step.expect_refusal(
                two_step.confirm(preview, session=other),
                *reasons,
                sent=f"{preview.pair.confirm} with a used token, from another session "
                f"({who}, {when})",
            )


def _end(preview):
    try:
        return preview.expires_at
    except (ValueError, OverflowError, OSError) as error:
        raise NotVerified(f"the expiry cannot be read: {error}") from None


@requirement("prepare_confirm/one-time", needs=[])
def test_very_many_others_do_not_make_it_good_again(two_step):
    """A memory that is full must not drop a token that still lives."""
    preview = _used(two_step)
    pair = preview.pair
    others = [two_step.driver.prepare(pair) for _ in range(MANY)]
    for other in others:  # the first one does it, the others find nothing left to do
        params = two_step.driver.confirm_params(pair, other.token)
        two_step.driver.seen(pair, two_step.session.call("tools/call", params))
    two_step.disturbed()
    two_step.put_in_place(pair)
    two_step.driver.forget()
    two_step.expect_refusal(
        two_step.confirm(preview),
        TwoStepReason.USED,
        sent=f"{pair.confirm} with a used token, after {MANY} others were used",
    )


@requirement("prepare_confirm/one-time", needs=[])
def test_a_token_that_did_a_part_is_used(two_step):
    """Of two things one is gone and the other is done: that was the token's one time."""
    pair, name = two_step.pair_on_a_list()
    two_step.honest(pair)
    both = two_step.preview(pair)
    first = two_step.preview(pair, {**pair.arguments, name: pair.arguments[name][:1]})
    if not two_step.confirm(first).succeeded:
        raise NotVerified("the first of two things could not be done alone")
    part = two_step.confirm(both)
    if not part.executed:
        return  # a server may want a new preview; then the token was perhaps not used
    two_step.put_in_place(pair)
    two_step.driver.forget()
    two_step.expect_refusal(
        two_step.confirm(both),
        TwoStepReason.USED,
        sent=f"{pair.confirm} with a token that had done a part of what was shown",
    )


@requirement("prepare_confirm/one-time", needs=["clock"])
def test_forgetting_used_tokens_does_not_make_them_good_again(two_step):
    """A token that lives for three hours, used at once: an hour later a server may clean up, but
    not forget this one."""
    other = two_step
    if two_step.table.expiry_minutes < LIFE:
        other = two_step.with_expiry(LIFE)
    if not other.clock.stops:
        raise NotVerified("needs a clock that can be put ahead by hours")
    preview, used_at = _used(other), other.clock.now()
    for minutes in (59, 61, 121, LIFE - 1):
        other.clock.move_to(used_at + datetime.timedelta(minutes=minutes))
        other.honest()  # whatever is cleaned up on the way is cleaned up now
        other.put_in_place(preview.pair)
        other.driver.forget()
        other.expect_refusal(
            other.confirm(preview),
            TwoStepReason.USED,
            sent=f"{preview.pair.confirm} with a token of {LIFE} minutes, "
            f"used {minutes} minutes ago",
        )


@requirement("prepare_confirm/one-time", needs=["clock"])
def test_a_used_token_does_not_come_back_when_it_has_expired(two_step):
    """Used and expired: either reason will do."""
    preview = _used(two_step)
    if not two_step.clock.stops:
        raise NotVerified("needs a clock that can be put ahead by hours")
    for hours in (1, 2, 26):
        two_step.clock.move_to(two_step.clock.now() + datetime.timedelta(hours=hours))
        two_step.expect_refusal(
            two_step.confirm(preview),
            TwoStepReason.USED,
            TwoStepReason.EXPIRED,
            sent=f"{preview.pair.confirm} with a token used hours ago",
        )


# ---- over a restart


def _replay_after_restart(other, sent):
    preview = _used(other)
    other.target.restart()
    other.driver.forget()
    other.disturbed()
    other.put_in_place(preview.pair)
    # Reading: whatever reason a server has after a restart, a spent token does nothing.
    other.expect_refusal(other.confirm(preview), sent=sent)
    other.honest()


@requirement("prepare_confirm/one-time", needs=["restart"])
def test_a_used_token_is_refused_after_a_restart(two_step):
    other = two_step.twin()
    _replay_after_restart(other, f"{other.pair.confirm} with a used token, after a restart")


@requirement("prepare_confirm/one-time", needs=["restart"])
def test_a_used_token_is_refused_after_a_restart_with_the_same_key(two_step):
    """With a fixed key a server recognises its signatures again; it must also know what was used,
    or refuse what is older than its memory."""
    other = two_step.with_key(KEY)
    _replay_after_restart(
        other, f"{other.pair.confirm} with a used token, after a restart with the same key"
    )


@requirement("prepare_confirm/one-time", needs=["restart"])
def test_a_used_token_is_used_at_every_replica(two_step):
    """Another process over the same state, with the same key."""
    one = two_step.with_key(KEY)
    one.honest()
    other = one.over(one.target.replica(), "a replica: another process over the same state")
    other.driver.listed()
    preview = _used(one)
    other.driver.forget()
    other.expect_refusal(
        other.driver.confirm(preview),
        TwoStepReason.USED,
        sent=f"{preview.pair.confirm} at a replica, with a token that was used at the first",
    )
