"""What is signed: token_id:nonce:expires_at:scope_json, to the byte."""

import json

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.execution_tokens.corpus import NAMED, WITHOUT_NUMBERS
from pytest_mcp_approval.families.execution_tokens.token_making import (
    FAULTY_SIGNING,
    canonical,
    sign,
)
from pytest_mcp_approval.families.execution_tokens.verifier_access import VerifierError


def _scopes(executions):
    """As an object a token passes through JSON readers on its way, which may not keep numbers."""
    kept = executions.keeps_numbers
    return {name: NAMED[name] for name in (NAMED if kept else WITHOUT_NUMBERS)}


@requirement("execution_tokens/canonical-string")
def test_odd_scopes_are_signed_as_python_writes_them(executions):
    """Each is good, so each must be accepted; a broken one among them proves nothing by itself."""
    tokens = {name: executions.token(scope=scope) for name, scope in _scopes(executions).items()}
    host = executions.table.host
    hosts = ["z.example", host, "a.example"]
    tokens["hosts that are not in order"] = executions.token(hosts=hosts)
    executions.expect_all_accepted(tokens, sent="a good token, its scope has")
    # Who looks at the hosts closely may refuse these.
    odd = {"a host in capitals": [host.upper(), "MiXed.example"], "a host twice": [host, host]}
    for name, listed in odd.items():
        answer = executions.execute(executions.token(hosts=listed))
        if not answer.served_once:
            executions.warn(
                f"a good token, its scope has {name}: {answer.describe()}; expected accepted"
            )


@requirement("execution_tokens/canonical-string")
@pytest.mark.parametrize("spelling", ["ASCII only", "letters as they are", "lines and blanks"])
def test_how_the_token_is_spelled_is_no_matter(executions, spelling):
    """The same members as another JSON text: the string to sign is built again."""
    executions.need_secret()
    if spelling == "lines and blanks" and not executions.keeps_lines:
        executions.not_applicable("a line of a pipe is a message, and the token is a part of it")
    token = executions.token(scope={"z": "Größe", "a": {"y": [1, "\U0001f600"], "x": "/"}})
    words = {"ASCII only": {}, "letters as they are": {"ensure_ascii": False}}
    text = json.dumps(token, **words.get(spelling, {"indent": 3}))
    executions.expect_accepted(
        executions.execute(text.encode()), sent=f"a good token, spelled with {spelling}"
    )


@requirement("execution_tokens/canonical-string")
def test_another_string_is_another_signature(executions):
    """The scope has everything that distinguishes the ways of writing it."""
    executions.need_secret()
    scope = {"z": 1, "A": {"b": "ü", "a": [1, 2]}}
    executions.honest()
    executions.expect_accepted(
        executions.execute(executions.token(scope=scope)),
        sent="a good token, its scope unsorted and with a letter beyond ASCII",
    )
    tokens = {
        f"{name} signed": executions.token(scope=scope, signing=signing)
        for name, signing in FAULTY_SIGNING.items()
    }
    host, names = executions.table.host, executions.table.names
    for name, signed, hosts in [
        ("its hosts in small letters signed", [host.lower()], [host.upper()]),
        ("each of its hosts once signed", [host], [host, host]),
    ]:
        token = executions.token(hosts=signed)
        if signed != hosts:
            written = {**token[names["scope"]], names["allowed_hosts"]: hosts}
            tokens[name] = executions.changed(token, scope=written)
    executions.expect_all_refused(tokens)


@requirement("execution_tokens/canonical-string")
def test_the_arbiter_signs_the_same_string(executions):
    """If the target approves too: the signature is recomputed from the document."""
    executions.need_secret()
    driver = executions.driver
    try:
        token = executions.verifier.approve(driver.content, "exec \u00fc", [driver.table.host], 60)
    except VerifierError as error:
        raise NotVerified(str(error)) from error
    if token is None:
        raise NotApplicable("the target approves nothing, it only verifies")
    expected = sign(driver.secret, canonical(token, driver.table.names))
    got = token.get(driver.table.names["signature"])
    executions.expect(
        got == expected,
        sent="an approval, its action type has a letter beyond ASCII",
        expected=f"signature {expected[:16]}... of its canonical string",
        got=f"signature {str(got)[:16]}...",
    )


@requirement("execution_tokens/canonical-string")
def test_the_members_are_called_as_in_the_document(executions):
    """A team's own names, given in the table, are reported once: here. Those inside the scope are
    part of the signed string, which the document fixes to the byte."""
    executions.honest()
    names = executions.table.names
    inside = names.renamed("action_type", "allowed_hosts", "content_hash")
    executions.expect(
        not inside,
        sent="a good token, with the names that the table tells",
        expected="a scope with action_type, allowed_hosts and content_hash, which are signed",
        got=", ".join(inside),
    )
    outside = names.renamed("token_id", "nonce", "expires_at", "scope", "signature")
    if outside:
        executions.warn(f"not called as in the document: {', '.join(outside)}")
