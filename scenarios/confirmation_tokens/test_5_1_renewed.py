"""Confirmation tokens, section 5.1: nothing that happens to a token prolongs its life."""

import contextlib
import datetime
import secrets

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.confirmation_tokens.kinds import FEW, QUOTA, tokens_of_kind
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import CONFIRMATION_PREFIX

# Each does something about a token of a kind; None if there is nothing of the sort here.


def _look(kind, issued):
    if kind.tokens.table.introspection and kind.tokens.table.introspection["status"]:
        kind.tokens.driver.status(issued.token, session=kind.session)


def _wrong_parameters(kind, issued):
    with contextlib.suppress(NotApplicable, NotVerified):
        kind.send(issued.with_params(kind.changed()))


def _wrong_operation(kind, issued):
    with contextlib.suppress(NotApplicable):
        other = kind.tokens.second_operation()
        if kind.name != QUOTA:
            kind.send(issued.with_operation(other.name).with_params(other.params))


def _wrong_adapter(kind, issued):
    tool = kind.tokens.table.other_adapter.get("tool")
    if tool is not None and kind.name != QUOTA:
        kind.send(issued, tool=tool)


def _sibling_issued(kind, issued):
    del issued
    kind.issue()


def _sibling_used(kind, issued):
    del issued
    kind.send(kind.issue())


def _sibling_revoked(kind, issued):
    del issued
    if kind.tokens.table.introspection:
        kind.tokens.driver.revoke(kind.issue().token, session=kind.session)


def _strange_revoked(kind, issued):
    del issued
    if kind.tokens.table.introspection:
        guess = CONFIRMATION_PREFIX + secrets.token_hex(24)
        kind.tokens.driver.revoke(guess, session=kind.session)


def _half_of_it(kind, issued):
    kind.send(issued.with_token(issued.token[:-4]))


HAPPENINGS = {
    "a look at it": _look,
    "an attempt with other parameters": _wrong_parameters,
    "an attempt for another operation": _wrong_operation,
    "an attempt at another adapter": _wrong_adapter,
    "an attempt with a part of it": _half_of_it,
    "the issue of another one": _sibling_issued,
    "the use of another one": _sibling_used,
    "the revocation of another one": _sibling_revoked,
    "a revocation of what nobody issued": _strange_revoked,
}


@requirement("confirmation_tokens/4.1-not-expired")
@pytest.mark.parametrize("name", FEW[:2])
def test_nothing_prolongs_a_life(tokens, name):
    """Tokens of one instant; shortly before they end, each lives through something else. When their
    time is over none of them runs anything, whatever is said then."""
    with tokens_of_kind(tokens, name) as kind:
        kind.honest()
        issued = {happening: kind.issue() for happening in HAPPENINGS}
        first = next(iter(issued.values()))
        if len({one.token for one in issued.values()}) < len(issued):
            raise NotApplicable("asking again returns the same token until it is used")
        near = tokens.margin(first) + datetime.timedelta(seconds=1)
        tokens.move_to(first.expires_at - near, before=first.expires_at)
        for happening, happens in HAPPENINGS.items():
            happens(kind, issued[happening])
        last = max(issued.values(), key=lambda one: one.expires_at)
        late = tokens.move_beyond(last)
        kind.expect_nothing_runs(
            {
                f"a {name} token {late} after it expired, after {happening}": one
                for happening, one in issued.items()
            }
        )
        kind.honest()


@requirement("confirmation_tokens/4.1-not-expired", needs=["clock", "restart"])
def test_a_restart_prolongs_no_life(tokens):
    """Restarted shortly before a token ends; its end stays what it was."""
    tokens.honest()
    issued = tokens.issue()
    early = issued.expires_at - tokens.margin(issued) - datetime.timedelta(seconds=1)
    tokens.move_to(early, before=issued.expires_at)
    tokens.restart()
    tokens.move_to(early)
    tokens.honest()
    late = tokens.move_beyond(issued)
    tokens.expect_not_run(
        tokens.redeem(issued), sent=f"a token {late} after it expired, after a restart"
    )
    tokens.honest()


@requirement("confirmation_tokens/4.1-not-expired")
def test_a_token_that_is_looked_after_ends_all_the_same(tokens):
    """Asked about, and tried in vain, in every quarter of its life."""
    tokens.honest()
    issued = tokens.issue()
    with tokens_of_kind(tokens, tokens.operation.danger.word) as kind:
        quarter = (issued.expires_at - tokens.clock.now()) / 4
        for number in range(1, 4):
            tokens.move_to(issued.expires_at - (4 - number) * quarter)
            _look(kind, issued)
            _half_of_it(kind, issued)
            _sibling_issued(kind, issued)
    late = tokens.move_beyond(issued)
    tokens.expect_not_run(
        tokens.redeem(issued),
        sent=f"a token that was looked at in every quarter of its life, {late} after it expired",
    )
    tokens.honest()
