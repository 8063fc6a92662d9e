"""SEP-2672 section 4.4: the three methods belong to servers that declare the capability."""

import contextlib

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.registrations import begin

METHOD_NOT_FOUND = -32601
PARAMS = {
    words.ENROLL_BEGIN: {},
    words.ENROLL_FINISH: {"response": {}},
    words.CHALLENGE_CREATE: {"toolName": "no such tool", "arguments": {}},
}


@requirement("sep2672/4.4-method-not-found")
@pytest.mark.parametrize("method", words.METHODS)
def test_without_the_capability_there_is_no_such_method(ceremony, method):
    """The same server without the capability: -32601, which is the base protocol's own word."""
    begin(ceremony)  # the positive twin: with the capability, the methods are there
    other = ceremony.target.variant("sep2672", "declare", False)
    if other is None:
        # The rule binds servers that have not declared it, and this one has.
        raise NotApplicable("this server declares the capability, and cannot be had without")
    with contextlib.closing(other):
        session = other.session()
        extensions = session.capabilities.get("extensions")
        if isinstance(extensions, dict) and words.CAPABILITY_KEY in extensions:
            raise NotVerified("needs the same server without the capability: this one declares it")
        session.list_tools()  # it is there, and serves what it has
        reply = session.call(method, PARAMS[method])
    ceremony.expect(
        reply.error is not None and reply.error.code == METHOD_NOT_FOUND,
        sent=f"{method} to a server that has not declared the capability",
        expected="error -32601 (method not found)",
        got=reply.describe(),
    )
