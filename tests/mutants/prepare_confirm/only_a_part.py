"""Servers that look at a part: the beginning, the end, the first of many."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from pytest_mcp_approval.families.prepare_confirm.vocabulary import (
    Payload,
    TwoStepReason,
    read_payload,
)
from pytest_mcp_approval.reference_server.prepare_confirm.extension import PrepareConfirmExtension
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationDraft,
    OperationOutcome,
    TwoStepOperation,
)
from pytest_mcp_approval.reference_server.prepare_confirm.refusals import ConfirmationRefusal
from pytest_mcp_approval.reference_server.prepare_confirm.tokens import Mint
from tests.mutants.prepare_confirm.parts import Renews, in_extension
from tests.mutants.registry import mutant

SIGNATURE = "prepare_confirm/signature"
CONFIRM = "prepare_confirm/confirm-executes"


@mutant(kills=SIGNATURE, because="nonce[^§]*success: True")
@in_extension
class SignsAllButTheNonce(Mint):
    """Leaves the nonce, which is random anyway, out of what it signs."""

    def sign(self, payload: str) -> str:
        return super().sign(payload.partition('"nonce":')[0])


@mutant(kills=SIGNATURE, because="res_at[^§]*success: True")
@in_extension
class SignsTheActionAndTheData(Mint):
    """Signs what is to be done, but not until when."""

    def sign(self, payload: str) -> str:
        before, _, rest = payload.rpartition('"expires_at":')
        return super().sign(before + rest.partition('"nonce":')[2])


@mutant(kills=SIGNATURE, because="without its last character[^§]*[1-9] done")
@in_extension
class TakesTheBeginningOfASignature(Mint):
    """Compares as many characters of the signature as it was given."""

    def check_signature(self, payload: str, signature: str) -> None:
        if not self.sign(payload).startswith(signature):
            raise ConfirmationRefusal(TwoStepReason.SIGNATURE, "the signature is not valid")


@mutant(kills=SIGNATURE, because="with a character behind[^§]*[1-9] done")
@in_extension
class TakesAnythingBehindASignature(Mint):
    """Cuts what it was given to the length of a signature."""

    def check_signature(self, payload: str, signature: str) -> None:
        super().check_signature(payload, signature[:64])


@mutant(kills=SIGNATURE, because="of the token changed[^§]*success: True")
@in_extension
class ComparesTheLastQuarter(Mint):
    """Compares the last sixteen characters of the signature."""

    def check_signature(self, payload: str, signature: str) -> None:
        given, own = signature[-16:].encode("utf-8", "replace"), self.sign(payload)[-16:]
        if len(signature) != 64 or not hmac.compare_digest(given, own.encode()):
            raise ConfirmationRefusal(TwoStepReason.SIGNATURE, "the signature is not valid")


class _Versions(Renews):
    """Looks at the versions of some of the things only."""

    def kept(self, versions: list[int]) -> slice:
        raise NotImplementedError

    def renewed(self, payload: Payload) -> Payload:
        now = super().renewed(payload)
        if "versions" not in now.data:
            return payload
        versions, looked_at = list(now.data["versions"]), self.kept(now.data["versions"])
        versions[looked_at] = payload.data["versions"][looked_at]
        return replace(now, data={**now.data, "versions": versions})


@mutant(kills=CONFIRM, because="had changed since the preview[^§]*2 done")
@in_extension
class LooksWhetherTheFirstChanged(_Versions):
    """Looks at the first thing only, whether it is still as it was shown."""

    def kept(self, versions: list[int]) -> slice:
        return slice(0, 1)


@mutant(kills=CONFIRM, because="on 10000 things[^§]*the answer counts 100:")
@in_extension
class DoesTheFirstHundred(PreparationGate):
    """Sends the first hundred ids to the back end, and says truly that it closed a hundred."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        data = dict(payload.data)
        for name in ("project_ids", "versions"):
            if name in data:
                data[name] = data[name][:100]
        return super().execute(operation, replace(payload, data=data), arguments)


class _SignsSome(Mint):
    """Signs what it finds important in a payload."""

    def important(self, payload: Payload) -> Payload:
        raise NotImplementedError

    def sign(self, payload: str) -> str:
        try:
            read = read_payload(payload)
        except ValueError:
            return super().sign(payload)
        return super().sign(self.important(read).to_text())


@mutant(kills=SIGNATURE, because="character [0-9]+ of[^§]*already been used")
@in_extension
class SignsTheFirstThing(_SignsSome):
    """Signs the first id of a list, and not those that follow."""

    def important(self, payload: Payload) -> Payload:
        data = {
            name: value[:1] if isinstance(value, list) else value
            for name, value in payload.data.items()
        }
        return replace(payload, data=data)


@mutant(kills=SIGNATURE, because="character [0-9]+ of[^§]*wrong action: the token is for")
@in_extension
class SignsAllButTheAction(_SignsSome):
    """Signs what is concerned and until when, but not what is done to it."""

    def important(self, payload: Payload) -> Payload:
        return replace(payload, action="")


@mutant(kills=CONFIRM, because="on 10000 things[^§]*the answer counts 9984")
@in_extension
class LosesTheLastBatch(PreparationGate):
    """Works in batches of 64, and forgets the one that does not become full."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        data = dict(payload.data)
        for name in ("project_ids", "versions"):
            if len(data.get(name, ())) > 64:
                data[name] = data[name][: len(data[name]) // 64 * 64]
        return super().execute(operation, replace(payload, data=data), arguments)


@mutant(kills="prepare_confirm/pairs", because="a preview as before[^§]*'proj-2' is closed")
class ReopensTheFirst(PrepareConfirmExtension):
    """Opens the first of several closed projects again."""

    def reopen_projects(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        ids = arguments.get("project_ids")
        some = ids[:1] if isinstance(ids, list) else ids
        return super().reopen_projects({**arguments, "project_ids": some})


@mutant(kills="prepare_confirm/token-format", because="everything that was shown[^§]*proj-2 not in")
@in_extension
class CarriesTheFirstId(PreparationGate):
    """Writes the first id into the token, and keeps the others to itself."""

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        data = {
            name: value[:1] if isinstance(value, list) else value
            for name, value in draft.data.items()
        }
        token, expires_at = super().issue(operation, replace(draft, data=data))
        self.__dict__.setdefault("drafts", {})[self.mint.open(token).nonce] = draft.data
        return token, expires_at

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        data = self.__dict__["drafts"].get(payload.nonce, payload.data)
        return super().execute(operation, replace(payload, data=data), arguments)


@mutant(
    kills="prepare_confirm/signature",
    because="on odd ids[^§]*nothing done[^§]*[1-9][0-9]* done; also",
)
@in_extension
class SignsTheFirstKilobyte(Mint):
    """Signs the first kilobyte of a payload."""

    def sign(self, payload: str) -> str:
        return super().sign(payload[:1024])


@mutant(
    kills="prepare_confirm/signature",
    because="[1-9] done; also with a character that cannot be seen put in",
)
@in_extension
class SignsWhatIsAscii(Mint):
    """Drops letters beyond ASCII from what it signs, and reads them afterwards."""

    def sign(self, payload: str) -> str:
        return super().sign(payload.encode("ascii", "ignore").decode())


@mutant(
    kills="prepare_confirm/confirm-executes",
    because="at most 1 done[^§]*closed_count: 2[^§]*'proj-2', 'proj-1'",
)
@in_extension
class LooksWhetherTheLastChanged(_Versions):
    """Looks at the last thing only, whether it is still as it was shown."""

    def kept(self, versions: list[int]) -> slice:
        return slice(len(versions) - 1, len(versions))


@mutant(kills="prepare_confirm/confirm-executes", because="prepared with[^§]*left_alone[^§]*long-x")
@in_extension
class CutsIdsToTheColumn(PreparationGate):
    """Sends ids of at most sixty-four characters to the back end, as its column is that wide."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        data = dict(payload.data)
        if "project_ids" in data:
            data["project_ids"] = [one[:64] for one in data["project_ids"]]
        return super().execute(operation, replace(payload, data=data), arguments)


@mutant(kills="prepare_confirm/secret-key", because="a key that ends otherwise[^§]*success: True")
@in_extension
class UsesTheBeginningOfItsKey(Mint):
    """Uses the first thirty-two characters of the key that it is given."""

    def __init__(self, secret: str | None) -> None:
        super().__init__(None if secret is None else secret[:32])
