"""Gateways whose decisions reach too far, or not far enough."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.families.gateway_consent import vocabulary as words
from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice
from pytest_mcp_approval.reference_server.gateway_consent.consent import (
    ConsentQuestion,
    Decisions,
    Once,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.gateway_consent.refusals import GatewayRefusal
from pytest_mcp_approval.reference_server.gateway_consent.vault import MemoryVault
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.meeting import Meeting
from tests.mutants.registry import mutant

ALL = "gateway_consent/authorize-all"
DENY = "gateway_consent/deny"
REMEMBER = "gateway_consent/remember"


# ---- authorize-all


@mutant(kills=ALL, because="after Authorize All Tools of[^§]*tool run")
@in_extension
class OpensEverything(Decisions):
    """All tools of one app are all tools of all apps."""

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        own = [key for key in self.vault.keys("consent") if key[0] == caller]
        every = any(self.record(*key)["allTools"] for key in own)
        return True if every else super().remembered(caller, app_id, tool)


@mutant(kills=ALL, because="after Authorize All Tools[^§]*the tool run[^§]*CONSENT_REQUIRED")
@in_extension
class OpensOneOfAll(Decisions):
    """Authorize All Tools is Authorize Tool."""

    def write(self, record: dict[str, Any], question: ConsentQuestion, choice: Choice) -> None:
        super().write(record, question, Choice.TOOL if choice is Choice.ALL else choice)


@mutant(kills=ALL, because="by 'Cursor[^§]*after 'Claude[^§]*, tool run")
@in_extension
class OpensForEveryCaller(Decisions):
    """All tools for one caller are all tools for every caller."""

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        granted = {key[1] for key in self.vault.keys("consent") if self.record(*key)["allTools"]}
        return True if app_id in granted else super().remembered(caller, app_id, tool)


# ---- deny


@mutant(kills=DENY, because="denied for ever, the first call[^§]*CONSENT_REQUIRED")
@in_extension
class ForgetsDenials(Decisions):
    """Remembers a yes, but not a no."""

    def keep(self, question: ConsentQuestion, choice: Choice) -> None:
        if choice is not Choice.DENY:
            super().keep(question, choice)


@mutant(kills=DENY, because=r"denied for ever, the second call[^§]*CONSENT_REQUIRED \(error")
@in_extension
class DeniesOnce(Gateway):
    """A denial that is remembered serves one call."""

    def check_consent(self, caller: str, app: App, tool: AppTool) -> None:
        try:
            super().check_consent(caller, app, tool)
        except GatewayRefusal as refusal:
            if refusal.code is words.Refusal.CONSENT_DENIED:
                self.decisions.vault.delete("consent", caller, app.id)
            raise


@mutant(kills=DENY, because="denied for now[^§]*tool run")
@in_extension
class RunsWhatIsDeniedForNow(Decisions):
    """A decision for one call is a yes, whichever button it was."""

    def keep_for_one_call(self, question: ConsentQuestion, choice: Choice) -> None:
        super().keep_for_one_call(question, Choice.TOOL)


@mutant(
    kills=REMEMBER,
    because="a denial not remembered, after a restart[^§]*nobody was asked: CONSENT_DENIED",
)
@in_extension
class RemembersEveryDenial(Decisions):
    """No is no for ever."""

    def keep_for_one_call(self, question: ConsentQuestion, choice: Choice) -> None:
        if choice is Choice.DENY:
            self.keep(question, choice)
        else:
            super().keep_for_one_call(question, choice)


@mutant(kills=DENY, because=r"after \S+ was denied[^§]*nobody was asked: CONSENT_DENIED")
@in_extension
class DeniesTheApp(Decisions):
    """Who denies one tool has denied them all."""

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        tools = self.record(caller, app_id)["tools"].values()
        denied = any(not own["granted"] for own in tools)
        return False if denied else super().remembered(caller, app_id, tool)


@mutant(
    kills=DENY, because="by another client, after a denial[^§]*nobody was asked: CONSENT_DENIED"
)
@in_extension
class DeniesEverybody(Decisions):
    """What is denied to one client is denied to all."""

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        for key in self.vault.keys("consent"):
            own = self.record(*key)["tools"].get(tool)
            if key[1] == app_id and own and not own["granted"]:
                return False
        return super().remembered(caller, app_id, tool)


# ---- remember


@mutant(kills=REMEMBER, because="the second call after that[^§]*tool run")
@in_extension
class KeepsAlways(Decisions):
    """Keeps every decision, ticked or not."""

    def keep_for_one_call(self, question: ConsentQuestion, choice: Choice) -> None:
        self.keep(question, choice)


@mutant(kills=REMEMBER, because="all tools allowed once, the second call[^§]*, tool run")
@in_extension
class KeepsAllTools(Decisions):
    """Keeps Authorize All Tools, ticked or not."""

    def keep_for_one_call(self, question: ConsentQuestion, choice: Choice) -> None:
        if choice is Choice.ALL:
            self.keep(question, choice)
        else:
            super().keep_for_one_call(question, choice)


@mutant(kills=REMEMBER, because="this tool remembered, after a restart[^§]*CONSENT_REQUIRED")
@in_extension
class RemembersInMemory(Decisions):
    """Remembers as long as it runs."""

    def __init__(self, vault: Any, clock: Any) -> None:
        super().__init__(MemoryVault(), clock)


@mutant(
    kills=REMEMBER, because=r"a denial remembered, after a restart[^§]*CONSENT_REQUIRED \(error"
)
@in_extension
class ForgetsDenialsAtItsEnd(Decisions):
    """Stores what was granted, and keeps denials only in memory."""

    def __init__(self, vault: Any, clock: Any) -> None:
        super().__init__(vault, clock)
        self.denied: set[tuple[str, ...]] = set()

    def keep(self, question: ConsentQuestion, choice: Choice) -> None:
        if choice is Choice.DENY:
            self.denied.add(question.subject)
        else:
            super().keep(question, choice)

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        denied = (caller, app_id, tool) in self.denied
        return False if denied else super().remembered(caller, app_id, tool)


@mutant(
    kills=REMEMBER, because=r"all tools remembered, after a restart[^§]*CONSENT_REQUIRED \(error"
)
@in_extension
class ForgetsAllToolsAtItsEnd(Decisions):
    """Loses Authorize All Tools, with what it opened, when it restarts."""

    def __init__(self, vault: Any, clock: Any) -> None:
        super().__init__(vault, clock)
        for key in vault.keys("consent"):
            if vault.load("consent", *key)["allTools"]:
                vault.delete("consent", *key)


@mutant(kills=REMEMBER, because="remembered, the second call[^§]*CONSENT_REQUIRED")
@in_extension
class RemembersNothing(Decisions):
    """Every decision is for one call, ticked or not."""

    def keep(self, question: ConsentQuestion, choice: Choice) -> None:
        self.keep_for_one_call(question, choice)


@mutant(kills=REMEMBER, because="eight calls of[^§]*[2-8] served")
@in_extension
class UsesUpInTwoSteps(Decisions):
    """Looks whether a decision is there, and takes it away a little later."""

    meeting = Meeting()

    def use_up(self, caller: str, app_id: str, tool: str) -> bool | None:
        subject = (caller, app_id, tool)
        once: Once | None = self._once.get(subject)
        self.meeting.wait()
        self._once.pop(subject, None)
        return None if once is None or self.too_old(once) else once.granted


@mutant(kills=REMEMBER, because="not remembered, after a restart[^§]*, tool run")
@in_extension
class WritesDownOnce(Decisions):
    """Keeps what serves one call in the vault as well, where it is used up for this run only."""

    def __init__(self, vault: Any, clock: Any) -> None:
        super().__init__(vault, clock)
        for key in vault.keys("once"):
            self._once[key] = Once(vault.load("once", *key)["granted"], clock.now())

    def keep_for_one_call(self, question: ConsentQuestion, choice: Choice) -> None:
        super().keep_for_one_call(question, choice)
        self.vault.save("once", {"granted": choice is not Choice.DENY}, *question.subject)
