"""SEP-2672 section 4.10: the form of a refusal. All 16 reasons are provoked, one way each.

Whether the reason is the right one is judged by the sections that name it.
"""

import base64
import json
import re

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.one_per_reason import provoke
from pytest_mcp_approval.families.sep2672.outcome import reason_in
from pytest_mcp_approval.families.sep2672.registrations import answer
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.wire import StdioTransport

every_reason = pytest.mark.parametrize("reason", list(Reason), ids=str)


def request_for(reason):
    return f"a request that is to be refused with {reason}"


# ---- the code


@requirement("sep2672/4.10-code")
@every_reason
def test_a_refusal_is_an_error_with_the_code(ceremony, reason):
    """A JSON-RPC error -32001: no result with isError, no other code, no bare HTTP status."""
    reply = provoke(ceremony, reason)
    ceremony.expect(
        reply.error is not None and reply.error.code == words.ERROR_CODE,
        sent=request_for(reason),
        expected=f"a JSON-RPC error with code {words.ERROR_CODE}",
        got=reply.describe(),
    )


# ---- the reason


@requirement("sep2672/4.10-reason")
@every_reason
def test_a_refusal_gives_a_reason_of_the_list(ceremony, reason):
    """error.data.reason is one of the 16 names, letter for letter."""
    reply = provoke(ceremony, reason)
    ceremony.expect(
        reason_in(reply) in [known.value for known in Reason],
        sent=request_for(reason),
        expected="error.data.reason, one of the 16 names of section 4.10",
        got=reply.describe(),
    )


@requirement("sep2672/4.10-reason")
@pytest.mark.parametrize("language", ["de", "ja-JP", "ar, en;q=0.1", "tr-TR", "*"])
@pytest.mark.parametrize(
    "reason",
    [Reason.MISSING_EVIDENCE, Reason.TOOL_NOT_APPROVED_REQUIRED, Reason.VERIFICATION_FAILED],
    ids=str,
)
def test_the_reason_is_not_localised(ceremony, reason, language):
    """The message may speak the reader's language; the reason is for machines and stays."""
    if isinstance(ceremony.session.transport, StdioTransport):
        raise NotApplicable("over stdio there is no Accept-Language")
    usual = reason_in(provoke(ceremony, reason))
    if usual is None:
        raise NotVerified("there is no reason without Accept-Language either")
    reply = provoke(ceremony, reason, headers={"Accept-Language": language})
    ceremony.expect(
        reason_in(reply) == usual,
        sent=f"{request_for(reason)}, Accept-Language: {language}",
        expected=f"data.reason {usual!r}, as without the header",
        got=reply.describe(),
    )


# ---- the message

TRACES = re.compile(
    r"""
      Traceback\ \(most\ recent | File\ \\?"[^"]+",\ line\ \d+                  # Python
    | \bat\ [^\s(]+\ ?\([^()]*:\d+(:\d+)?\) | \bat\ \S+/\S+:\d+:\d+             # JavaScript
    | \bat\ [\w.$]+\((Unknown\ Source|Native\ Method|\w+\.(java|kt|scala):\d+)\)  # Java
    | \ in\ \S+\.cs:line\ \d+                                                   # .NET
    | goroutine\ \d+\ \[ | \bpanicked\ at\b | \.(rb|php|go|rs):\d+(:in\b)?      # and others
    """,
    re.VERBOSE,
)


def spellings(data):
    """How bytes may show in a text; the shorter of two texts that mean the same is enough."""
    standard = base64.b64encode(data).decode().rstrip("=")
    return {data.hex(), data.hex().upper(), standard, words.base64url_encode(data)}


def keys_of(passkey):
    """The public key as a whole, and a point's coordinates, in every spelling."""
    credential = passkey.authenticator.credential(words.base64url_decode(passkey.id))
    whole = words.base64url_decode(passkey.registration["response"]["publicKey"])
    parts = [whole, credential.public_key_bytes()]
    if credential.algorithm.name == "ES256":
        point = credential.key.public_key().public_numbers()
        parts += [point.x.to_bytes(32), point.y.to_bytes(32)]
    return set().union(*map(spellings, parts), {"-----BEGIN "})


def expect_no_leak(ceremony, reply, bystander, sent):
    """Neither the message nor anything beside it tells what is none of the caller's business."""
    if reply.error is None:
        return
    told = json.dumps(reply.error.raw, ensure_ascii=False)
    trace = TRACES.search(told)
    ceremony.expect(
        trace is None,
        sent=sent,
        expected="an error without a stack trace",
        got=f"{trace[0]!r} in {reply.describe()}" if trace else "",
    )
    for passkey in (ceremony.passkey, bystander):
        leaked = [key for key in keys_of(passkey) if key in told]
        ceremony.expect(
            not leaked,
            sent=sent,
            expected="an error without key material",
            got=f"key material {leaked[0][:24] if leaked else ''}... in {reply.describe()}",
        )
    if bystander.id in told:
        # Reading: it is the same user's, as far as the suite can see, so no failure.
        ceremony.warn(f"{sent}: the error names a credential that the request did not name")


@requirement("sep2672/4.10-message")
@every_reason
def test_a_refusal_says_something_and_gives_nothing_away(ceremony, reason):
    """error.message is there for people; no stack trace, no key, no credential of anybody else."""
    reply = provoke(ceremony, reason)
    message = reply.error.raw.get("message") if reply.error is not None else None
    sent = request_for(reason)
    ceremony.expect(
        isinstance(message, str) and bool(message.strip()),
        sent=sent,
        expected="error.message, a text that is not empty",
        got=reply.describe(),
    )
    bystander = ceremony.enrol("icloud-keychain")
    expect_no_leak(ceremony, provoke_again(ceremony, reason, reply), bystander, sent)


def provoke_again(ceremony, reason, before):
    """With a second credential enrolled, if the refusal can still be provoked then."""
    if reason is Reason.NO_ELIGIBLE_CREDENTIAL:
        return before
    return provoke(ceremony, reason)


HOSTILE = {
    "client-data-number": {"clientDataJSON": 7},
    "client-data-no-json": {"clientDataJSON": "AAAA"},
    "client-data-deep": {"clientDataJSON": words.base64url_encode(b"[" * 3000)},
    "authenticator-data-list": {"authenticatorData": []},
    "authenticator-data-short": {"authenticatorData": "AAAA"},
    "signature-null": {"signature": None},
    "signature-empty": {"signature": ""},
    "user-handle-object": {"userHandle": {}},
    "attestation-no-cbor": {"attestationObject": "_____w"},
    "attestation-deep": {"attestationObject": words.base64url_encode(b"\x81" * 3000)},
    "attestation-text": {"attestationObject": "no base64 ***"},
}


@requirement("sep2672/4.10-message")
@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE)
def test_a_surprised_server_gives_nothing_away(ceremony, members):
    """Members of a response that nobody thought of: where stack traces come from, if any do."""
    ceremony.honest()
    bystander = ceremony.enrol("icloud-keychain")
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge)
    evidence["response"]["response"] |= members
    sent = f"tools/call, evidence.response.response.{next(iter(members))} malformed"
    expect_no_leak(ceremony, ceremony.call(challenge, evidence).reply, bystander, sent)
    _, response = answer(ceremony)
    response["response"] |= members
    sent = f"{words.ENROLL_FINISH}, response.response.{next(iter(members))} malformed"
    expect_no_leak(ceremony, ceremony.approval.finish(response), bystander, sent)
