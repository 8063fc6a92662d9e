"""Url mode: the page on which a person approves, and who that person is."""

import contextlib
from dataclasses import replace

from pytest_mcp_approval.catalogue import Finding, NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.base.driver import DriverError
from pytest_mcp_approval.families.elicitation.outcome import AskedQuestion
from pytest_mcp_approval.families.elicitation.page_checks import (
    data_in_url,
    mixed_addresses,
    protected_texts,
    wrong_with_url,
)
from pytest_mcp_approval.families.elicitation.question_checks import wrong_with_params
from pytest_mcp_approval.families.elicitation.vocabulary import COMPLETE, ELICITATION_ID, Action


@requirement("elicitation/url-shape")
def test_a_page_has_a_whole_address(questions):
    """Mode url, an absolute URL, a message; in the handshake era an id; https outside loopback. And
    there is a page at it: if not, nobody can be served by it, which is a warning."""
    missing = []
    with questions.several() as several:
        for tool in questions.need_url_tools():
            asked = questions.ask(tool)
            missing += _missing_page(questions, asked)
            questions.driver.leave(asked)
            problems = [*wrong_with_params(asked.params)]
            wrong, advice = wrong_with_url(asked.params.get("url"))
            problems += wrong
            if not questions.sessionless and not asked.elicitation_id:
                problems.append(f"no {ELICITATION_ID}")
            for one in advice:
                questions.warn(f"{tool.name}: {one}")
            with several.one(tool.name):
                questions.expect(
                    not problems,
                    sent=f"{tool.name}: its question",
                    expected="mode url, an absolute URL and a message",
                    got="; ".join(problems),
                )
    for one in missing:
        questions.warn(one)
    if not missing:
        questions.honest(questions.need_url_tools()[0])


def _missing_page(questions, asked):
    """What is wrong with the page as the caller's own person sees it. That they must log in first,
    or that the suite does not reach it, is nothing wrong."""
    if questions.table.person.is_told or wrong_with_url(asked.url)[0]:
        return []
    try:
        _, page = questions.person_at_page().open(asked.url)
    except DriverError:
        return []
    if page.status not in (404, 410) and page.status < 500:
        return []
    return [f"{asked.tool.name}: at the URL of its question is no page: {page.describe()}"]


@requirement("elicitation/url-shape")
def test_an_error_that_names_pages_lists_them(questions):
    """Handshake: -32042 says which pages come first, each with its id, URL and message."""
    questions.need_handshake()
    seen = 0
    for tool in questions.tools():
        for _ in range(2):  # some say so only the first time, or only later
            problems = _wrong_with_error(questions, questions.driver.ask(tool))
            if problems is None:
                continue
            seen += 1
            questions.expect(
                not problems,
                sent=tool.name,
                expected="-32042 with the pages that come first",
                got="; ".join(problems),
            )
    if not seen:
        raise NotApplicable("no call is answered with -32042")


def _wrong_with_error(questions, came):
    """None if it is no error that names pages."""
    if not isinstance(came, AskedQuestion):
        return ["no list of elicitations in its data"] if came.urls_come_first else None
    questions.driver.leave(came)
    error = came.reply.error if came.by_error and came.reply else None
    if error is None:
        return None
    return [
        problem
        for one in error.data["elicitations"]
        for problem in (
            *wrong_with_params(one),
            *wrong_with_url(one.get("url"))[0],
            *(() if one.get("mode") == "url" else ("its mode is not url",)),
            *(() if one.get(ELICITATION_ID) else (f"no {ELICITATION_ID}",)),
        )
    ]


@requirement("elicitation/url-no-secrets")
def test_the_address_carries_nobodys_data(questions):
    """No user or password in it, no credential, nothing of the person's, no argument."""
    with questions.several() as several:
        for tool in questions.need_url_tools():
            asked = questions.ask(tool)
            questions.driver.leave(asked)
            secrets = [*questions.target.settings.headers.values()]
            certain, likely = data_in_url(asked.url, secrets, tool.arguments)
            for one in likely:
                questions.warn(f"{tool.name}: the URL has {one}")
            with several.one(tool.name):
                questions.expect(
                    not certain,
                    sent=f"{tool.name}: its URL",
                    expected="no credential and nobody's data in it",
                    got="; ".join(certain),
                )
    questions.honest(questions.need_url_tools()[0])


@requirement("elicitation/url-no-secrets")
def test_the_address_alone_opens_nothing(questions):
    """Opened with an empty cookie jar it shows nothing protected, and approves nothing."""
    nobody = questions.somebody_at_page({})
    with questions.several() as several:
        for tool in questions.need_url_tools():
            asked = questions.ask(tool)
            _, page = nobody.open(asked.url)
            told = protected_texts(page.body, tool.arguments)
            with several.one(tool.name):
                questions.expect(
                    not told,
                    sent=f"{tool.name}: its page, opened by nobody",
                    expected="nothing that is protected",
                    got=f"{page.describe()}, which shows {', '.join(told)}",
                )
            with several.one(f"{tool.name}, approved"):
                _expect_not_approved(questions, asked, nobody, "nobody who is known")
            questions.honest(tool)


def _expect_not_approved(questions, asked, person, who):
    """They do what they can on the page; then the caller accepts, and nothing runs."""
    try:
        came = person.try_to_approve(asked.url)
    except DriverError as error:
        came = str(error)
    outcome = questions.accept_without_waiting(asked)
    sent = f"{asked.tool.name}: approved on its page by {who} ({came}), then accepted"
    questions.expect_not_run(outcome, sent=sent)


# ---- accepting is not approving


@requirement("elicitation/url-accept-is-not-done", needs=[])
def test_accepting_to_open_a_page_runs_nothing(questions):
    """Accepted before the person has finished there, once and again; when they have, it runs. The
    same with the next call: the page of one opens no other."""
    with questions.several() as several:
        for tool in questions.need_url_tools():
            for call in ("the first call", "the next call"):
                with several.one(f"{tool.name}, {call}"):
                    asked = questions.ask(tool)
                    sent = f"{tool.name}, {call}: accepted, and nobody has finished on its page"
                    for _ in range(2):
                        outcome = questions.accept_without_waiting(asked)
                        questions.expect_not_run(outcome, sent=sent)
                        if outcome.internal_error:
                            # Every honest client comes here: it accepts before it opens the page.
                            questions.warn(f"{sent}: {outcome.describe()}")
                    questions.expect_ran_once(
                        questions.finish_page(asked), sent=f"{tool.name}: finished on its page"
                    )


@requirement("elicitation/url-accept-is-not-done", needs=[])
def test_a_page_that_nobody_finishes_runs_nothing(questions):
    """Handshake: accepted, and the server waits for the page; when it has waited long enough, or
    for ever, nothing has run. That it waits for ever is a warning: the document sets no time."""
    questions.need_handshake()
    questions.need_effects()
    questions.need_long_times(minor=True)
    for tool in questions.need_url_tools():
        questions.honest(tool)
        before = questions.driver.client.effects()
        asked = questions.ask(tool)
        accepted = questions.accept_without_waiting(asked)
        sent = f"{tool.name}: accepted, and nobody ever finishes on its page"
        questions.expect_not_run(accepted, sent=sent)
        if not asked.pending.over:
            questions.clock.advance(questions.table.patience + 1)
            reply = asked.pending.call.wait(questions.driver.timeout, due=False)
            if not reply.answered and questions.timers_follow:
                questions.warn(f"{sent}: after {questions.table.patience:g} s it is still open")
        questions.driver.forget()
        runs = questions.driver.client.effects().runs_since(before)
        questions.expect(runs == 0, sent=sent, expected="nothing run", got="the tool ran")
        questions.driver.leave(asked)
        questions.honest(tool)


@requirement("elicitation/url-accept-is-not-done", needs=[])
def test_looking_at_a_page_approves_nothing(questions):
    """The page is opened, also several times, and no button pressed; then it is accepted."""
    for tool in questions.need_url_tools():
        asked = questions.ask(tool)
        for _ in range(2):
            questions.person_at_page().open(asked.url)
        outcome = questions.accept_without_waiting(asked)
        questions.expect_not_run(outcome, sent=f"{tool.name}: its page opened, then accepted")
        questions.driver.leave(asked)
        questions.honest(tool)


@requirement("elicitation/url-accept-is-not-done", needs=[])
def test_a_no_on_the_page_is_a_no(questions):
    """Declined on the page, accepted in the client; and the other way round."""
    with questions.several() as several:
        for tool in questions.need_url_tools():
            asked = questions.ask(tool)
            with questions.honest_step():
                questions.driver.person.decline(asked)
            with several.one(f"{tool.name}, declined on its page"):
                outcome = questions.driver.answer(asked, questions.response(asked))
                sent = f"{tool.name}: declined on its page, then accepted"
                questions.expect_not_run(outcome, sent=sent)
            asked = questions.ask(tool)
            with questions.honest_step():
                questions.driver.person.approve(asked)
            with several.one(f"{tool.name}, declined in the client"):
                sent = f"{tool.name}: approved on its page, then declined"
                questions.expect_not_run(asked.answer(Action.DECLINE), sent=sent)
            questions.honest(tool)


# ---- who is there


@requirement("elicitation/url-other-person", needs=[])
def test_nobody_else_can_approve(questions):
    """Somebody else opens the address and presses the button: nothing runs; the caller's own
    approval then counts."""
    tools = questions.need_url_tools()
    other = questions.somebody_at_page(questions.second_person_headers())
    with questions.several() as several:
        for tool in tools:
            asked = questions.ask(tool)
            with several.one(tool.name):
                _expect_not_approved(questions, asked, other, "somebody else")
            questions.honest(tool)


@requirement("elicitation/url-other-person", needs=[])
def test_a_page_of_ones_own_approves_nothing_else(questions):
    """Somebody else approves on the page of their own call, and sends its form to the address of
    the caller's: the caller's question stays as it was."""
    tools = questions.need_url_tools()
    other = questions.somebody_at_page(questions.second_person_headers())
    client = questions.second_user()
    button = questions.table.person.approve_button
    tried = 0
    with questions.several() as several:
        for tool in tools:
            asked, theirs = questions.ask(tool), questions.ask(tool, client=client)
            browser, page = other.open(theirs.url)
            form = next((one for one in page.forms() if one.button(button)), None)
            if form is not None:
                tried += 1
                with contextlib.suppress(DriverError):
                    browser.submit(page, replace(form, action=asked.url), form.button(button))
                with several.one(f"{tool.name}, the form"):
                    sent = f"{tool.name}: another person's form sent to this one's address"
                    questions.expect_not_run(questions.accept_without_waiting(asked), sent=sent)
                asked = questions.ask(tool)
                with contextlib.suppress(DriverError):
                    browser.submit(page, form, form.button(button))
                with several.one(f"{tool.name}, their own"):
                    sent = f"{tool.name}: another person approved on the page of their own call"
                    questions.expect_not_run(questions.accept_without_waiting(asked), sent=sent)
            questions.driver.leave(theirs)
            questions.honest(tool)
    if not tried:
        raise NotVerified("somebody else's own page has no button to press", minor=True)


@requirement("elicitation/url-other-person", needs=[])
def test_an_address_of_two_pages_opens_neither_for_others(questions):
    """Parts of the address of somebody else's own page, and parts of that of the caller's."""
    other = questions.somebody_at_page(questions.second_person_headers())
    client = questions.second_user()
    tried = 0
    with questions.several() as several:
        for tool in questions.need_url_tools():
            asked, theirs = questions.ask(tool), questions.ask(tool, client=client)
            names = mixed_addresses(theirs.url, asked.url)
            for one in (asked, theirs):
                questions.driver.leave(one)
            for name in names:
                asked, theirs = questions.ask(tool), questions.ask(tool, client=client)
                url = mixed_addresses(theirs.url, asked.url)[name]
                tried += 1
                with several.one(f"{tool.name}, {name}"):
                    with contextlib.suppress(DriverError):
                        other.press_at(url)
                    _expect_not_approved(questions, asked, other, f"somebody else with {name}")
                questions.driver.leave(theirs)
            questions.honest(tool)
    if not tried:
        raise NotApplicable("the addresses of pages have one part that differs")


# ---- the notice (handshake)


@requirement("elicitation/url-complete-notice", needs=[])
def test_only_the_session_that_asked_is_told(questions):
    """The person finishes: the notice comes then and not before, to the session that asked, with
    its id, and to no other. A server need not send any."""
    questions.need_handshake()
    other = questions.second_client() if not questions.over_stdio else None
    seen = 0
    for tool in questions.need_url_tools():
        elsewhere = other.listen() if other is not None else None
        asked = questions.ask(tool)
        mine = questions.driver.client.listen()
        accepted = questions.accept_without_waiting(asked)
        questions.expect_not_run(accepted, sent=f"{tool.name}, accepted")
        questions.expect(
            asked.elicitation_id not in map(_told_id, _notices(asked, mine)),
            sent=f"{tool.name}, accepted, and nobody has opened its page",
            expected="no notice yet",
            got="a notice that the person has finished",
        )
        questions.expect_ran_once(
            questions.finish_page(asked), sent=f"{tool.name}, approved on its page"
        )
        told = _notices(asked, mine)
        heard = [] if elsewhere is None else elsewhere.notifications()
        wrong = [one for one in heard if one.method == COMPLETE]
        if wrong:
            raise Finding(
                sent=f"{tool.name}, finished on its page",
                expected="a notice to the session that asked alone",
                got=f"{len(wrong)} notice(s) in another session",
            )
        ids = set(map(_told_id, told))
        seen += len(told)
        questions.expect(
            ids <= {asked.elicitation_id},
            sent=f"{tool.name}, finished on its page",
            expected=f"a notice with {ELICITATION_ID} {asked.elicitation_id}",
            got=f"one with {', '.join(sorted(ids))}",
        )
    if not seen:
        raise NotApplicable("the server sends no notice when a page is finished: it need not")


def _notices(asked, stream):
    """Those of finished pages that came so far, in the call and in its session."""
    came = [*asked.pending.call.notifications, *stream.notifications()]
    return [one for one in came if one.method == COMPLETE]


def _told_id(notice):
    return str(notice.value.get("params", {}).get(ELICITATION_ID))
