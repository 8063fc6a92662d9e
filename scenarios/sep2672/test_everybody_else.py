"""SEP-2672 sections 4.5, 4.8 and 8.2.3: what a failure leaves behind, and which calls are guarded.

After each refusal the other challenges, credentials and conversations are as they were. Every gated
tool is guarded like the first, in every era of MCP; and whoever lost a race has lost for good.
"""

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.base.outcome import is_result
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.driver import Approval, confirmed_enrolment
from pytest_mcp_approval.families.sep2672.faulty_calls import FAULTS, draft, expiry_of
from pytest_mcp_approval.families.sep2672.issuing import failing_call
from pytest_mcp_approval.families.sep2672.registrations import answer, begin, enrolled_ids
from pytest_mcp_approval.families.sep2672.scenario import Ceremony
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.wire import StdioTransport, WireError, open_session, race
from pytest_mcp_approval.wire.eras import HANDSHAKE_REVISIONS, SESSIONLESS_REVISIONS
from virtual_authenticator.faults import WrongCounter

AT_ANY_TIME = [fault for fault in FAULTS if fault.step != 6]
RUNNERS = 6


# ---- after a refusal


@requirement("sep2672/4.8-13-consume-after-verify")
@pytest.mark.parametrize("fault", AT_ANY_TIME, ids=lambda fault: fault.id)
def test_a_refused_call_leaves_everything_else_alone(ceremony, fault):
    """Pending meanwhile: another challenge for the same call, one for another tool, one of another
    credential, and an enrolment. All of them serve afterwards."""
    ceremony.honest()
    other = ceremony.enrol("icloud-keychain")
    tools = ceremony.gated_tools()
    pending = {
        "the same call": (ceremony.challenge(), None),
        "the same call, by another credential": (ceremony.challenge(), other),
        **{f"a call of {tool.name}": (ceremony.challenge(tool), None) for tool in tools[1:3]},
    }
    outcome = draft(ceremony, fault).submit()
    if outcome.executed:
        raise NotVerified(f"a call with {fault.name} was not refused: {outcome.describe()}")
    with ceremony.several() as several:
        for what, (challenge, passkey) in pending.items():
            with several.one(what):
                ceremony.expect_run(
                    ceremony.call(challenge, ceremony.evidence(challenge, passkey)),
                    sent=f"an honest call on another pending challenge ({what}), after one with "
                    f"{fault.name} (step {fault.step}) was refused",
                )


# ---- every gated tool

RULES = {
    1: "sep2672/4.8-01-evidence-present",
    2: "sep2672/4.8-02-evidence-well-formed",
    3: "sep2672/4.8-03-method",
    4: "sep2672/4.8-04-challenge-known",
    5: "sep2672/4.8-05-challenge-unconsumed",
    6: "sep2672/4.8-06-challenge-unexpired",
    7: "sep2672/4.8-07-challenge-tool",
    8: "sep2672/4.8-08-credential-enrolled",
    9: "sep2672/4.8-09-class",
    10: "sep2672/4.8-10-signature",
    11: "sep2672/4.8-11-counter",
    12: "sep2672/4.8-12-argument-hash",
}
"""The rule of each check of section 4.8."""


@pytest.mark.parametrize(
    "fault",
    [pytest.param(fault, id=fault.id, marks=requirement(RULES[fault.step])) for fault in FAULTS],
)
def test_every_gated_tool_is_guarded(ceremony, fault):
    """Each fault with each further tool of the server, whatever its class and arguments are."""
    ceremony.honest()
    tools = [tool for tool in ceremony.gated_tools() if tool.name != ceremony.tool.name]
    if not tools:
        ceremony.not_applicable("this server has one gated tool only")
    with ceremony.several() as several:
        for tool in tools:
            made = draft(ceremony, fault, tool=tool)
            if made.called.name != tool.name:  # a fault that chooses its own tool
                continue
            with several.one(tool.name):
                ceremony.honest(tool)
                outcome = made.submit()
                sent = f"tools/call {tool.name} with {fault.name} (step {fault.step})"
                if made.refused_by_the_schema(outcome):
                    continue
                ceremony.expect_refusal(outcome, fault.reason, sent=sent)


@requirement("sep2672/4.3-missing-evidence")
@pytest.mark.parametrize("revision", [HANDSHAKE_REVISIONS[-1], SESSIONLESS_REVISIONS[-1]], ids=str)
def test_the_gate_stands_in_every_era(ceremony, revision):
    """A server that speaks two eras of MCP asks for evidence in both, and takes it in both."""
    if isinstance(ceremony.target.transport, StdioTransport):
        ceremony.not_applicable("over stdio there is one conversation")
    ceremony.honest()
    try:
        session = open_session(
            ceremony.target.transport, revision, deadline=ceremony.target.settings.timeout
        )
    except WireError as error:
        ceremony.not_applicable(f"the server does not speak MCP {revision}: {error}")
    with session:
        there = Ceremony(Approval(ceremony.target, lambda: session), ceremony.warn)
        passkey = there.enrol()
        with ceremony.several() as several:
            for tool in ceremony.gated_tools():
                with several.one(tool.name):
                    ceremony.expect_refusal(
                        there.approval.call_without_evidence(tool.name, tool.arguments),
                        Reason.MISSING_EVIDENCE,
                        sent=f"tools/call {tool.name} without evidence, in MCP {revision}",
                    )
        there.honest(passkey=passkey)


# ---- after a race


@requirement("sep2672/8.2.3-exactly-once", needs=[])
def test_whoever_lost_a_race_has_lost_for_good(ceremony):
    """One challenge, submitted many times at once; then every loser once more: at once, after
    further approvals, and (if time can be moved) at the end of the challenge's life and after it.
    """
    passkey = ceremony.enrol("icloud-keychain")
    ceremony.honest(passkey=passkey)
    challenge = ceremony.challenge()
    evidences = [ceremony.evidence(challenge, passkey) for _ in range(RUNNERS)]
    calls = [
        ceremony.session.prepare("tools/call", ceremony.approval.call_params(challenge, one))
        for one in evidences
    ]
    replies, _ = ceremony.approval.runs_during(lambda: race(ceremony.session, calls))
    if not any(map(is_result, replies)):
        raise NotVerified(f"nobody won the race: {replies[0].describe()}")
    times = ["at once", "after another approval"]
    if ceremony.target.clock.movable:
        times += ["at its end", "long after"]
    for when in times:
        if when == "after another approval":
            ceremony.honest(passkey=passkey)
        elif when == "at its end":
            ceremony.clock.move_to(expiry_of(challenge))
        elif when == "long after":
            ceremony.clock.advance(7 * 86400)
        for evidence in (evidences[0], evidences[-1]):
            ceremony.expect_not_run(
                ceremony.call(challenge, evidence),
                sent=f"a submission that took part in a race on its challenge, again {when}",
            )
    ceremony.honest(passkey=passkey)


@requirement("sep2672/4.4.2-no-pending", needs=[])
def test_whoever_lost_the_race_for_an_enrolment_has_lost(ceremony):
    """Several credentials over one registration challenge at once, and the losers again later."""
    ceremony.enrol()
    options = begin(ceremony)
    responses = [answer(ceremony, options=options)[1] for _ in range(4)]
    race(ceremony.session, [(words.ENROLL_FINISH, {"response": one}) for one in responses])
    listed = set(enrolled_ids(ceremony))
    winners = [one for one in responses if one["id"] in listed]
    if len(winners) != 1:
        raise NotVerified(f"{len(winners)} of them enrolled, which another scenario looks at")
    ceremony.enrol("icloud-keychain")
    with ceremony.several() as several:
        for response in responses:
            if response in winners:
                continue
            with several.one():
                reply = ceremony.approval.finish(response)
                ceremony.expect(
                    not confirmed_enrolment(reply) and response["id"] not in enrolled_ids(ceremony),
                    sent=f"{words.ENROLL_FINISH} again, by one that lost a race for its challenge",
                    expected="-32001 no_pending_enrollment",
                    got=reply.describe(),
                )


# ---- after a failure of the tool itself


@requirement("sep2672/8.2.3-exactly-once", needs=[])
def test_a_tool_that_fails_gives_no_approval_back(ceremony):
    """The call is approved, and the tool refuses its arguments: the approval is spent all the same.

    Reading: a server that looks at arguments before it looks at the approval spends nothing."""
    ceremony.honest()
    tool, arguments = failing_call(ceremony)
    passkey = ceremony.enrol("icloud-keychain")
    challenge = ceremony.challenge(tool, arguments)
    evidence = ceremony.evidence(challenge, passkey)
    first = ceremony.call(challenge, evidence)
    if first.reason is not None or first.executed:
        ceremony.not_applicable(f"the tool did not refuse its arguments: {first.describe()}")
    ceremony.expect_refusal(
        ceremony.call(challenge, evidence),
        Reason.CHALLENGE_CONSUMED,
        sent=f"an approved call of {tool.name} once more, which the tool itself had refused "
        f"({first.describe()})",
    )
    ceremony.honest(tool)


@requirement("sep2672/4.8-14-counter-updated")
def test_a_tool_that_fails_gives_no_counter_back(ceremony):
    """The same for the counter: it was shown in an approved call, so it is over.

    Reading: a server that looks at arguments before it looks at the approval keeps no counter."""
    ceremony.honest()
    tool, arguments = failing_call(ceremony)
    passkey = ceremony.enrol("security-key")
    challenge = ceremony.challenge(tool, arguments)
    first = ceremony.call(
        challenge, ceremony.evidence(challenge, passkey, faults=WrongCounter(800))
    )
    if first.reason is not None or first.executed:
        ceremony.not_applicable(f"the tool did not refuse its arguments: {first.describe()}")
    challenge = ceremony.challenge(tool)
    ceremony.expect_refusal(
        ceremony.call(challenge, ceremony.evidence(challenge, passkey, faults=WrongCounter(800))),
        Reason.SIGNATURE_COUNTER_REGRESSION,
        sent=f"tools/call {tool.name}, signCount 800, after an approved call with 800 that the "
        "tool itself refused",
    )
    ceremony.expect_run(
        ceremony.call(challenge, ceremony.evidence(challenge, passkey, faults=WrongCounter(801))),
        sent=f"tools/call {tool.name}, signCount 801, after an approved call with 800",
    )


# ---- after a restart


@requirement("sep2672/8.2.3-exactly-once", needs=["restart"])
def test_what_is_over_stays_over_through_restarts(ceremony):
    """A used challenge and one that expires, and two restarts: one within their lifetime and one at
    its end. They are tried after each, and a week later."""
    if not ceremony.target.clock.movable:
        raise NotVerified("needs a clock that can be moved", minor=True)
    passkey = ceremony.enrol("icloud-keychain")
    ceremony.honest(passkey=passkey)
    used, expiring = ceremony.challenge(), ceremony.challenge()
    ceremony.need_served(ceremony.call(used, ceremony.evidence(used, passkey)))
    _restart_at(ceremony, ceremony.clock.now())
    _expect_over(ceremony, passkey, {"used": used}, "a restart within its lifetime")
    _restart_at(ceremony, expiry_of(expiring))
    both = {"used": used, "expired": expiring}
    _expect_over(ceremony, passkey, both, "a restart at the end of its lifetime")
    ceremony.clock.advance(7 * 86400)
    _expect_over(ceremony, passkey, both, "two restarts and a week")
    ceremony.honest(passkey=ceremony.enrol("icloud-keychain"))


def _restart_at(ceremony, instant):
    """End the server and start it again, at this time of its clock."""
    ceremony.target.restart()
    ceremony.approval.forget()
    ceremony.clock.move_to(instant)


def _expect_over(ceremony, passkey, challenges, after):
    for what, challenge in challenges.items():
        ceremony.expect_not_run(
            ceremony.call(challenge, ceremony.evidence(challenge, passkey)),
            sent=f"tools/call over a challenge that is {what}, after {after}",
        )
