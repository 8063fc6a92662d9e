"""Confirmation tokens, sections 4.1, 5.3 and 6.1: what is used or revoked stays so.

Looked at at once, after other traffic, through the rest of its life, in the tolerance after it, and
long after: a token that is forgotten is unknown, and never new.
"""

import contextlib
import datetime
from collections.abc import Callable
from functools import partial

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.confirmation_tokens.driver import IssuedToken
from pytest_mcp_approval.families.confirmation_tokens.kinds import (
    FEW,
    QUOTA,
    SESSION,
    KindOfToken,
    tokens_of_kind,
)
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import TokenCode

TRAFFIC = 3
A_MINUTE = datetime.timedelta(minutes=1)


def _revoked(kind):
    tokens, issued = kind.tokens, kind.issue()
    if kind.uses > 1:
        tokens.need_served(kind.redeem(issued))  # with uses left
    outcome = tokens.driver.revoke(issued.token, session=kind.session)
    if not outcome.succeeded:
        raise NotApplicable(f"a {kind.name} token is not revoked: {outcome.describe()}")
    return issued


def _times(tokens, issued):
    """Instants in the rest of a token's life and after it, with a word for each."""
    left = issued.expires_at - tokens.clock.now()
    last, margin = tokens.last_instant(issued), tokens.margin(issued)
    yield "at half of its life", issued.expires_at - left / 2
    yield "just before it expires", issued.expires_at - margin
    if last - issued.expires_at > 2 * margin:
        yield "within the tolerance", issued.expires_at + (last - issued.expires_at) / 2
    yield "just after it expired", last + margin
    for minutes in (61, 24 * 60):
        yield f"{minutes} minutes later", last + minutes * A_MINUTE


def _stays(tokens, kind, issued, state, code):
    """`code` is what is due while the token would be alive; None if none is named."""

    def look(when, *codes):
        sent = f"a {kind.name} token that was {state}, {when}"
        with several.one(sent):
            outcome = kind.attempt(issued)
            tokens.expect_not_run(outcome, sent=sent)
            if codes:
                tokens.expect_refusal(outcome, *codes, sent=sent)

    due = () if code is None else (code,)
    with tokens.several() as several:
        look("at once", *due)
        for _ in range(TRAFFIC):
            tokens.driver.send(tokens.driver.redeem_params(tokens.issue()))
        tokens.driver.forget()
        look("after other traffic", *due)
        if not tokens.target.clock.movable:
            return
        for number, (when, instant) in enumerate(_times(tokens, issued)):
            tokens.move_to(instant)
            look(when, *(due if number < 2 else ()))
        tokens.honest()


@requirement("confirmation_tokens/6.1-replay")
def test_no_failure_gives_a_use_back(tokens):
    """A used token is tried for other parameters, another operation and at another adapter, asked
    about, and revoked; its call is asked for again; its user logs out. It stays used."""
    kind = KindOfToken(tokens, "confirmation", tokens.operation)
    happenings: dict[str, Callable[[IssuedToken], object]] = {
        "an attempt with other parameters": lambda one: kind.send(one.with_params(kind.changed())),
        "an attempt for another operation": lambda one: kind.send(
            one.with_operation(tokens.second_operation().name)
        ),
        "an attempt at another adapter": lambda one: kind.send(
            one, tool=tokens.table.other_adapter.get("tool")
        ),
        "an attempt with a part of it": lambda one: kind.send(one.with_token(one.token[:-4])),
        "a revocation": lambda one: (
            tokens.driver.revoke(one.token) if tokens.table.introspection else None
        ),
        "its call was asked for again": lambda _: kind.issue(),
        **{f"a {one.why}": partial(_trigger, tokens, one) for one in tokens.table.triggers},
    }
    issued = kind.used()
    with tokens.several() as several:
        for what, happens in happenings.items():
            with contextlib.suppress(NotApplicable, NotVerified):
                happens(issued)
            sent = f"a token that was used, after {what}"
            with several.one(sent):
                tokens.expect_not_run(kind.redeem(issued), sent=sent)
    tokens.honest()


def _trigger(tokens, trigger, _):
    tokens.driver.call(trigger.name, trigger.params)


@requirement("confirmation_tokens/6.1-replay", "confirmation_tokens/4.1-not-consumed", needs=[])
@pytest.mark.parametrize("name", FEW)
def test_what_is_used_stays_used(tokens, name):
    """However long one waits, and whatever happens meanwhile."""
    with tokens_of_kind(tokens, name) as kind:
        _stays(tokens, kind, kind.used(), "used", TokenCode.ALREADY_USED)


@requirement("confirmation_tokens/5.3-revoked", needs=[])
@pytest.mark.parametrize("name", [FEW[0], SESSION])
def test_what_is_revoked_stays_revoked(tokens, name):
    """No code is named for it; nothing runs, however long one waits."""
    if not tokens.table.introspection:
        raise NotApplicable("tokens cannot be revoked, as far as the table says (introspection)")
    with tokens_of_kind(tokens, name) as kind:
        kind.honest()
        _stays(tokens, kind, _revoked(kind), "revoked", None)


@requirement("confirmation_tokens/6.1-replay", needs=["restart", "clock"])
@pytest.mark.parametrize("name", [FEW[0], QUOTA])
def test_a_restart_late_in_a_life_brings_no_use_back(tokens, name):
    """Used early, then a restart when the token would still be good."""
    with tokens_of_kind(tokens, name) as kind:
        _restarted(tokens, kind, kind.used(), "used")


@requirement("confirmation_tokens/5.3-revoked", needs=["restart", "clock"])
def test_a_restart_late_in_a_life_brings_no_consent_back(tokens):
    """Revoked early, then a restart when the token would still be good."""
    if not tokens.table.introspection:
        raise NotApplicable("tokens cannot be revoked, as far as the table says (introspection)")
    with tokens_of_kind(tokens, FEW[0]) as kind:
        _restarted(tokens, kind, _revoked(kind), "revoked")


def _restarted(tokens, kind, issued, state):
    instant = issued.expires_at - (issued.expires_at - tokens.clock.now()) / 4
    tokens.move_to(instant)
    tokens.restart()
    tokens.move_to(instant)
    with tokens.several() as several:
        for when in ("after a restart", "after a restart, for the second time"):
            with several.one(when):
                tokens.expect_not_run(
                    kind.attempt(issued), sent=f"a {kind.name} token that was {state}, {when}"
                )
    tokens.honest()
