"""SEP-2672 section 4.8, steps 13 and 14: what an approval uses up, and what a refusal does not."""

import pytest

from pytest_mcp_approval.catalogue import Finding, NotVerified, requirement
from pytest_mcp_approval.families.base.outcome import is_result
from pytest_mcp_approval.families.sep2672.faulty_calls import FAULTS, draft
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.wire import StdioTransport, race
from virtual_authenticator import Authenticator
from virtual_authenticator.counters import Scripted
from virtual_authenticator.faults import (
    FlipFlag,
    OtherKey,
    Truncated,
    WrongChallenge,
    WrongCounter,
    WrongRpIdHash,
    WrongType,
)

RUNNERS = 8
LOSERS = (Reason.CHALLENGE_CONSUMED, Reason.SIGNATURE_COUNTER_REGRESSION)
"""Reading: which of the two a loser meets first is a matter of luck."""

# ---- step 13: a refusal leaves the challenge as it was

# A used challenge and an expired one (steps 5 and 6) have nothing left to serve.
SURVIVED = [fault for fault in FAULTS if fault.step not in (5, 6)]


@requirement("sep2672/4.8-13-consume-after-verify")
@pytest.mark.parametrize("fault", SURVIVED, ids=lambda fault: fault.id)
def test_a_refused_call_does_not_use_up_the_challenge(ceremony, fault):
    """A call that fails at one of the checks 1 to 12, then the honest call on the same challenge:
    whoever forges an approval must not be able to spoil the real one."""
    ceremony.honest()
    spoiled = draft(ceremony, fault)
    outcome = spoiled.submit()
    if outcome.executed:
        raise NotVerified(f"a call with {fault.name} was not refused: {outcome.describe()}")
    served = ceremony.call(spoiled.challenge, ceremony.evidence(spoiled.challenge))
    ceremony.expect_run(
        served,
        sent=f"the honest call, after one with {fault.name} (step {fault.step}) on the same "
        "challenge was refused",
    )


ASSERTION_FAULTS = {
    "another key": OtherKey(),
    "another challenge signed": WrongChallenge(),
    "another relying party": WrongRpIdHash(),
    "type webauthn.create": WrongType(),
    "user presence clear": FlipFlag("UP"),
    "user verification clear": FlipFlag("UV"),
    "authenticatorData cut short": Truncated(1),
}


@requirement("sep2672/4.8-13-consume-after-verify")
def test_many_forgeries_do_not_use_up_the_challenge(ceremony):
    """One forgery after the other on one challenge, each of another kind, and then the real one."""
    ceremony.honest()
    challenge = ceremony.challenge()
    for name, fault in ASSERTION_FAULTS.items():
        outcome = ceremony.call(challenge, ceremony.evidence(challenge, faults=fault))
        if outcome.executed:
            raise NotVerified(f"{name} was not refused: {outcome.describe()}")
    outcome = ceremony.call(challenge, ceremony.evidence(challenge))
    ceremony.expect_run(
        outcome,
        sent=f"the honest call, after {len(ASSERTION_FAULTS)} forgeries on the same challenge",
    )


@requirement("sep2672/4.8-13-consume-after-verify")
def test_a_forgery_does_not_use_up_another_challenge(ceremony):
    """Two challenges are pending; what happens to one does not touch the other."""
    ceremony.honest()
    mine, other = ceremony.challenge(), ceremony.challenge()
    spoiled = ceremony.call(other, ceremony.evidence(other, faults=OtherKey()))
    if spoiled.executed:
        raise NotVerified(f"another key was not refused: {spoiled.describe()}")
    for challenge, name in ((mine, "untouched"), (other, "attacked")):
        outcome = ceremony.call(challenge, ceremony.evidence(challenge))
        ceremony.expect_run(outcome, sent=f"the honest call on the {name} one of two challenges")


# ---- step 13: of many, one

# Over HTTP all requests but their last bytes are with the server before any is complete, which
# finds nearly all servers that check first and mark later. On stdio they go out in one write, and a
# server may well take them one by one: there a race without a second winner is weak evidence.


def _run_race(ceremony, challenge, evidences, sessions, sent):
    """Submit all at once: one wins, by its answer and by the effects, the others are refused."""
    calls = [
        sessions[number % len(sessions)].prepare(
            "tools/call", ceremony.approval.call_params(challenge, evidence)
        )
        for number, evidence in enumerate(evidences)
    ]
    replies, runs = ceremony.approval.runs_during(lambda: race(ceremony.session, calls))
    winners = [reply for reply in replies if is_result(reply)]
    losers = [reply for reply in replies if not is_result(reply)]
    seen = f"{len(winners)} of {len(calls)} answered with a result"
    if ceremony.approval.effects is not None:
        seen += f", {'an unknown number of' if runs is None else runs} runs"
    ceremony.expect(
        len(winners) == 1 and runs in (None, 1),
        sent=sent,
        expected="one result, the tool run once",
        got="; ".join([seen, *(reply.describe() for reply in winners if reply.result is None)]),
    )
    with ceremony.several() as several:
        for reply in losers:
            with several.one():
                ceremony.expect_error(
                    reply, *LOSERS, sent=f"{sent}, one of those that came too late"
                )


def _two_sessions(ceremony):
    if isinstance(ceremony.target.transport, StdioTransport):
        ceremony.not_applicable("a pipe has one session")
    return [ceremony.session, ceremony.target.new_session("pytest-mcp-approval, second client")]


@requirement("sep2672/4.8-13-consume-after-verify")
@pytest.mark.parametrize("sessions", [1, 2], ids=["one session", "two sessions"])
@pytest.mark.parametrize(
    ("shape", "evidence"),
    [
        pytest.param("icloud-keychain", "the same", id="replays without a counter"),
        pytest.param("icloud-keychain", "its own", id="signed each, without a counter"),
        pytest.param("security-key", "the same", id="replays"),
        pytest.param("security-key", "its own", id="signed each"),
    ],
)
def test_of_many_honest_submissions_at_once_one_runs(ceremony, shape, evidence, sessions):
    """One challenge, submitted many times at the same moment. A synced passkey shows no counter, so
    that nothing but the challenge decides."""
    passkey = ceremony.enrol(shape)
    ceremony.honest(passkey=passkey)
    challenge = ceremony.challenge()
    evidences = [ceremony.evidence(challenge, passkey) for _ in range(RUNNERS)]
    if evidence == "the same":
        evidences = [evidences[0]] * RUNNERS
    speakers = [ceremony.session] if sessions == 1 else _two_sessions(ceremony)
    try:
        _run_race(
            ceremony,
            challenge,
            evidences,
            speakers,
            f"tools/call {RUNNERS} times at once on one challenge ({shape}, evidence: {evidence})",
        )
    finally:
        for session in speakers[1:]:
            session.close()


@requirement("sep2672/4.8-13-consume-after-verify")
def test_one_honest_submission_among_forgeries_runs(ceremony):
    """The real approval and many forgeries at the same moment: the real one wins, whoever is
    first."""
    passkey = ceremony.enrol("icloud-keychain")
    ceremony.honest(passkey=passkey)
    challenge = ceremony.challenge()
    honest = ceremony.evidence(challenge, passkey)
    forged = ceremony.evidence(challenge, passkey, faults=OtherKey())
    evidences = [forged] * 3 + [honest] + [forged] * 3
    calls = [
        ceremony.session.prepare("tools/call", ceremony.approval.call_params(challenge, evidence))
        for evidence in evidences
    ]
    replies, runs = ceremony.approval.runs_during(lambda: race(ceremony.session, calls))
    answers = [is_result(reply) for reply in replies]
    ceremony.expect(
        answers == [evidence is honest for evidence in evidences] and runs in (None, 1),
        sent="tools/call at once: one honest, six by another key, on the same challenge",
        expected="a result for the honest one alone, the tool run once",
        got="; ".join(sorted({reply.describe() for reply in replies})),
    )


# ---- step 14: the counter


@requirement("sep2672/4.8-14-counter-updated")
@pytest.mark.parametrize("leap", [1, 8, 1000, 2**31], ids="by {}".format)
def test_after_success_the_counter_is_the_asserted_one(ceremony, leap):
    """A call shows a counter that is higher by so much; from then on lower and equal ones are
    refused, and the next higher one serves. A server that counts by itself is found out."""
    script = [1, 1 + leap, leap, 1 + leap, 2 + leap]
    passkey = ceremony.enrol(Authenticator("security-key", counter=Scripted(script)))
    ceremony.honest(passkey=passkey)
    for counter in script[2:4]:
        challenge = ceremony.challenge()
        ceremony.expect_refusal(
            ceremony.call(challenge, ceremony.evidence(challenge, passkey)),
            Reason.SIGNATURE_COUNTER_REGRESSION,
            sent=f"tools/call, signCount {counter}, after an approved call with {1 + leap}",
        )
    challenge = ceremony.challenge()
    ceremony.expect_run(
        ceremony.call(challenge, ceremony.evidence(challenge, passkey)),
        sent=f"tools/call, signCount {2 + leap}, after an approved call with {1 + leap}",
    )


@requirement("sep2672/4.8-14-counter-updated")
def test_the_first_counter_above_zero_is_kept(ceremony):
    """Enrolled at zero, then 9: what was kept is 9, not zero."""
    passkey = ceremony.enrol(Authenticator("security-key", counter=Scripted([0, 9, 9])))
    ceremony.honest(passkey=passkey)
    challenge = ceremony.challenge()
    ceremony.expect_refusal(
        ceremony.call(challenge, ceremony.evidence(challenge, passkey)),
        Reason.SIGNATURE_COUNTER_REGRESSION,
        sent="tools/call, signCount 9, after an approved call with 9 (enrolled with 0)",
    )


# Steps that a call with a whole assertion can fail at; steps 8 and 9 speak of other credentials.
AFTER_WHICH_IT_STAYS = [fault for fault in FAULTS if fault.step in (2, 3, 4, 5, 7, 10, 12)]


@requirement("sep2672/4.8-14-counter-updated")
@pytest.mark.parametrize("fault", AFTER_WHICH_IT_STAYS, ids=lambda fault: fault.id)
def test_a_refused_call_leaves_the_counter_alone(ceremony, fault):
    """A call that is refused shows a counter far ahead. Were it kept, the owner's next call would
    count as a regression: a forger could lock the owner out."""
    ceremony.honest()
    spoiled = draft(ceremony, fault)
    spoiled.device_faults.append(WrongCounter(1_000_000))
    outcome = spoiled.submit()
    if outcome.executed:
        raise NotVerified(f"a call with {fault.name} was not refused: {outcome.describe()}")
    challenge = ceremony.challenge()
    ceremony.expect_run(
        ceremony.call(challenge, ceremony.evidence(challenge)),
        sent=f"the honest call, after one with {fault.name} (step {fault.step}) and signCount "
        "1000000 was refused",
    )


@requirement("sep2672/4.8-14-counter-updated")
def test_a_regression_leaves_the_counter_alone(ceremony):
    """After a refused lower counter the stored one still counts, not the lower one."""
    script = [1, 50, 10, 11, 51]
    passkey = ceremony.enrol(Authenticator("security-key", counter=Scripted(script)))
    ceremony.honest(passkey=passkey)
    for counter in (10, 11):
        challenge = ceremony.challenge()
        ceremony.expect_refusal(
            ceremony.call(challenge, ceremony.evidence(challenge, passkey)),
            Reason.SIGNATURE_COUNTER_REGRESSION,
            sent=f"tools/call, signCount {counter}, after an approved call with 50",
        )
    challenge = ceremony.challenge()
    ceremony.expect_run(
        ceremony.call(challenge, ceremony.evidence(challenge, passkey)),
        sent="tools/call, signCount 51, after an approved call with 50 and two regressions",
    )


@requirement("sep2672/4.8-14-counter-updated")
def test_two_challenges_at_once_with_one_counter(ceremony):
    """Reading: steps 11 and 14 are not said to be one. Two calls, two challenges, the same counter,
    at the same moment: a server that runs both gets a warning."""
    ceremony.honest()
    challenges = [ceremony.challenge() for _ in range(RUNNERS)]
    calls = [
        ceremony.session.prepare(
            "tools/call",
            ceremony.approval.call_params(
                challenge, ceremony.evidence(challenge, faults=WrongCounter(5000))
            ),
        )
        for challenge in challenges
    ]
    replies, runs = ceremony.approval.runs_during(lambda: race(ceremony.session, calls))
    winners = sum(is_result(reply) for reply in replies)
    if not winners:
        raise Finding(
            sent=f"tools/call {RUNNERS} times at once, a challenge each, all with signCount 5000",
            expected="one result at least",
            got="; ".join(sorted({reply.describe() for reply in replies})),
        )
    if winners > 1 or (runs or 0) > 1:
        ceremony.warn(
            f"{RUNNERS} challenges answered at once with the same signCount: {winners} ran; "
            "a cloned key is noticed only if steps 11 and 14 are one"
        )
