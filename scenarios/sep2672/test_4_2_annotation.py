"""SEP-2672 section 4.2: how a server marks a tool that needs approval, and one that does not."""

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.vocabulary import AuthenticatorClass, Reason
from pytest_mcp_approval.wire import Outcome


def annotations(ceremony):
    """Whatever is under the annotation's key, by tool."""
    found = {
        tool.name: tool.listing["_meta"][words.META_KEY]
        for tool in ceremony.approval.tools()
        if isinstance(tool.listing.get("_meta"), dict) and words.META_KEY in tool.listing["_meta"]
    }
    if not found:
        raise NotVerified("needs a gated tool: none is listed")
    return found


@requirement("sep2672/4.2-required-literal")
def test_required_is_the_literal_verified(ceremony):
    """Every annotation is an object whose `required` is the text "verified"."""
    with ceremony.several() as several:
        for name, annotation in annotations(ceremony).items():
            with several.one():
                required = (
                    annotation.get("required") if isinstance(annotation, dict) else annotation
                )
                ceremony.expect(
                    isinstance(annotation, dict) and required == words.REQUIRED,
                    sent=f"tools/list, the entry of {name}",
                    expected=f'_meta["{words.META_KEY}"] with required "verified"',
                    got=f"required {required!r}"
                    if isinstance(annotation, dict)
                    else repr(annotation),
                )


@requirement("sep2672/4.2-required-literal")
def test_what_asks_for_evidence_is_annotated(ceremony):
    """A tool that refuses for want of evidence says so in its listing, or no client can know.

    Only tools that somebody said are safe to run are called.
    """
    safe = {**ceremony.target.known_arguments, **ceremony.target.settings.tools}
    with ceremony.several() as several:
        for tool in ceremony.approval.tools():
            with several.one():
                if words.META_KEY in (tool.listing.get("_meta") or {}) or tool.name not in safe:
                    continue
                outcome = ceremony.approval.call_without_evidence(tool.name, tool.arguments)
                ceremony.expect(
                    outcome.reason != Reason.MISSING_EVIDENCE,
                    sent=f"tools/call {tool.name}, which carries no annotation, without evidence",
                    expected="no approval asked, or the annotation in the listing",
                    got=outcome.describe(),
                )


@requirement("sep2672/4.2-class-values")
def test_the_class_is_one_of_two(ceremony):
    """authenticatorClass may be left out; null is no value of it either."""
    known = [kind.value for kind in AuthenticatorClass]
    with ceremony.several() as several:
        for name, annotation in annotations(ceremony).items():
            with several.one():
                if isinstance(annotation, dict) and "authenticatorClass" in annotation:
                    ceremony.expect(
                        annotation["authenticatorClass"] in known,
                        sent=f"tools/list, the entry of {name}",
                        expected=f"authenticatorClass {' or '.join(known)}, or no such member",
                        got=f"authenticatorClass {annotation['authenticatorClass']!r}",
                    )


@requirement("sep2672/4.2-class-default")
def test_no_class_offers_no_internal_credential(ceremony):
    """Without a class, challenges are for credentials that reach beyond the device."""
    tool = ceremony.tool_of_class(given=False)
    ceremony.honest(tool)
    internal = ceremony.enrol("touch-id")
    offered = ceremony.challenge(tool).offered
    ceremony.expect(
        ceremony.passkey.id in offered and internal.id not in offered,
        sent=f"approval/challenge/create for {tool.name}, whose class is omitted",
        expected="allowCredentials with the USB key, without the internal-only credential",
        got=f"USB key {'in' if ceremony.passkey.id in offered else 'not in'} it, "
        f"internal-only credential {'in' if internal.id in offered else 'not in'} it",
    )


@requirement("sep2672/4.2-class-default")
def test_no_class_refuses_an_internal_credential(ceremony):
    """Without a class, an internal-only credential that answers all the same is refused."""
    tool = ceremony.tool_of_class(given=False)
    ceremony.honest(tool)
    internal = ceremony.enrol("touch-id")
    challenge = ceremony.challenge(tool)
    evidence = ceremony.evidence(challenge, internal, ignoring=["allow-credentials"])
    ceremony.expect_refusal(
        ceremony.call(challenge, evidence),
        Reason.AUTHENTICATOR_CLASS_MISMATCH,
        sent=f"tools/call {tool.name}, whose class is omitted, signed by an internal-only "
        "credential",
    )


@requirement("sep2672/4.2-class-default")
def test_no_class_offers_what_cross_platform_offers(ceremony):
    """A tool that omits the class and one that says cross-platform treat all credentials alike."""
    silent = ceremony.tool_of_class(given=False)
    try:
        outspoken = ceremony.tool_of_class(AuthenticatorClass.CROSS_PLATFORM, given=True)
    except (NotApplicable, NotVerified) as nothing:
        raise NotApplicable(f"nothing to compare with: {nothing.msg}") from None
    for shape in ("security-key-nfc", "icloud-keychain", "touch-id", "windows-hello"):
        ceremony.enrol(shape)
    theirs = set(ceremony.challenge(outspoken).offered)
    ours = set(ceremony.challenge(silent).offered)
    ceremony.expect(
        ours == theirs,
        sent=f"approval/challenge/create for {silent.name} (class omitted) "
        f"and {outspoken.name} (cross-platform)",
        expected="the same allowCredentials",
        got=f"{len(ours - theirs)} more and {len(theirs - ours)} fewer where the class is omitted",
    )


def run_plain(ceremony, tool, **meta):
    """A call of an ungated tool. What it says about its own arguments does not matter here."""
    params = {"name": tool.name, "arguments": tool.arguments, **meta}
    return ceremony.session.call("tools/call", params)


@requirement("sep2672/4.2-plain-tools-untouched")
def test_a_plain_tool_runs_without_evidence(ceremony):
    """A tool without the annotation is called as any other tool."""
    tool = ceremony.plain_tool()
    reply = run_plain(ceremony, tool)
    refused = reply.error is not None and (
        reply.error.code == words.ERROR_CODE or "reason" in (reply.error.data or {})
    )
    if reply.outcome is not Outcome.RESULT and not refused:
        raise NotVerified(f"the ungated tool {tool.name} does not run here: {reply.describe()}")
    ceremony.expect(
        not refused,
        sent=f"tools/call {tool.name}, not annotated, without evidence",
        expected="a result",
        got=reply.describe(),
    )


EVIDENCE_FOR_NOTHING = {
    "text": "webauthn",
    "empty-object": {},
    "other-method": {"method": "totp", "challengeId": "1", "response": {}},
    "unknown-challenge": {"method": "webauthn", "challengeId": "never issued", "response": {}},
}


@requirement("sep2672/4.2-plain-tools-untouched")
@pytest.mark.parametrize("evidence", EVIDENCE_FOR_NOTHING.values(), ids=EVIDENCE_FOR_NOTHING)
def test_a_plain_tool_does_not_look_at_evidence(ceremony, evidence):
    """Evidence that would be refused elsewhere does not disturb a tool that needs none."""
    tool = ceremony.plain_tool()
    honest = run_plain(ceremony, tool)
    if honest.outcome is not Outcome.RESULT:
        raise NotVerified(f"the ungated tool {tool.name} does not run here: {honest.describe()}")
    reply = run_plain(ceremony, tool, _meta={words.META_KEY: evidence})
    ceremony.expect(
        reply.outcome is Outcome.RESULT,
        sent=f"tools/call {tool.name}, not annotated, with evidence that is worth nothing",
        expected="a result, as without it",
        got=reply.describe(),
    )


@requirement("sep2672/4.2-plain-tools-untouched")
def test_good_evidence_on_a_plain_tool_changes_nothing(ceremony):
    """Evidence of a gated call, sent with an ungated one: that one runs, and nothing is verified.

    Reading: verification and consumption (section 4.8) belong to annotated tools. A server that
    uses the challenge up here is warned, no more: the client broke the rule of section 4.5 first.
    """
    tool = ceremony.plain_tool()
    ceremony.honest()
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge)
    without = run_plain(ceremony, tool)
    if without.outcome is not Outcome.RESULT:
        raise NotVerified(f"the ungated tool {tool.name} does not run here: {without.describe()}")
    reply = run_plain(ceremony, tool, _meta={words.META_KEY: evidence})
    ceremony.expect(
        reply.outcome is Outcome.RESULT,
        sent=f"tools/call {tool.name}, not annotated, with evidence made for a gated tool",
        expected="a result, as without it",
        got=reply.describe(),
    )
    if not ceremony.call(challenge, evidence).executed:
        ceremony.warn("an ungated call used up the challenge of the evidence that came with it")
