"""Servers that make one type of another before they compare, bind or bound it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    TokenType,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import (
    TTL_MEMBER,
    ConfirmationGate,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    OperationCall,
    RedemptionAttempt,
    TokenRecord,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from pytest_mcp_approval.reference_server.confirmation_tokens.settings import SettingsReader
from tests.mutants.confirmation_tokens.parts import broken
from tests.mutants.confirmation_tokens.reading import (
    ReadsParameters,
    at_every_depth,
)


@broken(kills="5.1-skew-range", because="a start with a tolerance of[^§]*a server that serves")
class NegativeTolerancesArePositive(SettingsReader):
    """Drops the sign of a tolerance."""

    def tolerance(self, value: Any) -> float:
        return super().tolerance(abs(value) if isinstance(value, (int, float)) else value)


# ---- the first answer


@broken(kills="3.3-required-response", because=r"CONFIRMATION_REQUIRED[^§]*success\W+0")
class SuccessIsZero(ConfirmationGate):
    """Writes truth values as its database does: 0 where false belongs."""

    def require_confirmation(self, call: OperationCall) -> TokenRefusal:
        asked = super().require_confirmation(call)

        class Asked(TokenRefusal):
            def to_answer(self) -> dict[str, Any]:
                return {**super().to_answer(), "success": 0}

        return Asked(asked.code, asked.message, **asked.details)


@broken(kills="3.2-bound-parameters", because=r"delete_repo with[^§]*success, operation run")
class ParametersAsText(ReadsParameters):
    """Hashes numbers, truth values and null as the texts that they are written with."""

    def read(self, value: Any) -> Any:
        return at_every_depth(value, lambda one: one if isinstance(one, str) else json.dumps(one))


@broken(kills="3.2-bound-parameters", because=r"purge_path with[^§]*success, operation run")
class WholePartOfNumbers(ReadsParameters):
    """Hashes the whole part of numbers."""

    def read(self, value: Any) -> Any:
        return at_every_depth(value, lambda one: int(one) if isinstance(one, float) else one)


@broken(kills="3.2-bound-parameters", because=r"delete_repo with[^§]*success, operation run")
class LeadingDigits(ReadsParameters):
    """Makes a number of each text that begins with one, and drops what follows."""

    def read(self, value: Any) -> Any:
        def number(one: Any) -> Any:
            digits = re.match(r"\d{1,15}", one) if isinstance(one, str) else None
            return int(digits.group()) if digits else one

        return at_every_depth(value, number)


@broken(kills="3.2-bound-parameters", because=r"purge_path with[^§]*success, operation run")
class NumbersInThirtyTwoBits(ReadsParameters):
    """Keeps whole numbers in 32 bits before it hashes them."""

    def read(self, value: Any) -> Any:
        def cut(one: Any) -> Any:
            is_number = isinstance(one, int) and not isinstance(one, bool)
            return one & 0xFFFFFFFF if is_number else one

        return at_every_depth(value, cut)


@broken(kills="3.2-bound-parameters", because=r"delete_repo with[^§]*success, operation run")
class TrueIsOne(ReadsParameters):
    """Compares parameters in a language for which true equals 1."""

    def read(self, value: Any) -> Any:
        return at_every_depth(value, lambda one: int(one) if isinstance(one, bool) else one)


@broken(kills="4.1-exists", because=r"delete_repo with true in the place of the tok[^§]*success")
class TrueConfirms(ConfirmationGate):
    """Takes true in the place of the token for a confirmation, as an older form had it."""

    def confirm(self, call: OperationCall) -> None:
        if call.params.get(words.CONFIRMATION_MEMBER) is not True:
            super().confirm(call)


@broken(kills="4.1-exists", because=r"bulk_export with true in the place of the tok[^§]*success")
class TrueEndsAPause(ConfirmationGate):
    """Takes true in the place of the quota token for consent to go on."""

    def redeem(self, attempt: RedemptionAttempt) -> TokenRecord:
        if attempt.type is TokenType.QUOTA and attempt.token is True:
            return None  # type: ignore[return-value]  # nobody looks at it
        return super().redeem(attempt)


@broken(kills="4.1-exists", because=r"delete_repo with an object that is always mor[^§]*success")
class QueriesInThePlaceOfTokens(ConfirmationGate):
    """Puts what came as a token into a query of a document store, operators and all."""

    def find(self, attempt: RedemptionAttempt) -> TokenRecord | None:
        if not isinstance(attempt.token, Mapping):
            return super().find(attempt)
        wanted = (attempt.type, attempt.operation.name)
        return next(
            (
                one
                for one in self.store.records()
                if (one.type, one.operation) == wanted and self.matches(one.id, attempt.token)
            ),
            None,
        )

    def matches(self, token: str, query: Mapping[str, Any]) -> bool:
        operators = {
            "$ne": lambda value: token != value,
            "$gt": lambda value: isinstance(value, str) and token > value,
            "$exists": bool,
            "$regex": lambda value: isinstance(value, str) and re.search(value, token) is not None,
        }
        return bool(query) and all(
            name in operators and operators[name](value) for name, value in query.items()
        )


@broken(kills="3.3-required-response", because=r"danger_level is the number", warned=True)
class LevelsAsNumbers(ConfirmationGate):
    """Tells the danger level by its number."""

    def required_details(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        details = super().required_details(call, record)
        return {**details, "danger_level": int(call.operation.danger)}


class ReadsLifetimes(ConfirmationGate):
    """Gives some the lifetime that they ask for; no mutant by itself."""

    def asked(self, value: Any) -> float | None:
        raise NotImplementedError

    def lifetime(self, kind: TokenType, call: OperationCall) -> float:
        asked = self.asked(call.params.get(TTL_MEMBER))
        return super().lifetime(kind, call) if asked is None else asked


@broken(kills="5.1-maximum-ttl", because=r"a token that was issued for a day as text,[^§]*success")
class LifetimesInText(ReadsLifetimes):
    """Reads a lifetime that comes as a text, and compares only numbers with the maximum."""

    def asked(self, value: Any) -> float | None:
        return float(value) if isinstance(value, str) and value.isdecimal() else None


@broken(kills="5.1-maximum-ttl", because=r"a token that was issued for nothing,[^§]*success")
class ZeroIsForEver(ReadsLifetimes):
    """Takes a lifetime of zero for one without an end, as many caches do."""

    def asked(self, value: Any) -> float | None:
        is_zero = isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0
        return 10 * 365 * 86_400 if is_zero else None


@broken(
    kills="5.1-maximum-ttl", because=r"a token that was issued for less than nothing[^§]*success"
)
class NegativeIsForEver(ReadsLifetimes):
    """Takes a negative lifetime for one without an end, as some stores do."""

    def asked(self, value: Any) -> float | None:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return 10 * 365 * 86_400 if is_number and value < 0 else None


@broken(
    kills="5.1-skew-range", because=r"a start with a tolerance of true[^§]*a server that serves"
)
class TrueIsASecond(SettingsReader):
    """Takes true for a tolerance of one second."""

    def tolerance(self, value: Any) -> float:
        return super().tolerance(int(value) if isinstance(value, bool) else value)
