"""What an arbiter signs: just what was approved, for as long as was said, and its operator takes
it."""

import datetime
import hashlib
import re

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.execution_tokens.token_making import canonical, sign
from pytest_mcp_approval.families.execution_tokens.verifier_access import VerifierError

SECONDS = 120
SKEW = datetime.timedelta(seconds=30)
"""How far the clocks of the suite and of the target may differ."""
IN_UTC = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]00:00)", re.ASCII)


def _approved(executions, content=None, action=None, hosts=None, seconds=SECONDS):
    """A token of the target's own arbiter."""
    driver = executions.driver
    try:
        token = executions.verifier.approve(
            driver.content if content is None else content,
            driver.table.action if action is None else action,
            [driver.table.host] if hosts is None else hosts,
            seconds,
        )
    except VerifierError as error:
        raise NotVerified(str(error)) from error
    if token is None:
        raise NotApplicable("the target approves nothing, it only verifies")
    return token


# ---- what was approved


def _approvals(executions):
    """Only approved, and never executed: any content will do."""
    content, host = executions.driver.content, executions.table.host
    return {
        "another content": {"content": executions.other_content},
        "blanks and line ends around a content": {"content": b" \n" + content + b"\n \n"},
        "a content with letters beyond ASCII": {"content": "# Gr\u00f6\u00dfe e\u0301\n".encode()},
        "a long content": {"content": content + b"\n" * 5000 + b"#"},
        "an empty content": {"content": b""},
        "an action type in capitals": {"action": "EXEC It"},
        "an action type with blanks around": {"action": " exec "},
        "an action type that means something elsewhere": {"action": "__proto__"},
        "no host": {"hosts": []},
        "three hosts": {"hosts": ["first.example", host, "last.example"]},
        "a subdomain for a host": {"hosts": [f"x.{host}"]},
        "a long list of hosts": {"hosts": [f"host-{n}.example" for n in range(60)]},
    }


def _expect_just_that(executions, what, asked):
    names, table = executions.table.names, executions.table
    try:
        token = _approved(executions, **asked)
    except NotVerified:
        if not asked:
            raise
        return  # an arbiter may refuse what is odd
    scope = token.get(names["scope"])
    scope = scope if isinstance(scope, dict) else {}
    digest = hashlib.sha256(asked.get("content", executions.driver.content)).hexdigest()
    hosts = sorted(map(str.lower, map(str, scope.get(names["allowed_hosts"]) or [])))
    asked_hosts = sorted(map(str.lower, asked.get("hosts", [table.host])))
    wanted = {
        "content_hash": (str(scope.get(names["content_hash"])).lower(), digest),
        "action_type": (scope.get(names["action_type"]), asked.get("action", table.action)),
        "allowed_hosts": (hosts, asked_hosts),
    }
    for name, (got, expected) in wanted.items():
        right = got == expected or (name == "content_hash" and got == f"sha256:{expected}")
        if name == "allowed_hosts" and not right and set(hosts) <= set(asked_hosts):
            executions.warn(f"an approval of {what}: fewer hosts than were asked for")
            continue
        executions.expect(
            right,
            sent=f"an approval of {what}",
            expected=f"a token whose {name} is {str(expected)[:60]!a}",
            got=f"{name} {str(got)[:60]!a}",
        )
    if executions.driver.secret is not None:
        expected = sign(executions.driver.secret, canonical(token, names))
        got = token.get(names["signature"])
        executions.expect(
            got == expected,
            sent=f"an approval of {what}",
            expected=f"signature {expected[:16]}... of its canonical string",
            got=f"signature {str(got)[:16]}...",
        )


@requirement("execution_tokens/arbiter-scope")
def test_a_token_is_for_just_what_was_approved(executions):
    """The hash, the action and the hosts that were asked for, and no more. An arbiter may refuse
    what is odd; it does not approve something else instead."""
    _expect_just_that(executions, "something plain", {})
    with executions.several() as several:
        for what, asked in _approvals(executions).items():
            with several.one(what):
                _expect_just_that(executions, what, asked)


@requirement("execution_tokens/arbiter-scope")
def test_an_approval_is_taken_by_the_operator_and_for_nothing_else(executions):
    """The two sides fit together, also where the suite makes tokens itself."""
    host = executions.table.host
    token = _approved(executions)
    wrong = {"another content": {"content": executions.other_content}}
    if executions.verifier.takes("action"):
        wrong["another action type"] = {"action": "mcp_approval_another"}
    if executions.verifier.takes("host"):
        wrong["another host"] = {"host": "https://evil.example/"}
        wrong["a subdomain"] = {"host": f"https://x.{host}/"}
    with executions.several() as several:
        for what, asked in wrong.items():
            with several.one(what):
                executions.expect_refused(
                    executions.execute(_approved(executions), **asked),
                    sent=f"a token of the arbiter, with {what}",
                )
    named = {"host": f"https://{host}/"} if executions.verifier.takes("host") else {}
    executions.expect_accepted(
        executions.execute(token, **named), sent="a token of the arbiter, with what was approved"
    )
    executions.expect_refused(
        executions.execute(token, **named), sent="a token of the arbiter, for time 2"
    )


@requirement("execution_tokens/arbiter-scope")
def test_approvals_do_not_change_each_other(executions):
    """Two that are open at the same time, used in the other order."""
    first = _approved(executions)
    second = _approved(executions, content=executions.other_content)
    name = executions.table.names["token_id"]
    executions.expect(
        isinstance(first.get(name), str) and first.get(name) != second.get(name),
        sent="two approvals",
        expected="two tokens, each with a token_id of its own",
        got=f"token_id {str(first.get(name))[:13]} and {str(second.get(name))[:13]}",
    )
    other = executions.other_content
    executions.expect_accepted(
        executions.execute(second, content=other), sent="the second of two approvals, first"
    )
    executions.expect_refused(
        executions.execute(first, content=other),
        sent="the first of two approvals, with the content of the second",
    )
    executions.expect_accepted(
        executions.execute(first), sent="the first of two approvals, after the second"
    )


# ---- for how long


def _end_of(executions, token, sent):
    text = token.get(executions.table.names["expires_at"])
    executions.expect(
        isinstance(text, str) and IN_UTC.fullmatch(text) is not None,
        sent=sent,
        expected="a token whose expires_at is an RFC 3339 instant in UTC",
        got=f"expires_at {text!a:.60}",
    )
    return datetime.datetime.fromisoformat(text.upper())


def _need_seconds(executions):
    if not executions.verifier.approves_for:
        name = executions.table.approve_arguments["seconds"]
        executions.not_applicable(f"its arbiter is not told for how long: it lists no {name}")


@requirement("execution_tokens/arbiter-expiry")
@pytest.mark.parametrize("seconds", [1, SECONDS, 1800])
def test_a_token_ends_when_it_should(executions, seconds):
    """Or sooner, if the arbiter has a limit of its own; never later."""
    sent = f"an approval for {seconds} s"
    end = _end_of(executions, _approved(executions, seconds=seconds), sent)
    _need_seconds(executions)
    latest = executions.driver.now() + datetime.timedelta(seconds=seconds)
    executions.expect(
        end <= latest + SKEW,
        sent=sent,
        expected=f"a token that ends {seconds} s later, or sooner",
        got=f"it ends {(end - latest).total_seconds():.0f} s too late: {end.isoformat()}",
    )


@requirement("execution_tokens/arbiter-expiry")
def test_without_a_life_there_is_no_token_that_serves(executions):
    """An approval for no time, or for less: refused, or for a token that is over."""
    _approved(executions)
    _need_seconds(executions)
    with executions.several() as several:
        for seconds in (0, -60):
            try:
                token = _approved(executions, seconds=seconds)
            except NotVerified:
                continue
            with several.one(f"{seconds} s"):
                executions.expect_refused(
                    executions.execute(token), sent=f"a token that was approved for {seconds} s"
                )


@requirement("execution_tokens/arbiter-expiry", needs=["clock"])
def test_an_approval_ends_and_another_begins(executions):
    """Approved twice, before and after the first has ended. How long that takes, its own end
    says."""
    first, unused = _approved(executions), _approved(executions)
    executions.expect_accepted(executions.execute(first), sent="a token of the arbiter, at once")
    end = _end_of(executions, unused, "an approval")
    executions.clock.advance((end - executions.driver.now()).total_seconds() / 2)
    sibling = _approved(executions)
    executions.clock.move_to(end + datetime.timedelta(seconds=2))
    executions.expect_refused(
        executions.execute(unused), sent="a token of the arbiter, 2 s after its end"
    )
    if _end_of(executions, sibling, "an approval") > end + datetime.timedelta(seconds=5):
        executions.expect_accepted(
            executions.execute(sibling), sent="a token for the same, approved in between"
        )
    executions.expect_accepted(
        executions.execute(_approved(executions)), sent="a token for the same, approved after that"
    )
