"""Instants at which clocks err: the next of each kind, by the zones' own data."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

import pytest

from pytest_mcp_approval.families.base import instants
from pytest_mcp_approval.families.base.instants import next_instant, next_instants

CHANGES = {
    instants.FORWARD_IN_NEW_YORK: (instants.NEW_YORK, 1),
    instants.BACK_IN_NEW_YORK: (instants.NEW_YORK, -1),
    instants.FORWARD_IN_BERLIN: ("Europe/Berlin", 1),
    instants.BACK_IN_BERLIN: ("Europe/Berlin", -1),
    instants.BACK_IN_SYDNEY: ("Australia/Sydney", -1),
}


@pytest.mark.parametrize("year", range(2025, 2037))
@pytest.mark.parametrize("what", CHANGES)
def test_clocks_change_when_they_should(what: str, year: int):
    change = next_instant(what, datetime.datetime(year, 6, 1, tzinfo=datetime.UTC))
    assert change is not None
    name, hours = CHANGES[what]
    zone, second = ZoneInfo(name), datetime.timedelta(seconds=1)
    before = (change - second).astimezone(zone).utcoffset()
    after = change.astimezone(zone).utcoffset()
    assert after is not None
    assert before is not None
    assert after - before == datetime.timedelta(hours=hours)


@pytest.mark.parametrize("month", [1, 2, 3, 7, 11, 12])
@pytest.mark.parametrize("year", [2025, 2027, 2028, 2037, 2095])
def test_they_are_ahead_and_in_order(year: int, month: int):
    now = datetime.datetime(year, month, 28, 23, 59, tzinfo=datetime.UTC)
    found = next_instants(now)
    assert list(found.values()) == sorted(found.values())
    assert min(found.values()) > now + datetime.timedelta(days=1)
    gone = {instants.END_OF_31_BITS} if year > 2038 else set()
    assert {*instants.CLOCK_CHANGES, *instants.TURNING_POINTS} - found.keys() == gone


def test_what_does_not_come_again_is_none():
    after = datetime.datetime(2040, 1, 1, tzinfo=datetime.UTC)
    assert next_instant(instants.END_OF_31_BITS, after) is None
    day = next_instant(instants.LEAP_DAY, after)
    assert day == datetime.datetime(2040, 2, 29, tzinfo=datetime.UTC)
