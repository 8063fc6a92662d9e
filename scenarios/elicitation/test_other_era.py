"""The other era: what a server does for clients of the revision that this run does not speak."""

from functools import partial

from pytest_mcp_approval.catalogue import NotApplicable, requirement
from pytest_mcp_approval.families.elicitation.outcome import AskedQuestion


@requirement("elicitation/asks-first")
def test_clients_of_the_other_era_are_asked_too(questions):
    """Asked; a no runs nothing, and an honest yes runs the call once. A server that cannot ask
    them, such as one without sessions in the handshake era, may refuse them."""
    client = questions.of_other_era()
    refused = 0
    with questions.several() as several:
        for tool in questions.asking_tools():
            with several.one(tool.name):
                sent = f"{tool.name} by a client of {client.session.revision}"
                asked = client.ask(tool)
                if not isinstance(asked, AskedQuestion):
                    questions.expect_not_run(asked, sent=sent)
                    refused += 1
                    continue
                questions.expect_question(asked, sent=sent)
                outcome, runs = questions.driver.runs_during(partial(asked.decline, watch=False))
                questions.expect_not_run(
                    questions.driver.with_runs(outcome, runs), sent=f"{sent}, declined"
                )
                again = client.ask(tool)
                questions.expect_question(again, sent=sent)
                outcome, runs = questions.driver.runs_during(
                    partial(questions.try_to_approve, again)
                )
                questions.expect_ran_once(
                    questions.driver.with_runs(outcome, runs), sent=f"{sent}, approved"
                )
    questions.honest()
    if refused == len(questions.asking_tools()):
        raise NotApplicable(f"clients of {client.session.revision} are refused, and not asked")


@requirement("elicitation/no-capability")
def test_clients_of_the_other_era_that_cannot_ask_run_nothing(questions):
    """No question, and no run, with and without an argument that claims consent."""
    client = questions.of_other_era({})
    with questions.several() as several:
        for tool in questions.asking_tools():
            for claim in ({}, {"confirm": True}):
                sent = f"{tool.name} {claim} by a client of {client.session.revision} without it"
                came = client.ask(tool, {**tool.arguments, **claim})
                with several.one(tool.name):
                    questions.expect(
                        not isinstance(came, AskedQuestion),
                        sent=sent,
                        expected="no question, and nothing run",
                        got=came.describe(),
                    )
                    questions.expect_not_run(came, sent=sent)
    questions.honest()
