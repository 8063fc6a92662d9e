"""SEP-2672 section 4.3: what a server declares, and what it owes once it has."""

import contextlib

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.wire import (
    HANDSHAKE_REVISIONS,
    SESSIONLESS_REVISIONS,
    StdioTransport,
    WireError,
    open_session,
)


def lists_a_gated_tool(tools):
    return any(words.META_KEY in (tool.get("_meta") or {}) for tool in tools)


def declared(session):
    """The value of extensions.verifiedApproval; None if there is none."""
    extensions = session.capabilities.get("extensions")
    return extensions.get(words.CAPABILITY_KEY) if isinstance(extensions, dict) else None


def expect_declared(ceremony, session, asked):
    value = declared(session)
    where = [
        f"{path} {value!r}"
        for path, value in (
            ("capabilities.extensions", session.capabilities.get("extensions")),
            (f"capabilities.{words.CAPABILITY_KEY}", session.capabilities.get("verifiedApproval")),
            ("capabilities.experimental", session.capabilities.get("experimental")),
        )
        if value is not None
    ]
    ceremony.expect(
        isinstance(value, dict),
        sent=f"{asked}, then tools/list, which lists a gated tool",
        expected=f"capabilities.extensions.{words.CAPABILITY_KEY}, an object",
        got=", ".join(where) or "no such capability",
    )


@requirement("sep2672/4.3-capability-declared")
def test_gated_tools_come_with_the_capability(ceremony):
    """Whoever lists a gated tool declares the capability, under its bare key."""
    if not lists_a_gated_tool(tool.listing for tool in ceremony.approval.tools()):
        raise NotApplicable("no gated tool is listed; then the capability may be declared or not")
    expect_declared(ceremony, ceremony.session, f"the opening of MCP {ceremony.session.revision}")


@requirement("sep2672/4.3-capability-declared")
@pytest.mark.parametrize(
    ("revision", "method"),
    [(HANDSHAKE_REVISIONS[-1], "initialize"), (SESSIONLESS_REVISIONS[-1], "server/discover")],
    ids=["initialize", "server-discover"],
)
def test_the_capability_is_declared_in_every_era(ceremony, revision, method):
    """A server of both eras declares it in both openings.

    Reading: the SEP names `initialize`; from 2026-07-28 on `server/discover` takes its place.
    """
    with contextlib.ExitStack() as stack:
        target = ceremony.target
        if isinstance(target.transport, StdioTransport):
            # One pipe is one conversation: the other opening needs a process of its own.
            target = target.twin()
            if target is None:
                raise NotApplicable("a second process for the other opening cannot be started")
            stack.callback(target.close)
        try:
            session = open_session(
                target.transport,
                revision,
                deadline=target.settings.timeout,
                start_deadline=target.start_seconds,
            )
        except WireError as error:
            raise NotApplicable(f"the server does not speak MCP {revision}: {error}") from None
        stack.callback(session.close)
        if not lists_a_gated_tool(session.list_tools()):
            raise NotApplicable("no gated tool is listed; then nothing has to be declared")
        expect_declared(ceremony, session, method)


PARAMS = {
    words.ENROLL_BEGIN: {},
    words.ENROLL_FINISH: {"response": {}},
    words.CHALLENGE_CREATE: {"toolName": "no such tool", "arguments": {}},
}


@requirement("sep2672/4.3-methods-understood")
@pytest.mark.parametrize("method", words.METHODS)
def test_a_declared_method_is_understood(ceremony, method):
    """Each of the three methods is there; other rules check what it says to these params."""
    if not isinstance(declared(ceremony.session), dict):
        raise NotApplicable("the capability is not declared, so the methods are not promised")
    reply = ceremony.session.call(method, PARAMS[method])
    ceremony.expect(
        reply.answered and (reply.error is None or reply.error.code != -32601),
        sent=f"{method}, after the capability was declared",
        expected="any answer but -32601 (method not found)",
        got=reply.describe(),
    )


@requirement("sep2672/4.3-methods-understood")
def test_declared_methods_make_a_whole_ceremony(ceremony):
    """Declaring commits to all of it: enrol, challenge, and evidence that is accepted."""
    if not isinstance(declared(ceremony.session), dict):
        raise NotApplicable("the capability is not declared, so the methods are not promised")
    with ceremony.promised(
        sent="an enrolment, a challenge and a call with its evidence, all of them honest",
        expected="a result, tool run: the capability is declared",
    ):
        ceremony.honest()


@requirement("sep2672/4.3-missing-evidence")
def test_every_gated_tool_asks_for_evidence(ceremony):
    """A gated tool that is called with no evidence at all is refused, and does not run."""
    ceremony.honest()
    with ceremony.several() as several:
        for tool in ceremony.gated_tools():
            with several.one():
                ceremony.expect_refusal(
                    ceremony.approval.call_without_evidence(tool.name, tool.arguments),
                    Reason.MISSING_EVIDENCE,
                    sent=f"tools/call {tool.name} without evidence",
                )


@requirement("sep2672/4.3-missing-evidence")
def test_a_pending_challenge_is_no_evidence(ceremony):
    """That a challenge was issued for this very call approves nothing."""
    ceremony.honest()
    challenge = ceremony.challenge()
    ceremony.expect_refusal(
        ceremony.call(challenge),
        Reason.MISSING_EVIDENCE,
        sent=f"tools/call {challenge.tool} without evidence, while a challenge for it is pending",
    )
    ceremony.still_serves(challenge)


@requirement("sep2672/4.3-missing-evidence")
def test_an_approval_is_for_one_call_only(ceremony):
    """Right after an approved call, the same one without evidence is refused: nothing lasts."""
    ceremony.honest()
    tool = ceremony.tool
    ceremony.expect_refusal(
        ceremony.approval.call_without_evidence(tool.name, tool.arguments),
        Reason.MISSING_EVIDENCE,
        sent=f"tools/call {tool.name} without evidence, right after the same call was approved",
    )


@requirement("sep2672/4.3-missing-evidence")
def test_a_session_that_never_approved_is_refused(ceremony):
    """A conversation of its own, without any ceremony before: refused as well."""
    ceremony.honest()
    tool = ceremony.tool
    if isinstance(ceremony.target.transport, StdioTransport):
        raise NotApplicable("over stdio there is one conversation")
    try:
        session = ceremony.target.new_session("another client")
    except WireError as error:
        raise NotVerified(f"needs a second session: {error}") from None
    with session:
        params = {"name": tool.name, "arguments": tool.arguments}
        outcome = ceremony.approval.observe(lambda: session.call("tools/call", params))
    ceremony.expect_refusal(
        outcome,
        Reason.MISSING_EVIDENCE,
        sent=f"tools/call {tool.name} without evidence, from another session",
    )
