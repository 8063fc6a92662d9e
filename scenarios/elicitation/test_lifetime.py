"""Lifetime: a question can be answered for a short time, which nothing renews."""

from pytest_mcp_approval.catalogue import Finding, NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.elicitation.form_answers import LEFT_OUT
from pytest_mcp_approval.families.elicitation.lifetimes import (
    DAY,
    SHORT,
    TOLERABLE,
    bracket,
    in_words,
    serves_after,
    to_the_second,
)

KEY = "elicitation lifetime"


def _lifetime(questions):
    """The last second at which an answer is taken, and the first at which it is not."""
    questions.need_sessionless()
    questions.need_long_times()
    found = questions.target.remembered.get(KEY)
    if found is None:
        tool = questions.tool
        questions.honest(tool)
        with questions.honest_step():
            alive, dead = bracket(questions.driver, tool)
            found = (
                (alive, None)
                if dead is None
                else to_the_second(questions.driver, tool, alive, dead)
            )
        questions.target.remembered[KEY] = found
    return found


@requirement("elicitation/state-lifetime", needs=[])
def test_a_question_can_be_answered_for_a_short_time(questions):
    """Up to 15 minutes; up to a day is a warning."""
    alive, dead = _lifetime(questions)
    sent = f"{questions.tool.name}, answered later and later"
    if dead is None:
        raise Finding(
            sent=sent,
            expected="no run long after the question",
            got=f"it runs {in_words(alive)} after the question",
        )
    if dead > TOLERABLE:
        got = f"it runs {in_words(alive)} after the question"
        raise Finding(sent=sent, expected="a short lifetime", got=got)
    if alive > SHORT:
        questions.warn(f"{sent}: it runs {in_words(alive)} after the question: is that short?")
    questions.note(f"answers are taken for {in_words(alive)}, and not for {in_words(dead)}")


@requirement("elicitation/state-lifetime", needs=[])
def test_every_question_ends(questions):
    """All tools: answered a moment before the end they run, a moment after it not."""
    alive, dead = _lifetime(questions)
    if dead is None:
        raise NotApplicable("no end was found")
    with questions.several() as several:
        for tool in questions.asking_tools():
            if questions.kind(tool).mode == "url":
                continue
            with several.one(tool.name):
                _expect(questions, tool, alive, runs=True)
                _expect(questions, tool, dead, runs=False)


def _expect(questions, tool, seconds, *, runs):
    taken = serves_after(questions.driver, tool, seconds)
    questions.expect(
        taken is runs,
        sent=f"{tool.name}, approved {in_words(seconds)} after the question",
        expected="it runs" if runs else "nothing run",
        got="it ran" if taken else "nothing ran",
    )


@requirement("elicitation/state-lifetime", needs=[])
def test_a_question_that_is_over_stays_over(questions):
    """At the same time of the day, a day, a week and a year later."""
    _, dead = _lifetime(questions)
    tool = questions.tool
    with questions.several() as several:
        for seconds in (DAY, 7 * DAY, 365 * DAY):
            if dead is not None and seconds >= dead:
                with several.one(in_words(seconds)):
                    _expect(questions, tool, seconds, runs=False)
    if dead is None:
        raise NotApplicable("no end was found")
    questions.honest(tool)


@requirement("elicitation/state-lifetime", needs=[])
def test_nothing_renews_a_question(questions):
    """Not a retry without an answer, a refused one, a look at another question, nor a sibling."""
    alive, dead = _lifetime(questions)
    if dead is None:
        raise NotApplicable("no end was found")
    tool = questions.tool
    part = dead // 2 + 1
    renewals = {
        "asked again with its state": lambda asked: questions.driver.answer(
            asked, responses=LEFT_OUT, watch=False
        ),
        "answered with nonsense": lambda asked: questions.driver.answer(
            asked, {"action": "perhaps"}, watch=False
        ),
        "tried with other arguments": lambda asked: questions.driver.answer(
            asked, arguments={**tool.arguments, "further": "value"}, watch=False
        ),
        "another call was asked about": lambda _: questions.ask(tool),
        "another call was approved": lambda _: questions.honest(tool),
    }
    with questions.several() as several:
        for name, renew in renewals.items():
            asked = questions.ask(tool)
            questions.clock.advance(part)
            renewed = getattr(renew(asked), "question", None)
            questions.clock.advance(part)
            for one in filter(None, (asked, renewed)):
                state = asked.state if one is asked else one.state
                if one is not asked and state != asked.state:
                    continue  # a new question, with a life of its own
                outcome = questions.driver.answer(one, questions.response(one))
                sent = f"{tool.name}, {name} half-way; then approved after its end"
                with several.one(name):
                    questions.expect_not_run(outcome, sent=sent)
    if alive <= 1:
        raise NotVerified("a question ends at once, so nothing follows")
    questions.honest(tool)
