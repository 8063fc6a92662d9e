"""Good before expires_at, and never after it."""

import datetime

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.base.instants import (
    BACK_IN_BERLIN,
    BACK_IN_NEW_YORK,
    BACK_IN_SYDNEY,
    CLOCK_CHANGES,
    LEAP_DAY,
    TURNING_POINTS,
    next_instants,
)
from pytest_mcp_approval.families.execution_tokens.command_verifier import CommandVerifier
from pytest_mcp_approval.families.execution_tokens.token_making import written

SECOND = datetime.timedelta(seconds=1)
HOUR = datetime.timedelta(hours=1)
MINUTES = datetime.timedelta(minutes=5)


def _expiring(executions):
    """A token that ends on a whole second, and when."""
    end = (executions.driver.now() + MINUTES).replace(microsecond=0)
    if executions.driver.secret is not None:
        return executions.token(expires_at=written(end)), end
    token = executions.token(lives=MINUTES)
    return token, datetime.datetime.fromisoformat(token[executions.table.names["expires_at"]])


@requirement("execution_tokens/expiry")
def test_a_second_before_the_end_it_is_good(executions):
    token, end = _expiring(executions)
    executions.clock.move_to(end - SECOND, before=end)
    executions.expect_accepted(executions.execute(token), sent="a token, 1 s before it expires")


@requirement("execution_tokens/expiry")
@pytest.mark.parametrize("late", [SECOND, 12 * HOUR, 24 * HOUR - MINUTES - SECOND], ids=str)
def test_after_the_end_it_is_not(executions, late):
    executions.honest()
    token, end = _expiring(executions)
    executions.clock.move_to(end + late)
    executions.expect_refused(
        executions.execute(token), sent=f"a token, {late.total_seconds():.0f} s after it expired"
    )


@requirement("execution_tokens/expiry", needs=[])
def test_what_expired_before_it_came_is_refused(executions):
    """Without moving any clock: tokens that are signed as they should be, with an end long past."""
    executions.need_secret()
    executions.honest()
    now = executions.driver.now()
    ends = {
        "an hour ago": written(now - HOUR),
        "an hour ago, with Z": written(now - HOUR).replace("+00:00", "Z"),
        "two days ago": written(now - 48 * HOUR),
        "in 1970": "1970-01-01T00:00:00+00:00",
        "a second ago, with a fraction": f"{written(now - 2 * SECOND)[:19]}.999999+00:00",
        # Without their zone they look ahead.
        "an hour ago, written with +02:00": _in_zone(now - HOUR, 2),
        "an hour ago, written with +14:00": _in_zone(now - HOUR, 14),
        "an hour ago, written with +05:30": _in_zone(now - HOUR, 5.5),
        "ten minutes ago, written with +05:30": _in_zone(now - HOUR / 6, 5.5),
        "ten minutes ago, written with -03:30": _in_zone(now - HOUR / 6, -3.5),
        "a minute ago, with nine digits of a fraction": (
            f"{written(now - 60 * SECOND)[:19]}.999999999+00:00"
        ),
        "an hour ago, written with +0200": _in_zone(now - HOUR, 2).replace("+02:00", "+0200"),
        "an hour ago, written with +02": _in_zone(now - HOUR, 2).replace("+02:00", "+02"),
        "an hour ago, a blank before +02:00": _in_zone(now - HOUR, 2).replace("+", " +"),
        "an hour ago, in small letters": written(now - HOUR).replace("+00:00", "z").lower(),
        "an hour ago, a blank for the T": written(now - HOUR).replace("T", " "),
        "an hour ago, a line end after it": f"{written(now - HOUR)}\n",
        "an hour ago, and a later one after it": f"{written(now - HOUR)}/{written(now + HOUR)}",
        "in a leap second long ago": "2016-12-31T23:59:60+00:00",
    }
    cases = {f"an end {name}": executions.token(expires_at=end) for name, end in ends.items()}
    executions.expect_all_refused(executions.some(cases, always=5))


def _in_zone(instant, hours):
    zone = datetime.timezone(hours * HOUR)
    return instant.astimezone(zone).isoformat(timespec="seconds")


@requirement("execution_tokens/expiry", needs=[])
def test_without_a_clear_end_it_is_refused(executions):
    executions.need_secret()
    executions.honest()
    later = written(executions.driver.now() + HOUR)
    ends = {
        "no expires_at": None,
        "an empty expires_at": "",
        "expires_at never": "never",
        "a date that there is not": f"{int(later[:4]) + 1}-02-30T00:00:00+00:00",
        "a number of seconds in text": "300",
        "a naive expires_at": later.removesuffix("+00:00"),
        "a day only": later[:10],
        "a number for expires_at": 32503680000,
        "true for expires_at": True,
        "a list for expires_at": [later],
        "false for expires_at": False,
        "zero for expires_at": 0,
        "an object for expires_at": {"value": later},
        "a number in text for expires_at": "32503680000",
        "infinity for expires_at": "Infinity",
        "a length of time for expires_at": "PT1H",
        "a month that there is not": f"{int(later[:4]) + 1}-13-01T00:00:00+00:00",
        "an hour that there is not": f"{later[:11]}25:00:00+00:00",
        "29 February of a common year": "2027-02-29T00:00:00+00:00",
        "a zone that there is not": later.replace("+00:00", "+99:00"),
        "a zone in words": later.replace("+00:00", " Mars/Phobos"),
    }
    cases = {name: executions.token(expires_at=end) for name, end in ends.items()}
    executions.expect_all_refused(executions.some(cases, always=9))


@requirement("execution_tokens/expiry", needs=[])
@pytest.mark.parametrize("zone", ["America/New_York", "Pacific/Kiritimati"])
def test_the_zone_of_the_machine_is_no_matter(executions, zone):
    executions.need_secret()
    if executions.verifier.in_this_process:
        raise NotApplicable("it runs in the suite's own process, in its time zone")
    verifier = executions.verifier.in_zone(zone)
    if verifier is None:
        raise NotVerified("needs a verifier that the suite starts, in another time zone")
    other = executions.over(verifier, "another time zone")
    now = executions.driver.now()
    other.expect_accepted(
        other.execute(other.token(expires_at=written(now + HOUR))),
        sent=f"a token that expires in an hour, in {zone}",
    )
    other.expect_refused(
        other.execute(other.token(expires_at=written(now - HOUR))),
        sent=f"a token that expired an hour ago, in {zone}",
    )


# ---- whatever the calendar has


@requirement("execution_tokens/expiry")
def test_the_calendar_is_no_matter(executions):
    """A token that ends shortly before such an instant is over shortly after it, and one that ends
    after it is not over before: whatever a clock on the wall shows then."""
    executions.need_secret()
    if not executions.target.clock.stops:
        raise NotVerified("needs a clock that stands still where it is put", minor=True)
    executions.honest()
    minutes = datetime.timedelta(minutes=20)
    names: tuple[str, ...] = (*CLOCK_CHANGES, BACK_IN_SYDNEY, *TURNING_POINTS)
    # Elsewhere a clock far ahead may end what has nothing to do with tokens.
    if isinstance(executions.verifier, CommandVerifier):
        names = (BACK_IN_NEW_YORK, LEAP_DAY)
    elif not executions.verifier.in_this_process:
        names = (BACK_IN_NEW_YORK, BACK_IN_BERLIN)
    with executions.several() as several:
        for name, instant in next_instants(executions.driver.now(), names).items():
            before, after = written(instant - minutes), written(instant + minutes)
            executions.clock.move_to(instant - minutes / 2)
            with several.one(f"before {name}"):
                executions.expect_accepted(
                    executions.execute(executions.token(expires_at=after)),
                    sent=f"a token with 30 minutes left, 10 minutes before {name}",
                )
            executions.clock.move_to(instant + minutes / 2)
            with several.one(f"after {name}"):
                executions.expect_refused(
                    executions.execute(executions.token(expires_at=before)),
                    sent=f"a token that expired 30 minutes ago, 10 minutes after {name}",
                )
                executions.expect_accepted(
                    executions.execute(executions.token(expires_at=after)),
                    sent=f"a token with 10 minutes left, 10 minutes after {name}",
                )


# ---- a life that is not renewed


@requirement("execution_tokens/expiry")
def test_nothing_gives_a_token_its_life_again(executions):
    """Looks, refusals, forgeries and others like it come shortly before the end; then it ends."""
    executions.honest()
    names = executions.table.names
    token, end = _expiring(executions)
    forged = executions.changed(token, signature="0" * 64)
    executions.clock.move_to(end - SECOND, before=end)
    other = executions.other_content
    executions.expect_refused(
        executions.execute(token, content=other), sent="a token with another content"
    )
    executions.expect_refused(executions.execute(forged), sent="a token with a wrong signature")
    if executions.driver.secret is not None:
        later = executions.token(
            token_id=token[names["token_id"]], expires_at=written(end + MINUTES)
        )
        executions.execute(later)  # the same id, which nobody has to accept
    executions.honest()
    executions.clock.move_to(end + SECOND)
    sent = "a token, 1 s after it expired, that was refused 1 s before it expired"
    executions.expect_refused(executions.execute(token), sent=sent)
    executions.expect_refused(executions.execute(token), sent=f"{sent}; once more")
    executions.clock.move_to(end + MINUTES / 2)
    executions.expect_refused(executions.execute(token), sent=f"{sent}; two minutes later")
    executions.honest()
