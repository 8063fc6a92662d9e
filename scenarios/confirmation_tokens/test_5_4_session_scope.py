"""Confirmation tokens, section 5.4: tokens that a session can use more than once."""

import contextlib

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.base.driver import DriverError
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import MAXIMUM_TTL, TokenCode


def _scoped(tokens):
    """The first operation of which several runs are confirmed at once."""
    for one in tokens.table.operations:
        if one.gated and one.max_uses > 1:
            return one
    raise NotApplicable("no operation with max-uses above 1 is named in operations")


@requirement("confirmation_tokens/5.4-session-scope")
def test_a_session_token_serves_max_uses_times(tokens):
    """As often as the table says."""
    operation = _scoped(tokens)
    uses = operation.max_uses
    with tokens.own_session() as session:
        issued = tokens.issue(operation, session=session)
        for number in range(1, uses + 1):
            tokens.expect_run(
                tokens.redeem(issued, session=session),
                sent=f"a token with max_uses {uses}, for time {number}",
            )


@requirement("confirmation_tokens/5.4-session-scope")
def test_the_uses_of_session_tokens_are_counted_apart(tokens):
    """Two tokens of one session, in turns: each serves as often as it may. A refused attempt in
    between is no use."""
    operation = _scoped(tokens)
    with tokens.own_session() as session:
        for answer, sent in _used_in_turns(tokens, _two(tokens, operation, session), session):
            tokens.expect_run(answer, sent=sent)


# ---- 5.4-session-bound


@requirement("confirmation_tokens/5.4-session-bound")
def test_a_session_token_serves_no_more_than_max_uses_times(tokens):
    """Alone, and two in turns with refused attempts in between: none gives a use back."""
    operation = _scoped(tokens)
    uses = operation.max_uses
    with tokens.own_session() as session:
        alone = tokens.issue(operation, session=session)
        if not tokens.redeem(alone, session=session).executed:
            raise NotVerified("a session token did not serve even once")
        for _ in range(uses - 1):
            tokens.redeem(alone, session=session)
        tokens.expect_refusal(
            tokens.redeem(alone, session=session),
            TokenCode.ALREADY_USED,
            sent=f"a token with max_uses {uses}, for time {uses + 1}",
        )
        issued = _two(tokens, operation, session)
        for _ in _used_in_turns(tokens, issued, session):
            pass
        for name, one in issued.items():
            tokens.expect_refusal(
                tokens.redeem(one, session=session),
                TokenCode.ALREADY_USED,
                sent=f"the {name} of two session tokens, for time {uses + 1}",
            )


def _two(tokens, operation, session):
    """Two tokens for one call, by what they are called."""
    one, other = (tokens.issue(operation, session=session) for _ in range(2))
    if one.token == other.token:
        raise NotApplicable("asking again returns the same token until it is used")
    return {"first": one, "second": other}


def _used_in_turns(tokens, issued, session):
    """Each use, as often as they serve, with what was sent; refused attempts come in between."""
    for number in range(1, _scoped(tokens).max_uses + 1):
        for name, one in issued.items():
            if _scoped(tokens).other_params:
                faulty = one.with_params(tokens.changed(_scoped(tokens)))
                tokens.driver.send(tokens.driver.redeem_params(faulty), session)
            answer = tokens.redeem(one, session=session)
            yield answer, f"the {name} of two session tokens, for time {number}"


@requirement("confirmation_tokens/5.4-session-bound")
def test_a_session_token_serves_identical_calls_only(tokens):
    """Several uses are several runs of the same, not of something else."""
    operation = _scoped(tokens)
    changed = tokens.changed(operation)
    with tokens.own_session() as session:
        issued = tokens.issue(operation, session=session)
        tokens.expect_run(
            tokens.redeem(issued, session=session), sent="a session token, for the first time"
        )
        tokens.expect_refusal(
            tokens.redeem(issued.with_params(changed), session=session),
            TokenCode.SCOPE_MISMATCH,
            sent="a session token for other parameters, after its first use",
        )


@requirement("confirmation_tokens/5.4-session-bound")
def test_a_session_token_serves_no_other_session(tokens):
    """Even if a simple token would."""
    if tokens.over_a_pipe:
        raise NotApplicable("a pipe has one session")
    operation = _scoped(tokens)
    with tokens.own_session() as session, tokens.own_session() as other:
        issued = tokens.issue(operation, session=session)
        tokens.expect_not_run(
            tokens.redeem(issued, session=other), sent="a session token in another session"
        )
        fresh = tokens.issue(operation, session=other)
        tokens.expect_run(
            tokens.redeem(fresh, session=other), sent="a session token in its own session"
        )


@requirement("confirmation_tokens/5.4-session-bound")
def test_a_session_token_ends_with_its_session(tokens):
    """With uses left: neither in a new session nor without one."""
    operation = _scoped(tokens)
    with tokens.own_session() as session:
        issued = tokens.issue(operation, session=session)
        tokens.expect_run(
            tokens.redeem(issued, session=session), sent="a session token, for the first time"
        )
    if tokens.over_a_pipe:
        tokens.restart()  # a pipe's session ends with its process
    with tokens.own_session() as session, tokens.several() as several:
        for where, conversation in {"in a new session": session, "without one": None}.items():
            sent = f"a session token with uses left whose session has ended, {where}"
            with several.one(sent):
                tokens.expect_not_run(tokens.redeem(issued, session=conversation), sent=sent)


@requirement("confirmation_tokens/5.4-default-uses")
def test_without_a_word_about_uses_a_token_serves_once(tokens):
    """In a session too, and whatever the caller says about it, at issue or later. A token that may
    be used more often may not be used more often than that."""
    operations = [tokens.operation]
    with contextlib.suppress(NotApplicable):
        operations.append(_scoped(tokens))
    with tokens.own_session() as session, tokens.several() as several:
        for operation in operations:
            for when, asked, given in (
                ("", {}, {}),
                (", asked for with more uses", WISHES, WISHES),
                (", presented with more uses", {}, WISHES),
            ):
                issued = _issued_with(tokens, operation, asked, session)
                if issued is None:
                    continue  # members that it does not know: refused
                issued = issued.with_params({**operation.params, **given})
                sent = f"{operation.name} in a session{when}, for time {operation.max_uses + 1}"
                with several.one(sent):
                    _used_up(tokens, issued, operation.max_uses, session, sent)


WISHES = {"max_uses": 9, "uses": 9, "session_scoped": True, "use_count": -9}


def _used_up(tokens, issued, uses, session, sent):
    for _ in range(uses):
        call = tokens.driver.redeem_params(issued)
        answer = tokens.driver.binding.read(tokens.driver.send(call, session))
        tokens.driver.forget()
        if not answer.success:
            return  # members that it does not know: refused
    tokens.expect_refusal(tokens.redeem(issued, session=session), TokenCode.ALREADY_USED, sent=sent)


def _issued_with(tokens, operation, more, session):
    call = tokens.driver.binding.call_params(operation.name, {**operation.params, **more})
    try:
        reply = tokens.driver.patiently(call, session)
        return tokens.driver.issued(operation.name, operation.params, reply)
    except DriverError:
        return None


@requirement("confirmation_tokens/5.4-session-expiry")
def test_a_session_token_expires_like_any_other(tokens):
    """With uses left, and its session open."""
    operation = _scoped(tokens)
    with tokens.own_session() as session:
        issued = tokens.issue(operation, session=session)
        tokens.expect_run(
            tokens.redeem(issued, session=session), sent="a session token, for the first time"
        )
        late = tokens.move_beyond(issued)
        tokens.expect_expired(
            tokens.redeem(issued, session=session),
            sent=f"a session token with uses left, {late} after it expired",
        )


@requirement("confirmation_tokens/5.4-session-expiry")
def test_a_use_does_not_renew_a_session_token(tokens):
    """A use at the last moment does not make it live longer."""
    operation = _scoped(tokens)
    if operation.max_uses == 2:
        raise NotApplicable("with max-uses 2 no use is left after two")
    with tokens.own_session() as session:
        issued = tokens.issue(operation, session=session)
        tokens.expect_run(
            tokens.redeem(issued, session=session), sent="a session token, for the first time"
        )
        early = tokens.move_inside(issued, issued.expires_at)
        tokens.expect_run(
            tokens.redeem(issued, session=session),
            sent=f"a session token, for the second time, {early} before it expires",
        )
        late = tokens.move_beyond(issued)
        tokens.expect_expired(
            tokens.redeem(issued, session=session),
            sent=f"a session token that was used before its end, {late} after it expired",
        )


@requirement("confirmation_tokens/5.4-session-expiry", needs=[])
def test_a_session_token_ends_as_early_as_any_other(tokens):
    """Section 5.1 has one maximum for a level, whatever the token's scope."""
    operation = _scoped(tokens)
    with tokens.own_session() as session:
        seconds = tokens.lifetime(tokens.issue(operation, session=session))
    most = MAXIMUM_TTL[operation.danger.word]
    tokens.expect(
        seconds <= most + tokens.slack,
        sent=f"{operation.name} ({operation.danger.word}), for a session token",
        expected=f"expires_at at most {most} s ahead",
        got=f"{seconds:.0f} s ahead",
    )
