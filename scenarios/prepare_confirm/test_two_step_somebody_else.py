"""Several previews at a time, and several people: each token does what its own preview showed."""

import contextlib

import pytest

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.prepare_confirm.vocabulary import TwoStepReason

SAME = "the same client"


def _speaker(two_step, who):
    return contextlib.nullcontext() if who == SAME else two_step.somebody_else(who)


def _all_in_place(two_step):
    """Before the first preview: putting things in place later would change what it shows."""
    two_step.disturbed()
    for pair in two_step.pairs():
        two_step.put_in_place(pair)


def _fewer(pair):
    """The same on one thing less, if there is a list."""
    for name, value in pair.arguments.items():
        if isinstance(value, list) and len(value) > 1:
            return {**pair.arguments, name: value[1:]}
    return pair.sso or pair.arguments


@requirement("prepare_confirm/nonce", "prepare_confirm/confirm-executes")
@pytest.mark.parametrize("who", [SAME, "another client", "another user"])
def test_later_previews_leave_a_token_as_it_is(two_step, who):
    """It does what was shown with it, until the end that was shown with it.

    Reading: that a client's next preview of the same tool takes the place of its last one is a
    warning. Of another tool, or of somebody else, it may not.
    """
    two_step.honest()
    with _speaker(two_step, who) as session, two_step.several() as several:
        for pair in two_step.pairs():
            others = [one for one in two_step.pairs() if one.name != pair.name]
            for same_tool in (False, True):
                if not (others or same_tool):
                    continue
                _all_in_place(two_step)
                first = two_step.preview(pair)
                with two_step.honest_step(f"a preview of {who} failed"):
                    for one in [pair] if same_tool else others:
                        for arguments in (one.arguments, _fewer(one)):
                            two_step.driver.prepare(one, arguments, session=session)
                named = "the same tool" if same_tool else "other tools"
                sent = f"{pair.confirm}, after later previews of {named} by {who}"
                outcome = two_step.confirm(first)
                replaced = outcome.refused and not outcome.executed
                if replaced and same_tool and who == SAME and not _claims_an_end(outcome):
                    two_step.warn(f"{sent}: {outcome.describe()}; expected that it is done")
                    continue
                with several.one(sent):
                    two_step.expect_done(outcome, first, sent=sent)


def _claims_an_end(outcome):
    """It was neither used nor has it expired."""
    return bool(outcome.meanings & {TwoStepReason.USED, TwoStepReason.EXPIRED})


@requirement("prepare_confirm/confirm-executes")
@pytest.mark.parametrize("who", ["another client", "another user"])
def test_everybody_is_served(two_step, who):
    """After the failures and successes of one, the other prepares and confirms as before."""
    two_step.honest()
    with two_step.somebody_else(who) as session:
        for pair in two_step.pairs():
            first = two_step.preview(pair)
            two_step.confirm(first, f"{first.token}0")
            two_step.confirm(first)
            two_step.confirm(first)
            two_step.put_in_place(pair)
            sent = f"{pair.prepare} and {pair.confirm} by {who}, after those of the first"
            with two_step.promised(sent=sent, expected="a preview, and it is done"):
                with two_step.honest_step():
                    own = two_step.driver.prepare(pair, session=session)
                outcome = two_step.confirm(own, session=session)
                two_step.expect_done(outcome, own, sent=sent)
