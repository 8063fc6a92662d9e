"""A token is good at the confirm tool of its own pair, and nowhere else."""

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.prepare_confirm.vocabulary import TwoStepReason


@requirement("prepare_confirm/action-bound")
def test_a_token_of_another_pair_is_refused(two_step):
    """A token to close something must not delete it."""
    with two_step.several() as several:
        for one, other in two_step.crossings():
            two_step.honest(other)
            preview = two_step.preview(one)
            with several.one(f"{other.confirm} with a token of {one.prepare}"):
                two_step.expect_refusal(
                    two_step.confirm(preview, pair=other),
                    TwoStepReason.WRONG_ACTION,
                    sent=f"{other.confirm} with a token of {one.prepare}",
                )


@requirement("prepare_confirm/action-bound")
def test_the_wrong_tool_does_not_use_up_the_token(two_step):
    """After the mistake the right tool still takes it."""
    for one, other in two_step.crossings():
        two_step.honest(other)
        preview = two_step.preview(one)
        refused = two_step.confirm(preview, pair=other)
        if refused.executed:
            raise NotVerified(f"{other.confirm} took the token: {refused.describe()}")
        two_step.still_serves(preview, after=f"{other.confirm} had refused it")


@requirement("prepare_confirm/action-bound")
def test_a_used_token_is_no_better_at_another_tool(two_step):
    """Wrong action or already used, either is true; nothing happens."""
    with two_step.several() as several:
        for one, other in two_step.crossings():
            preview = two_step.preview(one)
            if not two_step.confirm(preview).succeeded:
                raise NotVerified(f"an honest {one.confirm} failed")
            two_step.put_in_place(other)
            with several.one(f"{other.confirm} with a used token of {one.prepare}"):
                two_step.expect_refusal(
                    two_step.confirm(preview, pair=other),
                    TwoStepReason.WRONG_ACTION,
                    TwoStepReason.USED,
                    sent=f"{other.confirm} with a used token of {one.prepare}",
                )
