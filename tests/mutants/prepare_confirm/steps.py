"""Servers whose preview hides something, or whose confirmation does something else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.prepare_confirm.vocabulary import Payload
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    DeleteUser,
    OperationDraft,
    OperationOutcome,
    TwoStepOperation,
)
from tests.mutants.prepare_confirm.parts import in_extension
from tests.mutants.registry import mutant

PREVIEW = "prepare_confirm/preview"
CONFIRM = "prepare_confirm/confirm-executes"
DETAILS = "prepare_confirm/preview-details"
APPEARED = "prepare_confirm/confirm-appeared"
PAIRS = "prepare_confirm/pairs"


# ---- preview


@mutant(kills=PREVIEW, because="and no confirm[^§]*nothing done[^§]*[12] done")
@in_extension
class ExecutesInPrepare(PreparationGate):
    """Does it while preparing, and nothing when it is confirmed."""

    def prepare(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        preview = super().prepare(operation, arguments, caller)
        if "confirmation_token" in preview:
            operation.execute(
                operation.draft(arguments, self.store).data, self.store, self.back_end
            )
        return preview


class _Hides(PreparationGate):
    """Leaves a member out, or says something else in it."""

    member: str
    value: Any = None

    def preview(self, *arguments: Any) -> dict[str, Any]:
        return {**super().preview(*arguments), self.member: self.value}


@mutant(kills=PREVIEW, because="items: a list of what it concerns[^§]*action: preview")
@in_extension
class ShowsNoItems(_Hides):
    """Gives a token for things that it does not show."""

    member, value = "items", ()


@mutant(kills=PREVIEW, because="warnings: a list of texts[^§]*action: preview")
@in_extension
class ShowsNoWarnings(_Hides):
    """Never warns."""

    member, value = "warnings", ()


@mutant(kills=PREVIEW, because="next_step: a text that names the confirm tool[^§]*action: preview")
@in_extension
class NamesNoNextStep(_Hides):
    """Does not say which tool confirms."""

    member, value = "next_step", "Confirm with the token"


@mutant(kills=PREVIEW, because="action: the text preview[^§]*action: done")
@in_extension
class CallsThePreviewDone(_Hides):
    """Answers prepare as if it had been done."""

    member, value = "action", "done"


@mutant(kills=PREVIEW, because="without a time zone")
@in_extension
class ShowsAnEndWithoutZone(_Hides):
    """Shows the expiry without a time zone."""

    member, value = "token_expires_at", "2030-01-01T00:05:00"


@mutant(kills=PREVIEW, because=r"2 item\(s\) with just these ids[^§]*items proj-1 \(1\)")
@in_extension
class ShowsTheFirstOnly(PreparationGate):
    """Shows one thing, and gives a token for all."""

    def preview(
        self, operation: TwoStepOperation, draft: OperationDraft, *rest: Any
    ) -> dict[str, Any]:
        return super().preview(operation, replace(draft, items=draft.items[:1]), *rest)


@mutant(kills=DETAILS, because="more than an id[^§]*an item")
@in_extension
class ShowsIdsAlone(PreparationGate):
    """Lists ids, and leaves it to the reader to know what they are."""

    def preview(
        self, operation: TwoStepOperation, draft: OperationDraft, *rest: Any
    ) -> dict[str, Any]:
        first = ("project_id", "username")
        items = [{name: item[name] for name in first if name in item} for item in draft.items]
        return super().preview(operation, replace(draft, items=items), *rest)


@mutant(kills=DETAILS, because="had changed[^§]*the same items")
@in_extension
class ShowsWhatItSawFirst(PreparationGate):
    """Keeps the details of a thing from the first time that it was shown."""

    def preview(
        self, operation: TwoStepOperation, draft: OperationDraft, *rest: Any
    ) -> dict[str, Any]:
        seen = self.__dict__.setdefault("seen", {})
        items = [seen.setdefault(next(iter(item.values())), item) for item in draft.items]
        return super().preview(operation, replace(draft, items=items), *rest)


# ---- confirm


class _OtherData(PreparationGate):
    """Carries out something else than the token says."""

    def data(self, payload: Payload, arguments: Mapping[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        if isinstance(operation, DeleteUser):
            return super().execute(operation, payload, arguments)
        changed = replace(payload, data=self.data(payload, arguments))
        return super().execute(operation, changed, arguments)

    def versions(self, ids: list[str]) -> list[int]:
        found = self.store.projects(ids)
        return [found[one].version if one in found else 0 for one in ids]


@mutant(kills=CONFIRM, because=r"beside it[^§]*project_ids: \['proj-4'\]")
@in_extension
class FollowsTheCall(_OtherData):
    """Acts on project_ids of the confirm call, if it has some."""

    def data(self, payload: Payload, arguments: Mapping[str, Any]) -> dict[str, Any]:
        ids = arguments.get("project_ids", payload.data["project_ids"])
        return {**payload.data, "project_ids": ids, "versions": self.versions(ids)}


@mutant(kills=CONFIRM, because="had changed since the preview[^§]*at most 1 done[^§]*2 done")
@in_extension
class DoesWhatHasChanged(_OtherData):
    """Takes things as they are now, whatever was shown."""

    def data(self, payload: Payload, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {**payload.data, "versions": self.versions(payload.data["project_ids"])}


@mutant(kills=APPEARED, because="something new had come[^§]*3 done")
@in_extension
class DoesWhatCameSince(_OtherData):
    """Does what was shown, and whatever was made since."""

    def prepare(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        self.__dict__["known"] = set(self.store.projects())
        return super().prepare(operation, arguments, caller)

    def data(self, payload: Payload, arguments: Mapping[str, Any]) -> dict[str, Any]:
        new = [one for one in self.store.projects() if one not in self.__dict__["known"]]
        ids = [*payload.data["project_ids"], *new]
        return {**payload.data, "project_ids": ids, "versions": self.versions(ids)}


@mutant(kills=CONFIRM, because="force True, prepared was False")
@in_extension
class ForcesEverything(_OtherData):
    """Does everything with force."""

    def data(self, payload: Payload, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {**payload.data, "force": True}


@mutant(kills=CONFIRM, because="on 10000 things[^§]*1000 done")
@in_extension
class StopsAtAThousand(_OtherData):
    """Does the first thousand and claims all."""

    def data(self, payload: Payload, arguments: Mapping[str, Any]) -> dict[str, Any]:
        kept = {name: payload.data[name][:1000] for name in ("project_ids", "versions")}
        return {**payload.data, **kept}

    def tell(
        self, operation: TwoStepOperation, payload: Payload, outcome: OperationOutcome
    ) -> dict[str, Any]:
        if len(outcome.done) == 1000:
            outcome.done = list(payload.data["project_ids"])
        return super().tell(operation, payload, outcome)


@mutant(kills=CONFIRM, because="prepared with[^§]*left_alone: .{'project_id': 'blanks around'")
@in_extension
class TrimsIds(_OtherData):
    """Takes blanks off an id that has some."""

    def data(self, payload: Payload, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {**payload.data, "project_ids": [one.strip() for one in payload.data["project_ids"]]}


@mutant(
    kills=CONFIRM, because="was done meanwhile[^§]*counts what was really done[^§]*[1-9][0-9]* done"
)
@in_extension
class CountsWhatIsGone(PreparationGate):
    """Counts ids that were not found as done."""

    def tell(
        self, operation: TwoStepOperation, payload: Payload, outcome: OperationOutcome
    ) -> dict[str, Any]:
        outcome.done += list(outcome.left_alone)
        outcome.left_alone.clear()
        return super().tell(operation, payload, outcome)


@mutant(
    kills=CONFIRM, because="was done meanwhile[^§]*proj-1 reported as not done[^§]*[1-9][0-9]* done"
)
@in_extension
class KeepsQuietOfWhatIsGone(PreparationGate):
    """Does the rest, and does not mention what it could not do."""

    def tell(
        self, operation: TwoStepOperation, payload: Payload, outcome: OperationOutcome
    ) -> dict[str, Any]:
        outcome.left_alone.clear()
        return super().tell(operation, payload, outcome)


# ---- pairs


class _Warns(PreparationGate):
    def preview(
        self, operation: TwoStepOperation, draft: OperationDraft, *rest: Any
    ) -> dict[str, Any]:
        warnings = self.warnings(operation, draft)
        return super().preview(operation, replace(draft, warnings=warnings), *rest)

    def warnings(self, operation: TwoStepOperation, draft: OperationDraft) -> list[str]:
        raise NotImplementedError


@mutant(kills=PAIRS, because="a warning that it cannot be undone[^§]*Please be careful")
@in_extension
class WarnsOfAllAlike(_Warns):
    """Has the same warnings for closing and deleting."""

    def warnings(self, operation: TwoStepOperation, draft: OperationDraft) -> list[str]:
        return [f"{len(draft.items)} thing(s). Please be careful"]


@mutant(
    kills=PAIRS,
    because="names the way back, and none that there is no way back[^§]*warnings: ",
)
@in_extension
class FrightensOfClosing(_Warns):
    """Says that closing is for ever, as deleting is."""

    def warnings(self, operation: TwoStepOperation, draft: OperationDraft) -> list[str]:
        return [*draft.warnings, "This CANNOT BE UNDONE"]


@mutant(
    kills=PAIRS,
    because="on an SSO user[^§]*a warning that it is an SSO user[^§]*warnings: ",
)
@in_extension
class OverlooksSso(_Warns):
    """Does not tell SSO users from others."""

    def warnings(self, operation: TwoStepOperation, draft: OperationDraft) -> list[str]:
        return [line for line in draft.warnings if "SSO" not in line]


@mutant(kills=PAIRS, because="who is none of SSO's[^§]*no warning of SSO[^§]*warnings: ")
@in_extension
class SeesSsoEverywhere(_Warns):
    """Warns of SSO whenever a user is deleted."""

    def warnings(self, operation: TwoStepOperation, draft: OperationDraft) -> list[str]:
        return [*draft.warnings, "This may be an SSO user"]
