"""Confirmation tokens, section 1.3: ask first, run with the token."""

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, requirement
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    CONFIRMATION_REQUIRED,
    Danger,
)

GATED = [Danger.DESTRUCTIVE, Danger.DANGEROUS, Danger.FORBIDDEN]


@requirement("confirmation_tokens/1.3-flow")
@pytest.mark.parametrize("level", GATED, ids=lambda level: level.word)
def test_a_gated_operation_waits_for_its_token(tokens, level):
    """The first call runs nothing and returns a token, the second one runs the operation."""
    operation = tokens.of_level(level)
    first = tokens.driver.call(operation.name, operation.params)
    tokens.expect(
        not first.executed and first.answer.means(CONFIRMATION_REQUIRED),
        sent=f"{operation.name} ({level.word}) without a token",
        expected=f"{CONFIRMATION_REQUIRED}, operation not run",
        got=first.describe(),
    )
    tokens.expect_run(
        tokens.redeem(tokens.issue(operation)),
        sent=f"{operation.name} ({level.word}) again, with the token of the first answer",
    )


@requirement("confirmation_tokens/1.3-flow")
def test_asking_again_runs_nothing_either(tokens):
    """However often somebody asks: every answer has a token, and nothing runs.

    Whether the same unused token is returned again is up to the server.
    """
    operation = tokens.operation
    tokens.honest()
    (asked, runs) = tokens.driver.runs_during(lambda: [tokens.issue() for _ in range(5)])
    tokens.expect(
        runs == 0 if tokens.driver.effects is not None else runs is None,
        sent=f"{operation.name} five times without a token",
        expected="five answers with a token, operation not run",
        got=f"{len(asked)} tokens, operation run {'?' if runs is None else runs} times",
    )
    tokens.expect_run(
        tokens.redeem(asked[-1]), sent=f"{operation.name} with the last of five tokens"
    )


@requirement("confirmation_tokens/1.3-flow")
@pytest.mark.parametrize("level", [Danger.SAFE, Danger.REVERSIBLE], ids=lambda level: level.word)
def test_a_harmless_operation_needs_no_token(tokens, level):
    """Levels 0 and 1 run at once, or after a confirmation: asking more often breaks nothing."""
    named = [one for one in tokens.table.operations if one.danger is level and not one.quota]
    if not named:
        raise NotApplicable(f"no operation of level {level.word} is named in operations")
    outcome = tokens.driver.call(named[0].name, named[0].params)
    if outcome.answer.means(CONFIRMATION_REQUIRED) and not outcome.executed:
        tokens.note(f"{named[0].name} ({level.word}) wants a confirmation, too")
        outcome = tokens.redeem(tokens.issue(named[0]))
    tokens.expect(
        outcome.succeeded,
        sent=f"{named[0].name} ({level.word})",
        expected="success, at once or with a token",
        got=outcome.describe(),
    )
