"""What the document of the two-step tools leaves open, as information: whose token it is."""

from pytest_mcp_approval.catalogue import requirement


@requirement("prepare_confirm/confirm-executes")
def test_nobody_else_confirms(two_step):
    """One user prepares, another one confirms. The document does not mention users."""
    two_step.honest()
    with two_step.somebody_else("another user") as session:
        pair = two_step.pairs()[0]
        preview = two_step.preview(pair)
        outcome = two_step.confirm(preview, session=session)
        if outcome.executed or outcome.succeeded:
            two_step.left_open("another user who holds a token can confirm what one has prepared")
        two_step.expect_done(
            two_step.confirm(preview),
            preview,
            sent=f"{pair.confirm} by the user who prepared, after another user was refused",
        )
