"""The gates while their database fails: tried again where that is safe, refused where it is not,
and never half done. Without the database nothing runs."""

from __future__ import annotations

import contextlib
import datetime
import threading
from typing import Any

import pytest
import sqlalchemy

from pytest_mcp_approval.reference_server import ApprovalRefusal, ApprovalStore
from pytest_mcp_approval.reference_server.execution_tokens.gate import TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.operator import Arbiter, Operator
from pytest_mcp_approval.reference_server.execution_tokens.refusals import ExecutionRefusal
from pytest_mcp_approval.reference_server.execution_tokens.store import NonceStore
from pytest_mcp_approval.reference_server.server import database, database_faults
from pytest_mcp_approval.reference_server.server.tables import StoreError
from tests.reference_server.ceremony import ALICE, Ceremony
from virtual_authenticator import AlwaysZero, Authenticator

SECRET, CONTENT = b"a secret of these tests, 16+", b"echo once\n"


def now() -> datetime.datetime:
    return datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)


class Approved:
    """One approved call of each of two gates, and how often it ran."""

    def __init__(self, url: str) -> None:
        self.store, self.nonces = ApprovalStore(url), NonceStore(url)
        self.ceremony = Ceremony(self.store)
        self.passkey = self.ceremony.enrol(Authenticator(counter=AlwaysZero()))
        self.evidence = self.ceremony.evidence(self.passkey, self.ceremony.challenge())
        self.token = Arbiter(SECRET, now).approve(CONTENT, "exec", []).to_json()
        self.operator = Operator(TokenVerifier(SECRET, self.nonces, now))
        self.nonces._nonces.find()  # opened before anything fails
        self.ran: list[str] = []

    def call(self) -> None:
        self.ceremony.call(self.evidence)
        self.ran.append("call")

    def execute(self) -> None:
        self.operator.execute(self.token, CONTENT, "exec", lambda _: self.ran.append("execute"))

    def expect_nothing_runs(self) -> None:
        for step in (self.call, self.execute):
            with pytest.raises(StoreError, match="the store cannot be used"):
                step()
        assert self.ran == []

    def expect_each_runs_once(self) -> None:
        self.call()
        self.execute()
        assert self.ran == ["call", "execute"]
        with pytest.raises(ApprovalRefusal):
            self.call()
        with pytest.raises(ExecutionRefusal):
            self.execute()
        assert self.ran == ["call", "execute"]

    def close(self) -> None:
        self.store.close()
        self.nonces.close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(database_faults, "PATIENCE", 0.2)


@pytest.fixture
def approved():
    made: list[Approved] = []

    def make(url: str) -> Approved:
        made.append(Approved(url))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def primary(postgresql):
    """A database, and an administrator of it."""
    url = postgresql.new_database()
    engine = sqlalchemy.create_engine(postgresql.url("postgres"), isolation_level="AUTOCOMMIT")
    name = sqlalchemy.make_url(url).database

    def administer(*statements: str) -> None:
        with engine.connect() as connection:
            for one in statements:
                connection.execute(sqlalchemy.text(one.replace("DATABASE_NAME", str(name))))

    yield url, administer
    engine.dispose()


END_ALL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'DATABASE_NAME'"
GONE = "ALTER DATABASE DATABASE_NAME WITH ALLOW_CONNECTIONS false"
BACK = "ALTER DATABASE DATABASE_NAME WITH ALLOW_CONNECTIONS true"
READ_ONLY = "ALTER DATABASE DATABASE_NAME SET default_transaction_read_only = on"
WRITABLE = "ALTER DATABASE DATABASE_NAME RESET default_transaction_read_only"


# ---- gone


def test_while_postgresql_is_gone_nothing_runs_and_then_each_once(approved, primary):
    url, administer = primary
    waiting = approved(url)
    administer(GONE, END_ALL)
    waiting.expect_nothing_runs()
    administer(BACK)
    waiting.expect_each_runs_once()


def test_a_failover_is_waited_out(approved, primary, monkeypatch):
    """The connections break, and for a while there are no new ones."""
    monkeypatch.setattr(database_faults, "PATIENCE", 20.0)
    url, administer = primary
    waiting = approved(url)
    administer(GONE, END_ALL)
    back = threading.Timer(0.3, administer, [BACK])
    back.start()
    waiting.expect_each_runs_once()
    back.join()


def test_a_server_that_became_read_only_is_left(approved, primary, monkeypatch):
    """After a failover the old primary refuses to write: new connections are tried."""
    monkeypatch.setattr(database_faults, "PATIENCE", 20.0)
    url, administer = primary
    waiting = approved(url)
    administer(READ_ONLY, END_ALL)
    back = threading.Timer(0.3, administer, [WRITABLE])
    back.start()
    waiting.expect_each_runs_once()
    back.join()


def test_what_stays_read_only_refuses(approved, primary):
    url, administer = primary
    waiting = approved(url)
    administer(READ_ONLY, END_ALL)
    waiting.expect_nothing_runs()
    administer(WRITABLE, END_ALL)
    waiting.expect_each_runs_once()


def test_a_sqlite_file_that_is_read_only_refuses(approved, tmp_path):
    waiting = approved(f"sqlite:///{tmp_path}/store.db")
    with read_only(waiting):
        waiting.expect_nothing_runs()
    waiting.expect_each_runs_once()


@contextlib.contextmanager
def read_only(waiting: Approved) -> Any:
    """By a pragma: root may write to files that are read-only."""

    def refuse(connection: Any, *_: Any) -> None:
        connection.execute("PRAGMA query_only = ON")

    engines = [one._database.engine for one in (waiting.store, waiting.nonces)]
    for engine in engines:
        engine.dispose()
        sqlalchemy.event.listen(engine, "connect", refuse)
    yield
    for engine in engines:
        sqlalchemy.event.remove(engine, "connect", refuse)
        engine.dispose()


# ---- full


def test_a_full_disk_refuses(tmp_path):
    store = ApprovalStore(f"sqlite:///{tmp_path}/store.db")
    ceremony = Ceremony(store)
    ceremony.enrol()
    large = {"symbol": "ACME", "quantity": 1, "note": "x" * 100_000}
    for _ in range(2):
        with full(store), pytest.raises(StoreError, match="full"):
            ceremony.challenge(arguments=large)
    assert ceremony.challenge(arguments=large)
    store.close()


@contextlib.contextmanager
def full(store: ApprovalStore) -> Any:
    """The file may not grow."""

    def limit(connection: Any, *_: Any) -> None:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")

    engine = store._database.engine
    engine.dispose()
    sqlalchemy.event.listen(engine, "connect", limit)
    yield
    sqlalchemy.event.remove(engine, "connect", limit)
    engine.dispose()


def test_of_what_belongs_together_no_part_is_written(tmp_path):
    """SQLite keeps what a transaction did before a statement that found no space: it must be rolled
    back, and not committed."""
    url = f"sqlite:///{tmp_path}/store.db"
    store = ApprovalStore(url)
    ceremony = Ceremony(store)
    response = ceremony.register(Authenticator())
    with store._database.engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER full BEFORE INSERT ON sep2672_credentials "
            "BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END"
        )
    with pytest.raises(StoreError, match="full"):
        ceremony.gate.finish_enrolment(ALICE, response)
    assert [one.consumed_at for one in store.enrolments(ALICE)] == [None]
    with store._database.engine.begin() as connection:
        connection.exec_driver_sql("DROP TRIGGER full")
    assert ceremony.gate.finish_enrolment(ALICE, response)["success"] is True
    store.close()


# ---- what a statement of PostgreSQL can meet


RAISE = """CREATE FUNCTION fail() RETURNS trigger AS $$ BEGIN
  IF nextval('failures') <= {times} THEN RAISE EXCEPTION 'as told' USING ERRCODE = '{code}'; END IF;
  RETURN NEW; END $$ LANGUAGE plpgsql"""


def failing(url: str, table: str, act: str, code: str, times: int) -> None:
    """So often, a statement on this table fails in this way; sequences are not rolled back."""
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE SEQUENCE failures")
        connection.exec_driver_sql(RAISE.format(times=times, code=code))
        connection.exec_driver_sql(
            f"CREATE TRIGGER failing BEFORE {act} ON {table} FOR EACH ROW EXECUTE FUNCTION fail()"
        )
    engine.dispose()


@pytest.mark.parametrize("code", ["40001", "40P01"])
def test_a_serialization_failure_is_tried_again(approved, postgresql, monkeypatch, code):
    monkeypatch.setattr(database_faults, "PATIENCE", 20.0)
    url = postgresql.new_database()
    waiting = approved(url)
    failing(url, "sep2672_challenges", "UPDATE", code, 3)
    waiting.expect_each_runs_once()


@pytest.mark.parametrize("code", ["53100", "XX000", "42501"])
def test_what_does_not_pass_is_refused_at_once(approved, postgresql, monkeypatch, code):
    """A full disk, a broken index, a right that was taken away."""
    monkeypatch.setattr(database_faults, "PATIENCE", 20.0)
    url = postgresql.new_database()
    waiting = approved(url)
    failing(url, "sep2672_challenges", "UPDATE", code, 1)
    with pytest.raises(StoreError, match="as told"):
        waiting.call()
    assert waiting.ran == []
    waiting.expect_each_runs_once()


@pytest.mark.parametrize("code", ["40001", "53100"])
def test_what_belongs_together_is_written_together_or_not_at_all(postgresql, code):
    """In one transaction of several statements nothing is tried again: its caller is told."""
    url = postgresql.new_database()
    store = ApprovalStore(url)
    ceremony = Ceremony(store)
    response = ceremony.register(Authenticator())
    failing(url, "sep2672_credentials", "INSERT", code, 1)
    with pytest.raises(StoreError, match="as told"):
        ceremony.gate.finish_enrolment(ALICE, response)
    assert [one.consumed_at for one in store.enrolments(ALICE)] == [None]
    assert ceremony.gate.finish_enrolment(ALICE, response)["success"] is True
    store.close()


def test_a_commit_that_got_no_answer_is_not_repeated(approved, postgresql, monkeypatch):
    """Nobody knows whether it was done: it does not run, and is not tried again."""
    waiting = approved(postgresql.new_database())
    engine = waiting.store._database.engine
    commits: list[None] = []

    def lose(*_: Any) -> None:
        commits.append(None)
        raise sqlalchemy.exc.OperationalError(
            "COMMIT", None, Exception("the connection is gone"), connection_invalidated=True
        )

    reads = waiting.ceremony.gate.step_13_consume

    def consume(attempt: Any) -> None:
        sqlalchemy.event.listen(engine, "commit", lose)
        try:
            reads(attempt)
        finally:
            sqlalchemy.event.remove(engine, "commit", lose)

    monkeypatch.setattr(waiting.ceremony.gate, "step_13_consume", consume)
    with pytest.raises(StoreError, match="the connection is gone"):
        waiting.call()
    assert (len(commits), waiting.ran) == (1, [])


# ---- slow


def test_a_lock_that_is_held_is_not_waited_for_for_ever(approved, postgresql, monkeypatch):
    monkeypatch.setattr(database, "STATEMENT_SECONDS", 0.2)
    url = postgresql.new_database()
    waiting = approved(url)
    other = sqlalchemy.create_engine(url)
    with other.connect() as connection:
        connection.exec_driver_sql("SELECT * FROM sep2672_challenges FOR UPDATE")
        with pytest.raises(StoreError, match="statement timeout"):
            waiting.call()
    other.dispose()
    waiting.expect_each_runs_once()


def test_purging_waits_for_nobody_and_takes_a_few_at_a_time(postgresql, monkeypatch):
    monkeypatch.setattr(database, "_REMOVED_AT_ONCE", 3)
    monkeypatch.setattr(database, "STATEMENT_SECONDS", 5.0)
    url = postgresql.new_database()
    store = NonceStore(url)
    day = datetime.timedelta(days=1)
    for number in range(8):
        store.spend(f"nonce {number}", now(), now())
    other = sqlalchemy.create_engine(url)
    with other.connect() as connection:
        connection.exec_driver_sql(
            "SELECT * FROM execution_tokens_nonces WHERE nonce = 'nonce 0' FOR UPDATE"
        )
        counts = []
        for number in range(4):
            store.spend(f"later {number}", now() + 2 * day, now() + day)
            counts.append(len(store._nonces.find(lambda one: one.expires_at == now())))
    other.dispose()
    assert counts == [5, 2, 1, 1], "the one that somebody holds stays for the next time"
    store.close()


# ---- over MCP


def test_a_client_is_told_that_nothing_is_approved():
    from pytest_mcp_approval.config.settings import Settings
    from pytest_mcp_approval.families.sep2672.driver import Approval
    from pytest_mcp_approval.target import open_target

    target: Any = open_target("reference:sqlite", Settings(targets=("reference",)))
    with contextlib.closing(target):
        approval = Approval(target)
        passkey = approval.enrol()
        challenge = approval.challenge("place_trade", {"symbol": "ACME", "quantity": 1})
        evidence = passkey.sign(challenge)
        (extension,) = (one for one in target.server.extensions if one.family == "sep2672")
        engine = extension.store._database.engine

        def fail(*_: Any) -> None:
            raise sqlalchemy.exc.OperationalError("SELECT", None, Exception("disk I/O error"))

        sqlalchemy.event.listen(engine, "before_cursor_execute", fail)
        failed = approval.call(challenge, evidence)
        sqlalchemy.event.remove(engine, "before_cursor_execute", fail)
        assert failed.reply.error is not None
        assert failed.reply.error.code == -32603
        assert "nothing is approved without it" in failed.reply.error.message
        assert "disk" not in failed.reply.error.message
        assert failed.runs == 0
        assert approval.call(challenge, evidence).served_once


def test_an_error_that_is_logged_shows_no_value(approved, tmp_path):
    waiting = approved(f"sqlite:///{tmp_path}/store.db")
    assert waiting.store._database.engine.hide_parameters
