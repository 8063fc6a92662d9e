"""SEP-2672 section 8.2.3: an approval serves exactly once, wherever and whenever it is replayed."""

import contextlib

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.base.outcome import is_result
from pytest_mcp_approval.families.base.replicas import all_at_once
from pytest_mcp_approval.families.sep2672.driver import Approval
from pytest_mcp_approval.wire import StdioTransport

# A synced passkey shows no counter, so that a counter cannot hide a challenge that serves twice.
SHAPE = "icloud-keychain"


def _expect_no_run(ceremony, outcome, sent):
    """Whatever the server answers, the tool has not run."""
    ceremony.expect(
        not outcome.executed, sent=sent, expected="a refusal, tool not run", got=outcome.describe()
    )


def _approved(ceremony):
    """A genuine call that was approved and has run, to be replayed."""
    passkey = ceremony.enrol(SHAPE)
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge, passkey)
    first = ceremony.call(challenge, evidence)
    if not first.served:
        raise NotVerified(f"the honest call failed, so nothing follows: {first.describe()}")
    return challenge, evidence, passkey


@contextlib.contextmanager
def _replica(ceremony):
    other = ceremony.target.replica()
    if other is None:
        raise NotVerified("needs a second replica of the target: name both as targets", minor=True)
    try:
        yield Approval(other)
    finally:
        other.close()


def _honest_on(ceremony, approval, passkey):
    """A new honest approval by way of this replica; it proves that a replay could have run."""
    tool = ceremony.tool
    challenge = approval.challenge(tool.name, tool.arguments)
    outcome = approval.call(challenge, passkey.sign(challenge))
    if not outcome.executed:
        raise NotVerified(f"the replica refuses honest calls: {outcome.describe()}")
    # Replicas may share their effects: this run must not count for later calls.
    ceremony.approval.forget()


@requirement("sep2672/8.2.3-exactly-once", needs=[])
def test_a_replay_on_the_same_connection_gets_no_second_run(ceremony):
    """The same call several times over."""
    challenge, evidence, passkey = _approved(ceremony)
    for number in range(2, 6):
        _expect_no_run(
            ceremony,
            ceremony.call(challenge, evidence),
            f"an approved tools/call, on the same connection, for time {number}",
        )
    ceremony.honest(passkey=passkey)


@requirement("sep2672/8.2.3-exactly-once", needs=[])
def test_a_replay_in_another_session_gets_no_second_run(ceremony):
    """Another client of the same user sends what it has overheard."""
    if isinstance(ceremony.target.transport, StdioTransport):
        ceremony.not_applicable("a pipe has one session")
    challenge, evidence, passkey = _approved(ceremony)
    with ceremony.target.new_session("pytest-mcp-approval, second client") as session:
        _expect_no_run(
            ceremony,
            ceremony.call(challenge, evidence, session=session),
            "an approved tools/call once more, in another session",
        )
    ceremony.honest(passkey=passkey)


@requirement("sep2672/8.2.3-exactly-once", needs=["pair"])
def test_a_replay_on_another_replica_gets_no_second_run(ceremony):
    """Two processes serve the same users: what was used at one, the other must not accept."""
    challenge, evidence, passkey = _approved(ceremony)
    with _replica(ceremony) as other:
        _honest_on(ceremony, other, passkey)
        _expect_no_run(
            ceremony,
            other.call(challenge, evidence),
            "an approved tools/call once more, on another replica",
        )


@requirement("sep2672/8.2.3-exactly-once", needs=["pair"])
def test_replicas_raced_give_one_run(ceremony):
    """One challenge at two replicas at the same moment.

    Over HTTP the last bytes of all requests leave together. Elsewhere threads do what they can,
    and a race without a second winner is weak evidence."""
    passkey = ceremony.enrol(SHAPE)
    ceremony.honest(passkey=passkey)
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge, passkey)
    with _replica(ceremony) as other:
        _honest_on(ceremony, other, passkey)
        params = ceremony.approval.call_params(challenge, evidence)
        calls = [
            (approval.session, ("tools/call", params))
            for approval in (ceremony.approval, other)
            for _ in range(4)
        ]
        # Each replica may show its own runs, or both may show those of all.
        (replies, theirs), ours = ceremony.approval.runs_during(
            lambda: other.runs_during(lambda: all_at_once(calls))
        )
        results = sum(is_result(reply) for reply in replies)
        ceremony.expect(
            results == 1 and (ours or 0) <= 1 and (theirs or 0) <= 1,
            sent="tools/call on one challenge, 4 times to each of two replicas, at once",
            expected="one result, the tool run once",
            got=f"{results} results, {ours} runs by the one replica and {theirs} by the other",
        )


@requirement("sep2672/8.2.3-exactly-once", needs=["restart"])
def test_a_replay_after_a_restart_gets_no_second_run(ceremony):
    """The server is ended and started again. It may have forgotten all about the challenge, or keep
    it as used; it must not take it for unused."""
    challenge, evidence, passkey = _approved(ceremony)
    _restart(ceremony)
    _expect_no_run(
        ceremony,
        ceremony.call(challenge, evidence),
        "an approved tools/call once more, after a restart",
    )
    _honest_after_restart(ceremony, passkey)


@requirement("sep2672/8.2.3-exactly-once", needs=["restart"])
def test_a_pending_challenge_serves_once_at_most_across_a_restart(ceremony):
    """Issued before the restart, submitted twice after it: at most one run."""
    passkey = ceremony.enrol(SHAPE)
    ceremony.honest(passkey=passkey)
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge, passkey)
    _restart(ceremony)
    outcomes = [ceremony.call(challenge, evidence) for _ in range(3)]
    runs = sum(outcome.executed for outcome in outcomes)
    ceremony.expect(
        runs <= 1,
        sent="tools/call three times after a restart, on a challenge from before it",
        expected="one run at most",
        got="; ".join(outcome.describe() for outcome in outcomes),
    )
    _honest_after_restart(ceremony, passkey)


def _restart(ceremony):
    ceremony.target.restart()
    ceremony.approval.forget()


def _honest_after_restart(ceremony, passkey):
    """The server that was started again does run honest calls, if need be of a new credential."""
    tool = ceremony.tool
    reply = ceremony.approval.request_challenge(tool.name, tool.arguments)
    offered = []
    if isinstance(reply.result, dict):
        offered = reply.result.get("requestOptions", {}).get("allowCredentials", [])
    if not any(one.get("id") == passkey.id for one in offered):
        passkey = ceremony.enrol(SHAPE)
    ceremony.honest(passkey=passkey)
