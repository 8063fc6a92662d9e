"""Tables of records in memory: gone with the process, and as quick with many records as with few.

What an indexed member is compared with is looked up, not searched for. Knows no family and no rule.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import count, islice
from typing import Any

from .tables import ANY, Record, RecordTable, Shape, Where, holds, worked_out

_SPARE = 64


class MemoryTable(RecordTable[Record]):
    """A dictionary under a lock, with an index for each indexed member."""

    def __init__(self, shape: Shape[Record]) -> None:
        super().__init__(shape)
        self._lock = threading.RLock()
        self._numbers = count()
        self._records: dict[Any, Record] = {}
        # For each value of an indexed member the keys, in the order in which they came.
        self._keys: dict[str, dict[Any, dict[Any, None]]] = {name: {} for name in shape.indexed}
        # For a member that records are removed by: its values, the least first. An entry may be out
        # of date: it counts only if the record still has that value.
        self._least: dict[str, list[tuple[Any, int, Any]]] = {}

    def _key_of(self, record: Record) -> Any:
        return next(self._numbers) if self.shape.is_log else getattr(record, self.shape.key)

    # ---- the dictionary and its indexes

    def _set(self, key: Any, record: Record) -> None:
        old = self._records.get(key)
        self._records[key] = record
        for name, keys in self._keys.items():
            value = getattr(record, name)
            if old is not None:
                if getattr(old, name) == value:
                    continue
                self._forget(name, getattr(old, name), key)
            keys.setdefault(value, {})[key] = None
        for name, heap in list(self._least.items()):
            if old is None or getattr(old, name) != getattr(record, name):
                self._push(heap, getattr(record, name), key)
                if len(heap) > 2 * len(self._records) + _SPARE:
                    self._tidy(name)

    def _drop(self, key: Any) -> None:
        record = self._records.pop(key)
        for name in self._keys:
            self._forget(name, getattr(record, name), key)

    def _forget(self, name: str, value: Any, key: Any) -> None:
        keys = self._keys[name][value]
        del keys[key]
        if not keys:
            del self._keys[name][value]

    def _push(self, heap: list[tuple[Any, int, Any]], value: Any, key: Any) -> None:
        if value is not None:
            heapq.heappush(heap, (value, next(self._numbers), key))

    def _tidy(self, name: str) -> None:
        """Drop the entries that are out of date: callers make them, and records are bounded. Seldom
        enough to cost each new record no more than a few steps."""
        fresh: list[tuple[Any, int, Any]] = []
        for key, record in self._records.items():
            self._push(fresh, getattr(record, name), key)
        self._least[name] = fresh

    def _meant(self, where: Where) -> Iterable[Any]:
        """The keys among which those are that it holds for, oldest first."""
        if not callable(where):
            for name in self._keys:
                if name in where:
                    return self._keys[name].get(where[name], {})
        return self._records

    # ---- what a table can do

    def add(self, record: Record) -> bool:
        with self._lock:
            key = self._key_of(record)
            if key in self._records:
                return False
            self._set(key, record)
            if self.shape.most is not None and len(self._records) > self.shape.most:
                self._drop(next(iter(self._records)))
            return True

    def put(self, records: Iterable[Record]) -> None:
        with self._lock:
            for record in records:
                self._set(self._key_of(record), record)

    def get_all(self, keys: Iterable[Any]) -> dict[Any, Record]:
        with self._lock:
            return {key: self._records[key] for key in keys if key in self._records}

    def find(self, where: Where = ANY, newest: int | None = None) -> list[Record]:
        with self._lock:
            found = (self._records[key] for key in reversed(self._meant(where)))  # type: ignore[call-overload]
            return list(islice((one for one in found if holds(where, one)), newest))[::-1]

    def change_all(self, where: Where, **values: Any) -> list[Record]:
        with self._lock:
            keys = [key for key in self._meant(where) if holds(where, self._records[key])]
            return [self._changed(key, values) for key in keys]

    def _holds(self, key: Any, where: Where) -> bool:
        return key in self._records and holds(where, self._records[key])

    def change(self, key: Any, where: Where = ANY, **values: Any) -> bool:
        with self._lock:
            meant = self._holds(key, where)
            if meant:
                self._changed(key, values)
            return meant

    def _changed(self, key: Any, values: Mapping[str, Any]) -> Record:
        record: Any = self._records[key]
        self._set(key, replace(record, **worked_out(values, record)))
        return self._records[key]

    def remove_all(self, where: Where = ANY) -> None:
        with self._lock:
            for key in [key for key in self._meant(where) if holds(where, self._records[key])]:
                self._drop(key)

    def remove_below(self, member: str, value: Any) -> None:
        with self._lock:
            if member not in self._least:
                self._tidy(member)
            heap = self._least[member]
            while heap and heap[0][0] < value:
                found, _, key = heapq.heappop(heap)
                if key in self._records and getattr(self._records[key], member) == found:
                    self._drop(key)

    def keep_most(self, where: Mapping[str, Any], most: int, by: str) -> None:
        with self._lock:
            meant = [key for key in self._meant(where) if holds(where, self._records[key])]
            values = {key: getattr(self._records[key], by) for key in meant}
            counted = [value for value in values.values() if value is not None]
            if len(counted) <= most:
                return
            least = heapq.nlargest(most, counted)[-1]
            for key, value in values.items():
                if value is not None and value < least:
                    self._drop(key)

    def remove(self, key: Any, where: Where = ANY) -> bool:
        with self._lock:
            meant = self._holds(key, where)
            if meant:
                self._drop(key)
            return meant
