"""Servers that turn what they are given into something else, and go on with that."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from pytest_mcp_approval.families.prepare_confirm import vocabulary as words
from pytest_mcp_approval.families.prepare_confirm.vocabulary import (
    Payload,
)
from pytest_mcp_approval.reference_server.prepare_confirm.extension import PrepareConfirmExtension
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationDraft,
    OperationOutcome,
    TwoStepOperation,
)
from pytest_mcp_approval.reference_server.prepare_confirm.settings import PreparationSettings
from pytest_mcp_approval.reference_server.prepare_confirm.tokens import Mint
from pytest_mcp_approval.reference_server.server.extension import Caller
from tests.mutants.prepare_confirm.parts import in_extension
from tests.mutants.registry import mutant

MISSING = "prepare_confirm/missing-token"
CONFIRM = "prepare_confirm/confirm-executes"


@mutant(kills=MISSING, because="beyond ASCII for a token[^§]*-32603")
@in_extension
class FailsOnOtherLetters(Mint):
    """Compares signatures as text, which raises an error for letters beyond ASCII."""

    def check_signature(self, payload: str, signature: str) -> None:
        signature.encode("ascii")
        super().check_signature(payload, signature)


class _OtherIds(PreparationGate):
    """Carries out the change on other ids than the token names."""

    def other(self, one: str) -> str:
        raise NotImplementedError

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        data = dict(payload.data)
        if "project_ids" in data:
            ids = [self.other(one) for one in data["project_ids"]]
            found = self.store.projects(set(ids) - set(data["project_ids"]))
            seen = zip(ids, data["versions"], strict=True)
            versions = [found[one].version if one in found else old for one, old in seen]
            data |= {"project_ids": ids, "versions": versions}
        return super().execute(operation, replace(payload, data=data), arguments)


@mutant(kills=CONFIRM, because="prepared with[^§]*left_alone[^§]*%s.x00[^§]*gone since the preview")
@in_extension
class ReadsIdsAsTheyAreInPaths(_OtherIds):
    """Resolves percent signs in an id, as if it came from an address."""

    def other(self, one: str) -> str:
        return unquote(one)


@mutant(kills=CONFIRM, because="prepared with[^§]*'project_id': ''[^§]*gone since the preview")
@in_extension
class TakesNullForNothing(_OtherIds):
    """Takes an id that is a word for nothing to be none."""

    def other(self, one: str) -> str:
        return "" if one in {"null", "none", "None", "undefined", "nil"} else one


@mutant(kills=CONFIRM, because="prepared with[^§]*the answer counts [0-9]+: success: True")
@in_extension
class SkipsWhatCountsAsEmpty(PreparationGate):
    """Leaves out ids that count as empty in its language, nought among them."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        data = dict(payload.data)
        if "project_ids" in data:
            seen = zip(data["project_ids"], data["versions"], strict=True)
            kept = [(one, version) for one, version in seen if one.strip() not in {"", "0"}]
            data["project_ids"] = [one for one, _ in kept]
            data["versions"] = [version for _, version in kept]
        return super().execute(operation, replace(payload, data=data), arguments)


@mutant(kills=CONFIRM, because="'project_id': 'ünïcödé ☃ ', 'reason': 'gone since")
@in_extension
class CutsIdsAtLongCharacters(_OtherIds):
    """Has a column for characters of three bytes, and cuts an id at one of four."""

    def other(self, one: str) -> str:
        return one[: next((at for at, letter in enumerate(one) if ord(letter) > 0xFFFF), len(one))]


@mutant(kills=MISSING, because="a blank for a token[^§]*-32603")
@in_extension
class ParsesBeforeItVerifies(Mint):
    """Parses the payload of whatever comes, and does not expect that it is no JSON."""

    def open(self, token: str) -> Payload:
        json.loads(token.rpartition("|")[0])
        return super().open(token)


@mutant(kills=MISSING, because="a blank for a token[^§]*-32603")
@in_extension
class UnpacksWhatItSplits(Mint):
    """Takes it for granted that a token has two parts."""

    def split(self, token: str) -> tuple[str, str]:
        payload, signature = token.rsplit("|", 1)
        return payload, signature


@mutant(kills="prepare_confirm/token-format", because="payload: expires_at is str")
@in_extension
class CarriesTheEndAsText(Mint):
    """Writes the end into the payload as text."""

    def issue(self, *arguments: Any) -> tuple[str, Payload]:
        _, payload = super().issue(*arguments)
        members = {**vars(payload), "expires_at": str(payload.expires_at)}
        text = json.dumps(members, sort_keys=True, separators=(",", ":"))
        return f"{text}|{self.sign(text)}", payload

    def read(self, payload: str) -> Payload:
        members = json.loads(payload)
        return Payload(**{**members, "expires_at": float(members["expires_at"])})


@mutant(
    kills="prepare_confirm/secret-key",
    because="told an empty key[^§]*does not start[^§]*action: preview",
)
class TakesAnEmptyKeyForNone(PrepareConfirmExtension):
    """Takes an empty key for none, and makes one up without a word."""

    def read_settings(self, given: Mapping[str, Any]) -> PreparationSettings:
        return super().read_settings({**given, "secret_key": given.get("secret_key") or None})


@mutant(
    kills="prepare_confirm/confirm-executes",
    because="prepared with[^§]*the answer counts [0-9]+: success: True",
)
@in_extension
class SplitsIdsAtCommas(PreparationGate):
    """Joins the ids with commas for the back end, which splits them again."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        data = dict(payload.data)
        if any("," in one for one in data.get("project_ids", ())):
            ids = ",".join(data["project_ids"]).split(",")
            found = self.store.projects(ids)
            versions = [found[one].version if one in found else 0 for one in ids]
            data |= {"project_ids": ids, "versions": versions}
        return super().execute(operation, replace(payload, data=data), arguments)


@mutant(
    kills="prepare_confirm/confirm-executes",
    because="prepared with[^§]*the answer names [^§]*, the preview ",
)
@in_extension
class ReadsPlusAsBlank(_OtherIds):
    """Reads a plus sign in an id as a blank, as in forms."""

    def other(self, one: str) -> str:
        return one.replace("+", " ")


@mutant(
    kills="prepare_confirm/confirm-executes",
    because="prepared with[^§]*the answer names [^§]*, the preview ",
)
@in_extension
class ReadsIdsAsNumbers(_OtherIds):
    """Reads an id of digits as a number, and loses the noughts before it."""

    def other(self, one: str) -> str:
        return str(int(one)) if one.isdecimal() else one


@mutant(
    kills="prepare_confirm/confirm-executes",
    because="prepared with[^§]*the answer names [^§]*, the preview ",
)
@in_extension
class ReadsIdsAsAmounts(_OtherIds):
    """Reads an id that looks like a number as one, as spreadsheets do."""

    def other(self, one: str) -> str:
        try:
            return f"{float(one):g}"
        except ValueError:
            return one


@mutant(
    kills="prepare_confirm/confirm-executes",
    because="the word false for force[^§]*the effects show force True",
)
class TakesAnyWordForForce(PrepareConfirmExtension):
    """Takes any text for force, the word false too."""

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        if isinstance(arguments, Mapping) and isinstance(arguments.get("force"), str):
            arguments = {**arguments, "force": bool(arguments["force"])}
        return super().call(name, arguments, caller)


@mutant(
    kills=CONFIRM,
    because="a flag that is passed on as it came[^§]*the word false for force",
    warned=True,
)
@in_extension
class PassesForceOnUnread(PreparationGate):
    """Keeps the text that is given for force, and leaves it to the back end what it means."""

    given: Any = None

    def prepare(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        self.given = arguments.get("force")
        if isinstance(self.given, str):
            arguments = {**arguments, "force": True}
        return super().prepare(operation, arguments, caller)

    def owned(self, draft: OperationDraft, caller: str) -> OperationDraft:
        if isinstance(self.given, str) and "force" in draft.data:
            draft = replace(draft, data={**draft.data, "force": self.given})
        return super().owned(draft, caller)


@mutant(kills=CONFIRM, because="an internal error: prepare_\\w+ with", warned=True)
@in_extension
class FailsWhereThereIsNothing(PreparationGate):
    """Goes on as if what was named were there, and fails itself where it is not."""

    def prepare(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        answer = super().prepare(operation, arguments, caller)
        return {**answer, words.TOKEN: answer[words.TOKEN]}


@mutant(kills="prepare_confirm/missing-token", because="a real token in a list[^§]*success: True")
@in_extension
class TakesTheFirstOfAList(PreparationGate):
    """Takes a list of tokens for the first of them."""

    def check_given(self, operation: TwoStepOperation, given: Any) -> str:
        first = given[0] if isinstance(given, list) and given else given
        return super().check_given(operation, first)
