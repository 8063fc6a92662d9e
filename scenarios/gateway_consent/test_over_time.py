"""Decisions after a while: long after, after a restart, after a failure, among many others."""

import datetime

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.base.instants import (
    BACK_IN_BERLIN,
    FORWARD_IN_BERLIN,
    LEAP_DAY,
    TURN_OF_A_YEAR,
    next_instants,
)
from pytest_mcp_approval.families.gateway_consent.outcome import shown
from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice
from pytest_mcp_approval.wire.reply import show_json

HOUR, DAY = 3600, 24 * 3600
LATER = {"an hour": HOUR, "a day": DAY + HOUR, "a month": 31 * DAY, "a year": 366 * DAY}
NOT_SOON = 2 * DAY
"""After that the document does not say whether a person may be asked once more: a warning."""

# ---- remember, deny


@requirement("gateway_consent/remember", needs=[])
def test_what_is_remembered_is_remembered_for_long(consents):
    """An hour, a day, a month and a year later: served, denied, and nobody else is. To ask a person
    again after so long is a warning."""
    consents.need_long_times()
    tool = consents.tool
    yes, all_tools, no = consents.client("Yes"), consents.client("All"), consents.client("No")
    consents.allowed(yes, tool)
    consents.allowed(all_tools, tool, Choice.ALL)
    consents.decided(no, tool, Choice.DENY)
    passed = 0
    for what, after in LATER.items():
        consents.clock.advance(after - passed)
        passed = after
        for client, decided in ((yes, "allowed"), (all_tools, "all allowed"), (no, "denied")):
            answer = client.call(tool)
            sent = f"{tool.name}, {decided} and remembered, {what} later"
            if after > NOT_SOON and answer.needs_consent and not answer.executed:
                consents.warn(f"{sent}: asked again")
            elif client is no:
                consents.expect_denied(answer, sent=sent)
            else:
                consents.expect_served(answer, tool, sent=sent)
    consents.expect_asked(
        consents.client("Other").call(tool), sent=f"{tool.name} by another client, a year later"
    )


@requirement("gateway_consent/consent-required", needs=[])
def test_a_question_that_nobody_answered_is_asked_anew(consents):
    """A person is away for a day. The next call asks, and what they decide then counts."""
    consents.need_long_times()
    tool, client = consents.tool, consents.client()
    if consents.driver.asks_in_dialogs:
        consents.not_applicable("a decision is made while its call waits")
    sent = f"{tool.name}, a day after a question that nobody answered"
    consents.expect_asked(client.call(tool), sent=f"{tool.name} by a new client")
    consents.clock.advance(DAY)
    with consents.promised(sent=sent, expected="a question that can be answered"):
        consents.decide_or_refused(consents.asked(client, tool), Choice.TOOL)
    consents.expect_served(client.call(tool), tool, sent=f"{sent}, allowed")


@requirement("gateway_consent/remember", needs=[])
def test_a_decision_for_one_call_does_not_wait_for_days(consents):
    """Allowed once, and the call comes a day later, with calls of others meanwhile: the person
    meant the call at hand. The document does not say for how long: a warning."""
    consents.need_long_times()
    tool, client = consents.tool, consents.client()
    if consents.driver.asks_in_dialogs:
        consents.not_applicable("a decision is made while its call waits")
    consents.allowed(client, tool, remember=False)
    consents.decided(client, tool, remember=False)
    for _ in range(6):
        consents.clock.advance(4 * HOUR)
        consents.client("Other").call(tool)
    answer = client.call(tool)
    sent = f"{tool.name}, allowed once, a day later"
    if consents.is_served(answer, tool):
        consents.warn(f"{sent}: served; nobody knows of that decision any more")
        consents.expect_asked(client.call(tool), sent=f"{sent}, the second call")
        return
    consents.expect_asked(answer, sent=sent)


@requirement("gateway_consent/remember")
def test_an_unused_decision_for_one_call_is_gone_after_a_restart(consents):
    """What is not remembered is not kept, used or not. What is remembered beside it is there."""
    tool, kept = consents.tool, consents.client("Kept")
    if consents.driver.asks_in_dialogs:
        consents.not_applicable("a decision is made while its call waits")
    consents.allowed(kept, tool)
    choices = {choice: consents.client(f"Once {choice}") for choice in Choice}
    for choice, client in choices.items():
        consents.decided(client, tool, choice, remember=False)
    consents.restart()
    with consents.several() as several:
        for choice, client in choices.items():
            with several.one(str(choice)):
                consents.expect_asked(
                    client.call(tool),
                    sent=f"{tool.name}, decided on ({choice}) for one call, after a restart",
                )
    consents.expect_served(kept.call(tool), tool, sent=f"{tool.name}, remembered, after a restart")


@requirement("gateway_consent/remember", needs=[])
def test_a_call_that_fails_has_used_its_decision_up(consents):
    """Allowed once; the app is called, and breaks down. One decision, one call of the app: the next
    call asks, for each way in which an app authorises."""
    consents.need_apps()
    apps = consents.with_apps()
    client = apps.client()
    if apps.driver.asks_in_dialogs:
        consents.not_applicable("a decision is made while its call waits")
    with apps.several() as several:
        for app in apps.each_app():
            apps.let_in(client, apps.app_tool(app))
            tool = apps.app_tool(app, "write")
            place = f"/{app}/tools/write"
            apps.decided(client, tool, Choice.TOOL, remember=False)
            if client.call(tool).needs_authorization:
                # OAuth: the app is asked about the new tool as well.
                apps.let_in(client, tool)
            # That call was served, so the next one needs a decision of its own.
            apps.decided(client, tool, Choice.TOOL, remember=False)
            apps.double.fails = True
            before = len(apps.double.seen(app, place))
            answer = client.call(tool)
            called = len(apps.double.seen(app, place)) > before
            apps.double.fails = False
            sent = f"{tool.name}, allowed once, after a call that the app failed at"
            apps.expect_failure(answer, sent=f"{tool.name}, whose app breaks down")
            if not called:
                continue  # nothing was done that a decision could have been used for
            with several.one(f"{app}, remembered"):
                kept = client.call(apps.app_tool(app))
                apps.expect(
                    not kept.needs_consent,
                    sent=f"{app}:read, remembered, after a call that the app failed at",
                    expected="no new question",
                    got=kept.describe(),
                )
            with several.one(app):
                answer = client.call(tool)
                apps.expect(
                    answer.needs_consent and not answer.succeeded,
                    sent=sent,
                    expected="CONSENT_REQUIRED, no second call of the app",
                    got=f"{answer.describe()}, the app was called "
                    f"{len(apps.double.seen(app, place)) - before} times",
                )


@requirement("gateway_consent/remember", needs=[])
def test_those_who_came_too_late_are_asked(consents):
    """Allowed once, and eight calls at once: the seven that were not served are not served later
    either, and another client's question is as open as before."""
    tool, client, other = consents.tool, consents.client(), consents.client("Other")
    if consents.driver.asks_in_dialogs:
        consents.not_applicable("each call has a dialog of its own")
    consents.asked(other, tool)
    consents.decided(client, tool, remember=False)
    answers, _ = client.at_once(tool, 8)
    if not any(consents.is_served(one, tool) for one in answers):
        raise NotVerified("of eight calls at once, allowed once, none was served")
    with consents.several() as several:
        for number in range(1, 4):
            with several.one(f"the {number}. call"):
                consents.expect_asked(
                    client.call(tool),
                    sent=f"{tool.name}, allowed once, the {number}. call after eight at once",
                )
        with several.one("another client"):
            consents.expect_asked(other.call(tool), sent=f"{tool.name} by another client, then")
    consents.allowed(other, tool)


CROWD = 30


@requirement("gateway_consent/remember", needs=[])
def test_a_crowd_of_clients_takes_nothing_from_anybody(consents):
    """Thirty other clients ask: what was remembered before is still there, what was denied as well,
    and a question that was open before can still be answered."""
    tool = consents.tool
    yes, no, open_one = consents.client("Yes"), consents.client("No"), consents.client("Open")
    consents.allowed(yes, tool)
    consents.decided(no, tool, Choice.DENY)
    question = consents.asked(open_one, tool)
    crowd = consents.crowd(CROWD)
    with consents.several() as several:
        for number, client in enumerate(crowd):
            with several.one(f"client {number}"):
                consents.expect_asked(
                    client.call(tool), sent=f"{tool.name} by one of {len(crowd)} new clients"
                )
    for client in crowd[::8]:
        consents.decided(client, tool, Choice.DENY)
    sent = f"after {len(crowd)} other clients asked"
    consents.expect_served(yes.call(tool), tool, sent=f"{tool.name}, remembered, {sent}")
    consents.expect_denied(no.call(tool), sent=f"{tool.name}, denied for ever, {sent}")
    with consents.promised(
        sent=f"{tool.name}, whose question was open {sent}", expected="a question to answer"
    ):
        consents.decide(question)
    consents.expect_served(
        open_one.call(tool), tool, sent=f"{tool.name}, allowed on a page opened before, {sent}"
    )


# ---- storage-shape


def _stored(consents, client, tool):
    exported = consents.driver.export()
    try:
        return exported[client.name][tool.app]["tools"][tool.tool]
    except (KeyError, TypeError):
        raise NotVerified(f"no record of {tool.name} is exported") from None


def _expect_instant(consents, record, instant, sent):
    told = record.get("grantedAt")
    try:
        off = (datetime.datetime.fromisoformat(str(told)) - instant).total_seconds()
    except (ValueError, TypeError):
        off = None
    consents.expect(
        off is not None and abs(off) < 120,
        sent=sent,
        expected=f"grantedAt: the instant of the decision, {instant:%Y-%m-%dT%H:%M:%S}Z",
        got=f"grantedAt {show_json(told)}",
    )


BESIDE = {
    FORWARD_IN_BERLIN: datetime.timedelta(minutes=30),
    BACK_IN_BERLIN: datetime.timedelta(minutes=-29, seconds=-0.1),
    TURN_OF_A_YEAR: datetime.timedelta(milliseconds=-1),
    LEAP_DAY: datetime.timedelta(hours=12),
}
"""How far from such an instant somebody decides: clocks err on these days."""


THINKING = 240
"""Seconds that a person needs: when they decided is stored, and not when they were asked."""


@requirement("gateway_consent/storage-shape")
def test_each_decision_keeps_its_own_instant(consents):
    """On days on which clocks err. What is decided, called or asked later changes no instant."""
    consents.need_long_times()
    tool = consents.tool
    decided = {}
    for number, (day, turn) in enumerate(next_instants(consents.clock.now(), BESIDE).items()):
        instant = turn + BESIDE[day]
        consents.clock.move_to(instant)
        client = consents.client(f"Client {number}")
        question = consents.asked(client, tool)
        consents.clock.advance(THINKING)
        consents.decide(question, Choice.DENY if number % 2 else Choice.TOOL)
        decided[client] = instant + datetime.timedelta(seconds=THINKING)
    second, (first, *_) = consents.second_tool(tool), decided
    consents.decided(first, second)
    with consents.several() as several:
        for client, instant in decided.items():
            client.call(tool)
            with several.one(str(instant)):
                _expect_instant(
                    consents,
                    _stored(consents, client, tool),
                    instant,
                    f"{tool.name}, decided on at {instant:%Y-%m-%dT%H:%M:%S}Z, called later",
                )
        with several.one("a second tool"):
            _expect_instant(
                consents,
                _stored(consents, first, second),
                decided[client],
                f"{second.name}, decided on at {decided[client]:%Y-%m-%dT%H:%M:%S}Z",
            )


NAMES = (
    "__proto__ {}",
    "constructor {}",
    "a.b[c] {}",
    "x/y-z:{}",
    "caf\u00e9 {} \u2603",
    "{}'; --",
)


@requirement("gateway_consent/storage-shape")
def test_a_caller_is_stored_under_its_own_name(consents):
    """Also one that means something to a program, or has a separator in it."""
    tool = consents.tool
    clients = [consents.named(name.format(consents.mark)) for name in NAMES]
    for client in clients:
        consents.decided(client, tool, Choice.DENY)
    exported = consents.driver.export()
    with consents.several() as several:
        for client in clients:
            own = exported.get(client.name) if isinstance(exported, dict) else None
            with several.one(client.name):
                consents.expect(
                    isinstance(own, dict) and list(own) == [tool.app],
                    sent=f"{tool.name}, denied to {shown(client.name)}",
                    expected=f"a record under {shown(client.name)} and {tool.app}",
                    got=f"stored: {show_json(own)}",
                )
