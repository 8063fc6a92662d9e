"""Servers that take one text for another that is nearly the same."""

from __future__ import annotations

import base64
import contextlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from pytest_mcp_approval.families.prepare_confirm.vocabulary import (
    Payload,
    TwoStepReason,
)
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationOutcome,
    TwoStepOperation,
)
from pytest_mcp_approval.reference_server.prepare_confirm.refusals import ConfirmationRefusal
from pytest_mcp_approval.reference_server.prepare_confirm.tokens import Mint, fingerprint
from tests.mutants.prepare_confirm.parts import Renews, in_extension
from tests.mutants.registry import mutant

SIGNATURE = "prepare_confirm/signature"
ACTION = "prepare_confirm/action-bound"
ONE_TIME = "prepare_confirm/one-time"
CONFIRM = "prepare_confirm/confirm-executes"


@mutant(
    kills=SIGNATURE, because="its signature in the other case is taken for the token", warned=True
)
@in_extension
class FoldsTheCaseOfSignatures(Mint):
    """Compares signatures in lower case."""

    def check_signature(self, payload: str, signature: str) -> None:
        super().check_signature(payload, signature.lower())


@mutant(
    kills=SIGNATURE,
    because="with a line break behind is taken[^§]*in the other case is taken for the token",
    warned=True,
)
@in_extension
class ComparesSignaturesAsNumbers(Mint):
    """Reads signatures as numbers, which may have noughts, signs and underscores in them."""

    def check_signature(self, payload: str, signature: str) -> None:
        try:
            same = int(signature, 16) == int(self.sign(payload), 16)
        except ValueError:
            same = False
        if not same:
            raise ConfirmationRefusal(TwoStepReason.SIGNATURE, "the signature is not valid")


@mutant(kills=SIGNATURE, because="the token with a character behind[^§]*[1-9] done")
@in_extension
class FindsTheSignatureInside(Mint):
    """Looks whether the right signature occurs in what it was given."""

    def check_signature(self, payload: str, signature: str) -> None:
        if self.sign(payload) not in signature:
            raise ConfirmationRefusal(TwoStepReason.SIGNATURE, "the signature is not valid")


@mutant(kills=SIGNATURE, because="a token with a blank before is taken for the token", warned=True)
@in_extension
class SignsTheMeaning(Mint):
    """Parses the payload and writes it anew before it compares the signature."""

    def check_signature(self, payload: str, signature: str) -> None:
        with contextlib.suppress(ValueError, RecursionError):
            payload = json.dumps(json.loads(payload), sort_keys=True, separators=(",", ":"))
        super().check_signature(payload, signature)


@mutant(kills=SIGNATURE, because="a zero byte behind is taken for the token", warned=True)
@in_extension
class EndsATokenAtNul(Mint):
    """Reads a token to its first NUL, as C does."""

    def open(self, token: str) -> Payload:
        return super().open(token.partition("\0")[0])


@mutant(kills=SIGNATURE, because="a line break behind is taken for the token", warned=True)
@in_extension
class ReadsTheFirstLineOfAToken(Mint):
    """Takes the first line for the token, whatever follows."""

    def open(self, token: str) -> Payload:
        return super().open(token.partition("\n")[0])


@mutant(kills=SIGNATURE, because="a blank around the separator is taken for the token", warned=True)
@in_extension
class DropsBlanksEverywhere(Mint):
    """Removes all blanks from a token, as mail programs put some in."""

    def open(self, token: str) -> Payload:
        try:
            return super().open(token)
        except ConfirmationRefusal:
            return super().open("".join(token.split()))


@mutant(kills=ACTION, because="with the real token, after[^§]*already been used")
@in_extension
class ComparesTheVerb(PreparationGate):
    """Takes a token for any tool that deletes, if it is for one."""

    def check_action(self, operation: TwoStepOperation, payload: Payload) -> None:
        if payload.action.partition("_")[0] != operation.verb:
            super().check_action(operation, payload)


@mutant(kills=ACTION, because="with a token of prepare_close_projects[^§]*[1-9] done")
@in_extension
class ComparesTheNoun(Renews):
    """Takes a token for any tool that is about projects, if it is for one."""

    def check_action(self, operation: TwoStepOperation, payload: Payload) -> None:
        if payload.action.rpartition("_")[2] != operation.name.rpartition("_")[2]:
            super().check_action(operation, payload)


@mutant(kills=ONE_TIME, because="signature in the other case[^§]*[1-9] done")
@in_extension
class RemembersTheWholeText(Renews):
    """Takes signatures in any case, and remembers used tokens as they were written."""

    def verify(self, operation: TwoStepOperation, given: Any) -> Payload:
        token = self.check_given(operation, given)
        text, signature = self.mint.split(token)
        self.mint.check_signature(text, signature.lower())
        payload = self.mint.read(text)
        self.check_action(operation, payload)
        self.check_unexpired(payload)
        if not self.store.spend(signature, self.now().replace(year=9000)):
            raise ConfirmationRefusal(TwoStepReason.USED, "the token has already been used")
        return payload


class _ReadsAnotherSpelling(Renews):
    """Takes a token that is spelled otherwise, and remembers used ones as they came."""

    def respelled(self, token: str) -> str:
        raise NotImplementedError

    def open(self, token: str) -> Payload:
        try:
            return self.mint.open(token)
        except ConfirmationRefusal:
            return self.mint.open(self.respelled(token))

    def verify(self, operation: TwoStepOperation, given: Any) -> Payload:
        token = self.check_given(operation, given)
        payload = self.open(token)
        self.check_action(operation, payload)
        self.check_unexpired(payload)
        self.check_remembered(payload)
        if not self.store.spend(fingerprint(token), self.now().replace(year=9000)):
            raise ConfirmationRefusal(TwoStepReason.USED, "the token has already been used")
        return payload


@mutant(kills=ONE_TIME, because="with a used token, a blank before[^§]*2 done")
@in_extension
class RemembersTheTextOfTheMeaning(_ReadsAnotherSpelling):
    """Signs what the payload means, and remembers the text: each way to write it serves once."""

    def respelled(self, token: str) -> str:
        payload, _, signature = token.rpartition("|")
        with contextlib.suppress(ValueError, RecursionError):
            payload = json.dumps(json.loads(payload), sort_keys=True, separators=(",", ":"))
        return f"{payload}|{signature}"


class _OtherIds(PreparationGate):
    """Looks things up by another spelling of their ids when they are confirmed."""

    def other(self, one: str) -> str:
        raise NotImplementedError

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        data = dict(payload.data)
        if "project_ids" in data:
            data["project_ids"] = [self.other(one) for one in data["project_ids"]]
        return super().execute(operation, replace(payload, data=data), arguments)


@mutant(kills=CONFIRM, because="prepared with[^§]*left_alone: [0-9]+ of them")
@in_extension
class LooksIdsUpInLowerCase(_OtherIds):
    """Confirms ids in lower case, which were shown as they are."""

    def other(self, one: str) -> str:
        return one.lower()


@mutant(kills=CONFIRM, because="prepared with[^§]*left_alone: .{'project_id': 'XII'")
@in_extension
class LooksIdsUpInOneForm(_OtherIds):
    """Confirms ids in a normal form of Unicode, which were shown as they are."""

    def other(self, one: str) -> str:
        return unicodedata.normalize("NFKC", one)


@mutant(
    kills="prepare_confirm/signature", because="[1-9] done; also with a letter in the other case"
)
@in_extension
class FoldsTheCaseOfPayloads(Mint):
    """Signs the payload in lower case, and reads it as it came."""

    def sign(self, payload: str) -> str:
        return super().sign(payload.lower())


@mutant(kills="prepare_confirm/signature", because="[1-9] done; also with a blank put in at its")
@in_extension
class SignsWithoutBlanks(Mint):
    """Leaves blanks out of what it signs, and reads them, in ids too."""

    def sign(self, payload: str) -> str:
        return super().sign("".join(payload.split()))


@mutant(kills="prepare_confirm/one-time", because="percent-encoded[^§]*success: True[^§]*2 done")
@in_extension
class TakesPercentSpellings(_ReadsAnotherSpelling):
    """Takes tokens as they are in addresses, and each spelling serves once."""

    def respelled(self, token: str) -> str:
        return unquote(token)


@mutant(kills="prepare_confirm/one-time", because="in wide digits[^§]*success: True")
@in_extension
class TakesFormsOfLetters(_ReadsAnotherSpelling):
    """Takes full-width letters and the like for the plain ones, and each spelling serves once."""

    def respelled(self, token: str) -> str:
        return unicodedata.normalize("NFKC", token)


@mutant(kills="prepare_confirm/one-time", because="as a JSON text[^§]*success: True")
@in_extension
class TakesQuotedTokens(_ReadsAnotherSpelling):
    """Takes a token in quotes and with escapes, as JSON has it, and each spelling serves once."""

    def respelled(self, token: str) -> str:
        try:
            return str(json.loads(token))
        except ValueError:
            return token


@mutant(kills="prepare_confirm/secret-key", because="a key in another case[^§]*success: True")
@in_extension
class FoldsTheCaseOfKeys(Mint):
    """Takes keys that differ in case for the same."""

    def __init__(self, secret: str | None) -> None:
        super().__init__(None if secret is None else secret.lower())


@mutant(
    kills="prepare_confirm/secret-key", because="with other signs between its words: success: True"
)
@in_extension
class ReadsItsKeyAsBase64(Mint):
    """Reads its key as base64, and drops without a word what is none."""

    def __init__(self, secret: str | None) -> None:
        super().__init__(None if secret is None else base64.b64decode(f"{secret}===").hex())
