"""SEP-2672 section 4.4.3: nonces are random and never repeat."""

import contextlib
import itertools

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.sep2672.driver import Approval
from pytest_mcp_approval.families.sep2672.issuing import (
    any_challenge,
    halves,
    issued,
    issued_for_each,
    tools_to_ask,
)

# ---- 4.4.3-nonce-unpredictable

_NONCES = 32


@requirement("sep2672/4.4.3-nonce-unpredictable")
def test_nonces_look_random(ceremony):
    """What a few dozen can show: no repeats, no counter, no clock, no constant part.

    The bounds are such that honest randomness fails less than once in a million runs.
    """
    nonces = [halves(any_challenge(ceremony))[0] for _ in range(_NONCES)]
    sent = f"approval/challenge/create, {_NONCES} times for the same call"
    ceremony.expect(
        len(set(nonces)) == _NONCES,
        sent=sent,
        expected=f"{_NONCES} different nonces",
        got=f"{len(set(nonces))} different ones",
    )
    numbers = [int.from_bytes(nonce) for nonce in nonces]
    steps = {(after - before) % 2**256 for before, after in itertools.pairwise(numbers)}
    ceremony.expect(
        len(steps) > 1,
        sent=sent,
        expected="nonces without a pattern",
        got=f"each nonce is the one before plus {min(steps):#x}",
    )
    both = 0
    for number in numbers:
        both |= number ^ numbers[0]
    steady = [256 - bit for bit in range(256, 0, -1) if not both >> (bit - 1) & 1]
    ceremony.expect(
        not steady,
        sent=sent,
        expected="every bit of the nonce changes now and then",
        got=f"{len(steady)} of 256 bits never did (the first at {steady[:1]}): "
        "a counter, a clock, or a constant part",
    )
    ones = sum(number.bit_count() for number in numbers)
    ceremony.expect(
        abs(ones - _NONCES * 128) < 300,  # 6.6 standard deviations
        sent=sent,
        expected="about as many ones as zeros",
        got=f"{ones} ones in {_NONCES * 256} bits",
    )


@requirement("sep2672/4.4.3-nonce-unpredictable")
def test_nonces_are_the_servers_over_all_tools(ceremony):
    """Unique across all challenges of the server, whatever they are for."""
    nonces = [halves(challenge)[0] for _ in range(4) for _, challenge in issued_for_each(ceremony)]
    ceremony.expect(
        len(set(nonces)) == len(nonces),
        sent=f"{len(nonces)} challenges for all gated tools in turn",
        expected="as many different nonces",
        got=f"{len(set(nonces))} different ones",
    )


@requirement("sep2672/4.4.3-nonce-unpredictable")
def test_a_restart_does_not_bring_nonces_back(ceremony):
    """A generator that starts from the same seed gives the same nonces after each start."""
    if not ceremony.target.can_restart:
        ceremony.not_applicable("the suite cannot restart this server")
    tool = tools_to_ask(ceremony)[0]
    any_challenge(ceremony)
    starts = []
    for _ in range(2):
        ceremony.target.restart()
        ceremony.approval.forget()
        ceremony.enrol()  # the server may have forgotten the others
        starts.append({halves(issued(ceremony, tool))[0] for _ in range(8)})
    ceremony.expect(
        not starts[0] & starts[1],
        sent="8 challenges after a restart, and 8 after another one",
        expected="16 different nonces",
        got=f"{len(starts[0] & starts[1])} of them twice",
    )


@requirement("sep2672/4.4.3-nonce-unpredictable")
def test_two_instances_do_not_share_nonces(ceremony):
    """Two servers that were started alike do not count alike."""
    tool = tools_to_ask(ceremony)[0]
    any_challenge(ceremony)
    instances = []
    for _ in range(2):
        target = ceremony.target.twin()
        if target is None:
            ceremony.not_applicable("the suite cannot start another instance of this server")
        with contextlib.closing(target):
            other = Approval(target)
            other.enrol()
            instances.append({halves(issued(ceremony, tool, approval=other))[0] for _ in range(8)})
    ceremony.expect(
        not instances[0] & instances[1],
        sent="8 challenges from each of two fresh instances",
        expected="16 different nonces",
        got=f"{len(instances[0] & instances[1])} of them twice",
    )
