"""Section 4.8: each step refuses for its own reason, in its order, and harms nothing."""

import datetime
import itertools
import secrets
from collections.abc import Callable
from typing import Any

import pytest

from pytest_mcp_approval.families.sep2672.vocabulary import META_KEY, base64url_encode
from pytest_mcp_approval.reference_server import ApprovalRefusal
from tests.reference_server.ceremony import ALICE, ARGUMENTS, Ceremony
from tests.reference_server.test_enrolment import together
from virtual_authenticator import AlwaysZero, Authenticator, PerCredential, Scripted, fault


def _altered(evidence, **members):
    return {**evidence, **members}


def _without(evidence, name):
    return {key: value for key, value in evidence.items() if key != name}


# ---- steps 1 and 2

NO_EVIDENCE = [None, 5, "x", [], {}, {"other": 1}, {META_KEY: None}]


@pytest.mark.parametrize("meta", NO_EVIDENCE, ids=str)
def test_step_1_no_evidence(ceremony, meta):
    with pytest.raises(ApprovalRefusal) as caught:
        ceremony.gate.verify(ALICE, "trade", ARGUMENTS, meta)
    assert caught.value.reason == "missing_evidence"


MALFORMED: dict[str, Callable[..., Any]] = {
    "text": lambda _: "x",
    "false": lambda _: False,
    "zero": lambda _: 0,
    "list": lambda evidence: [evidence],
    "empty": lambda _: {},
    **{
        f"no {name}": lambda evidence, name=name: _without(evidence, name)
        for name in ("method", "challengeId", "response")
    },
    **{
        f"{name} is {value!r}": lambda evidence, name=name, value=value: {**evidence, name: value}
        for name, value in itertools.product(
            ("method", "challengeId", "response"), (None, 5, True, ["webauthn"])
        )
    },
    "method is an object": lambda evidence: _altered(evidence, method={}),
    "challengeId is an object": lambda evidence: _altered(evidence, challengeId={}),
    "response is text": lambda evidence: _altered(evidence, response="x"),
}


@pytest.mark.parametrize("spoil", MALFORMED.values(), ids=MALFORMED.keys())
def test_step_2_malformed_evidence(ceremony, spoil):
    evidence = ceremony.evidence(ceremony.enrol(), ceremony.challenge())
    assert ceremony.refused(spoil(evidence)) == "missing_evidence"
    assert ceremony.call(evidence)


# ---- steps 3 to 7


@pytest.mark.parametrize("method", ["totp", "WebAuthn", "webauthn ", "", "webauthn\x00"])
def test_step_3_another_method(ceremony, method):
    evidence = ceremony.evidence(ceremony.enrol(), ceremony.challenge())
    assert ceremony.refused(_altered(evidence, method=method)) == "unsupported_method"
    assert ceremony.call(evidence)


@pytest.mark.parametrize("challenge_id", ["", "x", "\x00", "\ud83d", "a" * 10_000])
def test_step_4_an_unknown_challenge(stored_ceremony, challenge_id):
    ceremony = stored_ceremony
    evidence = ceremony.evidence(ceremony.enrol(), ceremony.challenge())
    assert ceremony.refused(_altered(evidence, challengeId=challenge_id)) == "challenge_unknown"
    assert ceremony.call(evidence)


def test_step_4_another_user_s_challenge_is_unknown(stored_ceremony):
    ceremony = stored_ceremony
    ceremony.enrol(user="bob")
    evidence = ceremony.evidence(ceremony.enrol(), ceremony.challenge())
    assert ceremony.refused(evidence, user="bob") == "challenge_unknown"
    assert ceremony.call(evidence)


def test_step_5_a_used_challenge(stored_ceremony):
    ceremony = stored_ceremony
    passkey, challenge = ceremony.enrol(), ceremony.challenge()
    evidence = ceremony.evidence(passkey, challenge)
    assert ceremony.call(evidence)
    assert ceremony.refused(evidence) == "challenge_consumed"
    # A new signature does not make it new, and it stays used when it has expired.
    assert ceremony.refused(ceremony.evidence(passkey, challenge)) == "challenge_consumed"
    ceremony.clock.advance(3600)
    assert ceremony.refused(evidence) == "challenge_consumed"


@pytest.mark.parametrize(("microseconds", "good"), [(-1000, True), (0, False), (1000, False)])
@pytest.mark.parametrize("fraction", [0, 999_999])
def test_step_6_expires_at_is_too_late(stored_ceremony, microseconds, good, fraction):
    ceremony = stored_ceremony
    ceremony.clock.move_to(datetime.datetime(2030, 1, 1, 0, 0, 0, fraction, datetime.UTC))
    passkey, challenge = ceremony.enrol(), ceremony.challenge()
    evidence = ceremony.evidence(passkey, challenge)
    expires_at = datetime.datetime.fromisoformat(challenge["expiresAt"])
    assert expires_at - ceremony.clock.now() <= datetime.timedelta(seconds=60)
    ceremony.clock.move_to(expires_at + datetime.timedelta(microseconds=microseconds))
    if good:
        assert ceremony.call(evidence)
    else:
        assert ceremony.refused(evidence) == "challenge_expired"


def test_an_expired_challenge_is_forgotten_at_last(stored_ceremony):
    ceremony = stored_ceremony
    evidence = ceremony.evidence(ceremony.enrol(), ceremony.challenge())
    ceremony.clock.advance(86_400)
    ceremony.challenge()
    assert ceremony.refused(evidence) == "challenge_expired"
    ceremony.clock.advance(86_400)
    ceremony.challenge()
    assert ceremony.refused(evidence) == "challenge_unknown"


def test_step_7_a_challenge_for_another_tool(stored_ceremony):
    ceremony = stored_ceremony
    evidence = ceremony.evidence(ceremony.enrol(), ceremony.challenge("transfer"))
    assert ceremony.refused(evidence, tool="trade") == "challenge_wrong_tool"
    assert ceremony.call(evidence, tool="transfer")


# ---- steps 8 and 9


def _signed_by(ceremony, passkey, challenge, **how):
    """With any credential of the passkey, whether the challenge allows it or not."""
    return ceremony.evidence(passkey, challenge, ignoring=["allow-credentials"], **how)


def _stranger(ceremony):
    """A passkey of the same relying party that was never enrolled here."""
    stranger = Authenticator("icloud-keychain")
    Ceremony().enrol(stranger)
    return stranger


def test_step_8_a_credential_that_was_never_enrolled(stored_ceremony):
    ceremony = stored_ceremony
    passkey, challenge = ceremony.enrol(), ceremony.challenge()
    evidence = _signed_by(ceremony, _stranger(ceremony), challenge)
    assert ceremony.refused(evidence) == "unknown_credential"
    assert ceremony.call(ceremony.evidence(passkey, challenge))


def test_step_8_another_user_s_credential(ceremony):
    other = ceremony.enrol("icloud-keychain", user="bob")
    passkey, challenge = ceremony.enrol(), ceremony.challenge()
    assert ceremony.refused(_signed_by(ceremony, other, challenge)) == "unknown_credential"
    assert ceremony.call(ceremony.evidence(passkey, challenge))


@pytest.mark.parametrize("claimed", [None, 5, "", "=", "\ud83d", ["x"], {}])
def test_step_8_an_id_that_is_none(ceremony, claimed):
    evidence = ceremony.evidence(ceremony.enrol(), ceremony.challenge())
    spoilt = _altered(evidence, response={**evidence["response"], "id": claimed})
    assert ceremony.refused(spoilt) == "unknown_credential"
    assert ceremony.call(evidence)


@pytest.mark.parametrize("tool", ["trade", "transfer"])
def test_step_9_an_internal_credential_for_a_cross_platform_tool(stored_ceremony, tool):
    ceremony = stored_ceremony
    key, internal = ceremony.enrol(), ceremony.enrol("windows-hello")
    challenge = ceremony.challenge(tool)
    offered = challenge["requestOptions"]["allowCredentials"]
    assert [one["transports"] for one in offered] == [["usb"]]
    evidence = _signed_by(ceremony, internal, challenge)
    assert ceremony.refused(evidence, tool=tool) == "authenticator_class_mismatch"
    claims = {**evidence["response"], "authenticatorAttachment": "cross-platform"}
    spoilt = _altered(evidence, response=claims)
    assert ceremony.refused(spoilt, tool=tool) == "authenticator_class_mismatch"
    assert ceremony.call(ceremony.evidence(key, challenge), tool=tool)


TRANSPORTS = [
    (["usb"], True),
    (["nfc"], True),
    (["ble"], True),
    (["hybrid"], True),
    (["hybrid", "internal"], True),
    (["internal", "usb"], True),
    (["internal"], False),
    ([], False),
    (["smart-card"], False),
    (["later"], False),
]


@pytest.mark.parametrize(("transports", "roams"), TRANSPORTS, ids=str)
def test_issue_and_step_9_agree_on_the_class(ceremony, transports, roams):
    passkey = Authenticator("icloud-keychain")
    response = ceremony.register(passkey)
    response["response"]["transports"] = transports
    ceremony.gate.finish_enrolment(ALICE, response)
    challenge = ceremony.challenge("wipe")
    assert challenge["requestOptions"]["allowCredentials"][0]["transports"] == transports
    assert ceremony.call(ceremony.evidence(passkey, challenge), tool="wipe")
    if roams:
        assert ceremony.call(ceremony.evidence(passkey, ceremony.challenge()))
    else:
        with pytest.raises(ApprovalRefusal) as caught:
            ceremony.challenge()
        assert caught.value.reason == "no_eligible_credential"
        ceremony.enrol("security-key")
        evidence = _signed_by(ceremony, passkey, ceremony.challenge())
        assert ceremony.refused(evidence) == "authenticator_class_mismatch"


# ---- step 10

FAULTS = [
    "signature-bit",
    {"fault": "signature-bit", "bit": 0},
    "other-key",
    "other-algorithm",
    "wrong-challenge",
    "wrong-origin",
    {"fault": "wrong-origin", "origin": "http://localhost:1"},
    {"fault": "wrong-origin", "origin": "https://localhost"},
    "wrong-type",
    "cross-origin",
    "top-origin",
    "wrong-rp-id-hash",
    {"fault": "flip-flag", "flag": "UP"},
    {"fault": "flip-flag", "flag": "UV"},
    {"fault": "flip-flag", "flag": "BE"},
    {"fault": "flip-flag", "flag": "BS"},
    "truncated",
    {"fault": "truncated", "count": 37},
    "trailing",
    "wrong-user-handle",
]


@pytest.mark.parametrize("broken", FAULTS, ids=str)
def test_step_10_a_faulty_assertion(stored_ceremony, broken):
    ceremony = stored_ceremony
    passkey, challenge = ceremony.enrol(), ceremony.challenge()
    evidence = ceremony.evidence(passkey, challenge, faults=[fault(broken)])
    assert ceremony.refused(evidence) == "signature_verification_failed"
    assert ceremony.call(ceremony.evidence(passkey, challenge))


def test_step_10_the_assertion_of_another_challenge(ceremony):
    passkey, challenge = ceremony.enrol(), ceremony.challenge()
    other = ceremony.evidence(passkey, ceremony.challenge())
    mixed = _altered(other, challengeId=challenge["challengeId"])
    assert ceremony.refused(mixed) == "signature_verification_failed"
    assert ceremony.call(other)


INNER = {
    f"{name} is {value!r}": {name: value}
    for name, value in itertools.product(
        ("clientDataJSON", "authenticatorData", "signature"), (None, 5, "", "A", "AAAA", {}, "+/8=")
    )
}


@pytest.mark.parametrize("changes", INNER.values(), ids=INNER.keys())
def test_step_10_garbage_inside_the_response(ceremony, changes):
    evidence = ceremony.evidence(ceremony.enrol(), ceremony.challenge())
    response = evidence["response"]
    spoilt = {**response, "response": {**response["response"], **changes}}
    assert ceremony.refused(_altered(evidence, response=spoilt)) == "signature_verification_failed"
    assert ceremony.call(evidence)


@pytest.mark.parametrize(
    "changes",
    [{"type": "x"}, {"type": None}, {"rawId": "AAAA"}, {"rawId": None}, {"response": 5}],
    ids=str,
)
def test_step_10_garbage_around_the_response(ceremony, changes):
    evidence = ceremony.evidence(ceremony.enrol(), ceremony.challenge())
    spoilt = _altered(evidence, response={**evidence["response"], **changes})
    assert ceremony.refused(spoilt) == "signature_verification_failed"
    assert ceremony.call(evidence)


@pytest.mark.parametrize("absent", [True, False])
def test_step_10_a_user_handle_may_be_absent_or_null(ceremony, absent):
    evidence = ceremony.evidence(ceremony.enrol("icloud-keychain"), ceremony.challenge())
    inner = evidence["response"]["response"]
    if absent:
        inner.pop("userHandle", None)
    else:
        inner["userHandle"] = None
    assert ceremony.call(evidence)


# ---- steps 11 and 14

LIMIT = 2**32 - 1
COUNTERS = [
    # stored at registration, then shown: accepted or not
    (0, [(0, True), (0, True), (5, True), (5, False), (0, False), (6, True)]),
    (1, [(2, True), (2, False), (1, False), (0, False), (3, True)]),
    (7, [(7, False), (8, True)]),
    (LIMIT - 1, [(LIMIT, True), (LIMIT, False), (0, False), (1, False)]),
    (2**31, [(2**31 - 1, False), (2**31 + 1, True)]),
]


@pytest.mark.parametrize(("start", "shown"), COUNTERS, ids=str)
def test_steps_11_and_14_the_counter(stored_ceremony, start, shown):
    ceremony = stored_ceremony
    passkey = Authenticator(counter=Scripted([start, *(value for value, _ in shown)]))
    ceremony.enrol(passkey)
    challenge, stored = None, start
    for value, good in shown:
        challenge = challenge or ceremony.challenge()
        evidence = ceremony.evidence(passkey, challenge)
        if good:
            assert ceremony.call(evidence).counter == value
            challenge, stored = None, value
        else:
            assert ceremony.refused(evidence) == "signature_counter_regression"
        assert ceremony.store.credentials(ALICE)[0].counter == stored


def test_step_14_a_refused_call_leaves_the_counter_alone(stored_ceremony):
    ceremony = stored_ceremony
    passkey = ceremony.enrol(Authenticator(counter=PerCredential(start=5)))
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(passkey, challenge)
    assert ceremony.refused(evidence, arguments={}) == "argument_hash_mismatch"
    assert ceremony.store.credentials(ALICE)[0].counter == 5
    assert ceremony.call(evidence)
    assert ceremony.store.credentials(ALICE)[0].counter == 6


# ---- step 12

SAME = [{"quantity": 10.0, "symbol": "AAPL"}, {"symbol": "AAPL", "quantity": 1e1}]
OTHER = [
    {},
    None,
    [],
    {"symbol": "AAPL"},
    {"symbol": "AAPL", "quantity": 11},
    {"symbol": "AAPL", "quantity": "10"},
    {"symbol": "AAPL", "quantity": 10, "side": None},
    {"symbol": "aapl", "quantity": 10},
    {"symbol": "AAPL", "quantity": 2**53},
    {"symbol": "\ud800", "quantity": 10},
    {"symbol": "AAPL", "quantity": float("nan")},
]


@pytest.mark.parametrize("arguments", SAME, ids=str)
def test_step_12_the_same_arguments_in_another_spelling(ceremony, arguments):
    assert ceremony.call(
        ceremony.evidence(ceremony.enrol(), ceremony.challenge()), arguments=arguments
    )


@pytest.mark.parametrize("arguments", OTHER, ids=ascii)
def test_step_12_other_arguments(stored_ceremony, arguments):
    ceremony = stored_ceremony
    evidence = ceremony.evidence(ceremony.enrol(), ceremony.challenge())
    assert ceremony.refused(evidence, arguments=arguments) == "argument_hash_mismatch"
    assert ceremony.call(evidence)


# ---- step 13


def test_step_13_of_many_submissions_one_passes(stored_ceremony):
    ceremony = stored_ceremony
    passkey = ceremony.enrol(Authenticator(counter=AlwaysZero()))
    evidence = ceremony.evidence(passkey, ceremony.challenge())
    outcomes = together(lambda _: ceremony.call(evidence), 12)
    assert outcomes == ["accepted"] + 11 * ["challenge_consumed"]


def test_step_14_of_many_challenges_with_one_counter_one_passes(stored_ceremony):
    ceremony = stored_ceremony
    passkey = ceremony.enrol(Authenticator(counter=Scripted([4] + 8 * [5])))
    evidence = [ceremony.evidence(passkey, ceremony.challenge()) for _ in range(8)]
    outcomes = together(lambda number: ceremony.call(evidence[number]))
    assert outcomes == ["accepted"] + 7 * ["signature_counter_regression"]


# ---- the order: for each pair of violated checks, the earlier one's reason


REASONS = {
    1: "missing_evidence",
    2: "missing_evidence",
    3: "unsupported_method",
    4: "challenge_unknown",
    5: "challenge_consumed",
    6: "challenge_expired",
    7: "challenge_wrong_tool",
    8: "unknown_credential",
    9: "authenticator_class_mismatch",
    10: "signature_verification_failed",
    11: "signature_counter_regression",
    12: "argument_hash_mismatch",
}
IMPOSSIBLE = ({1, 2}, {4, 5}, {4, 6}, {4, 7}, {8, 9})


def reason_with(violated):
    """The reason of one call that violates all of these checks at once."""
    ceremony = Ceremony()
    key = ceremony.enrol(Authenticator(counter=PerCredential(start=9)))
    internal = ceremony.enrol(Authenticator("windows-hello", counter=PerCredential(start=9)))
    challenge = ceremony.challenge("transfer" if 7 in violated else "trade")
    if 5 in violated:
        tool = "transfer" if 7 in violated else "trade"
        assert ceremony.call(ceremony.evidence(key, challenge), tool=tool)
    signer = internal if 9 in violated else key
    if 8 in violated:
        signer = _stranger(ceremony)
    faults: list[Any] = []
    if 10 in violated:
        faults.append("signature-bit")
    if 11 in violated:
        faults.append(fault({"fault": "wrong-counter", "value": 1}))
    evidence = _signed_by(ceremony, signer, challenge, faults=faults)
    if 3 in violated:
        evidence["method"] = "totp"
    if 4 in violated:
        evidence["challengeId"] = secrets.token_urlsafe(24)
    if 2 in violated:
        evidence.update({"response": 5} if 3 in violated else {"method": 5})
    if 6 in violated:
        ceremony.clock.advance(61)
    arguments = {} if 12 in violated else ARGUMENTS
    return ceremony.refused(None if 1 in violated else evidence, arguments=arguments)


PAIRS = [pair for pair in itertools.combinations(REASONS, 2) if set(pair) not in IMPOSSIBLE]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_earlier_check_gives_the_reason(first, second):
    assert reason_with({first, second}) == REASONS[first]


@pytest.mark.parametrize("step", [5, 6, 7, 9, 10, 11, 12])
def test_with_everything_later_wrong_the_reason_is_still_the_step_s(step):
    assert reason_with(set(range(step, 13)) - {8}) == REASONS[step]


def test_a_huge_credential_id_is_only_unknown(ceremony):
    evidence = ceremony.evidence(ceremony.enrol(), ceremony.challenge())
    response = {**evidence["response"], "id": base64url_encode(bytes(100_000))}
    assert ceremony.refused(_altered(evidence, response=response)) == "unknown_credential"
