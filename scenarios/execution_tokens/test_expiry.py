"""Good before expires_at, and never after it."""

import datetime

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
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
        # Without its zone it looks an hour ahead.
        "an hour ago, written with +02:00": _in_zone(now - HOUR, 2),
    }
    cases = {f"an end {name}": executions.token(expires_at=end) for name, end in ends.items()}
    executions.expect_all_refused(cases)


def _in_zone(instant, hours):
    zone = datetime.timezone(datetime.timedelta(hours=hours))
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
        "a date that there is not": f"{later[:4]}-02-30T00:00:00+00:00",
        "a naive expires_at": later.removesuffix("+00:00"),
        "a day only": later[:10],
        "a number for expires_at": 32503680000,
        "true for expires_at": True,
        "a list for expires_at": [later],
    }
    cases = {name: executions.token(expires_at=end) for name, end in ends.items()}
    executions.expect_all_refused(cases)


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
