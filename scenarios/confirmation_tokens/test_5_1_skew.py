"""Confirmation tokens, section 5.1: the clock skew tolerance, to the millisecond."""

import contextlib
import datetime
import re

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, requirement
from pytest_mcp_approval.families.confirmation_tokens.kinds import QUOTA, tokens_of_kind
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    DEFAULT_TOLERANCE,
    WARNED_TOLERANCE,
)

TOLERANCES = [0, 5, 30, 60, 120, 300]


@requirement("confirmation_tokens/5.1-skew-window")
@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_the_tolerance_is_exact_on_both_sides(tokens, tolerance):
    """Accepted just inside expires_at + tolerance, refused just outside, at this tolerance."""
    with tokens.variant("tolerance", tolerance) as other:
        other.honest()
        issued = other.issue()
        near = other.move_inside(issued, other.last_instant(issued))
        other.expect_run(
            other.redeem(issued),
            sent=f"a token {near} before expires_at + {tolerance} s, at tolerance {tolerance}",
        )
        issued = other.issue()
        near = other.move_beyond(issued)
        other.expect_expired(
            other.redeem(issued),
            sent=f"a token {near} after expires_at + {tolerance} s, at tolerance {tolerance}",
        )
        other.honest()
        if tolerance == TOLERANCES[0]:
            with contextlib.suppress(NotApplicable):
                _expect_quota_window(other, tolerance)
        if not other.clock.stops:
            return  # real time does not go back
        # Another server may have issued it, whose clock is ahead of ours.
        issued = other.issue()
        other.move_to(other.clock.now() - datetime.timedelta(seconds=90))
        other.expect_run(
            other.redeem(issued),
            sent=f"a token that was issued 90 s in the future, at tolerance {tolerance}",
        )


def _expect_quota_window(tokens, tolerance):
    """Quota tokens have the same tolerance."""
    with tokens_of_kind(tokens, QUOTA) as kind:
        issued = kind.issue()
        near = tokens.move_beyond(issued)
        tokens.expect_expired(
            kind.attempt(issued),
            sent=f"a quota token {near} after expires_at + {tolerance} s, at tolerance {tolerance}",
        )


@requirement("confirmation_tokens/5.1-skew-window", needs=["clock"])
def test_the_tolerance_of_the_target_itself(tokens):
    """As it is configured: good until it expires, refused beyond the tolerance."""
    issued = tokens.issue()
    limit = tokens.last_instant(issued) if tokens.tolerance is not None else issued.expires_at
    near = tokens.move_inside(issued, limit)
    tokens.expect_run(tokens.redeem(issued), sent=f"a token {near} before its last instant")
    issued = tokens.issue()
    near = tokens.move_beyond(issued)
    tokens.expect_expired(tokens.redeem(issued), sent=f"a token {near} after its last instant")


BAD = {
    "-1": -1,
    "301": 301,
    "300.5": 300.5,
    "3600": 3600,
    "NaN": float("nan"),
    "text": "abc",
    "true": True,
}


@requirement("confirmation_tokens/5.1-skew-range")
@pytest.mark.parametrize("name", BAD)
def test_a_tolerance_out_of_range_is_refused_at_the_start(tokens, name):
    """The server says so, and does not start."""
    with tokens.variant("tolerance", BAD[name]) as other:
        tokens.expect(
            other.refusal_to_start() is not None,
            sent=f"a start with a tolerance of {name}",
            expected="a refusal to start",
            got="a server that serves",
        )
    tokens.honest()


@requirement("confirmation_tokens/5.1-skew-range")
@pytest.mark.parametrize("tolerance", [0, 300])
def test_a_tolerance_at_the_edge_of_the_range_is_taken(tokens, tolerance):
    """The positive twin of what is refused."""
    with tokens.variant("tolerance", tolerance) as other:
        refusal = other.refusal_to_start()
        tokens.expect(
            refusal is None,
            sent=f"a start with a tolerance of {tolerance}",
            expected="a server that serves",
            got=refusal or "",
        )
        other.honest()


@requirement("confirmation_tokens/5.1-skew-range", needs=["clock"])
def test_the_default_is_30_seconds(tokens):
    """A server without this setting: a token is good for 30 seconds more, and no longer."""
    if tokens.tolerance not in (None, DEFAULT_TOLERANCE):
        raise NotApplicable(f"the target is configured: tolerance {tokens.tolerance:g}")
    thirty = datetime.timedelta(seconds=DEFAULT_TOLERANCE)
    issued = tokens.issue()
    near = tokens.move_inside(issued, issued.expires_at + thirty)
    inside = tokens.redeem(issued)
    if tokens.tolerance is None and not inside.executed:
        tokens.warn("no tolerance by default, where 30 seconds are: declare what is configured")
        return
    tokens.expect_run(inside, sent=f"a token {near} before expires_at + 30 s")
    issued = tokens.issue()
    near = tokens.move_beyond(issued, issued.expires_at + thirty)
    tokens.expect_expired(tokens.redeem(issued), sent=f"a token {near} after expires_at + 30 s")


def _warnings_at(tokens, tolerance):
    """How many warnings the log has at this tolerance; naming it in words counts too."""
    with tokens.variant("tolerance", tolerance) as other:
        other.honest()
        return _told(other.driver.binding.log_text(), tolerance)


def _usual_warnings(tokens, tolerance):
    """The warnings that the log has anyway."""
    if (tokens.tolerance or 0) > WARNED_TOLERANCE:
        return _warnings_at(tokens, DEFAULT_TOLERANCE)
    tokens.honest()
    return _told(tokens.driver.binding.log_text(), tolerance)


def _told(text, tolerance):
    said = text.lower()
    named = re.search(rf"\b{re.escape(str(tolerance))}\b", said) and (
        "skew" in said or "tolerance" in said
    )
    return said.count("warn") + bool(named)


@requirement("confirmation_tokens/5.1-skew-warning")
@pytest.mark.parametrize("tolerance", [60.5, 61, 300])
def test_a_wide_tolerance_is_warned_of(tokens, tolerance):
    """The log warns about this tolerance, or mentions it, but not the usual one."""
    tokens.expect(
        _warnings_at(tokens, tolerance) > _usual_warnings(tokens, tolerance),
        sent=f"a start with a tolerance of {tolerance}",
        expected="a warning in the log",
        got="none",
    )


@requirement("confirmation_tokens/5.1-skew-warning")
def test_a_tolerance_of_60_is_not_warned_of(tokens):
    """The edge: above 60, not from 60 on."""
    tokens.expect(
        _warnings_at(tokens, 60) <= _usual_warnings(tokens, 60),
        sent="a start with a tolerance of 60",
        expected="no warning in the log",
        got="a warning",
    )
