"""A token is good for five minutes, or for as long as the server was told, and no longer."""

import datetime

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.base.instants import (
    BACK_IN_NEW_YORK,
    BEGIN_ANEW,
    FORWARD_IN_NEW_YORK,
    KOLKATA,
    NEW_YORK,
    TURNING_POINTS,
    next_instants,
)
from pytest_mcp_approval.families.prepare_confirm.vocabulary import TwoStepReason
from pytest_mcp_approval.target import TargetError
from pytest_mcp_approval.wire import WireError

SECOND = datetime.timedelta(seconds=1)


def _shown(preview):
    try:
        return preview.expires_at
    except (ValueError, OverflowError, OSError) as error:
        raise NotVerified(f"the expiry cannot be read: {error}") from None


def _expect_lifetime(two_step, preview, minutes, sent):
    """The expiry that is shown is as far ahead as it should be, by the target's own clock."""
    clock = two_step.target.clock
    tolerance = 5 if clock.movable else 60
    ahead = (_shown(preview) - clock.now()).total_seconds()
    two_step.expect(
        abs(ahead - 60 * minutes) <= tolerance,
        sent=sent,
        expected=f"{preview.table.expires} in {60 * minutes:g} s",
        got=f"in {ahead:.0f} s",
    )


def _expect_boundary(two_step, where):
    """A second before its end a token serves, a second after it does not.

    The very instant may go either way: servers show it rounded.
    """
    pair = two_step.pair
    margin = SECOND if two_step.clock.stops else 10 * SECOND
    preview = two_step.preview()
    end = _shown(preview)
    two_step.clock.move_to(end - margin, before=end)
    outcome = two_step.confirm(preview)
    two_step.expect_done(
        outcome,
        preview,
        sent=f"{pair.confirm}, {margin.seconds} s before the token expires{where}",
    )
    preview = two_step.preview()
    two_step.clock.move_to(_shown(preview) + SECOND)
    two_step.expect_refusal(
        two_step.confirm(preview),
        TwoStepReason.EXPIRED,
        sent=f"{pair.confirm}, 1 s after the token expired{where}",
    )


@requirement("prepare_confirm/expired", needs=[])
def test_a_token_lives_for_five_minutes(two_step):
    """By default; for another lifetime set expiry-minutes."""
    two_step.honest()
    preview = two_step.preview()
    _expect_lifetime(
        two_step, preview, two_step.table.expiry_minutes, f"{preview.pair.prepare}, as configured"
    )
    _expect_no_longer_lifetimes(two_step, two_step.table.expiry_minutes)


@requirement("prepare_confirm/expired", needs=["clock"])
def test_the_end_is_where_it_was_shown(two_step):
    _expect_boundary(two_step, "")


@requirement("prepare_confirm/expired", needs=["clock"])
def test_an_expired_token_stays_expired(two_step):
    """For ever, and every pair's: also when a clock that is too small shows the same again."""
    if not two_step.clock.stops:
        raise NotVerified("needs a clock that can be put ahead by days")
    kinds = two_step.kinds()
    for kind in kinds:
        two_step.honest(kind.pair, kind.arguments)
    tomorrow = two_step.clock.now() + datetime.timedelta(days=1)
    issued = tomorrow.replace(hour=12)  # whatever the time of day is when this runs
    two_step.clock.move_to(issued)
    previews = {kind.name: two_step.preview(kind.pair, kind.arguments) for kind in kinds}
    usual = {pair.name: previews[pair.name] for pair in two_step.pairs()}
    life = max(_shown(preview) for preview in previews.values()) - issued
    later = {"a second": life + SECOND, "a minute": life + 60 * SECOND}
    later |= {name: time + life / 2 for name, time in BEGIN_ANEW.items() if time > life}
    with two_step.several() as several:
        for name, time in sorted(later.items(), key=lambda one: one[1]):
            two_step.clock.move_to(issued + time)
            # The twins end as their pairs do: the first look at them is enough.
            looked_at = previews if time - life < 60 * SECOND else usual
            for kind, preview in looked_at.items():
                with several.one(f"{kind}, {name} later"):
                    two_step.expect_refusal(
                        two_step.confirm(preview),
                        TwoStepReason.EXPIRED,
                        sent=f"{preview.pair.confirm} ({kind}), {name} after the token expired",
                    )


@requirement("prepare_confirm/expired", needs=["clock"])
def test_an_expired_token_says_so_again(two_step):
    """A refusal does not change the reason: expired, and not used."""
    two_step.honest()
    preview = two_step.preview()
    two_step.clock.move_to(_shown(preview) + SECOND)
    with two_step.several() as several:
        for time in ("first", "second", "third"):
            with several.one(f"the {time} time"):
                two_step.expect_refusal(
                    two_step.confirm(preview),
                    TwoStepReason.EXPIRED,
                    sent=f"{preview.pair.confirm} with an expired token, the {time} time",
                )


@requirement("prepare_confirm/expired", needs=["clock"])
def test_preparing_again_does_not_revive_an_expired_token(two_step):
    """The answer to an expired token is a new preview with a new token; the old one stays dead."""
    old = two_step.preview()
    two_step.clock.move_to(_shown(old) + SECOND)
    new = two_step.preview()
    two_step.expect_refusal(
        two_step.confirm(old),
        TwoStepReason.EXPIRED,
        sent=f"{old.pair.confirm} with an expired token, after a new prepare",
    )
    two_step.still_serves(new, after="an expired one was refused")


# ---- another lifetime


@requirement("prepare_confirm/expired", needs=[])
@pytest.mark.parametrize("minutes", [1, 90])
def test_the_lifetime_can_be_configured(two_step, minutes):
    other = two_step.with_expiry(minutes)
    sent = f"{other.pair.prepare}, configured for {minutes} minutes"
    _expect_lifetime(other, other.preview(), minutes, sent)
    _expect_no_longer_lifetimes(other, minutes)
    if other.target.clock.movable and other.target.clock.stops:
        _expect_boundary(other, f" (of {minutes} minutes)")


def _expect_no_longer_lifetimes(two_step, minutes):
    """For the other pairs. Lifetimes per operation are a plan of the document: a shorter one is a
    warning."""
    clock = two_step.target.clock
    for kind in two_step.kinds():
        preview = two_step.preview(kind.pair, kind.arguments)
        ahead = (_shown(preview) - clock.now()).total_seconds()
        two_step.expect(
            ahead <= 60 * minutes + (5 if clock.movable else 60),
            sent=f"{kind.pair.prepare} ({kind.name}), configured for {minutes:g} minutes",
            expected=f"{preview.table.expires} in {60 * minutes:g} s at most",
            got=f"in {ahead:.0f} s",
        )
        if ahead < 60 * minutes - 60:
            two_step.warn(
                f"{kind.pair.prepare} ({kind.name}) gives {ahead:.0f} s, configured are "
                f"{60 * minutes:g} s"
            )


@requirement("prepare_confirm/expired", needs=[])
def test_no_and_negative_lifetimes_are_refused(two_step):
    """Zero is not "the default", nor "for ever": the server does not start, or gives no token that
    serves."""
    two_step.with_expiry(5).honest()
    for minutes in (0, -1, -0.5):
        other = two_step.with_expiry(minutes)
        try:
            with two_step.may_not_start():
                pair = other.pair
                answer = other.driver.request_preview(pair, pair.arguments)
        except (TargetError, WireError):
            continue
        token = answer.member(other.table.token)
        if not isinstance(token, str):
            continue
        outcome = other.submit(pair, {other.table.token_argument: token})
        two_step.expect(
            outcome.refused and not outcome.executed,
            sent=f"{pair.prepare} on a server that was configured for {minutes} minutes, and "
            f"{pair.confirm} with its token",
            expected="a server that does not start, or no token that serves",
            got=outcome.describe(),
        )


# ---- local time does not matter


@requirement("prepare_confirm/expired", needs=[])
@pytest.mark.parametrize("zone", [NEW_YORK, KOLKATA])
def test_the_time_zone_of_the_machine_does_not_matter(two_step, zone):
    """West of Greenwich a local time taken for UTC has expired before it is shown; east of it, it
    lives for hours. Kolkata is also half an hour off."""
    other = two_step.in_zone(zone)
    minutes = other.table.expiry_minutes
    _expect_lifetime(other, other.preview(), minutes, f"{other.pair.prepare} in {zone}")
    if other.target.clock.movable and other.target.clock.stops:
        _expect_boundary(other, f" in {zone}")
        return
    preview = other.preview()
    other.expect_done(other.confirm(preview), preview, sent=f"{other.pair.confirm} in {zone}")


@requirement("prepare_confirm/expired", needs=["clock"])
def test_a_change_to_and_from_summer_time_does_not_matter(two_step):
    """A token that lives across the hour that is skipped, or that comes twice."""
    other = two_step.in_zone(NEW_YORK)
    if not other.clock.stops:
        raise NotVerified("needs a clock that can be put to another day")
    minutes = other.table.expiry_minutes
    half = datetime.timedelta(minutes=minutes / 2)
    changes = next_instants(other.clock.now(), (FORWARD_IN_NEW_YORK, BACK_IN_NEW_YORK))
    for name, change in changes.items():
        other.clock.move_to(change - half)
        preview = other.preview()
        where = f" ({name} comes meanwhile)"
        _expect_lifetime(other, preview, minutes, f"{other.pair.prepare}{where}")
        margin = SECOND
        other.clock.move_to(_shown(preview) - margin)
        other.expect_done(
            other.confirm(preview),
            preview,
            sent=f"{other.pair.confirm}, 1 s before the token expires{where}",
        )
        other.clock.move_to(change - half)
        preview = other.preview()
        other.clock.move_to(_shown(preview) + SECOND)
        other.expect_refusal(
            other.confirm(preview),
            TwoStepReason.EXPIRED,
            sent=f"{other.pair.confirm}, 1 s after the token expired{where}",
        )


@requirement("prepare_confirm/expired", needs=["clock"])
def test_the_turn_of_a_day_or_year_does_not_matter(two_step):
    """A token that lives across midnight, a leap day, or the last second that 32 bits can count."""
    if not two_step.clock.stops:
        raise NotVerified("needs a clock that can be put to another day")
    two_step.honest()
    half = datetime.timedelta(minutes=two_step.table.expiry_minutes / 2)
    with two_step.several() as several:
        for name, instant in next_instants(two_step.clock.now(), TURNING_POINTS).items():
            where = f" ({name} comes meanwhile)"
            with several.one(name):
                two_step.clock.move_to(instant - half)
                preview, late = two_step.preview(), two_step.preview()
                two_step.clock.move_to(_shown(preview) - SECOND)
                two_step.expect_done(
                    two_step.confirm(preview),
                    preview,
                    sent=f"{preview.pair.confirm}, 1 s before the token expires{where}",
                )
                two_step.clock.move_to(_shown(late) + SECOND)
                two_step.expect_refusal(
                    two_step.confirm(late),
                    TwoStepReason.EXPIRED,
                    sent=f"{late.pair.confirm}, 1 s after the token expired{where}",
                )
