"""Many confirmations of one token at the same moment: one of them does something."""

import contextlib

import pytest

from pytest_mcp_approval.catalogue import Finding, Grade, requirement
from pytest_mcp_approval.families.prepare_confirm.vocabulary import TwoStepReason
from pytest_mcp_approval.wire import race

RUNNERS = 8

# Over HTTP all requests but their last bytes are with the server before any is complete, which
# finds nearly all servers that look first and mark later. On stdio they go out in one write, and a
# server may well take them one by one: there a race without a second winner is weak evidence.


def _race(two_step, preview, tokens, sessions):
    """What came of each, and how much was done by all together."""
    calls = [
        sessions[number % len(sessions)].prepare(
            "tools/call", two_step.driver.confirm_params(preview.pair, token)
        )
        for number, token in enumerate(tokens)
    ]
    replies, runs, _ = two_step.driver.watch(lambda: race(two_step.session, calls))
    two_step.disturbed()
    return [two_step.driver.seen(preview.pair, reply) for reply in replies], runs


def _expect_one(two_step, preview, seen, runs, sent):
    """Two successes are two executions, whether the effects show it or only the answers do."""
    winners = [one for one in seen if one.succeeded]
    if not winners and not runs:
        two_step.need_in_place(preview)
    done = "" if two_step.driver.effects is None else f", {'?' if runs is None else runs} done"
    got = f"{len(winners)} of {len(seen)} succeeded{done}"
    if not winners and runs == (None if two_step.driver.effects is None else 0):
        # The document says that a token works once at most, and nothing about many at once.
        two_step.warn(f"{sent}: {got}; expected that one of them is served")
    elif len(winners) != 1 or runs not in (None, 1, len(preview.ids)):
        raise Finding(
            sent=sent,
            expected=f"one success, {len(preview.ids)} thing(s) done",
            got=got,
            grade=Grade.RAN if len(winners) > 1 else Grade.BROKEN,
        )


@requirement("prepare_confirm/concurrent")
@pytest.mark.parametrize("who", ["one session", "two sessions", "two users"])
def test_of_many_confirmations_at_once_one_counts(two_step, who):
    """Reading: whether another user's token is any good is left to the server, so it may be refused
    to them for any reason."""
    others = {"two sessions": "another client", "two users": "another user"}
    with contextlib.ExitStack() as stack:
        speakers = [two_step.session]
        if who in others:
            speakers.append(stack.enter_context(two_step.somebody_else(others[who])))
        # All kinds in one session; with a second one it is the sessions that matter.
        kinds = two_step.kinds()
        few = {"one session": len(kinds), "two sessions": len(two_step.pairs()), "two users": 1}
        for kind in kinds[: few[who]]:
            pair = kind.pair
            two_step.honest(pair, kind.arguments)
            preview = two_step.preview(pair, kind.arguments)
            seen, runs = _race(two_step, preview, [preview.token] * RUNNERS, speakers)
            sent = f"{pair.confirm} ({kind.name}) {RUNNERS} times at once with one token"
            _expect_one(two_step, preview, seen, runs, sent)
            with two_step.several() as several:
                for number, one in enumerate(seen, 1):
                    if not one.succeeded:
                        with several.one(f"number {number}"):
                            by_another_user = who == "two users" and number % 2 == 0
                            two_step.expect_refusal(
                                one,
                                *([] if by_another_user else [TwoStepReason.USED]),
                                sent=f"{sent}, one of those that came too late",
                            )
            if any(one.succeeded for one in seen):
                two_step.put_in_place(pair)
                two_step.driver.forget()
                two_step.expect_refusal(
                    two_step.confirm(preview),
                    TwoStepReason.USED,
                    sent=f"{pair.confirm} ({kind.name}), once more after a race for the token",
                )


@requirement("prepare_confirm/concurrent")
def test_one_real_token_among_forgeries_counts(two_step):
    """The real one wins, whoever is first."""
    two_step.honest()
    preview = two_step.preview()
    forged = f"{preview.token[:-1]}{'1' if preview.token[-1] == '0' else '0'}"
    tokens = [forged] * 3 + [preview.token] + [forged] * 3
    seen, runs = _race(two_step, preview, tokens, [two_step.session])
    sent = f"{preview.pair.confirm} at once: one real token, six with a broken signature"
    _expect_one(two_step, preview, seen, runs, sent)
    if not seen[3].succeeded:
        two_step.warn(f"{sent}: {seen[3].describe()}; expected that the real one succeeds")


@requirement("prepare_confirm/concurrent")
def test_different_tokens_do_not_stand_in_each_others_way(two_step):
    """Two previews of different pairs, confirmed at the same moment: both are done."""
    one, other = two_step.pairs_apart()
    two_step.honest(one)
    two_step.honest(other)
    previews = [two_step.preview(one), two_step.preview(other)]
    calls = [
        two_step.session.prepare(
            "tools/call", two_step.driver.confirm_params(preview.pair, preview.token)
        )
        for preview in previews
    ]
    replies, _, _ = two_step.driver.watch(lambda: race(two_step.session, calls))
    two_step.disturbed()
    for preview, reply in zip(previews, replies, strict=True):
        seen = two_step.driver.seen(preview.pair, reply)
        two_step.expect_done(
            seen, preview, sent=f"{preview.pair.confirm} at the same moment as another pair's"
        )
