"""SEP-2672 with two people at one server: what belongs to one of them is not the other's.

Enrolment is for a user (section 4.7); excludeCredentials and allowCredentials list the user's own
credentials (4.4.1, 4.4.3); and a call is approved by whoever makes it. The second user comes with
headers of their own (families/base/second_user.py).
"""

import pytest

from pytest_mcp_approval.catalogue import Grade, NotVerified, requirement
from pytest_mcp_approval.families.base.scenario import finding_of
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.driver import confirmed_enrolment
from pytest_mcp_approval.families.sep2672.faulty_calls import FAULTS, draft
from pytest_mcp_approval.families.sep2672.issuing import ask, safe_arguments
from pytest_mcp_approval.families.sep2672.registrations import answer, begin, enrolled_ids
from pytest_mcp_approval.families.sep2672.vocabulary import Reason

OF_SOME_STEPS = [fault for fault in FAULTS if fault.step in (4, 5, 7, 8, 10, 12)]
"""One from each part of the verification. Time is for everybody, so none has expired."""
LONG_ENOUGH = 8
"""Letters of an id or a name that do not stand in an answer by chance."""
ORDERS = ["of the first user", "of the second user"]


def _people(ceremony, order=ORDERS[0]):
    """Whose things are at stake, and the other one; both can approve."""
    people = [ceremony, ceremony.second_user()]
    for person in people:
        person.honest()
    return people if order == ORDERS[0] else people[::-1]


# ---- what is listed and offered


@requirement("sep2672/4.4.1-exclude-credentials")
@pytest.mark.parametrize("order", ORDERS)
def test_nobody_elses_credentials_are_excluded(ceremony, order):
    """excludeCredentials lists the user's own: somebody else's ids are none of their business."""
    owner, other = _people(ceremony, order)
    theirs = [owner.enrol(shape).id for shape in ("security-key", "icloud-keychain")]
    own = other.enrol()
    listed = enrolled_ids(other)
    ceremony.expect(
        own.id in listed and not set(theirs) & set(listed),
        sent=f"a begin after two enrolments {order}, by the other user, who has enrolled too",
        expected="excludeCredentials with the asking user's own and nobody else's",
        got=f"{len(set(theirs) & set(listed))} of the other's, "
        f"{'with' if own.id in listed else 'without'} the user's own",
    )


@requirement("sep2672/4.4.3-allow-credentials")
@pytest.mark.parametrize("order", ORDERS)
def test_nobody_elses_credentials_are_offered(ceremony, order):
    """Of every gated tool: allowCredentials holds the asking user's credentials only."""
    owner, other = _people(ceremony, order)
    theirs = [owner.enrol(shape).id for shape in ("security-key", "icloud-keychain")]
    own = other.enrol()
    with ceremony.several() as several:
        for tool in ceremony.gated_tools():
            with several.one(tool.name):
                offered = other.challenge(tool).offered
                ceremony.expect(
                    own.id in offered and not set(theirs) & set(offered),
                    sent=f"a challenge for {tool.name} after two enrolments {order}, by the other "
                    "user, who has enrolled too",
                    expected="allowCredentials with the asking user's own and nobody else's",
                    got=f"{len(set(theirs) & set(offered))} of the other's, "
                    f"{'with' if own.id in offered else 'without'} the user's own",
                )


@requirement("sep2672/4.4.3-no-eligible-credential")
def test_nobody_elses_credential_makes_a_user_eligible(ceremony):
    """Somebody has enrolled, the asking user has not."""
    ceremony.honest()
    other = ceremony.second_user()
    if enrolled_ids(other):
        raise NotVerified("needs a second user without credentials", minor=True)
    tool = ceremony.tool
    reply = other.approval.request_challenge(tool.name, safe_arguments(tool))
    ceremony.expect_error(
        reply,
        Reason.NO_ELIGIBLE_CREDENTIAL,
        sent=f"a challenge for {tool.name} by a user without credentials, while another has one",
    )
    other.honest()


# ---- enrolment


@requirement("sep2672/4.4.2-already-enrolled")
@pytest.mark.parametrize("order", ORDERS)
def test_a_credential_of_somebody_else_does_not_enrol(ceremony, order):
    """A credential id is enrolled once, whoever comes with it; and its owner goes on approving."""
    owner, other = _people(ceremony, order)
    passkey = owner.enrol()
    _, response = answer(other, credential_id=words.base64url_decode(passkey.id))
    sent = f"{words.ENROLL_FINISH} by one user, with a credential id {order}"
    ceremony.expect_error(
        other.approval.finish(response), Reason.CREDENTIAL_ALREADY_ENROLLED, sent=sent
    )
    challenge = owner.challenge()
    ceremony.expect_run(
        owner.call(challenge, owner.evidence(challenge, passkey)),
        sent=f"{sent}; then an honest call of its owner",
    )


@requirement("sep2672/4.4.2-challenge-must-match")
@pytest.mark.parametrize("order", ORDERS)
def test_nobody_enrols_into_another_account(ceremony, order):
    """A registration challenge that one user was given is answered by another.

    Reading: 4.4.2 speaks of the corresponding begin. What must not happen is that the credential
    becomes one of the user who began; that it becomes one of the user who finished is a warning."""
    owner, other = _people(ceremony, order)
    _, response = answer(owner)
    reply = other.approval.finish(response)
    sent = f"{words.ENROLL_FINISH} by one user over a registration challenge {order}"
    ceremony.expect(
        response["id"] not in enrolled_ids(owner),
        sent=f"{sent}; then a begin of the user who was given the challenge",
        expected="the credential is not among theirs",
        got=f"it is, after {reply.describe()}",
    )
    if confirmed_enrolment(reply):
        ceremony.warn(f"{sent}: {reply.describe()}; it belongs to another begin")
    else:
        ceremony.expect_error(
            reply, Reason.VERIFICATION_FAILED, Reason.NO_PENDING_ENROLLMENT, sent=sent
        )
    owner.enrol()
    other.enrol()


@requirement("sep2672/4.4.1-tracked", "sep2672/4.4.2-no-pending", needs=[])
def test_two_users_enrol_at_the_same_time(ceremony):
    """Begun by one, begun by the other, and then both finish, in either order."""
    first, second = _people(ceremony)
    for order in ((first, second), (second, first)):
        responses = [(person, answer(person)[1]) for person in (first, second)]
        responses.sort(key=lambda pair: order.index(pair[0]))
        for person, response in responses:
            reply = person.approval.finish(response)
            ceremony.expect(
                confirmed_enrolment(reply),
                sent=f"{words.ENROLL_FINISH} of the {'first' if person is first else 'second'} of "
                "two users who began at the same time",
                expected="success",
                got=reply.describe(),
            )


@requirement("sep2672/4.4.2-user-handle")
def test_two_users_have_two_handles(ceremony):
    """Reading: an authenticator takes a handle for an account (WebAuthn, section 5.4.3): with one
    for both, the passkey of one replaces that of the other. That is a warning."""
    first, second = _people(ceremony)
    handles = [(begin(person).get("user") or {}).get("id") for person in (first, second)]
    if handles[0] == handles[1]:
        ceremony.warn("options.user.id is one and the same for two users")


# ---- calls


@requirement("sep2672/4.8-08-credential-enrolled")
@pytest.mark.parametrize("order", ORDERS)
def test_nobody_approves_the_call_of_another(ceremony, order):
    """The challenge and the call are one user's, the passkey is the other's. If that ran, whoever
    has an account could approve everybody's calls.

    Reading: enrolled means enrolled by the user whose call it is (4.4.3, 4.7). Any refusal will do;
    another reason than unknown_credential is a warning."""
    owner, other = _people(ceremony, order)
    tolerated = dict.fromkeys(Reason, "refused; the credential is not one of this user's (reading)")
    with ceremony.several() as several:
        for tool in ceremony.gated_tools():
            with several.one(tool.name):
                challenge = owner.challenge(tool)
                evidence = other.evidence(challenge, other.passkey, ignoring=["allow-credentials"])
                ceremony.expect_refusal(
                    owner.call(challenge, evidence),
                    Reason.UNKNOWN_CREDENTIAL,
                    sent=f"tools/call {tool.name} {order}, approved by the other user's passkey",
                    tolerated=tolerated,
                )
                owner.still_serves(challenge)


@requirement("sep2672/4.8-08-credential-enrolled")
@pytest.mark.parametrize("order", ORDERS)
def test_evidence_does_not_serve_somebody_else(ceremony, order):
    """Genuine evidence, overheard by the other user, who makes the call in their own name.

    Reading: the credential is not the caller's, and the challenge was not given to them; any
    refusal will do, and the owner's own call still runs."""
    owner, other = _people(ceremony, order)
    challenge = owner.challenge()
    genuine = owner.evidence(challenge)
    outcome = other.call(challenge, genuine)
    sent = f"genuine evidence {order}, sent by the other user"
    if outcome.executed:
        raise finding_of(outcome, sent=sent, expected="a refusal, tool not run", grade=Grade.RAN)
    ceremony.expect_run(
        owner.call(challenge, genuine), sent=f"{sent}; then the same evidence by its owner"
    )


@requirement("sep2672/4.8-04-challenge-known")
def test_a_challenge_of_somebody_else_is_not_ones_own(ceremony):
    """Reading: that a challenge belongs to a user is not said. A user who approves their own call
    over somebody else's challenge uses up what is not theirs: a warning."""
    owner, other = _people(ceremony)
    challenge = owner.challenge()
    evidence = other.evidence(challenge, other.passkey, ignoring=["allow-credentials"])
    outcome = other.call(challenge, evidence)
    if outcome.executed:
        ceremony.warn(f"a call over the challenge of another user: {outcome.describe()}")
        return
    ceremony.expect_refusal(
        outcome,
        Reason.CHALLENGE_UNKNOWN,
        sent="tools/call by one user over a challenge that another was given",
        tolerated=dict.fromkeys(Reason, "refused; the challenge was not given to this user"),
    )
    owner.still_serves(challenge)


@requirement("sep2672/8.2.3-exactly-once", needs=[])
def test_a_used_challenge_is_used_for_everybody(ceremony):
    """What one user has used up serves nobody again, whoever signs."""
    owner, other = _people(ceremony)
    challenge = owner.challenge()
    genuine = owner.evidence(challenge)
    ceremony.need_served(owner.call(challenge, genuine))
    signed = other.evidence(challenge, other.passkey, ignoring=["allow-credentials"])
    for evidence, whose in ((genuine, "the same evidence"), (signed, "evidence of their own")):
        outcome = other.call(challenge, evidence)
        ceremony.expect(
            not outcome.executed,
            sent=f"a used challenge, sent by another user with {whose}",
            expected="a refusal, tool not run",
            got=outcome.describe(),
        )


@requirement("sep2672/4.8-13-consume-after-verify")
@pytest.mark.parametrize("fault", OF_SOME_STEPS, ids=lambda fault: fault.id)
def test_what_one_user_does_leaves_the_other_alone(ceremony, fault):
    """A pending challenge and a pending enrolment of one user, while a call of the other is
    refused: afterwards both are as they were."""
    owner, other = _people(ceremony)
    challenge = owner.challenge()
    _, response = answer(owner)
    spoiled = draft(other, fault)
    outcome = spoiled.submit()
    if outcome.executed:
        raise NotVerified(f"a call with {fault.name} was not refused: {outcome.describe()}")
    ceremony.expect_run(
        owner.call(challenge, owner.evidence(challenge)),
        sent=f"the honest call of one user, after one of another with {fault.name} was refused",
    )
    reply = owner.approval.finish(response)
    ceremony.expect(
        confirmed_enrolment(reply),
        sent=f"the enrolment of one user, after a call of another with {fault.name} was refused",
        expected="success",
        got=reply.describe(),
    )


@requirement("sep2672/4.10-message")
def test_a_refusal_says_nothing_about_somebody_else(ceremony):
    """What one user is told when they come with the other's challenge or credential: nothing that
    they did not bring along."""
    owner, other = _people(ceremony)
    hidden = [owner.enrol("icloud-keychain").id, owner.challenge().id]
    options = begin(owner)
    user, own = options.get("user") or {}, begin(other).get("user") or {}
    hidden.append(str(options.get("challenge")))
    hidden += [
        str(user[name])
        for name in ("id", "name", "displayName")
        if str(user.get(name, "")) not in str(own.get(name))
    ]
    challenge = owner.challenge()
    evidence = owner.evidence(challenge)
    _, again = answer(other, credential_id=words.base64url_decode(owner.passkey.id))
    replies = {
        "tools/call with the other user's evidence": other.call(challenge, evidence).reply,
        f"{words.ENROLL_FINISH} of the other user's credential": other.approval.finish(again),
        f"{words.CHALLENGE_CREATE}": ask(ceremony, other.tool, {}, approval=other.approval)[1],
    }
    for sent, reply in replies.items():
        said = reply.raw.decode("utf-8", "replace")
        told = [one for one in hidden if len(one) >= LONG_ENOUGH and one in said]
        ceremony.expect(
            not told,
            sent=sent,
            expected="an answer without the other user's name, ids or challenges",
            got=f"{len(told)} of them in {reply.describe()}",
        )
