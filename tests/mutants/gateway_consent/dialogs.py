"""Gateways that ask for credentials badly, or keep them in another place or form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_mcp_approval.reference_server.gateway_consent import http_client
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.app_credential import (
    AppCredentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import (
    Credentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.dialogs import (
    CANCEL,
    OK,
    Dialogs,
    Ticket,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import DialogStep
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

if TYPE_CHECKING:
    from starlette.responses import Response

DIALOG = "gateway_consent/credential-dialog"
SHAPE = "gateway_consent/credential-shape"


# ---- credential-dialog


@mutant(kills=DIALOG, because="one field to type into[^§]*2 fields")
@in_extension
class AsksForBothAtOnce(Dialogs):
    """Has app id and secret on one page."""

    def form(self, ticket: Ticket, app: App, step: DialogStep) -> str:
        usual = super().form(ticket, app, step)
        if step.secret:
            return usual
        return usual.replace("<div", '<input type="password" name="secret">\n<div', 1)


@mutant(kills=DIALOG, because="whose dialog was cancelled[^§]*tool run")
@in_extension
class CancelIsAnotherOK(Dialogs):
    """Takes whatever is sent, by whichever button."""

    def form(self, ticket: Ticket, app: App, step: DialogStep) -> str:
        return super().form(ticket, app, step).replace(f'value="{CANCEL}"', f'value="{OK}"')


@mutant(kills=DIALOG, because="expected[^§]*a button 'Cancel'|a button 'Cancel'[^§]*none")
@in_extension
class CannotBeCancelled(Dialogs):
    """Has no way out but OK."""

    def form(self, ticket: Ticket, app: App, step: DialogStep) -> str:
        return super().form(ticket, app, step).replace(">Cancel<", ">OK, later<")


@mutant(kills=DIALOG, because="the app's name in the dialog[^§]*a page without 'Suite")
@in_extension
class DoesNotSayWhose(Dialogs):
    """Asks for a credential, and does not say of which app."""

    def dialog(self, ticket: Ticket, app: App, step: DialogStep, wrong: str = "") -> Response:
        return super().dialog(ticket, replace(app, name="an app"), step, wrong)


@mutant(kills=DIALOG, because="the app's instructions in the dialog[^§]*a page without 'Ask")
@in_extension
class DoesNotSayHow(Dialogs):
    """Does not say how to get the credential."""

    def instructions(self, app: App) -> str:
        return ""


@mutant(kills=DIALOG, because=r"no request to the app[^§]*[1-9] request\(s\)")
@in_extension
class TriesTheIdAlone(AppCredentials):
    """Asks the app whether it knows the id, before there is a secret."""

    def check(self, app: App, step: DialogStep, value: str) -> str:
        checked = super().check(app, step, value)
        if not step.secret and app.base_url:
            http_client.send("POST", f"{app.base_url}/known", {}, b"{}")
        return checked


# ---- credential-shape


@mutant(kills=SHAPE, because="createdAt: 0 s from now[^§]*createdAt [0-9]{10}")
@in_extension
class KeepsSeconds(Credentials):
    """Writes seconds where milliseconds belong."""

    def save(self, caller: str, app_id: str, record: dict[str, Any]) -> None:
        created = record.get("createdAt")
        changed = {} if created is None else {"createdAt": created // 1000}
        super().save(caller, app_id, {**record, **changed})


class _Shows(Credentials):
    """Keeps a record in another form, which its export shows."""

    def form(self, record: Mapping[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def export(self) -> dict[str, dict[str, Any]]:
        return {
            caller: {app: self.form(record) for app, record in records.items()}
            for caller, records in super().export().items()
        }


@mutant(kills=SHAPE, because="no type, createdAt|no type in|no createdAt in")
@in_extension
class KeepsTheValueAlone(_Shows):
    """Keeps what it has to send, and nothing about it."""

    def form(self, record: Mapping[str, Any]) -> dict[str, Any]:
        return {name: one for name, one in record.items() if name not in ("type", "createdAt")}


@mutant(kills=SHAPE, because="no expiresAt in")
@in_extension
class KeepsNoEnd(_Shows):
    """Does not keep when a token ends."""

    def form(self, record: Mapping[str, Any]) -> dict[str, Any]:
        return {name: one for name, one in record.items() if name != "expiresAt"}


@mutant(kills=SHAPE, because="type cookie[^§]*type .{0,2}apiKey")
@in_extension
class TakesEverythingForAKey(_Shows):
    """Has one type for whatever was typed in."""

    def form(self, record: Mapping[str, Any]) -> dict[str, Any]:
        return {**record, "type": "apiKey"} if "value" in record else dict(record)
