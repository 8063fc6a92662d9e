"""What confirm answers: what was done, in a word and in a sentence."""

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.prepare_confirm.settings import is_opposite
from pytest_mcp_approval.families.prepare_confirm.vocabulary import ACTION, PREVIEW


@requirement("prepare_confirm/confirm-answer")
def test_an_answer_says_what_was_done(two_step):
    """An action that fits the tool and is no preview any more, and a message for a person."""
    with two_step.several() as several:
        for kind in two_step.kinds():
            outcome = two_step.honest(kind.pair, kind.arguments)
            sent = f"{kind.pair.confirm} ({kind.name}) with the preview's token"
            action = outcome.answer.member(two_step.table.action)
            fits = isinstance(action, str) and action.strip() and action != PREVIEW
            if two_step.table.action != ACTION:
                fits, action = True, ""  # the table names where prepare has it, not confirm
            with several.one(f"{kind.name}, action"):
                two_step.expect(
                    bool(fits) and not is_opposite(action, kind.pair.name),
                    sent=sent,
                    expected="action: a word for what was done",
                    got=outcome.answer.describe(),
                )
            message = outcome.answer.member(two_step.table.message)
            with several.one(f"{kind.name}, message"):
                two_step.expect(
                    isinstance(message, str) and bool(message.strip()),
                    sent=sent,
                    expected="message: a sentence on what was done",
                    got=outcome.answer.describe(),
                )


@requirement("prepare_confirm/confirm-answer")
def test_all_parts_of_an_answer_agree(two_step):
    """A client may read the text of a result or its structured content: both say the same."""
    with two_step.several() as several:
        for kind in two_step.kinds():
            preview = two_step.preview(kind.pair, kind.arguments)
            for when, outcome in {
                "the first time": two_step.confirm(preview),
                "the second time": two_step.confirm(preview),
            }.items():
                with several.one(f"{kind.name}, {when}"):
                    two_step.expect(
                        not outcome.contradicts_itself,
                        sent=f"{kind.pair.confirm} ({kind.name}) with one token, {when}",
                        expected="success true or success false in all parts of the answer",
                        got=f"both: {outcome.describe()}",
                    )
