"""SEP-2672 section 4.4.2: approval/enroll/finish, what is confirmed, kept and used up.

How a registration is verified is in test_4_4_2_registration.py; what becomes of shapes that are no
registration at all, in test_4_4_2_malformed.py.
"""

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.driver import (
    Passkey,
    confirmed_enrolment,
    parse_instant,
)
from pytest_mcp_approval.families.sep2672.outcome import reason_in
from pytest_mcp_approval.families.sep2672.registrations import (
    answer,
    begin,
    enrolled_ids,
    expect_not_enrolled,
    expect_registration_refused,
    expect_still_enrols,
)
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.wire import race
from virtual_authenticator import Authenticator
from virtual_authenticator.counters import PerCredential
from virtual_authenticator.faults import (
    FlipFlag,
    WrongCounter,
    WrongOrigin,
    WrongRpIdHash,
)

# ---- the confirmation


@requirement("sep2672/4.4.2-confirmation-shape")
@pytest.mark.parametrize("shape", ["security-key", "icloud-keychain", "touch-id", "windows-hello"])
def test_the_confirmation_names_the_new_credential(ceremony, shape):
    """success is true, credentialId the id that was sent, createdAt an instant in ISO 8601."""
    _, response = answer(ceremony, shape)
    reply = ceremony.approval.finish(response)
    if reply.error is not None or not reply.answered:
        raise NotVerified(f"an honest enrolment was refused: {reply.describe()}")
    told = reply.result if isinstance(reply.result, dict) else {}
    sent = f"{words.ENROLL_FINISH}, an honest registration"
    ceremony.expect(
        told.get("success") is True, sent=sent, expected="success: true", got=reply.describe()
    )
    ceremony.expect(
        told.get("credentialId") == response["id"],
        sent=sent,
        expected=f"credentialId {response['id']}",
        got=f"credentialId {told.get('credentialId')!r}",
    )
    try:
        parse_instant(told.get("createdAt"))
    except ValueError as error:
        naive = "time zone" in str(error)
        ceremony.expect(
            naive,
            sent=sent,
            expected="createdAt, an instant in ISO 8601",
            got=f"createdAt {told.get('createdAt')!r}",
        )
        # Reading: ISO 8601 knows local times too; but nobody can tell which instant is meant.
        ceremony.warn(f"createdAt {told.get('createdAt')!r} names no time zone")


@requirement("sep2672/4.4.2-confirmation-shape")
def test_created_at_is_the_time_of_the_enrolment(ceremony):
    """createdAt follows the server's clock: an hour later it says an hour later."""
    if not ceremony.target.clock.movable:
        raise NotApplicable(f"the clock cannot be moved: {ceremony.target.clock.why_not}")
    instants = []
    for _ in range(2):
        _, response = answer(ceremony)
        reply = ceremony.approval.finish(response)
        if not confirmed_enrolment(reply):
            raise NotVerified(f"an honest enrolment was refused: {reply.describe()}")
        try:
            instants.append(parse_instant(reply.result.get("createdAt")))
        except ValueError as error:
            raise NotVerified(str(error)) from None
        ceremony.clock.advance(3600)
    apart = (instants[1] - instants[0]).total_seconds()
    ceremony.expect(
        3540 <= apart <= 3660,
        sent="two enrolments, an hour apart",
        expected="createdAt about 3600 s apart",
        got=f"{apart:.0f} s apart",
    )


# ---- what is kept


def counter_of(passkey):
    """The counter that the passkey showed last."""
    return passkey.authenticator.credential(words.base64url_decode(passkey.id)).sign_count


def offering(ceremony, tool, sent):
    """A challenge that should offer what was just enrolled: here a refusal is the finding."""
    reply = ceremony.approval.request_challenge(tool.name, tool.arguments)
    ceremony.expect(
        reason_in(reply) != Reason.NO_ELIGIBLE_CREDENTIAL,
        sent=sent,
        expected="a challenge that offers the credential",
        got=reply.describe(),
    )
    return ceremony.challenge(tool)


@requirement("sep2672/4.4.2-persisted")
@pytest.mark.parametrize(
    "shape", ["security-key", "security-key-nfc", "icloud-keychain", "google-password-manager"]
)
def test_what_was_enrolled_is_offered(ceremony, shape):
    """The id and the transports of the registration come back in the next challenge."""
    passkey = ceremony.enrol(shape)
    transports = passkey.registration["response"]["transports"]
    for tool in ceremony.gated_tools():
        sent = f"a credential enrolled with transports {transports}, then a challenge for it"
        offered = offering(ceremony, tool, sent).offered
        ceremony.expect(
            passkey.id in offered,
            sent=sent,
            expected="its id in allowCredentials",
            got=f"{len(offered)} others",
        )
        told = offered[passkey.id]
        if told is None:
            ceremony.warn("allowCredentials has no transports: whether they are kept is not seen")
            continue
        ceremony.expect(
            isinstance(told, list) and set(told) == set(transports),
            sent=sent,
            expected=f"its transports in allowCredentials: {transports}",
            got=f"transports {told!r}",
        )


ALGORITHMS = {"ES256": -7, "EdDSA": -8, "RS256": -257, "ES384": -35}


@requirement("sep2672/4.4.2-persisted")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_each_key_approves_by_itself(ceremony, algorithm):
    """An assertion is checked against the key of its own credential, of any kind on offer."""
    offered = begin(ceremony).get("pubKeyCredParams")
    if not any(one.get("alg") == ALGORITHMS[algorithm] for one in offered or ()):
        raise NotApplicable(f"the server does not offer {algorithm}")
    ceremony.honest()
    sent = f"an honest registration with {algorithm}, which pubKeyCredParams offers"
    with ceremony.promised(sent=sent, expected="it is confirmed"):
        second = ceremony.enrol("security-key", algorithms=[algorithm])
    for passkey, which in ((second, "second"), (ceremony.passkey, "first")):
        challenge = ceremony.challenge()
        ceremony.expect_run(
            ceremony.call(challenge, ceremony.evidence(challenge, passkey)),
            sent=f"an honest call by the {which} of two credentials ({algorithm} is the second)",
        )


RARE_KEYS = {
    "ES256, x begins with zeros": ec.derive_private_key(379, ec.SECP256R1()),
    "ES256, y begins with zeros": ec.derive_private_key(43, ec.SECP256R1()),
    "ES384, x begins with zeros": ec.derive_private_key(197, ec.SECP384R1()),
    "ES384, y begins with zeros": ec.derive_private_key(176, ec.SECP384R1()),
    "EdDSA, x is even": ed25519.Ed25519PrivateKey.from_private_bytes(bytes([13]) * 32),
    "EdDSA, x is odd": ed25519.Ed25519PrivateKey.from_private_bytes(bytes([24]) * 32),
}
"""By their algorithm: the halves of a point that is written with zeros in front, and both of the
points that share a y. One in 256 keys has a coordinate that a number does not keep whole."""


@requirement("sep2672/4.4.2-persisted")
def test_a_rare_key_approves_like_any_other(ceremony):
    """A key is bytes of a fixed length: no zero in front is lost, and no sign."""
    offered = {one.get("alg") for one in begin(ceremony).get("pubKeyCredParams") or ()}
    keys = {
        which: key for which, key in RARE_KEYS.items() if ALGORITHMS[which.split(",")[0]] in offered
    }
    if not keys:
        raise NotApplicable("the server offers none of the algorithms of these keys")
    ceremony.honest()
    with ceremony.several() as several:
        for which, key in keys.items():
            with several.one(which), ceremony.honest_step():
                device = Authenticator("security-key", algorithms=[which.split(",")[0]])
                _, page, response = ceremony.approval.register(device, private_key=key)
                reply = ceremony.approval.finish(response)
                sent = f"an honest registration with a key for {which}"
                ceremony.expect(
                    confirmed_enrolment(reply),
                    sent=sent,
                    expected="it is confirmed",
                    got=reply.describe(),
                )
                challenge = ceremony.challenge()
                passkey = Passkey(device, page, response)
                ceremony.expect_run(
                    ceremony.call(challenge, ceremony.evidence(challenge, passkey)),
                    sent=f"{sent}; then an honest call by it",
                )


@requirement("sep2672/4.4.2-persisted")
@pytest.mark.parametrize("counter", [1, 41])
def test_the_counter_of_the_registration_is_kept(ceremony, counter):
    """Enrolled at 41, or at the least that counts: an assertion that shows the same once more has
    not counted on."""
    ceremony.honest()
    passkey = ceremony.enrol("security-key", counter=PerCredential(start=counter))
    challenge = ceremony.challenge()
    ceremony.expect_refusal(
        ceremony.call(
            challenge, ceremony.evidence(challenge, passkey, faults=WrongCounter(value=counter))
        ),
        Reason.SIGNATURE_COUNTER_REGRESSION,
        sent=f"tools/call, signCount {counter} by a credential that was enrolled with signCount "
        f"{counter}",
    )
    ceremony.still_serves(challenge, passkey)


@requirement("sep2672/4.4.2-persisted")
def test_an_enrolment_outlives_a_restart(ceremony):
    """Where the target keeps state: credentials, keys, transports and counters are the same."""
    if not ceremony.target.can_restart:
        raise NotApplicable("the suite cannot restart this target")
    passkey = ceremony.enrol("security-key-nfc", counter=PerCredential(start=41))
    transports = passkey.registration["response"]["transports"]
    ceremony.honest(passkey=passkey)
    asserted = counter_of(passkey)
    ceremony.target.restart()
    ceremony.approval.forget()
    if passkey.id not in enrolled_ids(ceremony):
        raise NotApplicable("the target keeps no credentials over a restart")
    sent = "a credential that was enrolled before a restart"
    challenge = offering(ceremony, ceremony.tool, sent)
    told = challenge.offered.get(passkey.id)
    ceremony.expect(
        passkey.id in challenge.offered and (told is None or set(told) == set(transports)),
        sent=f"{sent}, then a challenge",
        expected=f"it is offered, with transports {transports}",
        got=f"transports {told!r}" if passkey.id in challenge.offered else "it is not offered",
    )
    ceremony.expect_refusal(
        ceremony.call(
            challenge, ceremony.evidence(challenge, passkey, faults=WrongCounter(asserted))
        ),
        Reason.SIGNATURE_COUNTER_REGRESSION,
        sent=f"tools/call by {sent}, signCount {asserted} as before it",
    )
    ceremony.still_serves(challenge, passkey)


# ---- the user handle

HANDLES = ["as it was enrolled", "left out"]


def with_handle(ceremony, challenge, passkey, handle):
    """Evidence with the userHandle that the device gives, or without one: it is not signed."""
    evidence = ceremony.evidence(challenge, passkey)
    if handle == "left out":
        inner = dict(evidence["response"]["response"])
        inner.pop("userHandle", None)
        evidence["response"] = {**evidence["response"], "response": inner}
    return evidence


@requirement("sep2672/4.4.2-user-handle")
@pytest.mark.parametrize("handle", HANDLES)
def test_a_credential_serves_with_the_handle_of_its_enrolment(ceremony, handle):
    """Two discoverable credentials, each with its user handle; more enrolments were begun since."""
    passkeys = {}
    for which, shape in {"first": "icloud-keychain", "second": "google-password-manager"}.items():
        passkeys[which] = ceremony.enrol(shape)
        begin(ceremony)
    for which, passkey in passkeys.items():
        challenge = ceremony.challenge()
        ceremony.expect_run(
            ceremony.call(challenge, with_handle(ceremony, challenge, passkey, handle)),
            sent=f"an honest call by the {which} of two credentials, userHandle {handle}",
        )


@requirement("sep2672/4.4.2-user-handle")
def test_the_handle_outlives_a_restart(ceremony):
    """Where the target keeps state: the handle is kept with the credential."""
    if not ceremony.target.can_restart:
        raise NotApplicable("the suite cannot restart this target")
    passkey = ceremony.enrol("icloud-keychain")
    ceremony.honest(passkey=passkey)
    ceremony.target.restart()
    ceremony.approval.forget()
    if passkey.id not in enrolled_ids(ceremony):
        raise NotApplicable("the target keeps no credentials over a restart")
    challenge = offering(ceremony, ceremony.tool, "a credential that was enrolled before a restart")
    ceremony.expect_run(
        ceremony.call(challenge, ceremony.evidence(challenge, passkey)),
        sent="an honest call after a restart, userHandle as it was enrolled",
    )


@requirement("sep2672/4.4.2-user-handle")
def test_a_user_has_one_handle(ceremony):
    """Reading: WebAuthn takes a handle for an account. Another one at each begin is a warning."""
    handles = set()
    for _ in range(2):
        user = begin(ceremony).get("user")
        handles.add(str(user.get("id")) if isinstance(user, dict) else "")
        ceremony.enrol("icloud-keychain")
    if len(handles) > 1:
        ceremony.warn("options.user.id is another one at each begin of one user")


# ---- the same credential again


def duplicate_of(ceremony, passkey, key, **create):
    """A new registration of a credential id that is enrolled, by an authenticator of its own."""
    device = Authenticator("security-key", counter=PerCredential(start=1))
    credential_id = words.base64url_decode(passkey.id)
    if key == "same-key":
        create["private_key"] = passkey.authenticator.credential(credential_id).key
    return answer(ceremony, device, credential_id=credential_id, **create)[1]


@requirement("sep2672/4.4.2-already-enrolled")
@pytest.mark.parametrize("key", ["same-key", "another-key"])
def test_an_enrolled_credential_does_not_enrol_again(ceremony, key):
    """A valid registration of an id that is taken is refused, and the first one is unharmed."""
    passkey = ceremony.enrol("security-key", counter=PerCredential(start=41))
    ceremony.honest(passkey=passkey)
    response = duplicate_of(ceremony, passkey, key)
    sent = f"{words.ENROLL_FINISH}, an enrolled credential id again, {key}, under a new challenge"
    ceremony.expect_error(
        ceremony.approval.finish(response), Reason.CREDENTIAL_ALREADY_ENROLLED, sent=sent
    )
    count = enrolled_ids(ceremony).count(passkey.id)
    ceremony.expect(
        count == 1,
        sent=f"{sent}; then a begin",
        expected="its id listed once",
        got=f"{count} times",
    )


@requirement("sep2672/4.4.2-already-enrolled")
def test_the_first_key_is_unharmed(ceremony):
    """Whatever the server said to a duplicate with another key: the first key goes on approving."""
    passkey = ceremony.enrol()
    ceremony.honest(passkey=passkey)
    ceremony.approval.finish(duplicate_of(ceremony, passkey, "another-key"))
    challenge = ceremony.challenge()
    ceremony.expect_run(
        ceremony.call(challenge, ceremony.evidence(challenge, passkey)),
        sent="an honest call by the first holder, after a second enrolment with another key",
    )


@requirement("sep2672/4.4.2-already-enrolled")
def test_the_first_counter_is_unharmed(ceremony):
    """Whatever the server said to a duplicate with a lower counter: the first goes on counting."""
    passkey = ceremony.enrol("security-key", counter=PerCredential(start=41))
    ceremony.honest(passkey=passkey)
    asserted = counter_of(passkey)
    ceremony.approval.finish(duplicate_of(ceremony, passkey, "same-key"))
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge, passkey, faults=WrongCounter(asserted))
    ceremony.expect_refusal(
        ceremony.call(challenge, evidence),
        Reason.SIGNATURE_COUNTER_REGRESSION,
        sent=f"tools/call with signCount {asserted} as before, after a second enrolment of the "
        "credential with signCount 1",
    )
    ceremony.still_serves(challenge, passkey)


@requirement("sep2672/4.4.2-already-enrolled")
@pytest.mark.parametrize(
    "fault", [FlipFlag("UV"), WrongRpIdHash(), WrongOrigin()], ids=["uv", "rp-id-hash", "origin"]
)
def test_a_duplicate_that_does_not_verify_says_so(ceremony, fault):
    """The check for duplicates follows verification: a failed registration learns nothing."""
    passkey = ceremony.enrol()
    ceremony.expect_error(
        ceremony.approval.finish(duplicate_of(ceremony, passkey, "same-key")),
        Reason.CREDENTIAL_ALREADY_ENROLLED,
        sent=f"{words.ENROLL_FINISH}, a valid registration of an enrolled credential id",
    )
    ceremony.expect_error(
        ceremony.approval.finish(duplicate_of(ceremony, passkey, "same-key", faults=fault)),
        Reason.VERIFICATION_FAILED,
        sent=f"{words.ENROLL_FINISH}, an enrolled credential id again, fault {fault.name}",
    )


@requirement("sep2672/4.4.2-already-enrolled")
def test_of_two_enrolments_of_one_id_one_wins(ceremony):
    """Two registrations of one credential id, each on a challenge of its own, sent together."""
    ceremony.enrol()
    for _ in range(3):
        _, first = answer(ceremony)
        credential_id = words.base64url_decode(first["id"])
        _, second = answer(ceremony, credential_id=credential_id)
        replies = finish_together(ceremony, [first, second])
        winners = sum(map(confirmed_enrolment, replies))
        listed = enrolled_ids(ceremony).count(first["id"])
        ceremony.expect(
            winners <= 1 and listed <= 1,
            sent=f"two times {words.ENROLL_FINISH} together, one credential id, two challenges",
            expected="one success, credential_already_enrolled for the other",
            got=f"{winners} successes, the id listed {listed} times",
        )


# ---- challenges that are not pending


def finish_together(ceremony, responses):
    return race(ceremony.session, [(words.ENROLL_FINISH, {"response": one}) for one in responses])


@requirement("sep2672/4.4.2-no-pending", needs=[])
def test_there_is_no_finish_without_a_begin(ceremony):
    """Nothing is pending, and a response over a challenge that the server never gave out comes.

    Where other enrolments may be pending (a target that cannot be reset), the response merely does
    not verify against them, and may be refused for that.
    """
    options = begin(ceremony)
    _, honest = answer(ceremony, options=options)
    if not confirmed_enrolment(ceremony.approval.finish(honest)):
        raise NotVerified("an honest enrolment was refused")
    _, response = answer(
        ceremony,
        options={**options, "challenge": words.base64url_encode(bytes(range(32)))},
        ignoring=["exclude-credentials"],
    )
    fresh = ceremony.target.can_reset or ceremony.target.settings.reset is not None
    ceremony.expect_error(
        ceremony.approval.finish(response),
        Reason.NO_PENDING_ENROLLMENT,
        *(() if fresh else (Reason.VERIFICATION_FAILED,)),
        sent=f"{words.ENROLL_FINISH}, while no enrolment is pending",
    )
    expect_not_enrolled(ceremony, response["id"], sent="a finish without a begin")


@requirement("sep2672/4.4.2-no-pending", needs=[])
def test_a_used_challenge_enrols_no_second_credential(ceremony):
    """After a success another credential answers the same registration challenge.

    Reading: section 4.10 names "never begun" and "expired" for no_pending_enrollment, not "used";
    verification_failed is a warning.
    """
    options = begin(ceremony)
    _, first = answer(ceremony, options=options)
    _, second = answer(ceremony, options=options)
    if not confirmed_enrolment(ceremony.approval.finish(first)):
        raise NotVerified("an honest enrolment was refused")
    expect_registration_refused(
        ceremony,
        second,
        Reason.NO_PENDING_ENROLLMENT,
        sent=f"{words.ENROLL_FINISH}, a second credential on a used registration challenge",
        tolerated={Reason.VERIFICATION_FAILED: "no reason is named for used challenges (reading)"},
    )


@requirement("sep2672/4.4.2-no-pending", needs=[])
def test_the_same_response_does_not_enrol_twice(ceremony):
    """A finish that is sent again, as by a retry.

    Reading: the challenge is used and the credential is taken; the first is the reason to give,
    the other a warning.
    """
    _, response = answer(ceremony)
    if not confirmed_enrolment(ceremony.approval.finish(response)):
        raise NotVerified("an honest enrolment was refused")
    ceremony.expect_error(
        ceremony.approval.finish(response),
        Reason.NO_PENDING_ENROLLMENT,
        sent=f"{words.ENROLL_FINISH}, the very same response a second time",
        tolerated={
            Reason.CREDENTIAL_ALREADY_ENROLLED: "both are true, the used challenge comes first",
            Reason.VERIFICATION_FAILED: "no reason is named for used challenges (reading)",
        },
    )


@requirement("sep2672/4.4.2-no-pending")
def test_an_expired_registration_challenge_is_not_pending(ceremony):
    """After a day nothing is pending any more; whether it had to be sooner is section 4.4.1's."""
    ceremony.enrol()
    _, response = answer(ceremony)
    ceremony.clock.advance(24 * 3600)
    reply = ceremony.approval.finish(response)
    if not reply.answered:
        raise NotVerified(f"the conversation does not outlive the wait: {reply.describe()}")
    if confirmed_enrolment(reply):
        raise NotVerified("registration challenges do not expire here: see 4.4.1-ttl")
    sent = f"{words.ENROLL_FINISH}, a day after its begin"
    ceremony.expect_error(reply, Reason.NO_PENDING_ENROLLMENT, sent=sent)
    expect_not_enrolled(ceremony, response["id"], sent=sent)
    ceremony.enrol()


@requirement("sep2672/4.4.2-no-pending", needs=[])
@pytest.mark.parametrize("what", ["different-credentials", "the-same-response"])
def test_of_many_finishes_on_one_challenge_one_wins(ceremony, what):
    """Sent together, exactly one of them enrols: the challenge is used up in one indivisible step.

    Over stdio a race that finds nothing proves little.
    """
    ceremony.enrol()
    for _ in range(3):
        options = begin(ceremony)
        responses = [answer(ceremony, options=options)[1] for _ in range(4)]
        if what == "the-same-response":
            responses = responses[:1] * 4
        replies = finish_together(ceremony, responses)
        sent = f"4 times {words.ENROLL_FINISH} together on one registration challenge, {what}"
        winners = [reply for reply in replies if confirmed_enrolment(reply)]
        if not winners:
            raise NotVerified(f"{sent}: none of them enrolled: {replies[0].describe()}")
        listed = enrolled_ids(ceremony)
        enrolled = sum(1 for one in {one["id"] for one in responses} if one in listed)
        ceremony.expect(
            len(winners) == 1 and enrolled == 1,
            sent=sent,
            expected="one success, one credential",
            got=f"{len(winners)} successes, {enrolled} credentials",
        )
        for reply in replies:
            known = (Reason.NO_PENDING_ENROLLMENT, Reason.CREDENTIAL_ALREADY_ENROLLED)
            if not confirmed_enrolment(reply) and reason_in(reply) not in known:
                ceremony.warn(f"{sent}: a loser got {reply.describe()}")


@requirement("sep2672/4.4.2-no-pending", needs=[])
def test_a_failed_finish_leaves_the_server_able(ceremony):
    """Reading: a failed finish may use the registration challenge up, or leave it pending."""
    ceremony.enrol()
    options = begin(ceremony)
    _, faulty = answer(ceremony, options=options, faults=FlipFlag("UV"))
    _, honest = answer(ceremony, options=options)
    ceremony.approval.finish(faulty)
    reply = ceremony.approval.finish(honest)
    if not confirmed_enrolment(reply):
        ceremony.expect_error(
            reply,
            Reason.NO_PENDING_ENROLLMENT,
            sent=f"{words.ENROLL_FINISH}, honest, after a refused one on the same challenge",
        )
    expect_still_enrols(ceremony, sent="a refused one and an honest one on the same challenge")
