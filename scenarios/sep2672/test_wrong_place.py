"""SEP-2672 sections 4.4.2, 4.5 and 4.8: everything is read from the place that the document names.

The right value stands in the wrong place, and the wrong one, or none, in the right place. A server
that looks elsewhere too is led to believe what nobody signed or attested.
"""

import pytest

from pytest_mcp_approval.catalogue import may_poison, requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.driver import Passkey, confirmed_enrolment
from pytest_mcp_approval.families.sep2672.faulty_calls import another_tool
from pytest_mcp_approval.families.sep2672.issuing import ask, issued, safe_arguments
from pytest_mcp_approval.families.sep2672.registrations import (
    answer,
    expect_not_enrolled,
    expect_some_error,
)
from pytest_mcp_approval.families.sep2672.rewritten import flipped
from pytest_mcp_approval.families.sep2672.vocabulary import AuthenticatorClass, Reason
from pytest_mcp_approval.wire import Outcome
from virtual_authenticator import Authenticator
from virtual_authenticator.faults import FlipFlag, WrongCounter

pytestmark = may_poison

# ---- evidence and arguments


@requirement("sep2672/4.8-01-evidence-present")
def test_evidence_is_read_from_one_place_only(ceremony):
    """Good evidence anywhere but under its key of `_meta`: in the arguments, in headers, beside
    params, in other members. Nothing runs."""
    ceremony.honest()
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge)
    key, params = words.META_KEY, ceremony.approval.call_params(challenge)
    arguments = challenge.arguments or {}
    wrapped = {key: evidence}
    text = words.canonical_arguments(evidence).decode()
    places = {
        "arguments._meta": {**params, "arguments": {**arguments, "_meta": wrapped}},
        "the arguments": {**params, "arguments": {**arguments, key: evidence}},
        "_meta._meta": {**params, "_meta": {"_meta": wrapped}},
        "_meta by its path": {
            **params,
            "_meta": {"io": {"modelcontextprotocol/verified-approval": evidence}},
        },
        "_meta.approval": {**params, "_meta": {"approval": evidence, "evidence": evidence}},
        "params.meta": {**params, "meta": wrapped},
        "params.approval": {**params, "approval": evidence, "evidence": evidence},
        "evidence inside evidence": {**params, "_meta": {key: wrapped}},
        "evidence.evidence": {**params, "_meta": {key: {"evidence": evidence}}},
        "evidence.webauthn": {
            **params,
            "_meta": {key: {"method": "webauthn", "webauthn": evidence}},
        },
    }
    with ceremony.several() as several:
        for place, sent in places.items():
            with several.one(place):
                outcome = ceremony.approval.observe(
                    lambda sent=sent: ceremony.session.call("tools/call", sent)
                )
                ceremony.expect_not_run(outcome, sent=f"tools/call, good evidence in {place} only")
        with several.one("a header"):
            headers = {
                "X-Approval": text,
                "X-Verified-Approval": text,
                "Authorization-Evidence": text,
            }
            outcome = ceremony.call(challenge, headers=headers)
            ceremony.expect_refusal(
                outcome, Reason.MISSING_EVIDENCE, sent="tools/call, good evidence in headers only"
            )
        with several.one("the same challenge afterwards"):
            ceremony.still_serves(challenge)


@requirement("sep2672/4.8-12-argument-hash")
def test_arguments_are_read_from_one_place_only(ceremony):
    """The call has other arguments than the approved ones, and the approved ones stand elsewhere:
    in the evidence, in `_meta`, beside the arguments. What counts is what would run."""
    ceremony.honest()
    tool = ceremony.tool
    safe = safe_arguments(tool)
    approved = {**safe, "added": "by whoever approved"}
    challenge, reply = ask(ceremony, tool, approved)
    if challenge is None:
        ceremony.not_applicable(f"further members get no challenge: {reply.describe()}")
    evidence = ceremony.evidence(challenge)
    canonical = words.canonical_arguments(approved).decode()
    inside = {"arguments": approved, "toolName": tool.name, "canonicalArguments": canonical}
    params = {"name": tool.name, "arguments": safe}
    places = {
        "the evidence": {**params, "_meta": {words.META_KEY: {**evidence, **inside}}},
        "_meta": {**params, "_meta": {words.META_KEY: evidence, **inside}},
        "params": {**params, **inside, "arguments": safe, "_meta": {words.META_KEY: evidence}},
        "arguments.arguments": {
            **params,
            "arguments": {**safe, "arguments": approved},
            "_meta": {words.META_KEY: evidence},
        },
    }
    with ceremony.several() as several:
        for place, sent in places.items():
            with several.one(place):
                outcome = ceremony.approval.observe(
                    lambda sent=sent: ceremony.session.call("tools/call", sent)
                )
                ceremony.expect_not_run(
                    outcome,
                    sent=f"tools/call {safe}, approved was {approved}, which stands in {place}",
                )
    ceremony.honest()


# ---- the tool, the counter, the credential


def _takes(ceremony, tool, passkey, add):
    """Whether an honest call with the same additions runs: strict parsers refuse them as such."""
    challenge = ceremony.challenge(tool)
    params = add(ceremony.approval.call_params(challenge, ceremony.evidence(challenge, passkey)))
    return ceremony.approval.observe(lambda: ceremony.session.call("tools/call", params)).executed


def _with_evidence(params, **members):
    meta = params["_meta"]
    return {**params, "_meta": {**meta, words.META_KEY: {**meta[words.META_KEY], **members}}}


def _with_response(params, **members):
    response = params["_meta"][words.META_KEY]["response"]
    return _with_evidence(params, response={**response, **members})


def _expect_refused_with_additions(ceremony, params, places, tool, passkey, reason, sent):
    """The call is refused for its reason, whatever is added and wherever."""
    made = 0
    with ceremony.several() as several:
        for place, add in places.items():
            with several.one(place):
                outcome = ceremony.approval.observe(
                    lambda add=add: ceremony.session.call("tools/call", add(params))
                )
                other_words = not outcome.executed and outcome.reason != reason
                if other_words and not _takes(ceremony, tool, passkey, add):
                    continue
                made += 1
                ceremony.expect_refusal(outcome, reason, sent=f"{sent} {place}")
    if not made:
        ceremony.not_applicable("further members are refused here, wherever they stand")


@requirement("sep2672/4.8-07-challenge-tool")
def test_the_tool_is_the_one_that_is_called(ceremony):
    """An approval for one tool on a call of another; the evidence names the first one."""
    called = ceremony.tool
    approved = another_tool(ceremony, called)
    ceremony.honest(called)
    challenge, _ = ask(ceremony, approved, called.arguments)
    if challenge is None:  # arguments that its schema does not allow
        challenge = ceremony.challenge(approved)
    names = {"toolName": approved.name, "name": approved.name, "tool": approved.name}
    beside = {"toolName": approved.name, "tool": approved.name}
    _expect_refused_with_additions(
        ceremony,
        ceremony.approval.call_params(
            challenge.with_tool(called.name).with_arguments(called.arguments),
            ceremony.evidence(challenge),
        ),
        {
            "the evidence": lambda params: _with_evidence(params, **names),
            "the response": lambda params: _with_response(params, **names),
            "_meta": lambda params: {**params, "_meta": {**params["_meta"], **names}},
            "params": lambda params: {**params, **beside},
        },
        called,
        None,
        Reason.CHALLENGE_WRONG_TOOL,
        f"tools/call {called.name} with an approval for {approved.name}, which is named in",
    )
    ceremony.honest(called)


@requirement("sep2672/4.8-11-counter")
def test_the_counter_is_the_signed_one(ceremony):
    """An old counter is signed, and a higher one stands beside it."""
    passkey = ceremony.enrol("security-key")
    ceremony.honest(passkey=passkey)
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge, passkey, faults=WrongCounter(1))
    beside = {"signCount": 9000, "counter": 9000, "newCounter": 9000}

    def inside(params):
        inner = params["_meta"][words.META_KEY]["response"]["response"]
        return _with_response(params, response={**inner, **beside})

    _expect_refused_with_additions(
        ceremony,
        ceremony.approval.call_params(challenge, evidence),
        {
            "response.response": inside,
            "response": lambda params: _with_response(params, **beside),
            "the evidence": lambda params: _with_evidence(params, **beside),
            "the extension results": lambda params: _with_response(
                params, clientExtensionResults=beside
            ),
        },
        ceremony.tool,
        passkey,
        Reason.SIGNATURE_COUNTER_REGRESSION,
        "tools/call, signCount 1 is signed, 9000 stands in",
    )
    ceremony.still_serves(challenge, passkey)


@requirement("sep2672/4.8-08-credential-enrolled")
def test_the_credential_is_the_one_that_id_names(ceremony):
    """id names an unknown credential, or none; the right one stands elsewhere."""
    ceremony.honest()
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge)
    own = ceremony.passkey.id
    other = words.base64url_encode(flipped(words.base64url_decode(own), 5))
    right = {"rawId": own, "credentialId": own}
    for named in ({"id": other}, {}):
        response = {name: one for name, one in evidence["response"].items() if name != "id"}
        changed = {
            **evidence,
            "credentialId": own,
            "id": own,
            "response": {**response, **right, **named},
        }
        ceremony.expect_refusal(
            ceremony.call(challenge, changed),
            Reason.UNKNOWN_CREDENTIAL,
            Reason.MISSING_EVIDENCE,
            sent="tools/call, the enrolled credential's id in rawId and elsewhere, "
            + ("another in id" if named else "no member id"),
            tolerated={
                Reason.SIGNATURE_VERIFICATION_FAILED: "a response without id may be malformed"
            },
        )
    ceremony.still_serves(challenge)


NAMESPACES = (
    "verified-approval",
    "com.example/verified-approval",
    "io.modelcontextprotocol.verified-approval",
    "io.modelcontextprotocol/verifiedApproval",
    "io.modelcontextprotocol/verified_approval",
    "io.modelcontextprotocol/approval",
    "modelcontextprotocol.io/verified-approval",
    "mcp/verified-approval",
    "x/io.modelcontextprotocol/verified-approval",
    "/verified-approval",
)


@requirement("sep2672/4.8-01-evidence-present")
def test_evidence_of_another_namespace_is_none(ceremony):
    """Good evidence under keys that only share a part with the right one."""
    ceremony.honest()
    challenge = ceremony.challenge()
    with ceremony.several() as several:
        for key in NAMESPACES:
            with several.one(key):
                outcome = ceremony.call(challenge, meta={key: ceremony.evidence(challenge)})
                if outcome.executed:
                    challenge = ceremony.challenge()
                sent = f"tools/call, good evidence under {key!r} only"
                ceremony.expect_not_run(outcome, sent=sent)
                # The base protocol says how keys of _meta are spelled, and may refuse others.
                if outcome.reply.outcome is not Outcome.ERROR or outcome.reason is not None:
                    ceremony.expect_refusal(outcome, Reason.MISSING_EVIDENCE, sent=sent)
        with several.one("the same challenge afterwards"):
            ceremony.still_serves(challenge)


# ---- registrations


@requirement("sep2672/4.4.2-persisted")
def test_the_key_that_is_kept_is_the_attested_one(ceremony):
    """Browsers repeat the public key beside the attestation object, unsigned. Here it is another
    one: refusing is fine; else the attested key approves, and the other does not."""
    ceremony.honest()
    # The stranger's first: a server may keep the latest begin only.
    stranger, theirs = answer(ceremony, Authenticator("icloud-keychain"))
    device, response = answer(
        ceremony,
        Authenticator("icloud-keychain"),
        credential_id=words.base64url_decode(theirs["id"]),
    )
    inner = {**response["response"], "publicKey": theirs["response"].get("publicKey")}
    reply = ceremony.approval.finish({**response, "response": inner})
    sent = f"{words.ENROLL_FINISH}, publicKey beside the attestation object is another key"
    if not confirmed_enrolment(reply):
        ceremony.expect_error(reply, Reason.VERIFICATION_FAILED, sent=sent)
        return
    origin = ceremony.passkey.origin
    challenge = ceremony.challenge()
    forged = ceremony.evidence(challenge, Passkey(stranger, origin, theirs))
    ceremony.expect_refusal(
        ceremony.call(challenge, forged),
        Reason.SIGNATURE_VERIFICATION_FAILED,
        sent=f"{sent}; then tools/call, signed by that key",
    )
    ceremony.expect_run(
        ceremony.call(challenge, ceremony.evidence(challenge, Passkey(device, origin, response))),
        sent=f"{sent}; then tools/call, signed by the attested key",
    )


@requirement("sep2672/4.4.2-uv-asserted")
def test_the_flags_that_count_are_the_attested_ones(ceremony):
    """Browsers repeat the authenticator data beside the attestation object. There UV is set; in
    what is attested it is clear."""
    ceremony.enrol()
    _, response = answer(ceremony, faults=FlipFlag("UV"))
    inner = dict(response["response"])
    data = words.base64url_decode(inner["authenticatorData"])
    verified = data[:32] + bytes([data[32] | 0x04]) + data[33:]
    inner["authenticatorData"] = words.base64url_encode(verified)
    more = {"userVerified": True, "uv": True, "flags": {"uv": True}}
    reply = ceremony.approval.finish({**response, **more, "response": {**inner, **more}})
    sent = f"{words.ENROLL_FINISH}, flag UV clear, and set in authenticatorData beside it"
    expect_some_error(ceremony, reply, sent=sent)  # further members may be bad params (reading)
    expect_not_enrolled(ceremony, response["id"], sent=sent)
    ceremony.enrol()


@requirement("sep2672/4.7-transports-persisted")
@pytest.mark.parametrize("beside", [["usb"], ["hybrid", "internal"]], ids=str)
def test_transports_are_those_of_the_response(ceremony, beside):
    """The credential says internal alone in its response; others stand around it."""
    tool = ceremony.tool_of_class(AuthenticatorClass.CROSS_PLATFORM)
    ceremony.honest(tool)
    device, response = answer(ceremony, Authenticator("touch-id"))
    inner = {**response["response"], "transports": ["internal"]}
    more = {"transports": beside, "authenticatorTransports": beside}
    params = {
        **more,
        "response": {
            **response,
            **more,
            "response": inner,
            "clientExtensionResults": {**(response.get("clientExtensionResults") or {}), **more},
        },
    }
    reply = ceremony.session.call(words.ENROLL_FINISH, params)
    if not confirmed_enrolment(reply):
        ceremony.not_applicable(f"further members are refused here: {reply.describe()}")
    passkey = Passkey(device, ceremony.passkey.origin, response)
    challenge = issued(ceremony, tool)
    sent = f"a credential with transports ['internal'], {beside} beside its response"
    ceremony.expect(
        passkey.id not in challenge.offered,
        sent=f"a challenge for {tool.name}, {sent}",
        expected="it is not offered",
        got="it is offered",
    )
    evidence = ceremony.evidence(challenge, passkey, ignoring=["allow-credentials"])
    ceremony.expect_refusal(
        ceremony.call(challenge, evidence),
        Reason.AUTHENTICATOR_CLASS_MISMATCH,
        sent=f"tools/call {tool.name} by {sent}",
    )
