"""SEP-2672 sections 4.4 and 4.8: how long a challenge is good, whatever happens meanwhile.

Looks, refusals and siblings neither lengthen nor shorten its life; a used one stays used through
other traffic; and neither fractions of seconds nor the calendar change when it ends.
"""

import datetime

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.base.instants import (
    CLOCK_CHANGES,
    MIDSUMMER,
    MIDWINTER,
    TURNING_POINTS,
    next_instant,
)
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.driver import confirmed_enrolment, parse_instant
from pytest_mcp_approval.families.sep2672.faulty_calls import expiry_of, never_enrolled
from pytest_mcp_approval.families.sep2672.registrations import answer, begin, enrolled_ids
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from virtual_authenticator.faults import FlipFlag, SignatureBit

A_FEW_SECONDS = 5
AN_HOUR = 3600
FORGOTTEN = {Reason.CHALLENGE_UNKNOWN: "forgotten inside its lifetime (reading 4)"}
SHAPE = "icloud-keychain"
"""A synced passkey shows no counter, so that nothing but the challenge decides."""


def _forged(ceremony, challenge, passkey):
    ceremony.call(challenge, ceremony.evidence(challenge, passkey, faults=SignatureBit()))


def _by_a_stranger(ceremony, challenge, passkey):  # noqa: ARG001
    stranger = never_enrolled(ceremony)
    ceremony.call(challenge, ceremony.evidence(challenge, stranger, ignoring=["allow-credentials"]))


def _with_other_arguments(ceremony, challenge, passkey):
    other = challenge.with_arguments({**(challenge.arguments or {}), "added": 1})
    ceremony.call(other, ceremony.evidence(challenge, passkey))


def _without_evidence(ceremony, challenge, passkey):  # noqa: ARG001
    ceremony.call(challenge)


def _another_challenge(ceremony, challenge, passkey):  # noqa: ARG001
    ceremony.challenge()


def _another_approval(ceremony, challenge, passkey):  # noqa: ARG001
    ceremony.honest(passkey=passkey)


def _an_enrolment(ceremony, challenge, passkey):  # noqa: ARG001
    ceremony.enrol()


def _a_listing(ceremony, challenge, passkey):  # noqa: ARG001
    ceremony.session.list_tools()


MEANWHILE = {
    "attempts with a broken signature": _forged,
    "attempts by a stranger's passkey": _by_a_stranger,
    "attempts with other arguments": _with_other_arguments,
    "calls without evidence": _without_evidence,
    "further challenges for the same call": _another_challenge,
    "further approvals of the same call": _another_approval,
    "further enrolments": _an_enrolment,
    "listings of the tools": _a_listing,
}


def _throughout(ceremony, challenge, passkey, act):
    """Do it three times within the life of the challenge, the last time at its end."""
    start, expiry = ceremony.clock.now(), expiry_of(challenge)
    for part in (0.4, 0.8):
        act(ceremony, challenge, passkey)
        ceremony.clock.move_to(start + part * (expiry - start), before=expiry)
    act(ceremony, challenge, passkey)
    ceremony.clock.move_to(expiry - datetime.timedelta(seconds=1), before=expiry)
    act(ceremony, challenge, passkey)


@requirement("sep2672/4.8-06-challenge-unexpired")
@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_nothing_makes_a_challenge_live_longer(ceremony, meanwhile):
    """At expiresAt it is over, however often it was looked at; and until then it is good."""
    passkey = ceremony.enrol(SHAPE)
    ceremony.honest(passkey=passkey)
    expires, serves = ceremony.challenge(), ceremony.challenge()
    _throughout(ceremony, expires, passkey, MEANWHILE[meanwhile])
    ceremony.expect_run(
        ceremony.call(serves, ceremony.evidence(serves, passkey)),
        sent=f"tools/call, honest, 1 s before expiresAt, after {meanwhile}",
    )
    ceremony.clock.move_to(expiry_of(expires))
    ceremony.expect_refusal(
        ceremony.call(expires, ceremony.evidence(expires, passkey)),
        Reason.CHALLENGE_EXPIRED,
        sent=f"tools/call, honest but at expiresAt, after {meanwhile}",
    )
    ceremony.clock.advance(30)
    outcome = ceremony.call(expires, ceremony.evidence(expires, passkey))
    ceremony.expect_not_run(
        outcome, sent=f"tools/call, honest but 30 s after expiresAt, after {meanwhile}"
    )
    ceremony.honest(passkey=passkey)


@requirement("sep2672/4.8-05-challenge-unconsumed", needs=["clock"])
@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_nothing_makes_a_used_challenge_good_again(ceremony, meanwhile):
    """Used, then much else happens: at no time does it serve once more. By its reason it is used as
    long as it would have been good; later a server may have forgotten it."""
    passkey = ceremony.enrol(SHAPE)
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge, passkey)
    ceremony.need_served(ceremony.call(challenge, evidence))
    _throughout(ceremony, challenge, passkey, MEANWHILE[meanwhile])
    ceremony.expect_refusal(
        ceremony.call(challenge, evidence),
        Reason.CHALLENGE_CONSUMED,
        sent=f"tools/call, the same evidence again, 1 s before expiresAt, after {meanwhile}",
        tolerated=FORGOTTEN,
    )
    for seconds in (0, 1, AN_HOUR, 30 * 24 * AN_HOUR):
        ceremony.clock.move_to(expiry_of(challenge) + datetime.timedelta(seconds=seconds))
        outcome = ceremony.call(challenge, ceremony.evidence(challenge, passkey))
        sent = f"tools/call on a used challenge, {seconds} s after expiresAt and {meanwhile}"
        if seconds < AN_HOUR:
            ceremony.expect_refusal(
                outcome, Reason.CHALLENGE_CONSUMED, Reason.CHALLENGE_UNKNOWN, sent=sent
            )
        else:  # by then an access token, say, may be over too
            ceremony.expect_not_run(outcome, sent=sent)


MANY, APPROVALS = 150, 20


def _is_about_over(ceremony, challenge):
    """By what the suite knows of the target's clock, which may be a little behind."""
    left = expiry_of(challenge) - ceremony.target.clock.now()
    return left.total_seconds() < A_FEW_SECONDS


@requirement("sep2672/4.8-04-challenge-known", "sep2672/8.2.3-exactly-once", needs=[])
def test_a_challenge_outlives_many_others(ceremony):
    """Many more challenges are given out, for the same call and others, and some of them are used:
    the first still serves, and what was used before them stays used.

    Reading: how many may be pending is not said. A server that makes room by dropping the oldest
    breaks its promise of expiresAt, but protects itself: a warning."""
    passkey = ceremony.enrol(SHAPE)
    ceremony.honest(passkey=passkey)
    first, used = ceremony.challenge(), ceremony.challenge()
    evidence = ceremony.evidence(used, passkey)
    ceremony.need_served(ceremony.call(used, evidence))
    tools = ceremony.gated_tools()
    others = [ceremony.challenge(tools[number % len(tools)]) for number in range(MANY)]
    for _ in range(APPROVALS):
        ceremony.honest(passkey=passkey)
    for challenge, name in ((first, "first"), (others[0], "second"), (others[-1], "last")):
        sent = f"tools/call over the {name} of {MANY + 1} pending challenges"
        outcome = ceremony.call(challenge, ceremony.evidence(challenge, passkey))
        if challenge is not others[-1] and outcome.refused_because(Reason.CHALLENGE_UNKNOWN):
            ceremony.warn(f"{sent}: {outcome.describe()}")
        elif outcome.refused_because(Reason.CHALLENGE_EXPIRED) and _is_about_over(
            ceremony, challenge
        ):
            raise NotVerified(f"{sent}: the target is too slow for its own TTL", minor=True)
        else:
            ceremony.expect_run(outcome, sent=sent)
    ceremony.expect_refusal(
        ceremony.call(used, evidence),
        Reason.CHALLENGE_CONSUMED,
        sent=f"tools/call, the same evidence again, after {MANY} further challenges and "
        f"{APPROVALS} approvals",
        tolerated=FORGOTTEN,
    )


# ---- fractions of a second

FRACTIONS = {"0": 0, "1 ms": 1, "half a second": 500, "499 ms": 499, "999 ms": 999}


@requirement("sep2672/4.8-06-challenge-unexpired")
@pytest.mark.parametrize("fraction", FRACTIONS)
def test_an_instant_is_not_rounded(ceremony, fraction):
    """Issued at some fraction of a second: good a millisecond before expiresAt, if that has
    fractions at all, and a second before it otherwise; over at the very instant."""
    if not ceremony.clock.stops:
        raise NotVerified("needs a clock that stands still", minor=True)
    passkey = ceremony.enrol(SHAPE)
    ceremony.honest(passkey=passkey)
    now = ceremony.clock.now().replace(microsecond=0) + datetime.timedelta(seconds=2)
    ceremony.clock.move_to(now + datetime.timedelta(milliseconds=FRACTIONS[fraction]))
    good, late = ceremony.challenge(), ceremony.challenge()
    expiry = expiry_of(good)
    exact = "." in str(good.envelope.get("expiresAt"))
    early = datetime.timedelta(milliseconds=1 if exact else 1000)
    ceremony.clock.move_to(expiry - early)
    ceremony.expect_run(
        ceremony.call(good, ceremony.evidence(good, passkey)),
        sent=f"tools/call, issued at a fraction of {fraction}, {early.total_seconds()} s before "
        f"expiresAt {good.envelope.get('expiresAt')}",
    )
    ceremony.clock.move_to(expiry_of(late))
    ceremony.expect_refusal(
        ceremony.call(late, ceremony.evidence(late, passkey)),
        Reason.CHALLENGE_EXPIRED,
        sent=f"tools/call, issued at a fraction of {fraction}, at expiresAt "
        f"{late.envelope.get('expiresAt')}",
    )


# ---- the calendar

SHORTLY = datetime.timedelta(seconds=30)


def _put_before(ceremony, when):
    """Put the clock shortly before the next instant of that kind, and tell to what."""
    instant = next_instant(when, ceremony.clock.now())
    if instant is None:
        raise NotApplicable(f"{when} is over")
    ceremony.clock.move_to(instant - SHORTLY)
    return instant - SHORTLY


@requirement("sep2672/4.8-06-challenge-unexpired")
@pytest.mark.parametrize("when", [*CLOCK_CHANGES, *TURNING_POINTS, MIDSUMMER, MIDWINTER])
def test_the_calendar_does_not_change_a_lifetime(ceremony, when):
    """Half a minute before clocks are changed, or a day, a year or a number of bits ends: a new
    challenge is good until a second before its expiresAt, which is not over yet nor an hour away,
    and over at it."""
    passkey = ceremony.enrol(SHAPE)
    ceremony.honest(passkey=passkey)
    _put_before(ceremony, when)
    now = ceremony.clock.now()
    sent = f"a challenge shortly before {when} ({now:%Y-%m-%dT%H:%M:%S}Z)"
    try:
        at_once, good, late = (ceremony.challenge() for _ in range(3))
    except NotVerified as error:  # far from now a session, say, may be over
        raise NotVerified(f"{sent}: {error.msg}", minor=True) from None
    outcome = ceremony.call(at_once, ceremony.evidence(at_once, passkey))
    if not outcome.executed and outcome.reason is None:
        raise NotVerified(f"{sent}: {outcome.describe()}", minor=True)
    ceremony.expect_run(outcome, sent=f"{sent}; the call at once")
    expiry = expiry_of(good)
    ahead = (expiry - now).total_seconds()
    ceremony.expect(
        ahead > 0,
        sent=sent,
        expected="expiresAt in the future",
        got=f"expiresAt {good.envelope.get('expiresAt')}, {ahead:.0f} s ahead",
    )
    ceremony.clock.move_to(expiry - datetime.timedelta(seconds=1), before=expiry)
    ceremony.expect_run(
        ceremony.call(good, ceremony.evidence(good, passkey)),
        sent=f"{sent}; the call 1 s before its expiresAt",
    )
    ceremony.clock.move_to(expiry_of(late))
    ceremony.expect_refusal(
        ceremony.call(late, ceremony.evidence(late, passkey)),
        Reason.CHALLENGE_EXPIRED,
        sent=f"{sent}; the call at its expiresAt",
    )


@requirement("sep2672/4.4.2-confirmation-shape", needs=["clock"])
@pytest.mark.parametrize("when", [MIDSUMMER, MIDWINTER])
def test_created_at_is_the_instant_of_the_enrolment(ceremony, when):
    """Whatever zone the server lives in: createdAt is when the credential was enrolled."""
    if not ceremony.clock.stops:
        raise NotVerified("needs a clock that stands still", minor=True)
    now = _put_before(ceremony, when)
    _, response = answer(ceremony)
    reply = ceremony.approval.finish(response)
    if not confirmed_enrolment(reply):
        raise NotVerified(f"an honest enrolment was refused: {reply.describe()}", minor=True)
    written = reply.result.get("createdAt")
    try:
        apart = (parse_instant(written) - now).total_seconds()
    except ValueError as error:
        raise NotVerified(f"createdAt cannot be read: {error}", minor=True) from None
    ceremony.expect(
        abs(apart) <= A_FEW_SECONDS,
        sent=f"{words.ENROLL_FINISH} at {now:%Y-%m-%dT%H:%M:%S}Z",
        expected="createdAt is that instant",
        got=f"createdAt {written}, {apart:.0f} s apart",
    )


# ---- registration challenges


def _refused_finish(ceremony):
    ceremony.approval.finish(answer(ceremony, faults=FlipFlag("UV"))[1])


DURING_AN_ENROLMENT = {
    "further begins": begin,
    "refused finishes": _refused_finish,
    "other enrolments": lambda ceremony: ceremony.enrol(),
    "approvals": lambda ceremony: ceremony.honest(),
}
LIFE = 300
"""Seconds that a registration challenge lives if nothing else is stated (section 4.4.1)."""


@requirement("sep2672/4.4.1-ttl")
@pytest.mark.parametrize("meanwhile", DURING_AN_ENROLMENT)
def test_nothing_makes_a_registration_challenge_live_longer(ceremony, meanwhile):
    """A begin, much else throughout the next five minutes, and then its finish: as late as it is
    for one that was left alone."""
    ceremony.enrol()
    _, left_alone = answer(ceremony)
    ceremony.clock.advance(LIFE + 1)
    if confirmed_enrolment(ceremony.approval.finish(left_alone)):
        raise NotVerified(f"registration challenges live longer than {LIFE} s here", minor=True)
    _, response = answer(ceremony)
    start = ceremony.clock.now()
    for seconds in (100, 200, LIFE - 1):
        DURING_AN_ENROLMENT[meanwhile](ceremony)
        ceremony.clock.move_to(start + datetime.timedelta(seconds=seconds))
    DURING_AN_ENROLMENT[meanwhile](ceremony)
    ceremony.clock.move_to(start + datetime.timedelta(seconds=LIFE + 1))
    reply = ceremony.approval.finish(response)
    ceremony.expect(
        not confirmed_enrolment(reply) and response["id"] not in enrolled_ids(ceremony),
        sent=f"{words.ENROLL_FINISH}, {LIFE + 1} s after its begin, after {meanwhile}",
        expected="-32001 no_pending_enrollment",
        got=reply.describe(),
    )
    ceremony.enrol()


@requirement("sep2672/4.4.1-tracked")
def test_an_enrolment_survives_other_traffic(ceremony):
    """Between its begin and its finish: challenges, an approved call and refused ones.

    Reading: a second begin of the same user may take the place of the first: a warning."""
    ceremony.honest()
    _, response = answer(ceremony)
    ceremony.honest()
    challenge = ceremony.challenge()
    _forged(ceremony, challenge, ceremony.passkey)
    _by_a_stranger(ceremony, challenge, ceremony.passkey)
    _, second = answer(ceremony, options=begin(ceremony))
    reply = ceremony.approval.finish(second)
    ceremony.expect(
        confirmed_enrolment(reply),
        sent=f"{words.ENROLL_FINISH} of the latest begin, after approved and refused calls",
        expected="success",
        got=reply.describe(),
    )
    reply = ceremony.approval.finish(response)
    if not confirmed_enrolment(reply):
        ceremony.warn(f"two enrolments of one user, begun together: {reply.describe()}")
