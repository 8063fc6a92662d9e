"""kill -9 after each statement that a gate sends to its database: nothing is done twice, nothing is
half done, and what was not used up still works.

A child does one step of a ceremony and dies right after its n-th statement, for every n until it
gets to its end; the parent then looks at what is there and tries again.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

from pytest_mcp_approval.families.confirmation_tokens.vocabulary import Danger, Event
from pytest_mcp_approval.reference_server import ApprovalRefusal, ApprovalStore
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.records import AdapterOperation
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from pytest_mcp_approval.reference_server.confirmation_tokens.settings import ConfirmationSettings
from pytest_mcp_approval.reference_server.confirmation_tokens.store import TokenStore
from pytest_mcp_approval.reference_server.execution_tokens.gate import TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.operator import Arbiter, Operator
from pytest_mcp_approval.reference_server.execution_tokens.refusals import ExecutionRefusal
from pytest_mcp_approval.reference_server.execution_tokens.store import NonceStore
from pytest_mcp_approval.reference_server.prepare_confirm.back_end import BackEnd
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
from pytest_mcp_approval.reference_server.prepare_confirm.operations import OPERATIONS
from pytest_mcp_approval.reference_server.prepare_confirm.settings import read_settings
from pytest_mcp_approval.reference_server.prepare_confirm.store import PreparationStore
from pytest_mcp_approval.reference_server.server.clock import SettableClock
from pytest_mcp_approval.reference_server.server.effects import RecordedEffects
from tests.reference_server.ceremony import ALICE, ARGUMENTS, Ceremony
from virtual_authenticator import Authenticator

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

START = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
MOST_STATEMENTS = 60


def survives(number: int, store: Any, step: Callable[[Any], Any]) -> bool:
    """Whether a child gets to the end of the step before it has sent this many statements. Those
    that open the store are not counted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, of which it uses none
        process = os.fork()
    if process:
        _, status = os.waitpid(process, 0)
        died = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        assert died or os.WEXITSTATUS(status) == 0, status
        return not died
    try:
        sent = count(1)
        _ = store._database.engine

        def die(*_: Any) -> None:
            if next(sent) >= number:
                os.kill(os.getpid(), signal.SIGKILL)

        sqlalchemy.event.listen(sqlalchemy.Engine, "after_cursor_execute", die)
        step(store)
        os._exit(0)
    finally:
        os._exit(1)


def each_point(
    folder: Path,
    open_store: Callable[[str], Any],
    prepare: Callable[[str], tuple[Callable[[Any], Any], Callable[[bool], None]]],
) -> None:
    """`prepare` makes a step and what looks at it afterwards, over an empty database."""
    for number in count(1):
        assert number < MOST_STATEMENTS, "it never gets to its end"
        url = f"sqlite:///{folder}/{number}.db"
        step, look = prepare(url)
        finished = survives(number, open_store(url), step)
        look(finished)
        if finished:
            assert number > 1, "no statement at all: nobody was killed"
            return


@contextlib.contextmanager
def opened(store: Any) -> Iterator[Any]:
    """Closed before anybody is forked: connections are not taken along."""
    try:
        yield store
    finally:
        store.close()


def ran(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


def note(path: Path) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("ran\n")


# ---- SEP-2672


def test_a_registration_is_used_up_with_its_credential_or_not_at_all(tmp_path):
    def prepare(url):
        with opened(ApprovalStore(url)) as store:
            response = Ceremony(store).register(Authenticator())

        def finish(store):
            return Ceremony(store).gate.finish_enrolment(ALICE, response)

        def look(_):
            with opened(ApprovalStore(url)) as store:
                used = [one.consumed_at is not None for one in store.enrolments(ALICE)]
                kept = len(store.credentials(ALICE))
                assert used == [kept == 1]
                again = Ceremony(store)
                if kept:
                    assert again.refused_enrolment(response) == "no_pending_enrollment"
                else:
                    assert again.gate.finish_enrolment(ALICE, response)["success"] is True

        return finish, look

    each_point(tmp_path, ApprovalStore, prepare)


def test_a_signed_call_runs_once_at_most(tmp_path):
    def prepare(url):
        trace = Path(f"{url.removeprefix('sqlite:///')}.ran")
        with opened(ApprovalStore(url)) as store:
            ceremony = Ceremony(store)
            passkey = ceremony.enrol()
            evidence = ceremony.evidence(passkey, ceremony.challenge(arguments=ARGUMENTS))

        def call(store):
            Ceremony(store).call(evidence)
            note(trace)

        def look(finished):
            with opened(ApprovalStore(url)) as store:
                (challenge,) = store._challenges.find()
                if challenge.consumed_at is None:
                    call(store)
                    assert ran(trace) == 1, "nothing was used up, and nothing is lost"
                with pytest.raises(ApprovalRefusal, match=r".*") as caught:
                    call(store)
                assert caught.value.reason == "challenge_consumed"
                assert ran(trace) <= 1
                assert not finished or ran(trace) == 1

        return call, look

    each_point(tmp_path, ApprovalStore, prepare)


# ---- confirmation tokens


def confirmation_gate(store: TokenStore, style: str, trace: Path) -> ConfirmationGate:
    def run(_: Any) -> dict[str, Any]:
        note(trace)
        return {}

    return ConfirmationGate(
        [AdapterOperation("drop", Danger.DESTRUCTIVE, run)],
        store=store,
        clock=SettableClock(START),
        settings=ConfirmationSettings(token_style=style),
    )


def succeeded(store: TokenStore, event: Event) -> int:
    return len(
        [one for one in store.entries(ALICE, 100) if (one.event, one.outcome) == (event, "success")]
    )


def issued(gate: ConfirmationGate) -> str:
    with pytest.raises(TokenRefusal) as caught:
        gate.perform("drop", {"name": "x"}, user=ALICE)
    return str(caught.value.details["confirmation_token"])


@pytest.mark.parametrize("style", ["stored", "signed"])
def test_a_confirmed_operation_runs_once_at_most_and_every_use_is_logged(tmp_path, style):
    def prepare(url):
        trace = Path(f"{url.removeprefix('sqlite:///')}.ran")
        with opened(TokenStore(url)) as store:
            token = issued(confirmation_gate(store, style, trace))
        call = {"name": "x", "confirmation_token": token}

        def redeem(store):
            confirmation_gate(store, style, trace).perform("drop", call, user=ALICE)

        def look(finished):
            with opened(TokenStore(url)) as store:
                kept = store.get(token)
                used = kept is not None and kept.use_count == 1
                assert succeeded(store, Event.VALIDATED) == int(used)
                if used:
                    with pytest.raises(TokenRefusal, match="TOKEN_ALREADY_USED"):
                        redeem(store)
                else:
                    redeem(store)
                    assert ran(trace) == 1, "nothing was used up, and nothing is lost"
                assert ran(trace) <= 1
                assert not finished or ran(trace) == 1

        return redeem, look

    each_point(tmp_path, TokenStore, prepare)


@pytest.mark.parametrize("style", ["stored", "signed"])
def test_a_token_is_revoked_and_logged_or_as_good_as_before(tmp_path, style):
    def prepare(url):
        trace = Path(f"{url.removeprefix('sqlite:///')}.ran")
        with opened(TokenStore(url)) as store:
            token = issued(confirmation_gate(store, style, trace))
        call = {"name": "x", "confirmation_token": token}

        def revoke(store):
            confirmation_gate(store, style, trace).revoke(token, user=ALICE)

        def look(_):
            with opened(TokenStore(url)) as store:
                gate = confirmation_gate(store, style, trace)
                if succeeded(store, Event.REVOKED):
                    with pytest.raises(TokenRefusal, match="TOKEN_INVALID"):
                        gate.perform("drop", call, user=ALICE)
                else:
                    gate.perform("drop", call, user=ALICE)
                    assert ran(trace) == 1

        return revoke, look

    each_point(tmp_path, TokenStore, prepare)


def test_a_token_is_issued_and_logged_or_neither(tmp_path):
    def prepare(url):
        trace = Path(f"{url.removeprefix('sqlite:///')}.ran")

        def ask(store):
            issued(confirmation_gate(store, "stored", trace))

        def look(_):
            with opened(TokenStore(url)) as store:
                assert len(store.records()) == succeeded(store, Event.ISSUED)

        return ask, look

    each_point(tmp_path, TokenStore, prepare)


# ---- prepare and confirm


class Noted(RecordedEffects):
    """What was done, in a file that outlives the process."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def record(self, *what: Any) -> dict[str, Any]:
        note(self._path)
        return super().record(*what)


def test_what_was_prepared_is_done_once_at_most(tmp_path):
    close = next(one for one in OPERATIONS if one.name == "close_projects")

    def prepare(url):
        trace = Path(f"{url.removeprefix('sqlite:///')}.ran")

        def gate(store):
            settings = read_settings({"secret_key": "a key of this test"})
            return PreparationGate(
                SettableClock(START), store, BackEnd(store, Noted(trace)), settings
            )

        with opened(PreparationStore(url, START)) as store:
            preview = gate(store).prepare(close, {"project_ids": ["proj-1"]}, ALICE)
        token = {"confirmation_token": preview["confirmation_token"]}

        def confirm(store):
            return gate(store).confirm(close, token, ALICE)

        def look(finished):
            with opened(PreparationStore(url, START)) as store:
                spent = store.spent_count() == 1
                answer = confirm(store)
                assert answer["success"] is not spent
                assert ran(trace) == 1 if not spent or finished else ran(trace) <= 1

        return confirm, look

    each_point(tmp_path, lambda url: PreparationStore(url, START), prepare)


# ---- execution tokens


def test_an_execution_token_runs_once_at_most(tmp_path):
    secret, content = b"a secret of these tests, 16+", b"echo once\n"

    def now():
        return START

    def prepare(url):
        trace = Path(f"{url.removeprefix('sqlite:///')}.ran")
        token = Arbiter(secret, now).approve(content, "exec", []).to_json()

        def execute(store):
            operator = Operator(TokenVerifier(secret, store, now))
            operator.execute(token, content, "exec", lambda _: note(trace))

        def look(finished):
            with opened(NonceStore(url)) as store:
                before = ran(trace)
                with contextlib.suppress(ExecutionRefusal):
                    execute(store)
                assert ran(trace) <= 1
                assert before == int(finished)
                with pytest.raises(ExecutionRefusal, match="spent"):
                    execute(store)

        return execute, look

    each_point(tmp_path, NonceStore, prepare)
