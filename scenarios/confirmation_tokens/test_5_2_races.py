"""Confirmation tokens, sections 5.2 and 6.1: races for tokens of every kind, and what is left."""

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.confirmation_tokens.kinds import (
    QUOTA,
    SESSION,
    tokens_of_kind,
)
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import TokenCode
from pytest_mcp_approval.wire import race

RUNNERS = 8


def _race(tokens, session, attempts):
    """What came back, and how often anything ran (None: cannot be told)."""
    calls = [("tools/call", tokens.driver.redeem_params(one)) for one in attempts]
    conversation = session or tokens.driver.session
    raced, runs = tokens.driver.runs_during(lambda: race(conversation, calls))
    return [tokens.driver.seen(reply) for reply in raced], runs


def _in_words(won, runs):
    return f"{won} successes, operation run {'?' if runs is None else runs} times"


@requirement("confirmation_tokens/6.1-replay")
@pytest.mark.parametrize("name", [QUOTA, SESSION])
def test_a_crowd_runs_no_more_than_the_token_allows(tokens, name):
    """One token, eight calls at once: as many runs as it has uses. Later ones run nothing."""
    with tokens_of_kind(tokens, name) as kind:
        kind.honest()
        issued = kind.issue()
        outcomes, runs = _race(tokens, kind.session, [issued] * RUNNERS)
        won = sum(one.succeeded for one in outcomes)
        tokens.expect(
            won <= kind.uses and (runs or 0) <= kind.uses,
            sent=f"one {name} token {RUNNERS} times at once",
            expected=f"{kind.uses} successes at most",
            got=_in_words(won, runs),
        )
        for _ in range(kind.uses - won):
            kind.redeem(issued)
        tokens.expect_not_run(
            kind.attempt(issued), sent=f"a {name} token after a race that used it up"
        )


@requirement("confirmation_tokens/4.1-every-check")
def test_among_honest_calls_the_faulty_ones_are_refused(tokens):
    """At once: four calls with a token each, and four with tokens for something else, which do not
    run."""
    tokens.two()
    changed = tokens.changed()
    honest = [tokens.issue() for _ in range(RUNNERS // 2)]
    faulty = [tokens.issue().with_params(changed) for _ in range(RUNNERS // 2)]
    mixed = [one for pair in zip(honest, faulty, strict=True) for one in pair]
    outcomes, runs = _race(tokens, None, mixed)
    won = [one.succeeded for one in outcomes]
    tokens.expect(
        not any(won[1::2]) and (runs or 0) <= RUNNERS // 2,
        sent=f"{RUNNERS} calls at once, every other one with a token for other parameters",
        expected=f"{RUNNERS // 2} successes at most, those with their own token",
        got=f"{sum(won[::2])} honest ones and {sum(won[1::2])} others served, operation run "
        f"{'?' if runs is None else runs} times",
    )
    tokens.need_no_limit(*outcomes)
    if not all(won[::2]):
        raise NotVerified(f"{sum(won[::2])} of {RUNNERS // 2} honest calls at once were served")
    for one in outcomes[1::2]:
        tokens.expect_refusal(
            one,
            TokenCode.SCOPE_MISMATCH,
            sent="a token for other parameters, among honest calls",
        )
