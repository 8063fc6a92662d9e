"""Confirmation tokens, section 5.1: a life is as long at any instant as at any other."""

import datetime

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.base.instants import next_instants

BEFORE = datetime.timedelta(seconds=60, milliseconds=1)
"""How long before an instant a token is issued: it lives through it, and its end has fractions."""


@requirement("confirmation_tokens/4.1-not-expired")
def test_no_change_of_the_calendar_changes_a_life(tokens):
    """Issued shortly before clocks are changed, a year ends or a leap day comes: the token has its
    usual life, serves until it ends, and no longer."""
    tokens.honest()
    usual = tokens.lifetime(tokens.issue())
    if not tokens.clock.stops:
        raise NotVerified("needs a clock that can be set to an instant", minor=True)
    with tokens.several() as several:
        for what, instant in next_instants(tokens.clock.now()).items():
            with several.one(what):
                _lives_through(tokens, what, instant, usual)
    tokens.honest()


def _lives_through(tokens, what, instant, usual):
    tokens.move_to(instant - BEFORE)
    one, other = tokens.issue(), tokens.issue()
    seconds = tokens.lifetime(one)
    tokens.expect(
        abs(seconds - usual) <= tokens.slack,
        sent=f"a call without a token, a minute before {what}",
        expected=f"expires_at {usual:.0f} s ahead, as at other times",
        got=f"{seconds:.0f} s ahead",
    )
    near = tokens.move_inside(one, one.expires_at)
    tokens.expect_run(
        tokens.redeem(one), sent=f"a token {near} before it expires, issued before {what}"
    )
    if one.token == other.token:
        other = tokens.issue()
    late = tokens.move_beyond(other)
    tokens.expect_expired(
        tokens.redeem(other), sent=f"a token {late} after it expired, issued before {what}"
    )
