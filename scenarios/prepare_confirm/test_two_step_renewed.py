"""Nothing gives a token a longer life, and every preview has a whole one."""

import datetime

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.prepare_confirm.vocabulary import TwoStepReason

SECOND = datetime.timedelta(seconds=1)
KEY = "a key for tokens that outlive a process 2e"


def _shown(preview):
    try:
        return preview.expires_at
    except (ValueError, OverflowError, OSError) as error:
        raise NotVerified(f"the expiry cannot be read: {error}") from None


def _need_days(two_step):
    if not two_step.clock.stops:
        raise NotVerified("needs a clock that can be put ahead")


def _at_another_tool(two_step, preview):
    others = [pair for pair in two_step.pairs() if pair.name != preview.pair.name]
    if others:
        two_step.confirm(preview, pair=others[0])


def _from_another_session(two_step, preview):
    try:
        with two_step.somebody_else("another client") as other:
            two_step.confirm(preview, f"{preview.token}0", session=other)
            two_step.driver.prepare(preview.pair, preview.arguments, session=other)
    except NotApplicable:
        pass


LOOKS = {
    "it was tried at another tool": _at_another_tool,
    "a forgery of it was tried": lambda two_step, preview: [
        two_step.confirm(preview, forged)
        for forged in (f"{preview.token}0", preview.token[:-1], f"x{preview.token}")
    ],
    "something beside it was refused": lambda two_step, preview: two_step.confirm(preview, ""),
    "the same was prepared again": lambda two_step, preview: two_step.driver.prepare(
        preview.pair, preview.arguments
    ),
    "another token was used": lambda two_step, _: two_step.honest(two_step.pairs()[-1]),
    "the tools were listed": lambda two_step, _: two_step.session.list_tools(),
    "another client was there": _from_another_session,
}


@requirement("prepare_confirm/expired", needs=["clock"])
def test_nothing_lengthens_a_tokens_life(two_step):
    """Late in its life somebody does something about it; it ends when it was said to end."""
    _need_days(two_step)
    two_step.honest()
    with two_step.several() as several:
        for name, look in LOOKS.items():
            preview = two_step.preview()
            end = _shown(preview)
            two_step.clock.move_to(end - 10 * SECOND)
            look(two_step, preview)
            two_step.put_in_place(preview.pair)
            two_step.clock.move_to(end + SECOND)
            with several.one(f"after {name}"):
                two_step.expect_refusal(
                    two_step.confirm(preview),
                    TwoStepReason.EXPIRED,
                    sent=f"{preview.pair.confirm}, 1 s after the token expired; 10 s before its "
                    f"end {name}",
                )
    two_step.honest()


@requirement("prepare_confirm/expired", needs=["clock", "restart"])
def test_a_restart_does_not_lengthen_a_tokens_life(two_step):
    """With a fixed key a server knows its tokens again, and when they end. It may also refuse all
    that it issued before."""
    other = two_step.with_key(KEY)
    other.honest()
    _need_days(other)
    preview = other.preview()
    end = _shown(preview)
    other.clock.move_to(end - 10 * SECOND)
    other.target.restart()  # which lets the clock go
    other.clock.move_to(end - 10 * SECOND)
    other.driver.forget()
    other.disturbed()
    other.put_in_place(preview.pair)
    other.clock.move_to(end + SECOND)
    other.expect_refusal(
        other.confirm(preview),
        sent=f"{preview.pair.confirm}, 1 s after the token expired; 10 s before its end the server "
        "was started anew",
    )
    other.honest()


@requirement("prepare_confirm/expired", needs=["clock"])
def test_every_preview_has_its_whole_life(two_step):
    """Late in the life of one, others are asked for: theirs begins now.

    Reading: an operation's own lifetime may be shorter than the configured one (a warning)."""
    _need_days(two_step)
    two_step.honest()
    configured = datetime.timedelta(minutes=two_step.table.expiry_minutes)
    for pair in two_step.pairs():
        first = two_step.preview(pair)
        life = min(configured, _shown(first) - two_step.clock.now())
        two_step.clock.move_to(_shown(first) - life / 5)
        second = two_step.driver.prepare(pair)
        two_step.expect(
            _shown(second) - _shown(first) >= life / 2,
            sent=f"{pair.prepare}, {(life / 5).seconds} s before an earlier preview expires",
            expected=f"{second.table.expires} {(life * 4 / 5).seconds} s after the earlier one's",
            got=f"{(_shown(second) - _shown(first)).total_seconds():.0f} s after it",
        )
        two_step.clock.move_to(_shown(first) + SECOND)
        two_step.expect_done(
            two_step.confirm(second),
            second,
            sent=f"{pair.confirm}, 1 s after an earlier preview expired",
        )
