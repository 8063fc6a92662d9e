"""SEP-2672: ids, names and methods are compared to the letter, wherever they are read.

Each text is replaced by others that are only like it: in another case, with blanks, cut or
lengthened, spelled with escapes or wildcards. What is tried at issue is tried at the call.
"""

import re

import pytest

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.hostile_values import look_alikes
from pytest_mcp_approval.families.sep2672.issuing import safe_arguments
from pytest_mcp_approval.families.sep2672.pending import PendingCall
from pytest_mcp_approval.families.sep2672.registrations import expect_some_error
from pytest_mcp_approval.families.sep2672.rewritten import flipped, quarters
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.wire import Outcome

MALFORMED = "an id that cannot be one may count as malformed (reading 3)"
OF_ANOTHER = dict.fromkeys(
    (
        Reason.CHALLENGE_CONSUMED,
        Reason.CHALLENGE_EXPIRED,
        Reason.CHALLENGE_WRONG_TOOL,
        Reason.SIGNATURE_VERIFICATION_FAILED,
    ),
    "where ids are short or counted, it may be that of another challenge",
)
UUID = re.compile(r"[0-9a-fA-F-]+")
"""Ids that a server may keep as numbers, so that the case of their letters is nothing."""
NAME_OF_A_TOOL = re.compile(r"[A-Za-z0-9_./-]{1,64}")


class _Pending(PendingCall):
    def call(self, evidence):
        outcome = self.ceremony.call(self.challenge, evidence)
        self.keep_fresh(outcome)
        return outcome


@requirement("sep2672/4.8-04-challenge-known")
def test_a_challenge_id_is_compared_to_the_letter(ceremony):
    """The client echoes the id back. What is only like it was never issued.

    Reading: the letters of a UUID may be of either case (RFC 9562), so that a run is a warning."""
    pending = _Pending(ceremony)
    neighbour = ceremony.challenge().id
    with ceremony.several() as several:
        for how in look_alikes(pending.challenge.id):
            with several.one(how):
                issued = pending.challenge.id
                claimed = look_alikes(issued).get(how, "")
                if claimed == neighbour:
                    continue
                outcome = pending.call({**pending.genuine, "challengeId": claimed})
                sent = f"tools/call, the issued challengeId {how}"
                same_number = UUID.fullmatch(issued) and claimed.lower() == issued.lower()
                if same_number and outcome.executed:
                    ceremony.warn(f"{sent}: {outcome.describe()}")
                    continue
                ceremony.expect_refusal(
                    outcome,
                    Reason.CHALLENGE_UNKNOWN,
                    sent=sent,
                    tolerated={Reason.MISSING_EVIDENCE: MALFORMED, **OF_ANOTHER},
                )
        with several.one("half of another"):
            half = len(neighbour) // 2
            claimed = pending.challenge.id[:half] + neighbour[half:]
            if claimed not in (pending.challenge.id, neighbour):
                outcome = pending.call({**pending.genuine, "challengeId": claimed})
                ceremony.expect_refusal(
                    outcome,
                    Reason.CHALLENGE_UNKNOWN,
                    sent="tools/call, a challengeId made of the halves of two issued ones",
                    tolerated=OF_ANOTHER,
                )
        pending.close()


@requirement("sep2672/4.8-08-credential-enrolled")
def test_a_credential_id_is_compared_whole(ceremony):
    """The response names a credential whose id has one byte more, less or another than the enrolled
    one; the enrolled one has signed."""
    pending = _Pending(ceremony)
    own = words.base64url_decode(ceremony.passkey.id)
    others = {f"with its {name} another": flipped(own, at) for name, at in quarters(own).items()}
    others |= {
        "a byte shorter": own[:-1],
        "without its first byte": own[1:],
        "its first half": own[: len(own) // 2],
        "a byte longer": own + b"\x00",
        "a byte longer before it": b"\x00" + own,
        "twice": own + own,
        "backwards": own[::-1],
        "a single byte": own[:1],
    }
    texts = {how: words.base64url_encode(raw) for how, raw in others.items()}
    texts |= {"in the other case": ceremony.passkey.id.swapcase(), "a wildcard": "%"}
    texts |= {"in hexadecimal": own.hex(), "any": "*"}
    with ceremony.several() as several:
        for how, claimed in texts.items():
            if claimed == ceremony.passkey.id:
                continue
            with several.one(how):
                response = {**pending.genuine["response"], "id": claimed, "rawId": claimed}
                outcome = pending.call({**pending.genuine, "response": response})
                ceremony.expect_refusal(
                    outcome,
                    Reason.UNKNOWN_CREDENTIAL,
                    sent=f"tools/call, evidence.response.id is the enrolled one {how}",
                    tolerated={Reason.MISSING_EVIDENCE: MALFORMED},
                )
        pending.close()


@requirement("sep2672/4.8-03-method")
def test_a_method_is_compared_to_the_letter(ceremony):
    """Whatever is like "webauthn" is another method."""
    pending = _Pending(ceremony)
    with ceremony.several() as several:
        for how, claimed in look_alikes(words.WEBAUTHN).items():
            with several.one(how):
                outcome = pending.call({**pending.genuine, "method": claimed})
                ceremony.expect_refusal(
                    outcome,
                    Reason.UNSUPPORTED_METHOD,
                    sent=f"tools/call, evidence.method {how}: {claimed!a}",
                )
        pending.close()


@requirement("sep2672/4.4.3-only-gated-tools")
def test_a_tool_name_is_compared_to_the_letter_at_issue(ceremony):
    """No challenge is issued for a name that is only like a gated tool's."""
    ceremony.honest()
    names = {tool.name for tool in ceremony.approval.tools()}
    with ceremony.several() as several:
        for tool in ceremony.gated_tools()[:2]:
            for how, claimed in look_alikes(tool.name).items():
                if claimed in names:
                    continue
                with several.one(f"{tool.name} {how}"):
                    reply = ceremony.approval.request_challenge(claimed, safe_arguments(tool))
                    sent = f"a challenge for {claimed!a}, which is {tool.name} {how}"
                    if NAME_OF_A_TOOL.fullmatch(claimed):
                        ceremony.expect_error(reply, Reason.TOOL_NOT_APPROVED_REQUIRED, sent=sent)
                    else:  # no name of a tool at all, which may be bad params (reading)
                        expect_some_error(ceremony, reply, sent=sent)
    ceremony.honest()


@requirement("sep2672/4.5-never-executes-unverified")
@pytest.mark.parametrize("evidence", ["no evidence", "evidence for the listed name"])
def test_a_tool_name_is_compared_to_the_letter_at_the_call(ceremony, evidence):
    """A call under a name that is only like a gated tool's runs nothing, whatever comes with it.

    Any answer will do: the base protocol may say that there is no such tool."""
    ceremony.need_effects()
    pending = _Pending(ceremony)
    names = {tool.name for tool in ceremony.approval.tools()}
    with ceremony.several() as several:
        for how, claimed in look_alikes(pending.challenge.tool).items():
            if claimed in names:
                continue
            with several.one(how):
                params = ceremony.approval.call_params(pending.challenge.with_tool(claimed))
                if evidence != "no evidence":
                    params["_meta"] = {words.META_KEY: pending.genuine}
                outcome = ceremony.approval.observe(
                    lambda params=params: ceremony.session.call("tools/call", params)
                )
                pending.keep_fresh(outcome)
                ceremony.expect(
                    not outcome.executed,
                    sent=f"tools/call of {claimed!a}, with {evidence}",
                    expected="tool not run",
                    got=outcome.describe(),
                )
        pending.close()


@requirement("sep2672/4.8-01-evidence-present")
def test_the_key_of_the_evidence_is_compared_to_the_letter(ceremony):
    """Good evidence under a key that is only like the right one is no evidence."""
    pending = _Pending(ceremony)
    with ceremony.several() as several:
        for how, key in look_alikes(words.META_KEY).items():
            with several.one(how):
                outcome = ceremony.call(pending.challenge, meta={key: pending.genuine})
                pending.keep_fresh(outcome)
                sent = f"tools/call, good evidence under the key {how}"
                ceremony.expect_not_run(outcome, sent=sent)
                # The base protocol says how keys of _meta are spelled, and may refuse others.
                if outcome.reply.outcome is Outcome.ERROR and outcome.reason is not None:
                    ceremony.expect_refusal(outcome, Reason.MISSING_EVIDENCE, sent=sent)
        pending.close()
