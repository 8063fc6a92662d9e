"""A pair of tools from the preview to the confirmation, step by step. Knows no verdicts."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any

from ...target import Target
from ...wire import Reply
from ..base.staged import StagedApproval, UseOutcome
from .driver import PrepareConfirm
from .outcome import Preview
from .settings import Pair


class StagedConfirm(StagedApproval):
    steps = ("a preview was given",)

    def __init__(self, pair: Pair) -> None:
        super().__init__()
        self._pair = pair
        self._used = False
        self.preview: Preview | None = None

    def open(self, target: Target) -> PrepareConfirm:
        return PrepareConfirm(target)

    def take(self, step: int, target: Target) -> None:  # noqa: ARG002  # there is only one
        self._put_in_place(target)
        driver: PrepareConfirm = self.at(target)
        self.preview = driver.prepare(self._pair)
        self._used = False

    def use(self, target: Target, before: Callable[[], object] = lambda: None) -> UseOutcome:
        """What is done cannot be done again: it is put back first, so that a second use shows."""
        if self._used:
            self._put_in_place(target)
        outcome = super().use(target, before)
        self._used = self._used or outcome.executed or outcome.succeeded
        return outcome

    def _put_in_place(self, target: Target) -> None:
        driver: PrepareConfirm = self.at(target)
        driver.make(self._pair.restore)
        driver.forget()

    def params(self, target: Target) -> Mapping[str, Any]:
        assert self.preview is not None
        driver: PrepareConfirm = self.at(target)
        return driver.confirm_params(self._pair, self.preview.token)

    def claims(self, reply: Reply, target: Target) -> bool:
        driver: PrepareConfirm = self.at(target)
        return driver.seen(self._pair, reply).succeeded

    def most_runs(self) -> int:
        return max(1, len(self.preview.ids) if self.preview is not None else 1)

    def expires_at(self) -> datetime.datetime | None:
        try:
            return self.preview.expires_at if self.preview is not None else None
        except ValueError:
            return None
