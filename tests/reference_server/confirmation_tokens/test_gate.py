"""The gate of confirmation tokens as a library, on both stores."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    Danger,
    Event,
    TokenCode,
    is_token,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.records import AdapterOperation
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from pytest_mcp_approval.reference_server.confirmation_tokens.settings import (
    ConfirmationSettings,
    RateLimit,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.store import (
    TokenStore,
)
from pytest_mcp_approval.reference_server.server.clock import SettableClock

START = datetime.datetime(2026, 1, 28, 12, tzinfo=datetime.UTC)
PARAMS = {"owner": "acme", "repo": "widgets"}


class Desk:
    """A gate with a clock, and what its operations did."""

    def __init__(self, store: TokenStore, **settings: Any) -> None:
        self.ran: list[dict[str, Any]] = []
        self.clock = SettableClock(START)
        self.store = store
        self.settings = ConfirmationSettings(**settings)
        self.gate = self.another("reference")

    def another(self, adapter: str, **changes: Any) -> ConfirmationGate:
        def run(params: Any) -> dict[str, Any]:
            self.ran.append(dict(params))
            return {"number": len(self.ran)}

        critical = ("owner", "repo", "force")
        operations = [
            AdapterOperation("delete_repo", Danger.DESTRUCTIVE, run, critical=critical),
            AdapterOperation("archive_repo", Danger.DESTRUCTIVE, run, critical=critical),
            AdapterOperation("wipe", Danger.FORBIDDEN, run),
            AdapterOperation("trim", Danger.DESTRUCTIVE, run, max_uses=3),
            AdapterOperation("drop", Danger.DESTRUCTIVE, run, metadata=("request_id",)),
            AdapterOperation("export", Danger.REVERSIBLE, run, critical=("repo",), quota=2),
        ]
        return ConfirmationGate(
            operations,
            store=self.store,
            clock=self.clock,
            settings=replace(self.settings, **changes),
            adapter_name=adapter,
        )

    def ask(self, operation: str = "delete_repo", session: str = "", **params: Any) -> str:
        with pytest.raises(TokenRefusal, match="CONFIRMATION_REQUIRED") as caught:
            self.gate.perform(operation, {**PARAMS, **params}, user="ada", session=session)
        token = caught.value.details["confirmation_token"]
        assert is_token(token)
        return str(token)

    def redeem(
        self,
        token: Any,
        operation: str = "delete_repo",
        *,
        user: str = "ada",
        session: str = "",
        gate: ConfirmationGate | None = None,
        **params: Any,
    ) -> str:
        """The code of the refusal; "" if it ran."""
        call = {**PARAMS, **params, "confirmation_token": token}
        try:
            (gate or self.gate).perform(operation, call, user=user, session=session)
        except TokenRefusal as refusal:
            return refusal.code
        return ""


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store(
    request: pytest.FixtureRequest, new_database: Callable[[str], str]
) -> Iterator[TokenStore]:
    made = TokenStore() if request.param == "memory" else TokenStore(new_database(request.param))
    yield made
    made.close()


@pytest.fixture(params=["stored", "signed"])
def desk(request: pytest.FixtureRequest, store: TokenStore) -> Desk:
    return Desk(store, token_style=request.param)


def test_a_token_runs_its_call_once(desk: Desk):
    token = desk.ask()
    assert desk.ran == []
    assert desk.redeem(token) == ""
    assert desk.ran == [PARAMS], "without the token"
    assert desk.redeem(token) == TokenCode.ALREADY_USED
    assert len(desk.ran) == 1


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"repo": "gears"}, TokenCode.SCOPE_MISMATCH),
        ({"force": True}, TokenCode.SCOPE_MISMATCH),
        ({"operation": "archive_repo"}, TokenCode.SCOPE_MISMATCH),
        ({"user": "eve"}, None),
        ({"request_id": "r-1"}, ""),
    ],
    ids=str,
)
def test_a_token_is_bound(desk: Desk, how: dict[str, Any], code: str | None):
    got = desk.redeem(desk.ask(), **how)
    assert got == code if code is not None else got in set(TokenCode)
    assert len(desk.ran) == (code == "")


def test_another_adapter_refuses_it(store: TokenStore):
    desk = Desk(store)
    token = desk.ask()
    assert desk.redeem(token, gate=desk.another("archive")) == TokenCode.SCOPE_MISMATCH
    assert desk.redeem(token) == ""


@pytest.mark.parametrize("tolerance", [0, 5, 30, 300])
@pytest.mark.parametrize(("beyond", "code"), [(-1, ""), (0, ""), (1, TokenCode.EXPIRED)])
def test_the_tolerance_is_exact(store: TokenStore, tolerance: float, beyond: int, code: str):
    desk = Desk(store, clock_skew_tolerance_seconds=tolerance)
    token = desk.ask()
    desk.clock.move_to(START + datetime.timedelta(seconds=300 + tolerance, milliseconds=beyond))
    assert desk.redeem(token) == code


@pytest.mark.parametrize(("operation", "seconds"), [("delete_repo", 300), ("wipe", 120)])
@pytest.mark.parametrize("asked", [None, 10, 86_400])
def test_lifetimes(desk: Desk, operation: str, seconds: int, asked: int | None):
    params = {} if asked is None else {"confirmation_ttl_seconds": asked}
    with pytest.raises(TokenRefusal) as caught:
        desk.gate.perform(operation, params, user="ada")
    most = {"delete_repo": 900, "wipe": 300}[operation]
    lives = seconds if asked is None else min(asked, most)
    wanted = START + datetime.timedelta(seconds=lives)
    assert caught.value.details["expires_at"] == wanted.strftime("%Y-%m-%dT%H:%M:%S.000Z")


@pytest.mark.parametrize("token", ["conf_x", "", 5, [], {"a": 1}, "conf_" + "x" * 100, "\ud800"])
def test_anything_may_come_as_a_token(desk: Desk, token: Any):
    assert desk.redeem(token) == TokenCode.INVALID
    entry = desk.store.entries("ada", 10)[-1]
    assert entry.event is Event.REJECTED
    assert entry.token_id in ("(malformed)", token)


def test_of_many_threads_one_wins(desk: Desk):
    token, codes = desk.ask(), []
    start = threading.Barrier(8, timeout=10)

    def run() -> None:
        start.wait()
        codes.append(desk.redeem(token))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(codes) == ["", *[TokenCode.ALREADY_USED] * 7]
    assert len(desk.ran) == 1


def test_a_session_token_serves_its_session(store: TokenStore):
    desk = Desk(store)
    token = desk.ask("trim", session="one")
    assert desk.redeem(token, "trim", session="two") == TokenCode.SCOPE_MISMATCH
    assert [desk.redeem(token, "trim", session="one") for _ in range(4)] == [
        *[""] * 3,
        TokenCode.ALREADY_USED,
    ]
    alone = desk.ask("trim")
    assert [desk.redeem(alone, "trim") for _ in range(2)] == ["", TokenCode.ALREADY_USED]


def test_a_session_that_ends_takes_its_tokens_along(desk: Desk):
    gone, kept = desk.ask(session="one"), desk.ask(session="two")
    desk.gate.session_ended("one")
    assert desk.redeem(gone) in (TokenCode.INVALID, TokenCode.SCOPE_MISMATCH)
    assert desk.redeem(kept, session="two") == ""


def test_revoked_by_hand(desk: Desk):
    token = desk.ask()
    assert desk.gate.revoke(token, user="ada").id == token
    assert desk.redeem(token) == TokenCode.INVALID
    for bad in (token, "conf_unknown", "nonsense", None):
        with pytest.raises(TokenRefusal, match="TOKEN_INVALID"):
            desk.gate.revoke(bad, user="ada")


def test_another_configuration_revokes(store: TokenStore):
    desk = Desk(store)
    token = desk.ask()
    desk.another("reference")
    assert desk.store.entries("ada", 10)[-1].event is Event.ISSUED, "the same configuration"
    desk.another("reference", clock_skew_tolerance_seconds=5)
    assert desk.redeem(token) == TokenCode.INVALID


def test_the_states_of_a_token(store: TokenStore):
    desk = Desk(store)

    def state(token: str) -> str:
        return str(desk.gate.status(token, user="ada")["status"])

    fresh, used, revoked = desk.ask(), desk.ask(), desk.ask()
    desk.redeem(used)
    desk.gate.revoke(revoked, user="ada")
    assert [state(one) for one in (fresh, used, revoked)] == ["active", "used", "revoked"]
    desk.clock.advance(331)
    assert state(fresh) == "expired"
    with pytest.raises(TokenRefusal, match="TOKEN_INVALID"):
        desk.gate.status(fresh, user="eve")


def test_expired_tokens_are_forgotten_within_the_hour(store: TokenStore):
    desk = Desk(store, clock_skew_tolerance_seconds=300)
    token = desk.ask()
    desk.clock.advance(300 + 300 + 60)
    assert desk.redeem(token) == TokenCode.EXPIRED
    desk.clock.advance(3600 - 361)
    desk.ask()
    assert token not in {record.id for record in store.records()}


def test_a_quota_pauses_and_goes_on(store: TokenStore):
    desk = Desk(store)

    def export(**more: Any) -> Any:
        return desk.gate.perform("export", {"repo": "a", **more}, user="ada")

    assert [export()["number"], export()["number"]] == [1, 2]
    with pytest.raises(TokenRefusal, match="QUOTA_PAUSED") as caught:
        export()
    token = caught.value.details["continue_token"]
    assert token.startswith("quota_continue_")
    with pytest.raises(TokenRefusal, match="TOKEN_INVALID"):
        export(_quota_continue=desk.ask())
    assert export(_quota_continue=token)["number"] == 3
    assert export()["number"] == 4
    with pytest.raises(TokenRefusal, match="TOKEN_ALREADY_USED"):
        export(_quota_continue=token)
    assert desk.redeem(token) == TokenCode.INVALID, "a quota token confirms nothing"


def test_limits_go_by_the_clock_and_by_the_caller(store: TokenStore):
    desk = Desk(
        store, issue_limit=RateLimit(3), failure_limit=RateLimit(2), revocation_limit=RateLimit(1)
    )
    tokens = [desk.ask() for _ in range(3)]
    with pytest.raises(TokenRefusal, match="RATE_LIMITED") as caught:
        desk.gate.perform("delete_repo", PARAMS, user="ada")
    assert 19 < caught.value.details["retry_after_seconds"] <= 20.001
    with pytest.raises(TokenRefusal, match="CONFIRMATION_REQUIRED"):
        desk.gate.perform("delete_repo", PARAMS, user="eve")
    assert [desk.redeem("conf_x") for _ in range(3)] == [TokenCode.INVALID] * 2 + ["RATE_LIMITED"]
    assert desk.redeem(tokens[0]) == "RATE_LIMITED", "guessing costs the honest calls too"
    desk.clock.advance(-3600)
    assert desk.redeem(tokens[0]) == "RATE_LIMITED", "going back does not help"
    desk.clock.advance(3660)
    assert desk.redeem(tokens[0]) == ""


def test_everything_is_there_after_a_restart(database_url: str):
    desk = Desk(TokenStore(database_url), token_style="stored")
    fresh, used = desk.ask(), desk.ask()
    desk.redeem(used)
    written = len(desk.store.entries("ada", 100))
    desk.store.close()
    again = Desk(TokenStore(database_url))
    assert len(again.store.entries("ada", 100)) == written
    assert again.redeem(used) == TokenCode.ALREADY_USED
    assert again.redeem(fresh) == ""
    again.store.close()


def test_a_signed_token_outlives_a_restart_and_serves_once(database_url: str):
    desk = Desk(TokenStore(database_url), token_style="signed")
    token = desk.ask()
    assert desk.store.records() == [], "nothing is kept of it before it is used"
    desk.store.close()
    again = Desk(TokenStore(database_url), token_style="signed")
    assert again.redeem(token) == ""
    assert again.redeem(token) == TokenCode.ALREADY_USED
    again.store.close()


def test_a_signed_token_of_another_key_is_invalid():
    token = Desk(TokenStore(), token_style="signed").ask()
    assert Desk(TokenStore(), token_style="signed").redeem(token) == TokenCode.INVALID


def test_a_signed_token_with_a_date_beyond_all_is_invalid():
    desk = Desk(TokenStore(), token_style="signed")
    assert desk.redeem("conf_" + "_" * 64) == TokenCode.INVALID


@pytest.mark.parametrize("operation", ["wipe", "drop"])
def test_a_token_is_bound_to_every_parameter_unless_the_operation_says_otherwise(
    desk: Desk, operation: str
):
    token = desk.ask(operation, name="scratch")
    assert desk.redeem(token, operation, name="production") == TokenCode.SCOPE_MISMATCH
    assert desk.redeem(token, operation) == TokenCode.SCOPE_MISMATCH, "left out"
    assert desk.redeem(token, operation, name="scratch", cascade=True) == TokenCode.SCOPE_MISMATCH
    assert desk.ran == []
    assert desk.redeem(token, operation, name="scratch", confirmation_ttl_seconds=9) == ""
    assert desk.ran == [{**PARAMS, "name": "scratch"}]


def test_what_an_operation_calls_metadata_may_change(desk: Desk):
    token = desk.ask("drop", request_id="one")
    assert desk.redeem(token, "drop", request_id="two") == ""
    assert desk.redeem(desk.ask("wipe", request_id="one"), "wipe", request_id="two") == (
        TokenCode.SCOPE_MISMATCH
    )


def test_an_operation_names_its_critical_parameters_or_its_metadata():
    with pytest.raises(ValueError, match="drop: got critical and metadata"):
        AdapterOperation("drop", Danger.SAFE, dict, critical=("a",), metadata=("b",))


def test_nobody_can_revoke_or_look_up_another_users_token(desk: Desk):
    token = desk.ask()
    with pytest.raises(TokenRefusal) as caught:
        desk.gate.revoke(token, user="eve")
    assert caught.value.to_answer() == _unknown(desk, "eve"), "as if there were no such token"
    with pytest.raises(TokenRefusal, match=TokenCode.INVALID):
        desk.gate.status(token, user="eve")
    assert desk.redeem(token, user="eve") == TokenCode.INVALID
    assert desk.gate.status(token, user="ada")["status"] == "active"
    assert desk.redeem(token) == ""


def _unknown(desk: Desk, user: str) -> Any:
    with pytest.raises(TokenRefusal) as caught:
        desk.gate.revoke(f"conf_{'x' * 43}", user=user)
    return caught.value.to_answer()


def test_whoever_a_token_was_issued_to_can_revoke_it(desk: Desk):
    token = desk.ask()
    assert desk.gate.revoke(token, user="ada").id == token
    assert desk.redeem(token) == TokenCode.INVALID
