"""What one user can make the gate remember is bounded, and honest approvals go on."""

import datetime

import pytest

from pytest_mcp_approval.reference_server import InvalidParamsError
from pytest_mcp_approval.reference_server.sep2672.limits import SWEEP_EVERY, ApprovalLimits
from pytest_mcp_approval.reference_server.server import memory, tables
from tests.reference_server.ceremony import ALICE, ARGUMENTS, Ceremony
from virtual_authenticator import Authenticator

FEW = ApprovalLimits(challenges=5, registrations=4, credentials=3, argument_bytes=200)


@pytest.fixture
def limited(store):
    return Ceremony(store, limits=FEW)


def test_a_users_challenges_are_bounded_and_the_newest_work(limited):
    passkey = limited.enrol()
    early = limited.evidence(passkey, limited.challenge())
    limited.call(early)
    bob = limited.enrol(user="bob")
    his = limited.evidence(bob, limited.challenge(user="bob"))
    for _ in range(3 * SWEEP_EVERY):
        limited.clock.advance(0.001)
        latest = limited.challenge()
    kept = limited.store._challenges.find({"user": ALICE})
    assert len(kept) <= FEW.challenges + SWEEP_EVERY
    assert limited.call(limited.evidence(passkey, latest))
    assert limited.refused(early) == "challenge_unknown", "forgotten, and still of no use"
    assert limited.call(his, user="bob"), "another's is not touched"


def test_a_users_registrations_are_bounded_and_the_newest_work(limited):
    for _ in range(3 * SWEEP_EVERY):
        limited.clock.advance(0.001)
        limited.gate.begin_enrolment(ALICE)
    assert len(limited.store.enrolments(ALICE)) <= FEW.registrations + SWEEP_EVERY
    limited.enrol()
    assert len(limited.store.credentials(ALICE)) == 1


def test_a_users_credentials_are_bounded(limited):
    for _ in range(FEW.credentials):
        limited.enrol(Authenticator())
    with pytest.raises(InvalidParamsError, match="as many as a user may have, 3"):
        limited.enrol(Authenticator())
    limited.enrol(user="bob")


def test_arguments_that_nobody_could_read_get_no_challenge(limited):
    limited.enrol()
    long = {**ARGUMENTS, "memo": "x" * 200}
    with pytest.raises(InvalidParamsError, match="expected 200 at most"):
        limited.challenge(arguments=long)
    assert limited.challenge(arguments=ARGUMENTS)


def test_a_long_sentence_is_cut_and_the_call_is_not():
    ceremony = Ceremony(limits=ApprovalLimits(sentence_characters=10))
    ceremony.enrol()
    arguments = {**ARGUMENTS, "symbol": "y" * 500}
    shown = ceremony.challenge(arguments=arguments)["displayText"]
    assert shown.startswith("Trade yyyy (and so on). Exactly: trade {")
    assert "y" * 500 in shown


def test_what_is_kept_of_an_expired_challenge_is_forgotten_in_time(store):
    ceremony = Ceremony(store, limits=ApprovalLimits(retention=datetime.timedelta(hours=1)))
    ceremony.enrol()
    ceremony.challenge()
    ceremony.clock.advance(datetime.timedelta(hours=1, minutes=2))
    ceremony.challenge()
    assert len(store._challenges.find()) == 1


def test_a_challenge_costs_the_same_however_many_there_are(monkeypatch):
    ceremony = Ceremony()
    ceremony.enrol()
    ceremony.challenge()
    (template,) = ceremony.store._challenges.find()
    for number in range(5000):
        other = type(template)(
            **{**vars(template), "challenge_id": str(number), "user": f"user {number}"}
        )
        ceremony.store.add_challenge(other)
    looked_at = []
    holds = tables.holds
    monkeypatch.setattr(
        memory, "holds", lambda where, one: looked_at.append(one) or holds(where, one)
    )
    for _ in range(SWEEP_EVERY):
        ceremony.challenge()
    assert len(looked_at) < 5 * SWEEP_EVERY
