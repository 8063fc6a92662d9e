"""SEP-2672 section 4.6: the serverId tells servers apart, and stays."""

import contextlib

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.issuing import (
    action_hash_of,
    ask,
    expected_hash,
    issued,
    safe_arguments,
    tools_to_ask,
)
from pytest_mcp_approval.families.sep2672.settings import own_settings
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.wire import Outcome

# ---- 4.6-server-id-unique

GUESSES = [
    *("", "mcp-default", "default", "mcp", "mcp-server", "server", "serverId", "server-id"),
    *("verified-approval", "mcp-verified-approval", "test", "demo", "example", "localhost"),
    *("undefined", "null", "None", "0", "1", "00000000-0000-0000-0000-000000000000"),
]


@requirement("sep2672/4.6-server-id-unique", needs=[])
def test_the_server_id_is_no_constant_default(ceremony):
    """One challenge is enough to try the ids that everybody would have.

    Reading: the server's own name or its RP ID may be unique by chance, so they are a warning.
    """
    _ = ceremony.passkey
    tool = tools_to_ask(ceremony)[0]
    challenge = issued(ceremony, tool)
    canonical = words.canonical_arguments(safe_arguments(tool)).decode()
    found = action_hash_of(challenge)
    for guess in GUESSES:
        ceremony.expect(
            found != expected_hash(tool.name, canonical, guess),
            sent=f"a challenge for {tool.name}, its hash tried with usual serverIds",
            expected="a serverId that no other server has",
            got=f"the serverId is {guess!r}",
        )
    info = ceremony.session.server_info
    for name in (info.get("name"), challenge.options.get("rpId")):
        if isinstance(name, str) and found == expected_hash(tool.name, canonical, name):
            ceremony.warn(f"the serverId is {name!r}, which another server may have too")


@requirement("sep2672/4.6-server-id-unique")
def test_two_instances_hash_differently(ceremony):
    """The same call, approved at one server, is another action at the next one.

    Reading: instances that were given one serverId on purpose are one server to this section; the
    suite takes them for that when it is told the id.
    """
    tool = ceremony.tool
    ceremony.honest(tool)
    here = ceremony.challenge(tool)
    other = ceremony.twin()
    with contextlib.closing(other.target):
        passkey = other.enrol()
        there = issued(ceremony, tool, approval=other)
        if ceremony.passkey.id in there.offered:
            raise NotVerified("needs a second instance with a state of its own")
        configured = own_settings(ceremony.target).server_id
        if configured and action_hash_of(here) == action_hash_of(there):
            raise NotVerified(f"both instances have the configured serverId {configured!r}")
        ceremony.expect(
            action_hash_of(here) != action_hash_of(there),
            sent=f"challenges for {tool.name} from two instances, the same arguments",
            expected="two action hashes, by two serverIds (if both were given one on purpose: "
            "--mcp-approval-server-id)",
            got="the same second half from both",
        )
        # Signed by a credential that the other instance knows, for the challenge of this one.
        evidence = passkey.sign(here, ignoring=["allow-credentials"])
        elsewhere = other.call(here, evidence)
        ceremony.expect(
            not elsewhere.executed and elsewhere.reply.outcome is Outcome.ERROR,
            sent=f"a call of {tool.name} at one instance with an approval for the other",
            expected="a refusal, tool not run",
            got=elsewhere.describe(),
        )
        honest = other.call(there, passkey.sign(there))
        if not honest.succeeded:
            raise NotVerified(f"the honest call at the other one failed: {honest.describe()}")


# ---- 4.6-server-id-stable


def _expect_same_hash(ceremony, before, after, *, sent):
    ceremony.expect(
        action_hash_of(before) == action_hash_of(after),
        sent=sent,
        expected="one action hash for the same call: the serverId is the same",
        got="two different second halves",
    )


@requirement("sep2672/4.6-server-id-stable")
def test_the_hash_stays_the_same_during_a_run(ceremony):
    """Over sessions, enrolments and approvals; and the first challenge is good to the end."""
    tool = ceremony.tool
    first = ceremony.challenge(tool)
    ceremony.enrol("icloud-keychain")
    _expect_same_hash(
        ceremony,
        first,
        ceremony.challenge(tool),
        sent=f"challenges for {tool.name} before and after another enrolment",
    )
    with ceremony.target.new_session() as session:
        _expect_same_hash(
            ceremony,
            first,
            ceremony.challenge(tool, session=session),
            sent=f"challenges for {tool.name} in two sessions",
        )
    ceremony.honest(tool)
    _expect_same_hash(
        ceremony,
        first,
        ceremony.challenge(tool),
        sent=f"challenges for {tool.name} before and after an approved call",
    )
    ceremony.still_serves(first)


@requirement("sep2672/4.6-server-id-stable")
def test_the_hash_stays_the_same_while_a_challenge_lives(ceremony):
    """A serverId that changes with time must not do so under a pending challenge."""
    if not ceremony.target.clock.movable:
        ceremony.not_applicable("without a clock that can be moved, the run itself is all the time")
    tool = ceremony.tool
    first = ceremony.challenge(tool)
    try:
        lives = (first.expires_at - ceremony.clock.now()).total_seconds()
    except ValueError as error:
        raise NotVerified(f"expiresAt cannot be read: {error}") from None
    ceremony.clock.advance(max(0, lives - 2), at_most=lives)
    sent = f"challenges for {tool.name} at the beginning and end of the first one's life"
    _expect_same_hash(ceremony, first, ceremony.challenge(tool), sent=sent)
    ceremony.still_serves(first)


@requirement("sep2672/4.6-server-id-stable", needs=["restart"])
def test_the_hash_survives_a_restart(ceremony):
    """Where challenges are kept over a restart, the serverId is too.

    Reading: a server that forgets its challenges has none left that a new id could harm. If it
    keeps credentials, and so goes on as the same server, a new id is a warning.
    """
    tool = ceremony.tool
    before = ceremony.challenge(tool)
    evidence = ceremony.passkey.sign(before)
    ceremony.target.restart()
    ceremony.approval.forget()
    after, reply = ask(ceremony, tool, safe_arguments(tool))
    if after is None or ceremony.passkey.id not in after.offered:
        raise NotApplicable(f"nothing is kept over a restart: {reply.describe()[:100]}")
    sent = f"challenges for {tool.name} before and after a restart"
    if action_hash_of(before) != action_hash_of(after):
        kept = ceremony.approval.call(before, evidence)
        if kept.refused_because(Reason.CHALLENGE_UNKNOWN):
            ceremony.warn(f"{sent}: another serverId, and the first challenge is forgotten")
            return
    _expect_same_hash(ceremony, before, after, sent=sent)


@requirement("sep2672/4.6-server-id-stable")
def test_replicas_hash_alike(ceremony):
    """A load balancer may send the call to another replica than the challenge came from.

    Reading: two that share credentials but no challenges may be two servers; then it is a warning.
    """
    tool = ceremony.tool
    here = ceremony.challenge(tool)
    replica = ceremony.target.replica()
    if replica is None:
        ceremony.not_applicable("there is one target, and no replica of it")
    with contextlib.closing(replica):
        elsewhere = type(ceremony.approval)(replica)
        there = issued(ceremony, tool, approval=elsewhere)
        if ceremony.passkey.id not in there.offered:
            raise NotVerified("the two targets share no state, so they are no replicas")
        sent = f"challenges for {tool.name} from two replicas"
        if action_hash_of(here) != action_hash_of(there):
            answer = elsewhere.call(here, ceremony.passkey.sign(here))
            if answer.refused_because(Reason.CHALLENGE_UNKNOWN):
                ceremony.warn(f"{sent}: two serverIds, and neither knows the other's challenges")
                return
        _expect_same_hash(ceremony, here, there, sent=sent)
