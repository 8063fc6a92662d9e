"""Servers whose previews show less than is meant, or something else."""

from __future__ import annotations

import html
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationDraft,
    TwoStepOperation,
)
from tests.mutants.prepare_confirm.parts import in_extension
from tests.mutants.registry import mutant

PREVIEW = "prepare_confirm/preview"
CONFIRM = "prepare_confirm/confirm-executes"
DETAILS = "prepare_confirm/preview-details"


class _Shows(PreparationGate):
    """Shows other items than the token is for."""

    def shown(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        raise NotImplementedError

    def preview(
        self, operation: TwoStepOperation, draft: OperationDraft, *rest: Any
    ) -> dict[str, Any]:
        items = self.shown(draft.items)
        return super().preview(operation, replace(draft, items=items), *rest)


@mutant(kills=PREVIEW, because=r"2 item\(s\) with just these ids[^§]*items proj-1 \(1\)")
@in_extension
class ShowsEachNameOnce(_Shows):
    """Groups what it shows by name, as a reader may find pleasant."""

    def shown(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return list({item["name"]: item for item in reversed(items)}.values())[::-1]


class _Omits(_Shows):
    kept: tuple[str, ...] = ()

    def shown(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{name: item[name] for name in self.kept if name in item} for item in items]


@mutant(
    kills=DETAILS,
    because="something shown had changed[^§]*the same items: [^§]*.:.John Doe.,.enabled",
)
@in_extension
class ShowsUsersWithoutTheirAddress(_Omits):
    """Shows what users are called, and not how they are reached."""

    kept = ("project_id", "username", "name", "status", "artworks", "unfinished", "enabled")


@mutant(kills=DETAILS, because="more than an id[^§]*an item {.project_id.:.proj-2.}")
@in_extension
class ShowsDetailsOfTheFirst(_Shows):
    """Looks up the details of the first thing, and has ids for the others."""

    def shown(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [items[0], *({"project_id": item["project_id"]} for item in items[1:])]


@mutant(kills=DETAILS, because="something shown had changed[^§]*the same items: ")
@in_extension
class ShowsWhatItSawAMinuteAgo(_Shows):
    """Takes details from a cache that keeps them for a minute."""

    def shown(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        seen: dict[str, tuple[datetime, dict[str, Any]]] = self.__dict__.setdefault("seen", {})
        for item in items:
            name = next(iter(item.values()))
            if name not in seen or seen[name][0] <= self.now() - timedelta(minutes=1):
                seen[name] = (self.now(), item)
        return [seen[next(iter(item.values()))][1] for item in items]


@mutant(
    kills="prepare_confirm/pairs", because="SSO[^§]*warnings: [^§]*the user '(john.doe|jane.roe)'"
)
@in_extension
class WarnsAsTheFirstTime(PreparationGate):
    """Works out the warnings of each tool once, whomever they are about."""

    def preview(
        self, operation: TwoStepOperation, draft: OperationDraft, *rest: Any
    ) -> dict[str, Any]:
        known: dict[str, list[str]] = self.__dict__.setdefault("known", {})
        warnings = known.setdefault(operation.name, draft.warnings)
        return super().preview(operation, replace(draft, warnings=warnings), *rest)


@mutant(
    kills="prepare_confirm/expired",
    because="in America/New_York[^§]*in 300 s[^§]*in -1[47][0-9]00 s",
)
@in_extension
class ShowsLocalTimeAsUtc(PreparationGate):
    """Ends its tokens in time, and shows the end in local time with a Z behind it."""

    def preview(
        self, operation: TwoStepOperation, draft: OperationDraft, token: str, expires_at: datetime
    ) -> dict[str, Any]:
        wall = expires_at.astimezone(self.settings.time_zone).replace(tzinfo=UTC)
        return super().preview(operation, draft, token, wall)


class _Respells(_Shows):
    """Shows every text otherwise than it is."""

    def respelled(self, text: str) -> str:
        raise NotImplementedError

    def shown(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            {
                name: self.respelled(value) if isinstance(value, str) else value
                for name, value in item.items()
            }
            for item in items
        ]


@mutant(kills="prepare_confirm/confirm-executes", because="[0-9]+ items\n50 items")
@in_extension
class ShowsTheFirstPage(_Shows):
    """Shows the first fifty things, and gives a token for all."""

    def shown(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return items[:50]


@mutant(kills="prepare_confirm/preview", because=r'shown as \["long-x')
@in_extension
class CutsTextsToTheColumn(_Respells):
    """Cuts ids and names after sixty characters, so that those which begin alike look alike."""

    def respelled(self, text: str) -> str:
        return text[:60]


@mutant(kills="prepare_confirm/preview", because=r'shown as \["[^§]*&quot;')
@in_extension
class EscapesForPages(_Respells):
    """Escapes ids and names for HTML, where nobody asked for a page."""

    def respelled(self, text: str) -> str:
        return html.escape(text)


@mutant(kills="prepare_confirm/preview", because=r'shown as \["line break"')
@in_extension
class ShowsBlanksAlike(_Respells):
    """Shows line breaks, tabs and several blanks as one blank."""

    def respelled(self, text: str) -> str:
        return " ".join(text.split())


@mutant(kills="prepare_confirm/preview-details", because="the same items: [^§]*active")
@in_extension
class ShowsNamesAndNoNumbers(_Omits):
    """Shows what projects are called, and not what is in them."""

    kept = ("project_id", "username", "name", "status", "email", "enabled", "is_sso")


@mutant(kills="prepare_confirm/preview", because="prepare_delete_projects[^§]*operation: close")
@in_extension
class CallsEveryOperationClose(PreparationGate):
    """Says in every preview that something will be closed."""

    def preview(self, *arguments: Any) -> dict[str, Any]:
        return {**super().preview(*arguments), "operation": "close"}
