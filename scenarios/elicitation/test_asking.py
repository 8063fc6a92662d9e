"""Asking: nothing runs before a person has answered, and an honest yes runs the call once."""

from pytest_mcp_approval.catalogue import Finding, Grade, NotVerified, requirement
from pytest_mcp_approval.families.elicitation.claims import reads_like
from pytest_mcp_approval.families.elicitation.outcome import AskedQuestion

TIMES = 3


@requirement("elicitation/asks-first")
def test_a_first_call_asks_and_runs_nothing(questions):
    """Every tool that asks, and each time anew: also after a yes, and after a no."""
    with questions.several() as several:
        for tool in questions.tools():
            with several.one(tool.name):
                for time in range(TIMES):
                    before = questions.driver.client.effects()
                    asked = questions.driver.ask(tool)
                    if questions.knows_no_pages and not isinstance(asked, AskedQuestion):
                        # It may ask on a page, which clients of this revision cannot show.
                        questions.expect_not_run(asked, sent=tool.name)
                        break
                    sent = f"{tool.name}, for the {('first', 'second', 'third')[time]} time"
                    questions.expect_question(asked, sent=sent)
                    _expect_nothing_ran_meanwhile(questions, asked, before, sent)
                    if time == 0:
                        questions.approve(asked)
                    else:
                        questions.expect_not_run(asked.decline(), sent=f"{sent}, declined")
    questions.honest()


def _expect_nothing_ran_meanwhile(questions, asked, before, sent):
    """In the handshake era the call is still open: others have to be served meanwhile to see
    it."""
    if before is None or questions.sessionless:
        return
    questions.driver.forget()
    runs = questions.driver.client.effects().runs_since(before)
    if runs != 0:
        ran = "it ran" if runs is None else f"it ran {runs} times"
        raise Finding(
            sent=sent,
            expected="a question, and nothing run",
            got=f"{ran} before anybody answered; {asked.describe()}",
            grade=Grade.RAN,
        )


@requirement("elicitation/asks-first")
def test_another_client_is_asked_too(questions):
    """One client's yes is no other client's: the same call is asked about again."""
    tool = questions.tool
    questions.honest(tool)
    other = questions.second_client()
    asked = other.ask(tool)
    questions.expect_question(asked, sent=f"{tool.name} by another client, after one approved it")
    questions.driver.leave(asked)
    questions.honest(tool)


@requirement("elicitation/asks-first")
def test_another_user_is_asked_too(questions):
    """What one user has approved, another one is asked about."""
    second = questions.second_user()
    with questions.several() as several:
        for tool in questions.asking_tools():
            questions.honest(tool)
            with several.one(tool.name):
                asked = second.ask(tool)
                sent = f"{tool.name} by another user, after one approved it"
                questions.expect_question(asked, sent=sent)
                questions.driver.leave(asked)
    questions.honest()


@requirement("elicitation/asks-first")
def test_what_needs_no_question_runs_without_one(questions):
    """The table may say with which arguments a tool rightly asks nobody: it then runs, and with
    others it asks as before."""
    tools = [one for one in questions.tools() if one.silent_arguments is not None]
    if not tools:
        questions.not_applicable("no tool has silent-arguments in its table")
    for tool in tools:
        outcome = questions.driver.ask(tool, tool.silent_arguments)
        if isinstance(outcome, AskedQuestion):
            questions.driver.leave(outcome)
            questions.warn(f"{tool.name} with its silent-arguments asks all the same")
        asked = questions.driver.ask(tool)
        questions.expect_question(asked, sent=f"{tool.name}, after a call that asks nobody")
        questions.approve(asked)


@requirement("elicitation/accept-runs-once")
def test_an_honest_yes_runs_the_call_once(questions):
    """Every tool, in every mode: one run, and the answer says so."""
    with questions.several() as several:
        for tool in questions.asking_tools():
            with several.one(tool.name):
                outcome = questions.try_to_approve(questions.ask(tool))
                questions.expect_ran_once(
                    outcome, sent=f"{tool.name}, approved by an honest person"
                )


@requirement("elicitation/accept-runs-once")
def test_what_runs_is_what_was_asked_about(questions):
    """The entry in the effects names the arguments of the question, and no others."""
    questions.need_effects()
    seen = 0
    with questions.several() as several:
        for tool in questions.asking_tools():
            for arguments in filter(None, (tool.arguments, tool.other_arguments)):
                with several.one(tool.name):
                    seen += _expect_arguments(questions, tool, arguments)
    if not seen:
        raise NotVerified("the effects do not show with which arguments a tool ran", minor=True)


def _expect_arguments(questions, tool, arguments):
    _, looks = questions.driver.seen_during(lambda: questions.honest(tool, arguments))
    before, after = looks
    if before.entries is None or after.entries is None:
        return 0
    added = after.entries[len(before.entries) :]
    ran = [one["arguments"] for one in added if isinstance(one, dict) and "arguments" in one]
    if not ran:
        return 0
    questions.expect(
        ran == [arguments],
        sent=f"{tool.name} with {arguments}, approved",
        expected="run once with exactly these arguments",
        got=f"run with {ran}",
    )
    return 1


@requirement("elicitation/accept-runs-once")
def test_the_answer_of_an_approved_call_is_its_own(questions):
    """An approved call and a declined one do not read alike: who called is told what happened."""
    with questions.several() as several:
        for tool in questions.asking_tools():
            with several.one(tool.name):
                approved = questions.honest(tool)
                declined = questions.ask(tool).decline()
                questions.expect(
                    not (declined.plain and reads_like(declined.text, approved.text)),
                    sent=f"{tool.name}, declined",
                    expected="an answer that differs from that of an approved call",
                    got=declined.describe(),
                )
    questions.honest()
