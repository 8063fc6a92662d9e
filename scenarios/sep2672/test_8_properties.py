"""SEP-2672 section 8: the properties that a reader of the security considerations expects.

That an approval serves exactly once (8.2.3) is in test_8_2_exactly_once.py.
"""

import pytest

from pytest_mcp_approval.catalogue import Finding, NotVerified, requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.driver import Passkey
from pytest_mcp_approval.families.sep2672.faulty_calls import another_tool, other_arguments
from virtual_authenticator import Vault

# ---- 8.1.3: a man in the middle rewrites a genuine call


def _expect_no_run(ceremony, outcome, sent):
    """Whatever the server answers, the tool has not run."""
    ceremony.expect(
        not outcome.executed, sent=sent, expected="a refusal, tool not run", got=outcome.describe()
    )


def _flipped(text, byte, bit=1):
    data = bytearray(words.base64url_decode(text))
    data[byte] ^= bit
    return words.base64url_encode(bytes(data))


def _inner(evidence, **members):
    response = evidence["response"]
    return {
        **evidence,
        "response": {**response, "response": {**response["response"], **members}},
    }


def _client_data(evidence, old, new):
    written = words.base64url_decode(evidence["response"]["response"]["clientDataJSON"])
    changed = written.replace(old, new)
    assert changed != written, "nothing was rewritten"
    return _inner(evidence, clientDataJSON=words.base64url_encode(changed))


def _data(evidence, byte, bit=1):
    data = evidence["response"]["response"]["authenticatorData"]
    return _inner(evidence, authenticatorData=_flipped(data, byte, bit))


REWRITES = {
    "method": lambda evidence: {**evidence, "method": "none"},
    "client data: type": lambda evidence: _client_data(evidence, b"webauthn.get", b"webauthn.got"),
    "client data: origin": lambda evidence: _client_data(evidence, b"://", b"://x"),
    "client data: a member more": lambda evidence: _client_data(evidence, b"{", b'{"a":1,'),
    "client data: white space": lambda evidence: _client_data(evidence, b"{", b"{ "),
    "authenticator data: rpIdHash": lambda evidence: _data(evidence, 0),
    "authenticator data: a flag": lambda evidence: _data(evidence, 32, 0x02),
    "authenticator data: counter": lambda evidence: _data(evidence, 33),
    "signature": lambda evidence: _inner(
        evidence, signature=_flipped(evidence["response"]["response"]["signature"], -1)
    ),
    "signature empty": lambda evidence: _inner(evidence, signature=""),
}


@requirement("sep2672/8.1.3-rewritten-call")
@pytest.mark.parametrize("part", REWRITES)
def test_evidence_rewritten_on_the_way_gets_no_run(ceremony, part):
    """A genuine call is caught, one part of its evidence is changed, and it is sent on. The genuine
    one, sent afterwards, still serves: all that an attacker can do is to delay."""
    ceremony.honest()
    challenge = ceremony.challenge()
    genuine = ceremony.evidence(challenge)
    _expect_no_run(
        ceremony,
        ceremony.call(challenge, REWRITES[part](genuine)),
        f"a genuine tools/call with its evidence rewritten: {part}",
    )
    outcome = ceremony.call(challenge, genuine)
    if not outcome.executed:
        raise NotVerified(f"the genuine call was refused, so nothing follows: {outcome.describe()}")


@requirement("sep2672/8.1.3-rewritten-call")
def test_arguments_rewritten_on_the_way_get_no_run(ceremony):
    """The arguments of a genuine call are exchanged for others."""
    ceremony.honest()
    challenge = ceremony.challenge()
    genuine = ceremony.evidence(challenge)
    changed = other_arguments(ceremony.tool)
    _expect_no_run(
        ceremony,
        ceremony.call(challenge.with_arguments(changed), genuine),
        f"a genuine tools/call with its arguments rewritten to {changed}",
    )
    ceremony.still_serves(challenge)


@requirement("sep2672/8.1.3-rewritten-call")
def test_a_tool_name_rewritten_on_the_way_gets_no_run(ceremony):
    """A genuine call is sent on to another gated tool. It was approved with arguments that fit the
    other tool too, so that nothing but the name is wrong; and they are safe, should it run."""
    ceremony.honest()
    other = another_tool(ceremony, ceremony.tool)
    try:
        challenge = ceremony.challenge(arguments=other.arguments)
    except NotVerified:  # arguments that its schema does not allow
        challenge = ceremony.challenge()
    sent_on = challenge.with_tool(other.name).with_arguments(other.arguments)
    _expect_no_run(
        ceremony,
        ceremony.call(sent_on, ceremony.evidence(challenge)),
        f"a genuine tools/call {challenge.tool} rewritten to {other.name}",
    )
    ceremony.honest(other)


@requirement("sep2672/8.1.3-rewritten-call")
def test_tool_and_arguments_rewritten_on_the_way_get_no_run(ceremony):
    """A genuine call is exchanged for another one altogether."""
    ceremony.honest()
    other = another_tool(ceremony, ceremony.tool)
    challenge = ceremony.challenge()
    sent_on = challenge.with_tool(other.name).with_arguments(other.arguments)
    _expect_no_run(
        ceremony,
        ceremony.call(sent_on, ceremony.evidence(challenge)),
        f"a genuine tools/call {challenge.tool} rewritten to {other.name} {other.arguments}",
    )
    ceremony.still_serves(challenge)


@requirement("sep2672/8.1.3-rewritten-call")
def test_evidence_of_one_call_gets_no_run_for_another(ceremony):
    """Two challenges for the very same call are pending. The response to one under the id of the
    other: same tool, same arguments, same key, and still not what was signed."""
    ceremony.honest()
    mine, other = ceremony.challenge(), ceremony.challenge()
    swapped = ceremony.evidence(mine, challengeId=other.id)
    _expect_no_run(
        ceremony,
        ceremony.call(mine, swapped),
        "a genuine tools/call with challengeId rewritten to another pending challenge of the same "
        "call",
    )
    ceremony.still_serves(mine)
    ceremony.still_serves(other)


@requirement("sep2672/8.1.3-rewritten-call")
@pytest.mark.parametrize("part", ["clientDataJSON", "authenticatorData", "signature"])
def test_evidence_patched_together_gets_no_run(ceremony, part):
    """Two genuine approvals of the same call; a part of one is put into the other."""
    ceremony.honest()
    mine, other = ceremony.challenge(), ceremony.challenge()
    genuine, donor = ceremony.evidence(mine), ceremony.evidence(other)
    patched = _inner(genuine, **{part: donor["response"]["response"][part]})
    _expect_no_run(
        ceremony,
        ceremony.call(mine, patched),
        f"a genuine tools/call with {part} of another genuine one",
    )
    ceremony.still_serves(mine)


@requirement("sep2672/8.1.3-rewritten-call")
def test_evidence_in_another_credentials_name_gets_no_run(ceremony):
    """The id of the credential is exchanged for that of another enrolled one."""
    ceremony.honest()
    other = ceremony.enrol()
    challenge = ceremony.challenge()
    genuine = ceremony.evidence(challenge)
    renamed = {**genuine["response"], "id": other.id, "rawId": other.id}
    _expect_no_run(
        ceremony,
        ceremony.call(challenge, {**genuine, "response": renamed}),
        "a genuine tools/call in the name of another enrolled credential",
    )
    ceremony.still_serves(challenge)


# ---- 8.3.2: passkeys without a counter

SYNCED = ["icloud-keychain", "google-password-manager", "one-password"]


def _enrol_synced(ceremony, shape):
    """A synced passkey; a server that refuses it breaks this rule, if it takes a security key."""
    ceremony.honest()
    device, page, response = ceremony.approval.register(shape)
    reply = ceremony.approval.finish(response)
    ceremony.expect(
        isinstance(reply.result, dict) and reply.result.get("success") is True,
        sent=f"approval/enroll/finish of a synced passkey (counter 0, BE and BS set): {shape}",
        expected="success",
        got=reply.describe(),
    )
    return Passkey(device, page, response)


@requirement("sep2672/8.3.2-counter-zero")
@pytest.mark.parametrize("shape", SYNCED)
def test_a_synced_passkey_approves_any_number_of_calls(ceremony, shape):
    """Counter zero at enrolment and ever after, backup flags set, transports hybrid and internal.

    Each call is its own approval; none of them is taken for a copied key."""
    passkey = _enrol_synced(ceremony, shape)
    for number in range(1, 7):
        challenge = ceremony.challenge()
        outcome = ceremony.call(challenge, ceremony.evidence(challenge, passkey))
        ceremony.expect_run(
            outcome, sent=f"tools/call {number}, approved by a synced passkey with signCount 0"
        )


@requirement("sep2672/8.3.2-counter-zero")
def test_a_synced_passkey_approves_from_any_of_its_devices(ceremony):
    """A phone enrols, a laptop that shares its vault approves, and the phone again."""
    vault = Vault()
    phone, laptop = vault.device("icloud-keychain"), vault.device("icloud-keychain")
    enrolled = _enrol_synced(ceremony, phone)
    elsewhere = Passkey(laptop, enrolled.origin, enrolled.registration)
    for passkey, where in ((elsewhere, "laptop"), (enrolled, "phone"), (elsewhere, "laptop")):
        challenge = ceremony.challenge()
        outcome = ceremony.call(challenge, ceremony.evidence(challenge, passkey))
        ceremony.expect_run(
            outcome, sent=f"tools/call, approved on the {where} by a synced passkey, signCount 0"
        )


@requirement("sep2672/8.3.2-counter-zero")
def test_a_passkey_that_is_backed_up_later_goes_on_approving(ceremony):
    """Eligible for backup from the beginning, backed up (BS) only after a while, and not for ever:
    the backup state of a credential may change, its eligibility may not."""
    ceremony.honest()
    passkey = ceremony.enrol("icloud-keychain", backup_state=[False, False, True, True, False])
    for number in range(1, 5):
        challenge = ceremony.challenge()
        outcome = ceremony.call(challenge, ceremony.evidence(challenge, passkey))
        ceremony.expect_run(
            outcome, sent=f"tools/call {number}, by a passkey whose backup state changes"
        )


# ---- 8.3.3: defaults that nobody signs


def _defaults(schema, path=""):
    """The members of a JSON Schema that have a default, however deep."""
    if not isinstance(schema, dict):
        return
    for name, member in (schema.get("properties") or {}).items():
        if isinstance(member, dict):
            if "default" in member:
                yield f"{path}{name}"
            yield from _defaults(member, f"{path}{name}.")
    for word in ("items", "additionalProperties", "not", "if", "then", "else"):
        yield from _defaults(schema.get(word), path)
    for word in ("allOf", "anyOf", "oneOf", "prefixItems"):
        for part in schema.get(word) or ():
            yield from _defaults(part, path)
    for word in ("$defs", "definitions"):
        for name, part in (schema.get(word) or {}).items():
            yield from _defaults(part, f"{name}.")


@requirement("sep2672/8.3.3-default-not-signed")
def test_no_gated_tool_fills_in_what_nobody_signed(ceremony):
    """A person signs the arguments as they are sent. A default in the tool's schema is filled in
    after that: nobody saw it, nobody signed it. A member should be required, or have no default."""
    gated = [tool for tool in ceremony.approval.tools() if tool.gated]
    if not gated:
        ceremony.not_applicable("no gated tool is listed")
    found = [
        f"{tool.name}: {member}"
        for tool in gated
        for member in dict.fromkeys(_defaults(tool.listing.get("inputSchema")))
    ]
    if found:
        raise Finding(
            sent="tools/list",
            expected="no default in the inputSchema of a gated tool",
            got=f"a default for {', '.join(found)}",
        )
