"""Confirmation tokens, section 6.4: every event of every kind of token is in the log, and true."""

import contextlib
import secrets
from dataclasses import dataclass

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.confirmation_tokens.audit import entries_about
from pytest_mcp_approval.families.confirmation_tokens.driver import IssuedToken
from pytest_mcp_approval.families.confirmation_tokens.kinds import (
    FEW,
    QUOTA,
    SESSION,
    tokens_of_kind,
)
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    CONFIRMATION_PREFIX,
    FAILURE,
    SUCCESS,
    Event,
)
from pytest_mcp_approval.wire.reply import show_json


@dataclass(frozen=True)
class _Happened:
    """What was done with a token, and what the log should have of it."""

    what: str
    issued: IssuedToken
    event: Event
    at: object
    operation: str = ""
    """The operation that was called, if it is not that of the token."""
    code: str | None = None
    """With which the caller was refused."""

    @property
    def outcome(self):
        return FAILURE if self.event is Event.REJECTED else SUCCESS


def _of_every_kind(tokens):
    """Issue, use, refusal and revocation of each kind."""
    for name in FEW:
        with contextlib.suppress(NotApplicable), tokens_of_kind(tokens, name) as kind:
            now = tokens.target.clock.now
            issued = kind.issue()
            yield _Happened(f"the issue of a {name} token", issued, Event.ISSUED, now())
            tokens.need_served(kind.redeem(issued))
            yield _Happened(f"the use of a {name} token", issued, Event.VALIDATED, now())
            if kind.operation.other_params:
                issued = kind.issue()
                kind.attempt(issued.with_params(kind.changed()))
                yield _Happened(
                    f"a {name} token for other parameters", issued, Event.REJECTED, now()
                )
            issued = kind.used()
            kind.attempt(issued)
            yield _Happened(f"a {name} token that was used", issued, Event.REJECTED, now())
            if tokens.table.introspection:
                issued = kind.issue()
                outcome = tokens.driver.revoke(issued.token, session=kind.session)
                if outcome.succeeded:
                    what = f"the revocation of a {name} token"
                    yield _Happened(what, issued, Event.REVOKED, now())
                    kind.attempt(issued)
                    what = f"a {name} token that was revoked"
                    yield _Happened(what, issued, Event.REJECTED, now())


def _refusals(tokens):
    """Those that are not about a token's own call, and what ends tokens by itself."""
    now = tokens.target.clock.now
    unknown = tokens.issue().with_token(CONFIRMATION_PREFIX + secrets.token_hex(24))
    code = tokens.redeem(unknown).answer.code
    yield _Happened("a token that was never issued", unknown, Event.REJECTED, now(), code=code)
    with contextlib.suppress(NotApplicable):
        other, issued = tokens.second_operation(), tokens.issue()
        attempt = issued.with_operation(other.name).with_params(other.params)
        code = tokens.redeem(attempt).answer.code
        what = "a token for another operation"
        yield _Happened(what, issued, Event.REJECTED, now(), operation=other.name, code=code)
    tool = tokens.table.other_adapter.get("tool")
    if tool is not None and _is_in_the_log(tokens, tokens.issue(tool=tool)):
        issued = tokens.issue()
        code = tokens.redeem(issued, tool=tool).answer.code
        yield _Happened("a token of another adapter", issued, Event.REJECTED, now(), code=code)
    if tokens.target.clock.movable:
        issued = tokens.issue()
        tokens.move_beyond(issued)
        code = tokens.redeem(issued).answer.code
        yield _Happened("a token that has expired", issued, Event.REJECTED, now(), code=code)


def _is_in_the_log(tokens, issued):
    """Not if the adapter that issued it has a log of its own."""
    return bool(entries_about(tokens.driver.binding.audit_entries(), issued.token))


def _expect_told(tokens, happened):
    """An entry for each, with its members; the last one if there are several."""
    entries = tokens.driver.binding.audit_entries()
    with tokens.several() as several:
        for one in happened:
            with several.one(one.what):
                found = entries_about(entries, one.issued.token, one.event)
                sent = f"{one.what}, then a look at the audit log"
                tokens.expect(
                    bool(found),
                    sent=sent,
                    expected=f"an entry {one.event}",
                    got="no such entry",
                )
                _expect_true(tokens, one, found[-1], sent)


def _expect_true(tokens, one, entry, sent):
    tokens.expect(
        entry.get("outcome") == one.outcome,
        sent=sent,
        expected=f"outcome {one.outcome} in {one.event}",
        got=f"outcome {show_json(entry.get('outcome'))}",
    )
    named = (one.issued.operation, one.operation or one.issued.operation)
    tokens.expect(
        entry.get("operation") in named,
        sent=sent,
        expected=f"operation {' or '.join(dict.fromkeys(named))} in {one.event}",
        got=f"operation {show_json(entry.get('operation'))}",
    )
    tokens.expect(
        isinstance(entry.get("adapter_name"), str) and entry["adapter_name"] != "",
        sent=sent,
        expected=f"an adapter_name in {one.event}",
        got=f"adapter_name {show_json(entry.get('adapter_name'))}",
    )
    if one.outcome == FAILURE:
        tokens.expect(
            isinstance(entry.get("failure_reason"), str) and entry["failure_reason"] != "",
            sent=sent,
            expected=f"a failure_reason in {one.event}",
            got=f"failure_reason {show_json(entry.get('failure_reason'))}",
        )
    try:
        at = tokens.driver.binding.instant(entry.get("timestamp")).at
        got, off = at.isoformat(), abs((at - one.at).total_seconds())
    except ValueError as error:
        got, off = str(error)[:80], None
    tokens.expect(
        off is not None and off <= max(60, tokens.slack),
        sent=sent,
        expected=f"a timestamp near {one.at.isoformat()}",
        got=f"timestamp {got}",
    )


@requirement("confirmation_tokens/6.4-audit")
def test_every_event_of_every_kind_of_token_is_told(tokens):
    """Each with its outcome, operation, adapter, reason and time."""
    _expect_told(tokens, list(_of_every_kind(tokens)))


@requirement("confirmation_tokens/6.4-audit")
def test_what_happens_twice_is_told_twice(tokens):
    """Each refusal of one token, and each use of one for a session."""
    issued = tokens.used()
    for _ in range(2):
        tokens.redeem(issued)
    counts = {"refusals of a used token": (issued, Event.REJECTED, 2)}
    with contextlib.suppress(NotApplicable), tokens_of_kind(tokens, SESSION) as kind:
        counts["uses of a session token"] = (kind.used(), Event.VALIDATED, kind.uses)
    entries = tokens.driver.binding.audit_entries()
    with tokens.several() as several:
        for what, (one, event, count) in counts.items():
            with several.one(what):
                found = len(entries_about(entries, one.token, event))
                tokens.expect(
                    found >= count,
                    sent=f"{count} {what}, then a look at the audit log",
                    expected=f"{count} entries {event}",
                    got=f"{found} of them",
                )


@requirement("confirmation_tokens/6.4-audit")
def test_every_refusal_is_told(tokens):
    """For each check of section 4.1; where callers are given several reasons, so is the log."""
    happened = list(_refusals(tokens))
    _expect_told(tokens, happened)
    reasons = {}
    entries = tokens.driver.binding.audit_entries()
    for one in happened:
        found = entries_about(entries, one.issued.token, one.event)
        reasons[one.what] = found[-1].get("failure_reason")
    tokens.expect(
        len(set(reasons.values())) > 1 or len({one.code for one in happened}) == 1,
        sent="refusals for several reasons, then a look at the audit log",
        expected="a failure_reason that tells them apart",
        got="; ".join(f"{what}: {show_json(reason)}" for what, reason in reasons.items()),
    )


@requirement("confirmation_tokens/6.4-audit")
def test_a_revocation_that_is_refused_is_told(tokens):
    """All operations are logged; which of its four events this is the document does not say, so
    that a log without it is a warning."""
    if not tokens.table.introspection:
        raise NotApplicable("tokens cannot be revoked, as far as the table says (introspection)")
    issued = tokens.used()
    before = entries_about(tokens.driver.binding.audit_entries(), issued.token)
    tokens.expect(
        bool(before),
        sent="the issue and the use of a token, then a look at the audit log",
        expected="entries about it",
        got="none",
    )
    if tokens.driver.revoke(issued.token).succeeded:
        raise NotApplicable("a used token can be revoked: nothing was refused")
    after = entries_about(tokens.driver.binding.audit_entries(), issued.token)
    if _failures(after) <= _failures(before):
        tokens.warn("a revocation that is refused, then a look at the audit log: no such entry")


def _failures(entries):
    return sum(one.get("outcome") == FAILURE for one in entries)


@requirement("confirmation_tokens/6.4-audit")
def test_what_ends_tokens_by_itself_is_told(tokens):
    """A logout, another configuration, a security event, the end of a session: each token that is
    revoked by it has its entry."""
    happened = []
    for trigger in tokens.table.triggers:
        issued = [tokens.issue()]
        with contextlib.suppress(NotApplicable), tokens_of_kind(tokens, QUOTA) as kind:
            issued.append(kind.issue())
        if not tokens.driver.call(trigger.name, trigger.params).succeeded:
            raise NotVerified(f"{trigger.name} failed")
        now = tokens.target.clock.now()
        happened += [
            _Happened(f"a {trigger.why}", one, Event.REVOKED, now)
            for one in issued
            if not tokens.redeem(one).executed
        ]
    if not tokens.over_a_pipe:
        with contextlib.suppress(NotApplicable):
            with tokens.own_session() as session:
                # A token that serves in its session alone is refused elsewhere, revoked or not.
                free = tokens.redeem(tokens.issue(session=session)).executed
                ended = tokens.issue(session=session)
            if free and not tokens.redeem(ended).executed:
                now = tokens.target.clock.now()
                happened.append(_Happened("the end of a session", ended, Event.REVOKED, now))
    if not happened:
        raise NotApplicable("nothing that revokes tokens by itself is named (triggers)")
    _expect_told(tokens, happened)


@requirement("confirmation_tokens/6.4-audit")
def test_the_log_says_which_adapter_it_was(tokens):
    """The same call at two adapters: two names."""
    tool = tokens.table.other_adapter.get("tool")
    if tool is None:
        raise NotApplicable("no second adapter over the same store is named (other-adapter)")
    here, there = tokens.issue(), tokens.issue(tool=tool)
    tokens.need_served(tokens.redeem(here))
    tokens.need_served(tokens.redeem(there, tool=tool))
    entries = tokens.driver.binding.audit_entries()
    with tokens.several() as several:
        for event in (Event.ISSUED, Event.VALIDATED):
            names = [
                {one.get("adapter_name") for one in entries_about(entries, issued.token, event)}
                for issued in (here, there)
            ]
            if not names[1]:
                raise NotApplicable("the log is that of one adapter")
            with several.one(event):
                tokens.expect(
                    all(len(one) == 1 for one in names) and names[0] != names[1],
                    sent=f"{here.operation} at two adapters, then a look at the audit log",
                    expected=f"one adapter_name for each in {event}",
                    got=" and ".join(show_json(sorted(map(str, one))) for one in names),
                )


@requirement("confirmation_tokens/6.4-client-context")
def test_the_log_tells_two_sessions_apart(tokens):
    """Where entries name a session: the one in which it happened."""
    if tokens.over_a_pipe:
        raise NotApplicable("a pipe has one session")
    with tokens.own_session() as one, tokens.own_session() as other:
        named = []
        for session in (one, other):
            issued = tokens.issue(session=session)
            tokens.need_served(tokens.redeem(issued, session=session))
            about = entries_about(tokens.driver.binding.audit_entries(), issued.token)
            contexts = [entry.get("client_context") or {} for entry in about]
            named.append({context.get("session_id") for context in contexts})
    if named == [{None}, {None}] or not any(named):
        raise NotApplicable("the entries of the audit log name no session")
    tokens.expect(
        all(len(one) == 1 for one in named) and named[0] != named[1],
        sent="a token issued and used in each of two sessions, then a look at the audit log",
        expected="one session_id for each session",
        got=" and ".join(f"{len(one)} session_id" for one in named)
        + (", the same" if named[0] == named[1] else ""),
    )
