"""Logs of nonces that forget too soon."""

from __future__ import annotations

import datetime
import uuid
from typing import Any

from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.execution_tokens.operator import Arbiter
from pytest_mcp_approval.reference_server.execution_tokens.store import NonceStore, SpentNonce
from pytest_mcp_approval.reference_server.server.extension import ExtensionParts
from tests.mutants.execution_tokens.parts import (
    TAKEN,
    in_extension,
)
from tests.mutants.registry import mutant

REPLAY = "execution_tokens/nonce-replay"
REQUIRED = "execution_tokens/nonce-required"

RESTART = "execution_tokens/nonce-restart"


@mutant(kills=RESTART, because=f"after a restart{TAKEN}")
class WritesItsLogInBatches(ExecutionExtension):
    """Writes nonces down ten at a time, and loses those that are not written yet."""

    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        durable, waiting = self.store, NonceStore()
        held: list[tuple[str, datetime.datetime, datetime.datetime]] = []

        class Buffered:
            def spend(self, nonce: str, expires_at: Any, now: Any) -> bool:
                if not waiting.spend(nonce, expires_at, now):
                    return False
                if durable._nonces.get(nonce.lower()) is not None:
                    return False
                held.append((nonce, expires_at, now))
                if len(held) == 10:
                    for one in held:
                        durable.spend(*one)
                    held.clear()
                return True

        self.operator.verifier.nonces = Buffered()


@mutant(kills=REPLAY, because=f"a spent token that lives half an hour, 61 s later{TAKEN}")
@in_extension
class KeepsNoncesForAMinute(NonceStore):
    """Keeps a nonce in a cache for a minute, however long its token lives."""

    kept_for = datetime.timedelta(minutes=1)

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        self._nonces.remove_all(lambda spent: spent.spent_at < now - self.kept_for)
        return super().spend(nonce, expires_at, now)


@mutant(kills=REPLAY, because=f"a spent token that lives half an hour, 6 minutes later{TAKEN}")
@in_extension
class KeepsNoncesForTheUsualTime(NonceStore):
    """Keeps a nonce for five minutes, as long as most tokens live."""

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        forgotten = now - datetime.timedelta(minutes=5)
        self._nonces.remove_all(lambda spent: spent.spent_at < forgotten)
        return super().spend(nonce, expires_at, now)


@mutant(kills=REPLAY, because="a spent token that lives [^§]*content not run[^§]*accepted")
@in_extension
class KeepsNoncesForADay(NonceStore):
    """Clears nonces away when they are a day old, and tokens may live longer."""

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        forgotten = now - datetime.timedelta(days=1)
        self._nonces.remove_all(lambda spent: spent.spent_at < forgotten)
        return super().spend(nonce, expires_at, now)


@mutant(kills=REPLAY, because="a spent token that lives [^§]*content not run[^§]*accepted")
@in_extension
class HasALogForEachDay(NonceStore):
    """Begins a new log every day, and looks into the one of today."""

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        return super().spend(f"{now:%Y-%m-%d}/{nonce}", expires_at, now)


@mutant(kills=REPLAY, because=f"a spent token with others executed since{TAKEN}")
@in_extension
class KeepsAHundredNonces(NonceStore):
    """Has a cache of a hundred nonces, in which a new one takes the place of the oldest."""

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        kept: list[str] = self.__dict__.setdefault("kept", [])
        if nonce.lower() in kept:
            return False
        kept.append(nonce.lower())
        del kept[:-100]
        return True


@mutant(kills=REPLAY, because=f"a spent token, after a clock was set back by 60 s{TAKEN}")
@in_extension
class DropsNoncesOfTheFuture(NonceStore):
    """Clears away what was spent later than now, which happens when a clock is set back."""

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        self._nonces.remove_all(lambda spent: now < spent.spent_at)
        return super().spend(nonce, expires_at, now)


@mutant(kills=REPLAY, because=f"a spent token that lives a day, 61 s later{TAKEN}")
@in_extension
class ForgetsWhatExpiresLater(NonceStore):
    """Clears away with the wrong sign: what expires later than the token that comes in."""

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        self._nonces.remove_all(lambda spent: expires_at < spent.expires_at)
        return super().spend(nonce, expires_at, now)


@mutant(kills=RESTART, because=f"spent before a restart, with 11 others executed after it{TAKEN}")
class ReadsTheLastLineAtTheStart(ExecutionExtension):
    """Reads one line of its log when it starts, the newest."""

    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        spent = sorted(self.store._nonces.find(), key=lambda one: one.spent_at)
        for one in spent[:-1]:
            self.store._nonces.remove(one.nonce)


@mutant(kills=REPLAY, because=f"a token that another process or session spent{TAKEN}")
class ReadsItsLogAtTheStartOnly(ExecutionExtension):
    """Reads the log when it starts and then only adds to it, so that it misses what others add."""

    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        table = self.store._nonces
        known = {one.nonce for one in table.find()}

        class Remembered:
            def spend(self, nonce: str, expires_at: Any, now: Any) -> bool:
                if nonce.lower() in known:
                    return False
                known.add(nonce.lower())
                table.put([SpentNonce(nonce.lower(), expires_at, now)])
                return True

        self.operator.verifier.nonces = Remembered()


@mutant(kills=REQUIRED, because="nonces [^§]*each more than once")
@in_extension
class CountsNoncesFromTheStart(Arbiter):
    """Counts its nonces, and begins with one again when it is restarted."""

    def new_nonce(self) -> str:
        self.__dict__["count"] = self.__dict__.get("count", 0) + 1
        return str(uuid.UUID(int=self.__dict__["count"]))


@mutant(kills=REQUIRED, because="nonces [^§]*each more than once")
@in_extension
class DrawsNoncesFromAPool(Arbiter):
    """Made sixteen nonces when it started, and gives them out in turn."""

    def new_nonce(self) -> str:
        pool: list[str] = self.__dict__.setdefault("pool", [str(uuid.uuid4()) for _ in range(16)])
        pool.append(pool.pop(0))
        return pool[-1]
