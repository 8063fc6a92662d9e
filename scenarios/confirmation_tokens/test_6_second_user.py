"""Confirmation tokens with two people: what one does leaves the other's tokens as they were.

The document binds tokens to operations, parameters and adapters, not to users: whether one may use
or revoke the other's token is not judged. What was used stays used, whoever comes with it.
"""

import datetime

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.base.decoder import member_in
from pytest_mcp_approval.families.confirmation_tokens.audit import entries_about
from pytest_mcp_approval.families.confirmation_tokens.kinds import FEW, SESSION, tokens_of_kind
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    QUOTA_PAUSED,
    Event,
    TokenCode,
)
from pytest_mcp_approval.wire import race
from pytest_mcp_approval.wire.reply import show_json

MANY = 12
RUNNERS = 4


@requirement("confirmation_tokens/6.1-replay")
def test_a_replay_by_another_user_runs_nothing(tokens):
    """At once, later, and for tokens of every kind."""
    with tokens.second_user() as second:
        tokens.honest(session=second)
        with tokens.several() as several:
            for name in FEW:
                if name == SESSION:
                    continue  # it has no second user: its session is one user's
                try:
                    with tokens_of_kind(tokens, name) as kind:
                        issued = kind.used()
                        kind.issue()  # a quota is used up again
                        _replays(tokens, several, issued, name, second)
                except NotApplicable:
                    continue
        tokens.honest(session=second)


def _replays(tokens, several, issued, name, second):
    for when in ("at once", "at the end of its life"):
        if when != "at once":
            if not tokens.target.clock.movable:
                return
            tokens.move_inside(issued, issued.expires_at)
        if name == "quota":
            with tokens.honest_step("the second user's operation did not pause"):
                tokens.driver.paused(issued.operation, issued.params, session=second)
        sent = f"a {name} token that was used, by another user, {when}"
        with several.one(sent):
            tokens.expect_not_run(tokens.redeem(issued, session=second), sent=sent)


@requirement("confirmation_tokens/6.1-replay")
def test_of_two_users_together_one_is_served_at_most(tokens):
    """One token, two people at once. It is used once at most, and afterwards by nobody."""
    with tokens.second_user() as second:
        tokens.honest(session=second)
        issued = tokens.issue()
        call = tokens.driver.redeem_params(issued)
        sessions = [tokens.driver.session, second] * RUNNERS
        calls = [one.prepare("tools/call", call) for one in sessions]
        replies, runs = tokens.driver.runs_during(lambda: race(tokens.driver.session, calls))
        won = sum(tokens.driver.binding.read(reply).success for reply in replies)
        tokens.expect(
            won <= 1 and (runs or 0) <= 1,
            sent=f"one token {2 * RUNNERS} times at once, by two users",
            expected="one success at most",
            got=f"{won} successes, operation run {'?' if runs is None else runs} times",
        )
        for who, session in {"the other user": second, "its user": None}.items():
            tokens.expect_not_run(
                tokens.redeem(issued, session=session),
                sent=f"a token that two users raced for, once more by {who}",
            )


@requirement("confirmation_tokens/4.1-not-consumed")
def test_what_another_user_does_uses_up_nothing(tokens):
    """Another user asks for the same call, confirms it, fails and revokes, many times; the tokens
    of the first one serve as before, once."""
    tokens.two()
    kept = [tokens.issue() for _ in range(2)]
    with tokens.second_user() as second:
        theirs = [tokens.issue(session=second) for _ in range(MANY)]
        tokens.expect_run(
            tokens.redeem(theirs[0], session=second), sent="another user's token for the same call"
        )
        tokens.redeem(theirs[0], session=second)
        tokens.redeem(theirs[1].with_params(tokens.changed()), session=second)
        if tokens.table.introspection:
            tokens.driver.revoke(theirs[2].token, session=second)
        for number, one in enumerate(kept, 1):
            tokens.expect_run(
                tokens.redeem(one),
                sent=f"token {number} of 2, after another user's {MANY} for the same call",
            )
        tokens.expect_refusal(
            tokens.redeem(kept[0]), TokenCode.ALREADY_USED, sent="the first of them once more"
        )
        tokens.expect_run(
            tokens.redeem(theirs[3], session=second), sent="another user's token, after these"
        )


@requirement("confirmation_tokens/2.1-quota")
def test_the_pause_of_one_user_is_resumed_by_their_own_token(tokens):
    """Two people whose runs are paused: each goes on with the token of their own pause. If they
    share a quota, the document does not say what becomes of the other's token."""
    operation = tokens.with_("quota")
    with tokens.second_user() as second, tokens.honest_step("no pause"):
        first = tokens.driver.paused(operation.name, operation.params)
        begun = tokens.driver.call(operation.name, operation.params, session=second)
        shared = begun.answer.means(QUOTA_PAUSED)
        theirs = tokens.driver.paused(operation.name, operation.params, session=second)
        tokens.expect_run(
            tokens.redeem(theirs, session=second), sent="the quota token of the second user"
        )
        sent, outcome = "the quota token of the first user, after that", tokens.redeem(first)
        if shared and not outcome.executed:
            tokens.warn(f"{sent}: {outcome.describe()}; the quota seems to be one for all users")
        else:
            tokens.expect_run(outcome, sent=sent)


@requirement("confirmation_tokens/5.3-session-end")
def test_a_logout_ends_the_tokens_of_one_user(tokens):
    """Those of the other serve as before; those of the one who left do not."""
    leaving = [one for one in tokens.table.triggers if one.whose == "user"]
    if not leaving:
        raise NotApplicable('no trigger with whose = "user" is named (triggers)')
    with tokens.second_user() as second, tokens.several() as several:
        for trigger in leaving:
            kept, gone = tokens.issue(), tokens.issue(session=second)
            if not tokens.driver.call(trigger.name, trigger.params, session=second).succeeded:
                raise NotVerified(f"{trigger.name} failed")
            with several.one(f"{trigger.why}: the other"):
                tokens.expect_run(
                    tokens.redeem(kept), sent=f"a token after another user's {trigger.why}"
                )
            with several.one(f"{trigger.why}: their own"):
                tokens.expect_not_run(
                    tokens.redeem(gone, session=second),
                    sent=f"a token of the user after whose {trigger.why} it is",
                )
            tokens.honest(session=second)


@requirement("confirmation_tokens/5.3-revocation")
def test_what_is_said_of_another_users_revocation_is_true(tokens):
    """Another user revokes a token. If that is said to be done, the token runs nothing; if it is
    refused, its user can use it."""
    with tokens.second_user() as second:
        tokens.honest(session=second)
        issued = tokens.issue()
        done = tokens.driver.revoke(issued.token, session=second)
        outcome = tokens.redeem(issued)
        sent = f"a token, after another user's revocation ({done.said})"
        if done.succeeded:
            tokens.expect_not_run(outcome, sent=sent)
        else:
            tokens.expect_run(outcome, sent=sent)


@requirement("confirmation_tokens/6.4-client-context")
def test_the_log_tells_two_users_apart(tokens):
    """Where entries name a user: the one who did it, for an issue, a use, a refusal and a
    revocation; never another one's."""
    with tokens.second_user() as second:
        theirs = tokens.issue(session=second)
        refused = tokens.used()
        tokens.redeem(refused)
        mine = {
            "issue": (tokens.issue(), Event.ISSUED),
            "use": (tokens.used(), Event.VALIDATED),
            "refusal": (refused, Event.REJECTED),
        }
        if tokens.table.introspection:
            revoked = tokens.issue()
            tokens.driver.revoke(revoked.token)
            mine["revocation"] = (revoked, Event.REVOKED)
        entries = tokens.driver.binding.audit_entries()
    named = {
        what: {show_json(one) for one in _users(entries, issued.token, event)}
        for what, (issued, event) in mine.items()
    }
    told = set().union(*named.values())
    if not told:
        raise NotApplicable("the entries of the audit log name no user")
    tokens.expect(
        len(told) == 1,
        sent="an issue, a use, a refusal and a revocation by one user, then a look at the log",
        expected="the same user in all entries",
        got="; ".join(f"{what}: {', '.join(users) or 'none'}" for what, users in named.items()),
    )
    others = {show_json(one) for one in _users(entries, theirs.token, Event.ISSUED)}
    tokens.expect(
        not others & told,
        sent="an issue for another user, then a look at the log",
        expected="another user in its entry, or an entry that only they can see",
        got=f"{', '.join(others)}, as for the first user",
    )


def _users(entries, token, event):
    """Whom the entries about this event of a token name as its user."""
    about = entries_about(entries, token, event)
    users = [member_in(one.get("client_context"), "user_id") for one in about]
    return [one for one in users if one is not None]


@requirement("confirmation_tokens/4.1-not-expired")
def test_what_another_user_does_prolongs_nothing(tokens):
    """Shortly before a token ends, another user is busy with the same call."""
    issued = tokens.issue()
    with tokens.second_user() as second:
        early = tokens.margin(issued) + datetime.timedelta(seconds=1)
        tokens.move_to(issued.expires_at - early, before=issued.expires_at)
        tokens.honest(session=second)
        tokens.redeem(issued.with_params(tokens.changed()), session=second)
        late = tokens.move_beyond(issued)
        tokens.expect_not_run(
            tokens.redeem(issued), sent=f"a token {late} after it expired, with another user about"
        )
        tokens.honest(session=second)
