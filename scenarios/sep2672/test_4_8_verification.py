"""SEP-2672 section 4.8, steps 1 to 3: is there evidence, is it whole, and of which method?

Each scenario begins with an honest approval: a refusal proves nothing on a server that refuses
everything. The later steps are in test_4_8_challenge.py (4 to 9), test_4_8_signature.py (10, 11),
test_4_8_arguments.py (12) and test_4_8_consumption.py (13, 14).
"""

import base64
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.driver import NOT_GIVEN
from pytest_mcp_approval.families.sep2672.vocabulary import Reason

# ---- step 1: there is evidence


@requirement("sep2672/4.8-01-evidence-present")
def test_a_call_without_meta_is_refused(ceremony):
    """The plainest call of all: no `_meta`, as from a client that knows nothing of approval."""
    ceremony.honest()
    outcome = ceremony.call(ceremony.challenge())
    ceremony.expect_refusal(outcome, Reason.MISSING_EVIDENCE, sent="tools/call without _meta")


@requirement("sep2672/4.8-01-evidence-present")
@pytest.mark.parametrize(
    "meta",
    [
        pytest.param(lambda _: {}, id="empty"),
        pytest.param(lambda _: {"com.example/note": "hello"}, id="only other keys"),
        pytest.param(lambda _: {words.META_KEY: None}, id="null under the key"),
        pytest.param(lambda evidence: {words.CAPABILITY_KEY: evidence}, id="bare key"),
        pytest.param(lambda evidence: {words.META_KEY.upper(): evidence}, id="key in capitals"),
        pytest.param(lambda evidence: {f"{words.META_KEY} ": evidence}, id="key and a space"),
        pytest.param(dict, id="members without the key"),
    ],
)
def test_evidence_has_to_stand_under_its_key(ceremony, meta, request):
    """Good evidence in the wrong place is no evidence."""
    ceremony.honest()
    challenge = ceremony.challenge()
    outcome = ceremony.call(challenge, meta=meta(ceremony.evidence(challenge)))
    ceremony.expect_refusal(
        outcome,
        Reason.MISSING_EVIDENCE,
        sent=f"tools/call, nothing under _meta's key ({request.node.callspec.id})",
    )


@requirement("sep2672/4.8-01-evidence-present")
def test_evidence_beside_meta_does_not_count(ceremony):
    """Good evidence in params itself, not in `_meta`."""
    ceremony.honest()
    challenge = ceremony.challenge()
    params = ceremony.approval.call_params(challenge)
    params[words.META_KEY] = ceremony.evidence(challenge)
    outcome = ceremony.approval.observe(lambda: ceremony.session.call("tools/call", params))
    ceremony.expect_refusal(
        outcome, Reason.MISSING_EVIDENCE, sent="tools/call, evidence in params instead of _meta"
    )


@requirement("sep2672/4.8-01-evidence-present")
@pytest.mark.parametrize("meta", [None, "text", 7, True, [], ["text"]], ids=repr)
def test_a_meta_that_is_no_object_runs_nothing(ceremony, meta):
    """Reading: `_meta` belongs to the base protocol, which says that it is an object. A server may
    refuse it there (-32600, -32602, HTTP 400), without a reason; but nothing runs."""
    ceremony.honest()
    outcome = ceremony.call(ceremony.challenge(), meta=meta)
    sent = f"tools/call, _meta is {meta!r}"
    if outcome.executed or outcome.reason is not None or outcome.succeeded:
        ceremony.expect_refusal(outcome, Reason.MISSING_EVIDENCE, sent=sent)
    ceremony.honest()  # and the server is still there


# ---- step 2: the evidence is well-formed

NO_OBJECTS = ["", "text", 7, 0, 1.5, True, False, [], [{}]]


@requirement("sep2672/4.8-02-evidence-well-formed")
@pytest.mark.parametrize("evidence", [*NO_OBJECTS, {}], ids=repr)
def test_evidence_is_an_object(ceremony, evidence):
    """Evidence that is no object, or an empty one."""
    ceremony.honest()
    outcome = ceremony.call(ceremony.challenge(), evidence)
    ceremony.expect_refusal(
        outcome, Reason.MISSING_EVIDENCE, sent=f"tools/call, evidence is {evidence!r}"
    )


@requirement("sep2672/4.8-02-evidence-well-formed")
def test_evidence_wrapped_in_a_list_or_in_text_is_malformed(ceremony):
    """The honest evidence, or one member of it, once in a list and once as the text of its JSON."""
    ceremony.honest()
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge)
    response, issued = evidence["response"], evidence["challengeId"]
    wrappings = {
        "in a list": [evidence],
        "as text": words_of(evidence),
        "with its response in a list": {**evidence, "response": [response]},
        "with its response as text": {**evidence, "response": words_of(response)},
        "with its challengeId in a list": {**evidence, "challengeId": [issued]},
        "with its challengeId in an object": {**evidence, "challengeId": {"challengeId": issued}},
        "with its method in an object": {**evidence, "method": {"method": words.WEBAUTHN}},
    }
    for how, wrapped in wrappings.items():
        outcome = ceremony.call(challenge, wrapped)
        ceremony.expect_refusal(
            outcome, Reason.MISSING_EVIDENCE, sent=f"tools/call, good evidence {how}"
        )
    ceremony.still_serves(challenge)


def words_of(evidence):
    return words.canonical_arguments(evidence).decode()


WRONG_TYPES: dict[str, list[Any]] = {
    "method": [None, 7, True, [], ["webauthn"], {}],
    "challengeId": [None, 7, 0, True, [], {}],
    "response": [None, "", "text", 7, True, [], [{}]],
}


@requirement("sep2672/4.8-02-evidence-well-formed")
@pytest.mark.parametrize("member", WRONG_TYPES)
def test_no_member_may_be_missing(ceremony, member):
    """method, challengeId and response: each has to be there."""
    ceremony.honest()
    challenge = ceremony.challenge()
    outcome = ceremony.call(challenge, ceremony.evidence(challenge, **{member: NOT_GIVEN}))
    ceremony.expect_refusal(
        outcome, Reason.MISSING_EVIDENCE, sent=f"tools/call, evidence without {member}"
    )


@requirement("sep2672/4.8-02-evidence-well-formed")
@pytest.mark.parametrize(
    ("member", "value"),
    [
        pytest.param(member, value, id=f"{member}={value!r}")
        for member, values in WRONG_TYPES.items()
        for value in values
    ],
)
def test_each_member_has_its_type(ceremony, member, value):
    """Reading: the types of section 4.5 belong to "well-formed": two strings and an object."""
    ceremony.honest()
    challenge = ceremony.challenge()
    outcome = ceremony.call(challenge, ceremony.evidence(challenge, **{member: value}))
    ceremony.expect_refusal(
        outcome, Reason.MISSING_EVIDENCE, sent=f"tools/call, evidence.{member} {value!r}"
    )


@requirement("sep2672/4.8-02-evidence-well-formed")
@pytest.mark.parametrize(
    ("member", "neighbour"),
    [("method", Reason.UNSUPPORTED_METHOD), ("challengeId", Reason.CHALLENGE_UNKNOWN)],
)
def test_an_empty_member_is_refused(ceremony, member, neighbour):
    """Reading: an empty string is there, and says nothing; both this step's reason and that of the
    step which looks at the member are right."""
    ceremony.honest()
    challenge = ceremony.challenge()
    outcome = ceremony.call(challenge, ceremony.evidence(challenge, **{member: ""}))
    ceremony.expect_refusal(
        outcome, Reason.MISSING_EVIDENCE, neighbour, sent=f"tools/call, evidence.{member} ''"
    )


def _encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


GARBAGE = {
    "missing": NOT_GIVEN,
    "null": None,
    "empty": "",
    "a number": 7,
    "a list": [],
    "an object": {},
    "no base64url": "%%%%",
    "noise": _encoded(bytes(range(200, 256))),
}
CLIENT_DATA_GARBAGE = {
    "a JSON list": _encoded(b"[]"),
    "JSON null": _encoded(b"null"),
    "an empty JSON object": _encoded(b"{}"),
    "no UTF-8": _encoded(b'{"type":"\xff"}'),
    "deep JSON": _encoded(b"[" * 5000),
}


@requirement("sep2672/4.8-02-evidence-well-formed")
@pytest.mark.parametrize(
    ("place", "what"),
    [
        *((("response", what)) for what in ("missing", "null", "a number", "a list", "an object")),
        *(
            (place, what)
            for place in ("id", "clientDataJSON", "authenticatorData", "signature")
            for what in GARBAGE
        ),
        *(("clientDataJSON", what) for what in CLIENT_DATA_GARBAGE),
    ],
)
def test_a_response_with_garbage_inside_is_refused(ceremony, place, what):
    """Reading: how deep "well-formed" reaches into the response is open. The refusal may come from
    step 2, 8 or 10, but it comes from one of them, with code -32001."""
    ceremony.honest()
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge)
    response = dict(evidence["response"])
    inner = response["response"] = dict(response["response"])
    holder = response if place in ("id", "response") else inner
    holder[place] = {**GARBAGE, **CLIENT_DATA_GARBAGE}[what]
    if holder[place] is NOT_GIVEN:
        del holder[place]
    outcome = ceremony.call(challenge, {**evidence, "response": response})
    ceremony.expect_refusal(
        outcome,
        Reason.MISSING_EVIDENCE,
        Reason.UNKNOWN_CREDENTIAL,
        Reason.SIGNATURE_VERIFICATION_FAILED,
        sent=f"tools/call, in evidence.response {place} is {what}",
    )


# ---- step 3: the method


@requirement("sep2672/4.8-03-method")
@pytest.mark.parametrize(
    "method", ["totp", "WebAuthn", "WEBAUTHN", "webauthn ", "webauthn\x00", "web", "__proto__"]
)
def test_only_webauthn_is_a_method(ceremony, method):
    """Evidence that is whole but names another method is refused for the method."""
    ceremony.honest()
    challenge = ceremony.challenge()
    outcome = ceremony.call(challenge, ceremony.evidence(challenge, method=method))
    ceremony.expect_refusal(
        outcome, Reason.UNSUPPORTED_METHOD, sent=f"tools/call, evidence.method {method!r}"
    )
