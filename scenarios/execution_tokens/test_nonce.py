"""A token executes once: at once, later, elsewhere, after a restart, and for many at a time."""

import uuid
from collections import Counter
from functools import partial

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.execution_tokens.command_verifier import CommandVerifier
from pytest_mcp_approval.families.execution_tokens.token_making import FAULTY_SIGNING
from pytest_mcp_approval.families.execution_tokens.verifier_access import (
    VerifierError,
    at_once,
)

RUNNERS = 8
SESSIONS = 4


def _many(executions):
    """More than a small cache holds, if asking is quick."""
    if executions.verifier.samples is None:
        return 120
    return 30 if executions.verifier.quick else 4


def _spent(executions, token=None):
    """A token that was used."""
    token = executions.token() if token is None else token
    answer = executions.execute(token)
    if not answer.accepted:
        raise NotVerified(f"an honest token is refused, so nothing follows: {answer.describe()}")
    return token


# ---- replay


@requirement("execution_tokens/nonce-replay")
def test_the_second_time_it_is_refused(executions):
    token = executions.token()
    first = executions.execute(token)
    executions.need_served(first, "an honest token is refused")
    executions.expect_accepted(first, sent="a good token, for the first time")
    for number in range(2, 4):
        executions.expect_refused(
            executions.execute(token), sent=f"the same token, for time {number}"
        )
    executions.honest()


@requirement("execution_tokens/nonce-replay")
def test_after_others_it_is_still_refused(executions):
    """The log remembers more than the last one."""
    tokens = [executions.token() for _ in range(_many(executions))]
    answers = executions.execute_each(tokens)
    for answer in (answers[0], answers[-2]):
        executions.need_served(answer, "an honest token is refused")
    executions.expect_all_refused(
        {"others executed since": tokens[0], "one executed since": tokens[-2]},
        sent="a spent token",
    )


@requirement("execution_tokens/nonce-replay")
def test_elsewhere_it_is_refused(executions):
    """Another process, or another session, over the same log."""
    verifier = executions.verifier.another()
    if verifier is None:
        raise NotApplicable("a pipe has one session, and there is no replica")
    other = executions.over(verifier, "another process or session")
    token = _spent(executions)
    other.expect_refused(other.execute(token), sent="a spent token, by another process or session")
    other.honest()
    theirs = _spent(other)
    executions.expect_refused(
        executions.execute(theirs), sent="a token that another process or session spent"
    )


@requirement("execution_tokens/nonce-replay")
def test_a_nonce_is_spent_for_every_token_that_has_it(executions):
    """Another token, signed as it should be, with a nonce that was used."""
    executions.need_secret()
    token = _spent(executions)
    nonce = token[executions.table.names["nonce"]]
    answer = executions.execute(executions.token(nonce=nonce))
    if answer.executed:
        executions.warn(f"another token with a spent nonce: {answer.describe()}; expected refused")
    executions.honest()


@requirement("execution_tokens/nonce-replay")
def test_a_refused_token_leaves_the_nonce(executions):
    """Asked with something wrong, and then as it should be."""
    executions.need_argument("action")
    token = executions.token()
    executions.expect_refused(
        executions.execute(token, action="another action"), sent="a token for another action"
    )
    executions.still_serves(token, after="it was refused for another action")
    executions.honest()


# ---- restarts


@requirement("execution_tokens/nonce-restart")
def test_after_a_restart_it_is_refused(executions):
    token = _spent(executions)
    executions.restart()
    executions.expect_refused(executions.execute(token), sent="a spent token, after a restart")
    executions.honest()


@requirement("execution_tokens/nonce-restart")
def test_after_two_restarts_it_serves_once(executions):
    """Approved before, used after the first, replayed after the second."""
    token = executions.token()
    executions.restart()
    _spent(executions, token)
    executions.restart()
    executions.expect_refused(
        executions.execute(token), sent="a token that was spent between two restarts"
    )
    executions.honest()


@requirement("execution_tokens/nonce-restart")
def test_killed_right_after_the_execution_it_is_spent(executions):
    """The verifier gets kill -9 as soon as the content has run; then it is asked again."""
    if executions.verifier.in_this_process:
        raise NotApplicable("it runs in the suite's own process")
    executions.honest()
    token = executions.token()
    if isinstance(executions.verifier, CommandVerifier):
        answer = executions.command.ask_dying(executions.driver.request(token))
        if not answer.ran:
            raise NotVerified(f"nothing was executed before the kill: {answer.describe()}")
    else:
        _spent(executions, token)
        try:
            executions.verifier.restart(kill=True)
        except VerifierError as error:
            raise NotVerified(f"needs a process that can be killed: {error}") from error
    executions.expect_refused(
        executions.execute(token), sent="a token whose verifier was killed (kill -9) after its run"
    )
    executions.honest()


# ---- races


@requirement("execution_tokens/nonce-race")
def test_of_many_at_once_one_executes(executions):
    """Over HTTP the last bytes of all requests leave together; commands are started together; on a
    pipe, all are written at once and a race without a second winner is weak evidence."""
    executions.honest()
    for _ in range(3 if executions.verifier.quick else 1):
        token, bystander = executions.token(), executions.token()
        answers = executions.execute_together(token, RUNNERS)
        accepted = sum(answer.accepted for answer in answers)
        ran = answers[0].ran
        sent = f"one token {RUNNERS} times at once"
        got = f"{accepted} accepted" + ("" if ran is None else f", content run {len(ran)} times")
        if not accepted and not ran:
            # The document forbids a second execution, and says nothing about many at once.
            executions.warn(f"{sent}: {got}; expected that one of them is served")
            continue
        executions.expect(
            accepted == 1 and (ran is None or len(ran) == 1),
            sent=sent,
            expected="one accepted, content run once",
            got=got,
        )
        executions.expect_refused(executions.execute(token), sent=f"{sent}, and once more later")
        executions.expect_accepted(
            executions.execute(bystander), sent=f"{sent}, and then another that was made before"
        )


@requirement("execution_tokens/nonce-race")
def test_of_many_sessions_at_once_one_executes(executions):
    """The same from a session, or a process, for each."""
    if not executions.target.speaks_mcp:
        raise NotApplicable("every question is a session of its own here")
    askers = []
    # A process for each is slow to start.
    many = SESSIONS if executions.verifier.in_this_process else 2
    for _ in range(many):
        verifier = executions.verifier.another()
        if verifier is None:
            raise NotApplicable("a pipe has one session, and there is no replica")
        askers.append(executions.over(verifier, "another process or session"))
    for asker in askers:
        asker.honest()
    for _ in range(3):
        token = executions.token()
        request = executions.driver.request(token)
        answers = at_once(
            executions.target.settings.timeout,
            [partial(one.verifier.ask_unwatched, request) for one in askers],
        )
        executions.verifier.forget()
        accepted = sum(answer.accepted for answer in answers)
        executions.expect(
            accepted < 2,
            sent=f"one token from {many} sessions at once",
            expected="one accepted at most",
            got=f"{accepted} accepted",
        )
        if accepted:
            executions.expect_refused(
                executions.execute(token), sent="a token that one of several sessions has spent"
            )


# ---- no nonce


@requirement("execution_tokens/nonce-required")
def test_without_a_nonce_it_is_refused(executions):
    """Left out, empty or null; signed with an empty place for it, and without any."""
    executions.need_secret()
    executions.honest()
    short = FAULTY_SIGNING["no nonce in it"]
    null = executions.driver.signed({**executions.token(), executions.table.names["nonce"]: None})
    cases = {
        "no nonce, an empty place for it signed": executions.token(nonce=None),
        "no nonce, none signed": executions.token(nonce=None, signing=short),
        "an empty nonce": executions.token(nonce=""),
        "an empty nonce, none signed": executions.token(nonce="", signing=short),
        "null for a nonce": null,
    }
    for word in ("undefined", "null", "None", "nil", "0"):
        signed = executions.token(nonce=word)
        cases[f"no nonce, {word} signed in its place"] = executions.changed(signed, nonce=None)
    executions.expect_all_refused(executions.some(cases, always=5))


@requirement("execution_tokens/nonce-required")
def test_a_nonce_that_is_no_text_serves_once_at_most(executions):
    """The document shows a UUID and mentions no others: whoever accepts one remembers it."""
    executions.need_secret()
    executions.honest()
    odd = {"a number": 7, "a list": [], "true": True, "zero": 0, "an object": {}}
    # These are texts, and good UUIDs: nobody has to refuse them.
    uuids = {"the UUID of zeros": str(uuid.UUID(int=0)), "the last UUID": "f" * 8 + "-ffff" * 3}
    uuids["the last UUID"] += "-" + "f" * 12
    for name, nonce in {**odd, **uuids}.items():
        token = executions.token(nonce=nonce)
        first = executions.execute(token)
        if not first.executed:
            continue
        if name in odd:
            executions.warn(
                f"{name} for a nonce: {first.describe()}; expected a UUID to be asked for"
            )
        executions.expect_refused(
            executions.execute(token), sent=f"a token with {name} for a nonce, for time 2"
        )


@requirement("execution_tokens/nonce-required")
def test_taking_the_nonce_off_is_refused(executions):
    executions.honest()
    token = executions.token()
    executions.expect_all_refused(
        {
            "its nonce taken off": executions.changed(token, nonce=None),
            "its nonce emptied": executions.changed(token, nonce=""),
        }
    )


@requirement("execution_tokens/nonce-required")
def test_the_arbiter_gives_a_nonce(executions):
    """If the target approves too: a nonce in each token, and another one each time."""
    found = [_approved_nonce(executions, executions.verifier) for _ in range(20)]
    sent = "20 approvals of the same action"
    other = executions.verifier.another()
    if other is not None:
        over = executions.over(other, "another process or session")
        found += [_approved_nonce(executions, over.verifier) for _ in range(2)]
        sent += ", 2 in another session"
    if executions.target.can_restart:
        executions.restart()
        found += [_approved_nonce(executions, executions.verifier) for _ in range(2)]
        sent += ", and 2 after a restart"
    twice = [one for one, times in Counter(map(str, found)).items() if times > 1]
    executions.expect(
        all(isinstance(one, str) and one for one in found) and not twice,
        sent=sent,
        expected="tokens that each have a nonce of their own",
        got=f"nonces {', '.join(str(one)[:13] for one in (twice or found)[:5])}"
        + (", each more than once" if twice else ""),
    )


def _approved_nonce(executions, verifier):
    driver = executions.driver
    try:
        token = verifier.approve(driver.content, driver.table.action, [], 60)
    except VerifierError as error:
        raise NotVerified(str(error)) from error
    if token is None:
        raise NotApplicable("the target approves nothing, it only verifies")
    return token.get(executions.table.names["nonce"])
