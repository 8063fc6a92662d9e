"""A confirmation token from its issue to its use, step by step. Knows no verdicts."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from ...target import Target
from ...wire import Reply
from ..base.staged import StagedApproval
from .driver import ConfirmationTokens, IssuedToken
from .settings import NamedOperation


class StagedConfirmation(StagedApproval):
    steps = ("a token was issued",)

    def __init__(self, operation: NamedOperation) -> None:
        super().__init__()
        self._operation = operation
        self.issued: IssuedToken | None = None

    def open(self, target: Target) -> ConfirmationTokens:
        return ConfirmationTokens(target)

    def take(self, step: int, target: Target) -> None:  # noqa: ARG002  # there is only one
        driver: ConfirmationTokens = self.at(target)
        self.issued = driver.issue(self._operation.name, self._operation.params)

    def params(self, target: Target) -> Mapping[str, Any]:
        assert self.issued is not None
        driver: ConfirmationTokens = self.at(target)
        return driver.redeem_params(self.issued)

    def claims(self, reply: Reply, target: Target) -> bool:
        driver: ConfirmationTokens = self.at(target)
        return driver.seen(reply).succeeded

    def expires_at(self) -> datetime.datetime | None:
        expiry = self.issued.expiry if self.issued is not None else None
        return expiry.at if expiry is not None else None
