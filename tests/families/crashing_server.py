"""The reference server with a store that is wrong only if its process is killed, or beside another:
`python -m tests.families.crashing_server`, with FAULT in its environment.

`write-behind`: what was used is kept in memory, and written when the server ends properly.
`marks-in-memory`: what was used is kept in memory, and never written.
`consents-kept`: a gateway writes down a consent for one call when it is given, and that it was used
only in memory.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.reference_server.command_line import main
from pytest_mcp_approval.reference_server.confirmation_tokens.extension import (
    ConfirmationExtension,
)
from pytest_mcp_approval.reference_server.gateway_consent.consent import Decisions
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
from pytest_mcp_approval.reference_server.server.database import DatabaseTable
from pytest_mcp_approval.reference_server.server.tables import holds, worked_out
from tests.mutants.prepare_confirm.parts import Renews

_MARKS = ("nonces", "spent")
"""Tables in which adding means using."""
_ALMOST_DEAD = 0.5
"""Seconds before a proper end. Started warm (tests/warm_python.py), the program is killed a moment
after the process that stands for it, and sees the end of its input first: it must not take that for
a proper end."""
_USED = frozenset({"consumed_at", "use_count"})
"""Members whose change means using."""


class HeldBack(DatabaseTable[Any]):
    """Keeps in memory what says that something was used."""

    write_at_the_end = False

    @property
    def held(self) -> dict[Any, Any]:
        if "_held" not in self.__dict__:
            self.__dict__["_held"] = {}
            if self.write_at_the_end:
                atexit.register(self._write)
        found: dict[Any, Any] = self.__dict__["_held"]
        return found

    def _write(self) -> None:
        time.sleep(_ALMOST_DEAD)
        held, self.__dict__["_held"] = self.held, {}
        self.put(held.values())

    def _keeps_marks(self) -> bool:
        return self.shape.name.endswith(_MARKS)

    def add(self, record: Any) -> bool:
        if not self._keeps_marks():
            return super().add(record)
        key = getattr(record, self.shape.key)
        if key in self.held or super().get(key) is not None:
            return False
        self.held[key] = record
        return True

    def get(self, key: Any) -> Any:
        return self.held.get(key) or super().get(key)

    def find(self, *where: Any) -> list[Any]:
        return [self.held.get(getattr(one, self.shape.key), one) for one in super().find(*where)]

    def change(self, key: Any, where: Any = {}, **values: Any) -> bool:  # noqa: B006
        if not _USED & values.keys():
            return super().change(key, where, **values)
        kept = self.get(key)
        if kept is None or not holds(where, kept):
            return False
        self.held[key] = replace(kept, **worked_out(values, kept))
        return True


def keep_consents() -> None:
    """Every consent is written down; only in memory is it known that one was for a single call."""
    single: set[tuple[str, ...]] = set()
    keep_for_one_call, remembered = Decisions.keep_for_one_call, Decisions.remembered

    def keep(self: Decisions, question: Any, choice: Any) -> None:
        keep_for_one_call(self, question, choice)
        self.keep(question, choice)
        single.add(question.subject)

    def look(self: Decisions, *subject: str) -> bool | None:
        return None if subject in single else remembered(self, *subject)

    setattr(Decisions, "keep_for_one_call", keep)  # noqa: B010
    setattr(Decisions, "remembered", look)  # noqa: B010


def end_slowly() -> None:
    ended = ConfirmationExtension.session_ended

    def end(self: ConfirmationExtension, session: str) -> None:
        time.sleep(_ALMOST_DEAD)
        ended(self, session)

    setattr(ConfirmationExtension, "session_ended", end)  # noqa: B010


def break_it(fault: str) -> None:
    from pytest_mcp_approval.reference_server.server import database

    if fault == "consents-kept":
        keep_consents()
    elif fault:
        assert fault in ("write-behind", "marks-in-memory"), fault
        HeldBack.write_at_the_end = fault == "write-behind"
        setattr(database, "DatabaseTable", HeldBack)  # noqa: B010
        for name in ("execute", "renewed"):
            setattr(PreparationGate, name, getattr(Renews, name))


if __name__ == "__main__":
    end_slowly()
    break_it(os.environ.get("FAULT", ""))
    sys.exit(main())
