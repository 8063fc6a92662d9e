"""The system behind the tools: it closes and deletes, and writes down each thing that it did.

Some of them fail, by half or late, or take their time: back ends do, and the tools in front have to
tell the truth about it. Knows no token and no preview.
"""

from __future__ import annotations

import threading

from ..server.effects import RecordedEffects
from .refusals import BackEndError
from .store import PreparationStore

_SLOW_SECONDS = 0.4


class BackEnd:
    """A healthy one. Every change holds only for the version that the caller has seen."""

    def __init__(self, store: PreparationStore, effects: RecordedEffects) -> None:
        self.store = store
        self.effects = effects

    def close_project(self, project_id: str, version: int, force: bool) -> bool:
        if not self.store.close_project(project_id, version):
            return False
        self.effects.record("close_project", {"project_id": project_id, "force": force})
        return True

    def delete_project(self, project_id: str, version: int, force: bool) -> bool:
        if not self.store.delete_project(project_id, version):
            return False
        self.effects.record("delete_project", {"project_id": project_id, "force": force})
        return True

    def delete_user(self, username: str, version: int) -> bool:
        if not self.store.delete_user(username, version):
            return False
        self.effects.record("delete_user", {"username": username})
        return True

    def before(self) -> None:
        """Once for each confirmation, before its first change."""


class _Faulty(BackEnd):
    """One that a switch breaks: `on_change` comes before each change, `after_change` behind it."""

    def on_change(self) -> None: ...

    def after_change(self) -> None: ...

    def close_project(self, project_id: str, version: int, force: bool) -> bool:
        self.on_change()
        done = super().close_project(project_id, version, force)
        self.after_change()
        return done

    def delete_project(self, project_id: str, version: int, force: bool) -> bool:
        self.on_change()
        done = super().delete_project(project_id, version, force)
        self.after_change()
        return done

    def delete_user(self, username: str, version: int) -> bool:
        self.on_change()
        done = super().delete_user(username, version)
        self.after_change()
        return done


class Fails(_Faulty):
    """Does nothing and says so."""

    def on_change(self) -> None:
        raise BackEndError("the back end is not there")


class HalfFails(_Faulty):
    """Does the first thing that it is asked for in a confirmation, and no other."""

    def before(self) -> None:
        self._changes = 0

    def on_change(self) -> None:
        self._changes += 1
        if self._changes > 1:
            raise BackEndError("the back end went away")


class FailsLate(_Faulty):
    """Does what it is asked for, and then the answer is lost."""

    def after_change(self) -> None:
        raise BackEndError("the back end did not answer")


class Slow(BackEnd):
    """Takes its time, and then does it."""

    def before(self) -> None:
        threading.Event().wait(_SLOW_SECONDS)


BACK_ENDS: dict[str, type[BackEnd]] = {
    "healthy": BackEnd,
    "fails": Fails,
    "half_fails": HalfFails,
    "fails_late": FailsLate,
    "slow": Slow,
}
