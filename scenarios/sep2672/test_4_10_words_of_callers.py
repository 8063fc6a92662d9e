"""SEP-2672 section 4.10: the reason follows from what is wrong, not from what a caller writes.

A server that looks for words in its own messages, or in those of a library, finds the words that a
caller put there. So the same request comes twice: with plain text, and with each reason's name in
its place. Both are refused alike.
"""

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.issuing import EXTRA_MEMBER, ask, safe_arguments
from pytest_mcp_approval.families.sep2672.outcome import reason_in
from pytest_mcp_approval.families.sep2672.pending import PendingCall
from pytest_mcp_approval.families.sep2672.registrations import answer
from pytest_mcp_approval.families.sep2672.rewritten import (
    client_data_of,
    signed_anew,
    with_inner,
    written,
)
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from virtual_authenticator.faults import SignatureBit, WrongOrigin, WrongType

PLAIN = "nothing_of_the_kind"
ERROR_WORDS = ("expired", "already used", "not found", "Internal error")
"""Words that servers look for in messages of libraries and databases."""
WORDS = (*(str(reason) for reason in Reason), *ERROR_WORDS)


class _Calls(PendingCall):
    """Refused calls on one challenge."""

    def send(self, evidence, **meta):
        params = self.ceremony.approval.call_params(
            self.challenge, meta={words.META_KEY: evidence, **meta}
        )
        return self.ceremony.session.call("tools/call", params)

    def sign(self, fault):
        return self.ceremony.evidence(self.challenge, faults=fault)

    def response(self, **members):
        return {**self.genuine, "response": {**self.genuine["response"], **members}}

    def client_data(self, **members):
        other = written({**client_data_of(self.genuine["response"]), **members})
        return signed_anew(self.ceremony.passkey, self.genuine, client_data=other)

    def arguments(self, text):
        """Approved with this text among the arguments, called without it."""
        tool = self.ceremony.tool
        arguments = {**safe_arguments(tool), EXTRA_MEMBER: text}
        challenge, reply = ask(self.ceremony, tool, arguments)
        if challenge is None:
            raise NotVerified(f"no challenge for further members: {reply.describe()}", minor=True)
        evidence = self.ceremony.evidence(challenge)
        params = self.ceremony.approval.call_params(
            challenge.with_arguments(safe_arguments(tool)), evidence
        )
        return self.ceremony.session.call("tools/call", params)

    def registration(self, **client_data):
        _, response = answer(self.ceremony)
        other = written({**client_data_of(response), **client_data})
        response["response"] = {**response["response"], "clientDataJSON": other}
        return self.ceremony.approval.finish(response)


def _name(text):
    """As ids, names of tools and hosts are written: without blanks."""
    return text.replace(" ", "-")


def _credential_id(text):
    """Base64url of a whole number of bytes, as long as the ids of many keys."""
    return text.replace(" ", "_").ljust(44, "A")


IN_TEXTS = {
    "evidence.method": lambda calls, text: calls.send({**calls.genuine, "method": text}),
    "evidence.challengeId": lambda calls, text: calls.send(
        {**calls.genuine, "challengeId": _name(text)}
    ),
    "a further member of the evidence, with a broken signature": lambda calls, text: calls.send(
        {**calls.sign(SignatureBit()), "reason": text, "error": {"reason": text}}
    ),
    "another key of _meta, with a broken signature": lambda calls, text: calls.send(
        calls.sign(SignatureBit()), **{"com.example/reason": text, "reason": text}
    ),
    "response.id": lambda calls, text: calls.send(
        calls.response(id=_credential_id(text), rawId=_credential_id(text))
    ),
    "clientExtensionResults, with a broken signature": lambda calls, text: calls.send(
        {
            **calls.genuine,
            "response": {
                **calls.sign(SignatureBit())["response"],
                "clientExtensionResults": {text: text},
            },
        }
    ),
    "the signature": lambda calls, text: calls.send(
        with_inner(calls.genuine, signature=words.base64url_encode(text.encode()))
    ),
    "the origin": lambda calls, text: calls.send(
        calls.sign(WrongOrigin(f"https://{_name(text)}.attacker.example/{text}"))
    ),
    "the type": lambda calls, text: calls.send(calls.sign(WrongType(text))),
    "a further member of the client data, from another page": lambda calls, text: calls.send(
        calls.client_data(origin="https://attacker.example", reason=text)
    ),
    "an argument that was approved and is not called": lambda calls, text: calls.arguments(text),
    "toolName": lambda calls, text: calls.ceremony.approval.request_challenge(_name(text), {}),
    "the origin of a registration": lambda calls, text: calls.registration(
        origin=f"https://{_name(text)}.attacker.example"
    ),
    "the type of a registration": lambda calls, text: calls.registration(type=text),
}


@requirement("sep2672/4.10-reason")
@pytest.mark.parametrize("place", IN_TEXTS)
def test_words_of_a_caller_decide_no_reason(ceremony, place):
    """Names of reasons and usual words of errors, where a caller can write text: the request is
    refused as it is with other words there."""
    calls = _Calls(ceremony)
    usual = IN_TEXTS[place](calls, PLAIN)
    expected = reason_in(usual)
    if expected is None:
        raise NotVerified(f"{PLAIN} in {place}: no reason to compare with: {usual.describe()}")
    with ceremony.several() as several:
        for text in WORDS:
            with several.one(text):
                calls.keep_fresh()
                reply = IN_TEXTS[place](calls, text)
                ceremony.expect(
                    reason_in(reply) == expected,
                    sent=f"a request that is refused as {expected}, with {text!r} in {place}",
                    expected=f"{expected}, as with {PLAIN!r} there",
                    got=f"with {text!r}: {reply.describe()}",
                )
    ceremony.still_serves(calls.challenge)
