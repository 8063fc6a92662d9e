"""Servers whose tokens are not what they should be: sections 1 to 3 of confirmation tokens."""

from __future__ import annotations

import base64
import hashlib
import itertools
import secrets
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.minting import StoredTokens
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    AdapterOperation,
    OperationCall,
    RedemptionAttempt,
    TokenRecord,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from pytest_mcp_approval.reference_server.confirmation_tokens.store import TokenStore
from tests.mutants.confirmation_tokens.parts import broken

# ---- section 1


@broken(kills="1.3-flow", because="without a token[^§]*operation run")
class RunsFirstAndAsksAfterwards(ConfirmationGate):
    """Runs the operation, and then asks whether it should."""

    def confirm(self, call: OperationCall) -> None:
        if words.CONFIRMATION_MEMBER not in call.params:
            self.execute(call.operation, call.params)
        super().confirm(call)


@broken(kills="1.3-flow", because=r"\(forbidden\) without a token[^§]*operation run")
class LetsTheForbiddenPass(ConfirmationGate):
    """Knows the levels up to 3, and takes any other for safe."""

    def confirm(self, call: OperationCall) -> None:
        if call.operation.danger <= words.Danger.DANGEROUS:
            super().confirm(call)


# ---- section 2


@broken(kills="2.1-prefix", because="begins with conf_[^§]*[0-9a-f]{4}-[0-9a-f]{12}")
class BareUuid(StoredTokens):
    """A token is a UUID, without a prefix."""

    def issue(self, record: TokenRecord) -> TokenRecord:
        issued = replace(record, id=str(uuid.uuid4()))
        self.store.add(issued)
        return issued


@broken(kills="2.1-prefix", because=r"begins with quota_continue_\nconf_")
class OnePrefixForAll(StoredTokens):
    """Quota tokens begin with conf_ too."""

    def issue(self, record: TokenRecord) -> TokenRecord:
        issued = replace(record, id=words.CONFIRMATION_PREFIX + self.identifier())
        self.store.add(issued)
        return issued


@broken(kills="2.2-syntax", because="A-Z a-z 0-9 _ - after the prefix[^§]*=")
class StandardBase64(StoredTokens):
    """Identifiers in standard base64, with plus, slash and padding."""

    def identifier(self) -> str:
        return base64.b64encode(secrets.token_bytes(32)).decode()


@broken(kills="2.2-syntax", because="8 to 80 characters in all[^§]*133 characters")
class LongTokens(StoredTokens):
    """Identifiers of 128 characters."""

    def identifier(self) -> str:
        return secrets.token_hex(64)


@broken(kills="2.2-case-sensitive", because="case of its first letter swapped[^§]*operation run")
class FoldsCaseOfTokens(TokenStore):
    """Looks tokens up without regard to case, as some databases do."""

    def get(self, token_id: str) -> TokenRecord | None:
        folded = {record.id.lower(): record for record in self.records()}
        return folded.get(token_id.lower())


@broken(kills="2.1-quota", because="conf_ token in the place of the quota token[^§]*operation run")
class AnyTokenEndsAPause(ConfirmationGate):
    """Takes a confirmation token where a quota token belongs."""

    def redeem(self, attempt: RedemptionAttempt) -> TokenRecord:
        if attempt.type is words.TokenType.QUOTA:
            record = self.store.get(attempt.token)
            if record is not None and record.type is words.TokenType.CONFIRMATION:
                self.store.use(record.id)
                return record
        return super().redeem(attempt)


@broken(kills="2.1-quota", because="with the quota token of bulk_export[^§]*operation run")
class APauseTokenEndsAllPauses(ConfirmationGate):
    """A quota token resumes whatever is paused."""

    def check_operation(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if attempt.type is words.TokenType.CONFIRMATION:
            super().check_operation(record, attempt)

    def check_parameters(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if attempt.type is words.TokenType.CONFIRMATION:
            super().check_parameters(record, attempt)


# ---- section 3.1


@broken(kills="3.1-entropy", because="128 bits that change[^§]*bits")
class SequentialCounter(StoredTokens):
    """Numbers its tokens."""

    counter = itertools.count(1)

    def identifier(self) -> str:
        return f"{next(self.counter):032d}"


@broken(kills="3.1-entropy", because="128 bits that change[^§]*bits")
class TimestampHex(StoredTokens):
    """Writes the time in hexadecimal."""

    def identifier(self) -> str:
        return f"{time.time_ns():032x}"


@broken(kills="3.1-entropy", because="tokens in no order[^§]*each follows the one before")
class CountsInFrontOfRandomBits(StoredTokens):
    """Random enough, but in the order of issue."""

    counter = itertools.count(1)

    def identifier(self) -> str:
        return f"{next(self.counter):012d}{secrets.token_hex(24)}"


@broken(kills="3.1-entropy", because="different tokens[^§]*different ones")
class RepeatsItself(StoredTokens):
    """Draws from a pool that is too small."""

    def identifier(self) -> str:
        return hashlib.sha256(secrets.token_bytes(1)).hexdigest()


# ---- section 3.2


@broken(kills="3.2-bound-operation", because="with a token of delete_repo[^§]*operation run")
class OperationNotStored(ConfirmationGate):
    """Binds a token to its parameters, and forgets what they were for."""

    def check_operation(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        pass

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        return words.params_hash("", params, operation.critical)


@broken(kills="3.2-bound-operation", because="with a token of delete_repo[^§]*TOKEN_INVALID")
class WrongOperationIsInvalid(ConfirmationGate):
    """Refuses, with the code of a token that does not exist."""

    def check_operation(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.operation != attempt.operation.name:
            raise TokenRefusal(words.TokenCode.INVALID, "not valid")


@broken(kills="3.2-bound-parameters", because="a token for other parameters[^§]*operation run")
class BindsOperationOnly(ConfirmationGate):
    """Whatever the parameters are."""

    def check_parameters(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        pass


@broken(kills="3.2-bound-parameters", because="parameters in reverse order[^§]*MISMATCH")
class HashesStrOfDict(ConfirmationGate):
    """Hashes the parameters as they happen to be written."""

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        bound = {name: value for name, value in params.items() if name in operation.critical}
        return hashlib.sha256(str(bound).encode()).hexdigest()


@broken(kills="3.2-bound-parameters", because="request_id[^§]*MISMATCH")
class BindsMetadataToo(ConfirmationGate):
    """Hashes every parameter, request ids and timestamps too."""

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        bound = [name for name in params if name != words.CONFIRMATION_MEMBER]
        return words.params_hash(operation.name, params, sorted(bound))


@broken(
    kills="3.2-bound-parameters",
    because="(?:'?force'?[^§]*operation run|\"force\"[^§]*run)[^§]*operation run",
)
class BindsResourcesOnly(ConfirmationGate):
    """Takes identifiers for critical, but not force, permanent and recursive."""

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        modifiers = ("force", "permanent", "recursive")
        critical = [name for name in operation.critical if name not in modifiers]
        return words.params_hash(operation.name, params, critical)


@broken(kills="3.2-bound-parameters", because="WIDGETS[^§]*operation run")
class FoldsCaseOfParameters(ConfirmationGate):
    """Hashes parameters in lower case."""

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        return super().hash_of(
            operation,
            {
                name: value.lower() if isinstance(value, str) else value
                for name, value in params.items()
            },
        )


@broken(kills="3.2-sha256", because=r"128 bits\)")
class Md5(ConfirmationGate):
    """Hashes parameters with MD5."""

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        return super().hash_of(operation, params)[:32]


@broken(kills="3.2-sha256", because="the same params_hash twice[^§]*64 characters")
class SaltsTheHash(ConfirmationGate):
    """Shows a hash that does not follow the parameters."""

    def status(self, token: Any, *, user: str) -> dict[str, Any]:
        return {**super().status(token, user=user), "params_hash": secrets.token_hex(32)}


# ---- section 3.3


def lacking(name: str) -> type[ConfirmationGate]:
    """A gate whose first answer lacks one of the details."""

    def required_details(self: ConfirmationGate, *call: Any) -> dict[str, Any]:
        details = ConfirmationGate.required_details(self, *call)
        details.pop(name)
        return details

    return type("Gate", (ConfirmationGate,), {"required_details": required_details})


@broken(kills="3.3-required-response", because="expires_at as an instant[^§]*none")
class SaysNoExpiry(lacking("expires_at")):
    """The first answer does not say when the token expires."""


@broken(kills="3.3-required-response", because="error.details.reasons[^§]*none")
class SaysNoReasons(lacking("reasons")):
    """The first answer gives no reasons."""


@broken(kills="3.3-required-response", because="error.details.confirmation_message[^§]*none")
class AsksNoQuestion(lacking("confirmation_message")):
    """The first answer has nothing for a person to read."""


@broken(kills="3.3-required-response", because="error.details.operation[^§]*none")
class NamesNoOperation(lacking("operation")):
    """The first answer does not name the operation."""


@broken(kills="3.3-required-response", because="error.details.danger_level[^§]*high")
class OtherDangerWords(ConfirmationGate):
    """Has its own words for the danger levels."""

    def required_details(self, *call: Any) -> dict[str, Any]:
        return {**super().required_details(*call), "danger_level": "high"}


@broken(kills="3.3-required-response", because="expires_at as an instant[^§]*1[0-9]{9}")
class UnixTime(ConfirmationGate):
    """Writes instants as seconds since 1970."""

    def required_details(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        assert record.expires_at is not None
        details = super().required_details(call, record)
        return {**details, "expires_at": int(record.expires_at.timestamp())}
