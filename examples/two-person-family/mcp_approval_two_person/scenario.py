"""What the scenarios are written with: honest use, dishonest use, and expectations."""

from __future__ import annotations

from pytest_mcp_approval import DriverError, NotVerified, ScenarioView, Warn

from .driver import Request, TwoPerson
from .outcome import ApprovalOutcome
from .vocabulary import Reason


class TwoPersonScenario(ScenarioView):
    """One scenario's view of the target."""

    def __init__(self, driver: TwoPerson, warn: Warn) -> None:
        super().__init__(driver.target, warn)
        self.driver = driver
        self.table = driver.table

    def request(self) -> Request:
        """An honest one. If it fails, nothing here can be judged."""
        try:
            return self.driver.request()
        except DriverError as error:
            raise NotVerified(f"an honest request failed: {error}") from error

    def honest(self, request: Request | None = None) -> ApprovalOutcome:
        """The positive twin of every refusal: the second person's PIN, and nothing wrong."""
        outcome = self.driver.approve(request or self.request())
        if not outcome.served:
            raise NotVerified(f"an honest approval failed: {outcome.describe()}")
        self.driver.served()
        return outcome

    def expect_refusal(self, outcome: ApprovalOutcome, reason: Reason, *, sent: str) -> None:
        self.expect(
            outcome.refused_because(reason),
            sent=sent,
            expected=f"a refusal for {reason}, and that nothing runs",
            got=outcome.describe(),
        )
