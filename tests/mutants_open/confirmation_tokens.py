"""Broken servers that no scenario finds out yet, written from the classes of defects.

The registry does not load them. `shows` is what would reveal each over the wire; one that is found
out moves to the file of its class in tests/mutants/confirmation_tokens.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import re
import secrets
import time
import unicodedata
import urllib.parse
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    CAPACITY,
    DEFAULT_TOLERANCE,
    QUOTA_LIFE,
    Event,
    TokenCode,
    TokenType,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.demonstration import BackendError
from pytest_mcp_approval.reference_server.confirmation_tokens.extension import (
    ADAPTERS,
    ConfirmationExtension,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import (
    TTL_MEMBER,
    ConfirmationGate,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.ledger import INVALID_MESSAGE
from pytest_mcp_approval.reference_server.confirmation_tokens.minting import (
    SignedTokens,
    StoredTokens,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    AdapterOperation,
    AuditEntry,
    OperationCall,
    RedemptionAttempt,
    TokenRecord,
    TokenState,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from pytest_mcp_approval.reference_server.confirmation_tokens.settings import SettingsReader
from pytest_mcp_approval.reference_server.confirmation_tokens.store import TokenStore
from pytest_mcp_approval.reference_server.server.extension import Caller
from tests.mutants.confirmation_tokens.forgotten import RemembersUses
from tests.mutants.confirmation_tokens.life_renewed import Renewing
from tests.mutants.confirmation_tokens.not_told import LeavesOut
from tests.mutants.confirmation_tokens.only_a_part import LooseSignature
from tests.mutants.confirmation_tokens.parts import broken
from tests.mutants.confirmation_tokens.reading import (
    ReadsParameters,
    ReadsTokens,
    at_every_depth,
)
from tests.mutants.confirmation_tokens.shown_not_meant import Showing
from tests.mutants.confirmation_tokens.untested_twin import CountsSomeFailures

# ---- compared loosely: compared_loosely.py


# shows: the honest token with a blank or a line end before or behind it runs the operation;
#   TOKEN_INVALID is due
@broken(kills="6.2-tamper", because=".")
class TrimsTokens(ReadsTokens):
    """Takes blanks and line ends off a token before it looks it up."""

    def read(self, token: str) -> str:
        return token.strip()


# shows: the honest token with one character written as %XX runs the operation; TOKEN_INVALID is due
@broken(kills="6.2-tamper", because=".")
class UndoesPercents(ReadsTokens):
    """Undoes percent encoding once more, on what was never encoded."""

    def read(self, token: str) -> str:
        return urllib.parse.unquote(token)


# shows: the honest token with one letter or digit in its full-width form (U+FF01 to U+FF5E) runs
#   the operation
@broken(kills="6.2-tamper", because=".")
class FoldsWidthsOfTokens(ReadsTokens):
    """Brings a token into a Unicode form in which wide, small and ordinary letters are one."""

    def read(self, token: str) -> str:
        return unicodedata.normalize("NFKC", token)


# shows: the honest token with = behind it runs the operation; TOKEN_INVALID is due
@broken(kills="6.2-tamper", because=".")
class PaddingDoesNotCount(ReadsTokens):
    """Takes a token for base64, and drops the padding behind it."""

    def read(self, token: str) -> str:
        return token.rstrip("=")


# shows: the honest token with words around it ("Bearer conf_...", "conf_....x") runs the operation
@broken(kills="6.2-tamper", because=".")
class FindsATokenInAText(ReadsTokens):
    """Searches the text for a token, where the whole text should be one."""

    def read(self, token: str) -> str:
        found = words.TOKEN.search(token)
        return found.group() if found else token


# shows: the honest token with a hyphen put in somewhere runs the operation; TOKEN_INVALID is due
@broken(kills="6.2-tamper", because=".")
class HyphensDoNotCount(StoredTokens):
    """Leaves hyphens out when it compares, as some do with UUIDs."""

    def find(self, token: str, attempt: RedemptionAttempt | None) -> TokenRecord | None:
        plain = token.replace("-", "")
        return next((one for one in self.store.records() if one.id.replace("-", "") == plain), None)


# shows: the honest token with one character (or all) replaced by an underscore runs the operation
@broken(kills="6.2-tamper", because=".")
class LooksUpWithLike(StoredTokens):
    """Looks tokens up with LIKE, for which an underscore is any character."""

    def find(self, token: str, attempt: RedemptionAttempt | None) -> TokenRecord | None:
        pattern = re.compile(token.replace("_", "."))
        return next((one for one in self.store.records() if pattern.fullmatch(one.id)), None)


# shows: CONF_ in the place of conf_ before the honest identifier runs the operation
@broken(kills="2.2-case-sensitive", because=".")
class PrefixInAnyCase(ReadsTokens):
    """Reads the prefix without regard to case, and the identifier with it."""

    def read(self, token: str) -> str:
        for prefix in words.PREFIXES:
            if token.lower().startswith(prefix):
                return prefix + token[len(prefix) :]
        return token


# shows: a quota token with the case of one letter of its identifier swapped resumes the operation
@broken(kills="2.2-case-sensitive", because=".")
class PausesInAnyCase(StoredTokens):
    """Looks quota tokens up without regard to case."""

    def find(self, token: str, attempt: RedemptionAttempt | None) -> TokenRecord | None:
        if not token.startswith(words.QUOTA_PREFIX):
            return super().find(token, attempt)
        folded = token.lower()
        return next((one for one in self.store.records() if one.id.lower() == folded), None)


# shows: revoke_token with one letter of the token in the other case succeeds, and the token is
#   gone; TOKEN_INVALID is due
@broken(kills="2.2-case-sensitive", because=".")
class RevokesInAnyCase(ConfirmationGate):
    """Looks tokens up with regard to case when they are used, and without when they are revoked."""

    def look_up(self, token: Any, user: str) -> TokenRecord | None:
        folded = str(token).lower()
        return next((one for one in self.store.records() if one.id.lower() == folded), None)


# shows: revoke_token with the first dozen characters of a token succeeds, and the token is gone
@broken(kills="5.3-revocation", because=".")
class RevokesByABeginning(ConfirmationGate):
    """Revokes the first token that begins with what was sent."""

    def look_up(self, token: Any, user: str) -> TokenRecord | None:
        if not words.is_token(token):
            return None
        return next((one for one in self.store.records() if one.id.startswith(token)), None)


def as_text(value: Any) -> str:
    """A text as it is, and anything else in a form of its own."""
    return value if isinstance(value, str) else f"[{words.params_hash('', {'': value}, [''])}]"


# shows: a token for repo "widgets" runs with repo "widgets "; TOKEN_SCOPE_MISMATCH is due
@broken(kills="3.2-bound-parameters", because=".")
class TrimsParameters(ReadsParameters):
    """Takes the blanks around texts off before it hashes them."""

    def read(self, value: Any) -> Any:
        return at_every_depth(value, lambda one: one.strip() if isinstance(one, str) else one)


# shows: a token for repo "widgets" runs with one letter of it full-width; TOKEN_SCOPE_MISMATCH is
#   due
@broken(kills="3.2-bound-parameters", because=".")
class FoldsFormsOfParameters(ReadsParameters):
    """Hashes texts in a Unicode form in which many different letters are one."""

    def read(self, value: Any) -> Any:
        def folded(one: Any) -> Any:
            return unicodedata.normalize("NFKC", one) if isinstance(one, str) else one

        return at_every_depth(value, folded)


# shows: a token for owner "acme", repo "widgets" runs with owner "acmew", repo "idgets"
@broken(kills="3.2-bound-parameters", because=".")
class JoinsWithoutSeparators(ConfirmationGate):
    """Hashes the values in a row, with nothing to show where one ends and the next begins."""

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        row = "".join(as_text(params[name]) for name in operation.critical if name in params)
        return words.params_hash(operation.name, {"row": row}, ["row"])


# shows: a token for owner "acme&permanent=yes" runs with owner "acme", permanent "yes"
@broken(kills="3.2-bound-parameters", because=".")
class WritesAQueryByHand(ConfirmationGate):
    """Hashes name=value&name=value, and escapes nothing in the values."""

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        bound = sorted(name for name in operation.critical if name in params)
        row = "&".join(f"{name}={as_text(params[name])}" for name in bound)
        return words.params_hash(operation.name, {"row": row}, ["row"])


# shows: a token runs with the values of two text parameters (owner and repo) exchanged
@broken(kills="3.2-bound-parameters", because=".")
class ValuesWithoutTheirNames(ConfirmationGate):
    """Hashes the sorted values, and not which parameter has which."""

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        values = sorted(as_text(params[name]) for name in operation.critical if name in params)
        return words.params_hash(operation.name, {"values": values}, ["values"])


# shows: a token for repo ["a", "b"] runs with ["b", "a"]
@broken(kills="3.2-bound-parameters", because=".")
class SortsLists(ReadsParameters):
    """Sorts lists too when it brings the parameters into one order."""

    def read(self, value: Any) -> Any:
        if isinstance(value, list):
            return sorted(map(self.read, value), key=repr)
        if isinstance(value, dict):
            return {name: self.read(one) for name, one in value.items()}
        return value


# shows: a token for selector {"a.b": 1} runs with {"a": {"b": 1}}, one for ["x"] with {"0": "x"}
@broken(kills="3.2-bound-parameters", because=".")
class FlattensWithDots(ConfirmationGate):
    """Flattens lists and objects to dotted names, which members may have themselves."""

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        bound = {name: params[name] for name in operation.critical if name in params}
        flat = dict(self.flat("", bound))
        return words.params_hash(operation.name, flat, flat)

    def flat(self, name: str, value: Any) -> list[tuple[str, Any]]:
        if isinstance(value, list):
            value = {str(number): one for number, one in enumerate(value)}
        if not isinstance(value, dict):
            return [(name, value)]
        return [pair for key, one in value.items() for pair in self.flat(f"{name}.{key}", one)]


# ---- coerced: coerced.py


# shows: a token for force false runs with force "false", one for 17 with "17"
@broken(kills="3.2-bound-parameters", because=".")
class ParametersAsText(ReadsParameters):
    """Hashes numbers, truth values and null as the texts that they are written with."""

    def read(self, value: Any) -> Any:
        return at_every_depth(value, lambda one: one if isinstance(one, str) else json.dumps(one))


# shows: a token for a parameter of 17.2 runs with 17.9
@broken(kills="3.2-bound-parameters", because=".")
class WholePartOfNumbers(ReadsParameters):
    """Hashes the whole part of numbers."""

    def read(self, value: Any) -> Any:
        return at_every_depth(value, lambda one: int(one) if isinstance(one, float) else one)


# shows: a token for a parameter "17a" runs with "17b", or with 17
@broken(kills="3.2-bound-parameters", because=".")
class LeadingDigits(ReadsParameters):
    """Makes a number of each text that begins with one, and drops what follows."""

    def read(self, value: Any) -> Any:
        def number(one: Any) -> Any:
            digits = re.match(r"\d{1,15}", one) if isinstance(one, str) else None
            return int(digits.group()) if digits else one

        return at_every_depth(value, number)


# shows: a token for a parameter of 1 runs with 4294967297
@broken(kills="3.2-bound-parameters", because=".")
class NumbersInThirtyTwoBits(ReadsParameters):
    """Keeps whole numbers in 32 bits before it hashes them."""

    def read(self, value: Any) -> Any:
        def cut(one: Any) -> Any:
            is_number = isinstance(one, int) and not isinstance(one, bool)
            return one & 0xFFFFFFFF if is_number else one

        return at_every_depth(value, cut)


# shows: a token for force true runs with force 1
@broken(kills="3.2-bound-parameters", because=".")
class TrueIsOne(ReadsParameters):
    """Compares parameters in a language for which true equals 1."""

    def read(self, value: Any) -> Any:
        return at_every_depth(value, lambda one: int(one) if isinstance(one, bool) else one)


# shows: confirmation_token true, without any token, runs a gated operation
@broken(kills="1.3-flow", because=".")
class TrueConfirms(ConfirmationGate):
    """Takes true in the place of the token for a confirmation, as an older form had it."""

    def confirm(self, call: OperationCall) -> None:
        if call.params.get(words.CONFIRMATION_MEMBER) is not True:
            super().confirm(call)


# shows: _quota_continue true resumes a paused operation
@broken(kills="2.1-quota", because=".")
class TrueEndsAPause(ConfirmationGate):
    """Takes true in the place of the quota token for consent to go on."""

    def redeem(self, attempt: RedemptionAttempt) -> TokenRecord:
        if attempt.type is TokenType.QUOTA and attempt.token is True:
            return None  # type: ignore[return-value]  # nobody looks at it
        return super().redeem(attempt)


# shows: confirmation_token {"$ne": ""} (or $gt, $regex, $exists) runs the operation once a token
#   for it is open
@broken(kills="4.1-exists", because=".")
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


# shows: error.details.danger_level is 2 where sections 2.3 and 3.3 have the word "destructive"
@broken(kills="3.3-required-response", because=".", warned=True)
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


# shows: asking for a lifetime of "86400" as a text gives a token that lives for a day
@broken(kills="5.1-maximum-ttl", because=".")
class LifetimesInText(ReadsLifetimes):
    """Reads a lifetime that comes as a text, and compares only numbers with the maximum."""

    def asked(self, value: Any) -> float | None:
        return float(value) if isinstance(value, str) and value.isdecimal() else None


# shows: asking for a lifetime of 0 gives a token whose expires_at is years ahead
@broken(kills="5.1-maximum-ttl", because=".")
class ZeroIsForEver(ReadsLifetimes):
    """Takes a lifetime of zero for one without an end, as many caches do."""

    def asked(self, value: Any) -> float | None:
        is_zero = isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0
        return 10 * 365 * 86_400 if is_zero else None


# shows: asking for a lifetime of -1 gives a token whose expires_at is years ahead
@broken(kills="5.1-maximum-ttl", because=".")
class NegativeIsForEver(ReadsLifetimes):
    """Takes a negative lifetime for one without an end, as some stores do."""

    def asked(self, value: Any) -> float | None:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return 10 * 365 * 86_400 if is_number and value < 0 else None


# shows: the server starts with a tolerance of true
@broken(kills="5.1-skew-range", because=".")
class TrueIsASecond(SettingsReader):
    """Takes true for a tolerance of one second."""

    def tolerance(self, value: Any) -> float:
        return super().tolerance(int(value) if isinstance(value, bool) else value)


# ---- only a part is looked at: only_a_part.py


# shows: started with signed tokens: a token without its last four characters runs the operation
@broken(kills="6.2-tamper", because=".")
class ShortSignaturesFit(LooseSignature):
    """Compares as much of a signature as was sent."""

    def same(self, sent: bytes, right: bytes) -> bool:
        return right.startswith(sent)


# shows: a token runs with a text that differs from the confirmed one behind its 64th character
@broken(kills="3.2-bound-parameters", because=".")
class ValuesOf64Characters(ReadsParameters):
    """Keeps the first 64 characters of a text, and hashes those."""

    def read(self, value: Any) -> Any:
        return at_every_depth(value, lambda one: one[:64] if isinstance(one, str) else one)


# shows: a token runs with parameters that differ behind their first kilobyte
@broken(kills="3.2-bound-parameters", because=".")
class TheFirstKilobyteIsBound(ConfirmationGate):
    """Hashes the first kilobyte of the parameters."""

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        bound = {name: params[name] for name in operation.critical if name in params}
        written = json.dumps(bound, sort_keys=True)
        if len(written) <= 1024:
            return super().hash_of(operation, params)
        return words.params_hash(operation.name, {"written": written[:1024]}, ["written"])


# shows: a token for repo ["a", "b"] runs with ["a", "c"]
@broken(kills="3.2-bound-parameters", because=".")
class TheFirstOfAList(ReadsParameters):
    """Binds the first entry of a list."""

    def read(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.read(one) for one in value[:1]]
        if isinstance(value, dict):
            return {name: self.read(one) for name, one in value.items()}
        return value


# shows: a token for selector {"a": {"b": {"c": 1}}} runs with c 2
@broken(kills="3.2-bound-parameters", because=".")
class NotBelowTheThirdLevel(ReadsParameters):
    """Writes parameters with a tool that shows what lies deeper than some levels as [Object]."""

    def read(self, value: Any, depth: int = 1) -> Any:
        if not isinstance(value, (dict, list)):
            return value
        if depth > 2:
            return "[Object]"
        if isinstance(value, list):
            return [self.read(one, depth + 1) for one in value]
        return {name: self.read(one, depth + 1) for name, one in value.items()}


# shows: a token for repo "Aa" runs with repo "BB"
@broken(kills="3.2-bound-parameters", because=".")
class HashCodesOfTexts(ReadsParameters):
    """Binds the 32-bit hash code of each text, for which Aa and BB are the same."""

    def read(self, value: Any) -> Any:
        def code(one: Any) -> Any:
            if not isinstance(one, str):
                return one
            found = 0
            for letter in one:
                found = (31 * found + ord(letter)) & 0xFFFFFFFF
            return found

        return at_every_depth(value, code)


# shows: two open tokens, then a logout (or another trigger): the older one still runs
@broken(kills="5.3-session-end", because=".")
class LogoutRevokesTheLatest(TokenStore):
    """Revokes one token at a logout and the like, the latest."""

    def revoke_all(self, because: str, **whose: str) -> list[TokenRecord]:
        if because == "session end":
            return super().revoke_all(because, **whose)
        fitting = (
            one
            for one in reversed(self.records())
            if all(getattr(one, name) == value for name, value in whose.items())
        )
        latest = next((one for one in fitting if one.state is TokenState.ACTIVE), None)
        return [latest] if latest is not None and self.revoke(latest, because) else []


# shows: two open tokens of one session, which then ends: the older one still runs in another
#   session
@broken(kills="5.3-session-end", because=".")
class SessionsEndWithTheirLatestToken(TokenStore):
    """Revokes one token when a session ends, the latest."""

    def revoke_all(self, because: str, **whose: str) -> list[TokenRecord]:
        if because != "session end":
            return super().revoke_all(because, **whose)
        fitting = (one for one in reversed(self.records()) if one.session_id == whose["session_id"])
        latest = next((one for one in fitting if one.state is TokenState.ACTIVE), None)
        return [latest] if latest is not None and self.revoke(latest, because) else []


# shows: the second half of every identifier repeats the first: 64 bits, where 128 are due
@broken(kills="3.1-entropy", because=".")
class HalfTheBitsTwice(StoredTokens):
    """Fills a token up by writing its 64 random bits twice."""

    def identifier(self) -> str:
        return secrets.token_hex(8) * 2


# ---- neighbours by name: neighbours.py


class FindsOperations(ConfirmationGate):
    """Finds an operation by what it makes of its name, and gates by the name as it came; no mutant
    by itself."""

    def read(self, name: str) -> str:
        raise NotImplementedError

    def perform(
        self, name: str, params: Mapping[str, Any], *, user: str, session: str = ""
    ) -> Mapping[str, Any]:
        known = self.operations.get(self.read(name))
        if known is not None and name not in self.operations:
            return self.execute(known, params)
        return super().perform(name, params, user=user, session=session)


# shows: DELETE_REPO without a token runs delete_repo
@broken(kills="1.3-flow", because=".")
class OperationsInAnyCase(FindsOperations):
    """Finds operations without regard to case, and the dangerous ones among them with it."""

    def read(self, name: str) -> str:
        return name.lower()


# shows: "delete_repo " with a blank behind it and without a token runs delete_repo
@broken(kills="1.3-flow", because=".")
class OperationsWithBlanks(FindsOperations):
    """Takes blanks off an operation's name, after it has asked whether it is dangerous."""

    def read(self, name: str) -> str:
        return name.strip()


# shows: archive_repo, also of level 2, runs without a token: every named operation must be tried,
#   not one of each level
@broken(kills="1.3-flow", because=".")
class GatesByVerb(ConfirmationGate):
    """Gates what is called delete, purge or wipe something."""

    def confirm(self, call: OperationCall) -> None:
        if call.operation.name.startswith(("delete_", "purge_", "wipe_")):
            super().confirm(call)


# shows: a token for repo "widgets", redeemed with repo "widgets" and REPO "gadgets": the effect
#   says "gadgets"
@broken(kills="3.2-bound-parameters", because=".")
class NamesOfParametersInAnyCase(ConfirmationGate):
    """Runs an operation with its parameters' names in lower case, and binds them as they came."""

    def execute(self, operation: AdapterOperation, params: Mapping[str, Any]) -> Mapping[str, Any]:
        return super().execute(operation, {name.lower(): one for name, one in params.items()})


# shows: a token for a repo named by one UUID (or instant) runs with another one
@broken(kills="3.2-bound-parameters", because=".")
class DropsWhatLooksLikeMetadata(ReadsParameters):
    """Does not bind values that look like an instant or a request's id, wherever they are."""

    METADATA = re.compile(r"\d{4}-\d\d-\d\dT.*|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

    def read(self, value: Any) -> Any:
        def plain(one: Any) -> Any:
            return None if isinstance(one, str) and self.METADATA.fullmatch(one) else one

        return at_every_depth(value, plain)


# ---- read from the wrong place: wrong_place.py


_BESIDE = "(beside params)"


# shows: the honest retry with repo "gadgets" beside params: the effect says "gadgets"
@broken(kills="3.2-bound-parameters", because=".")
class MergesTheArguments(ConfirmationExtension):
    """Binds what is in params, and runs the operation with what stands beside params as well."""

    class gate_class(ConfirmationGate):  # noqa: N801  # the name of the extension's member
        def execute(
            self, operation: AdapterOperation, params: Mapping[str, Any]
        ) -> Mapping[str, Any]:
            merged = {name: one for name, one in params.items() if name != _BESIDE}
            return super().execute(operation, merged | params.get(_BESIDE, {}))

    def answer(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        if isinstance(arguments, dict) and isinstance(arguments.get("params"), dict):
            own = ("operation", "params")
            beside = {key: one for key, one in arguments.items() if key not in own}
            arguments = {**arguments, "params": {**arguments["params"], _BESIDE: beside}}
        return super().answer(name, arguments, caller)


# shows: get_repo with params.operation "delete_repo" and without a token runs delete_repo
@broken(kills="1.3-flow", because=".")
class OperationFromParams(ConfirmationGate):
    """Gates the operation that the call names, and runs the one that its params name."""

    def execute(self, operation: AdapterOperation, params: Mapping[str, Any]) -> Mapping[str, Any]:
        named = params.get("operation")
        known = self.operations.get(named) if isinstance(named, str) else None
        return super().execute(known or operation, params)


# shows: delete_repo with params.danger_level "safe" (or 0) and without a token runs
@broken(kills="1.3-flow", because=".")
class TheCallerNamesTheLevel(ConfirmationGate):
    """Reads the danger level in the params, if they have one."""

    def confirm(self, call: OperationCall) -> None:
        try:
            level = words.Danger.read(call.params.get("danger_level"))
        except ValueError:
            level = call.operation.danger
        if level >= words.GATED_FROM:
            super().confirm(call)


# shows: delete_repo with force true and without a token runs
@broken(kills="1.3-flow", because=".")
class ForceNeedsNoConfirmation(ConfirmationGate):
    """Takes force for a confirmation, as command lines do."""

    def confirm(self, call: OperationCall) -> None:
        if call.params.get("force") is not True or words.CONFIRMATION_MEMBER in call.params:
            super().confirm(call)


def instant_in(params: Mapping[str, Any], name: str) -> datetime.datetime | None:
    try:
        read = datetime.datetime.fromisoformat(params[name])
    except (KeyError, TypeError, ValueError):
        return None
    return read if read.tzinfo else read.replace(tzinfo=datetime.UTC)


# shows: an expired token with a later expires_at in the params of the retry runs
@broken(kills="4.1-not-expired", because=".")
class ExpiryFromTheCall(ConfirmationGate):
    """Lets the client send back all that it was told, and believes the expiry in it."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        told = instant_in(attempt.params, "expires_at")
        super().check_not_expired(replace(record, expires_at=told or record.expires_at), attempt)


# shows: an expired token with the time of its issue as timestamp in the params of the retry runs
@broken(kills="4.1-not-expired", because=".")
class TheCallersTime(ConfirmationGate):
    """Takes the timestamp of the request for the time at which it came."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        now = instant_in(attempt.params, "timestamp") or self.clock.now()
        if record.expires_at is not None and now > self.last_instant(record.expires_at):
            super().check_not_expired(record, attempt)


# shows: a token of one adapter at another one, with the first one's adapter_name in the params,
#   runs
@broken(kills="4.1-adapter", because=".")
class AdapterFromTheCall(ConfirmationGate):
    """Reads the adapter's name in the params, if they have one."""

    def check_adapter(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if attempt.params.get("adapter_name", self.adapter_name) != record.adapter_name:
            raise self.mismatch(attempt)


# shows: a session token asked for with max_uses 9 in the params, and answered with max_uses 3, runs
#   a fourth time
@broken(kills="5.4-session-scope", because=".")
class MaximumFromTheCall(ConfirmationGate):
    """Lets the call say how often its token may be used."""

    def issue(self, kind: words.TokenType, call: OperationCall) -> TokenRecord:
        record, wanted = super().issue(kind, call), call.params.get("max_uses")
        if record.session_scoped and isinstance(wanted, int):
            self.store._tokens.change(record.id, max_uses=wanted)
        return record


# ---- life renewed: life_renewed.py


# shows: use a token, ask for the same call again, use the first token again: it runs a second time
@broken(kills="4.1-not-consumed", because=".")
class AskingAgainRevivesTheToken(Renewing):
    """Keeps one token for each call, and makes it as new when the call is asked for again."""

    def issue(self, kind: TokenType, call: OperationCall) -> TokenRecord:
        wanted = (kind, call.user, call.session, self.hash_of(call.operation, call.params))
        for kept in self.store.records():
            if (kept.type, kept.user, kept.session_id, kept.params_hash) == wanted:
                self.store._tokens.change(kept.id, use_count=0)
                self.renew(kept)
                return self.store.get(kept.id) or kept
        return super().issue(kind, call)


# shows: issue, wait two thirds of the life, ask again, wait as long: the first token still runs,
#   past its expires_at
@broken(kills="4.1-not-expired", because=".")
class AskingAgainRenewsOlderTokens(Renewing):
    """Asked once more for the same call, gives the tokens that it issued before a new life too."""

    def issue(self, kind: TokenType, call: OperationCall) -> TokenRecord:
        for kept in self.store.records():
            if kept.params_hash == self.hash_of(call.operation, call.params):
                self.renew(kept)
        return super().issue(kind, call)


# shows: issue, wait two thirds of the life, ask for its status, wait as long: the token still runs,
#   past its expires_at
@broken(kills="4.1-not-expired", because=".")
class ALookRenews(Renewing):
    """Gives a token its whole life again when somebody asks about it."""

    def status(self, token: Any, *, user: str) -> dict[str, Any]:
        record = self.look_up(token, user)
        if record is not None:
            self.renew(record)
        return super().status(token, user=user)


# shows: issue, wait two thirds of the life, restart over the same store, wait as long: the token
#   still runs
@broken(kills="4.1-not-expired", because=".")
class AStartRenews(Renewing):
    """Loads the tokens into a cache when it starts, each with its whole life."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        for record in self.store.records():
            if record.adapter_name == self.adapter_name:
                self.renew(record)


# ---- undone by failure: undone_by_failure.py


# shows: use a token, try it with other parameters (refused), use it honestly again: it runs a
#   second time
@broken(kills="4.1-not-consumed", because=".")
class GivesBackWhatDoesNotFit(ConfirmationGate):
    """Marks a token, and takes the mark off again if the call does not fit, also an older one."""

    def rejected(self, attempt: RedemptionAttempt, refusal: TokenRefusal) -> None:
        super().rejected(attempt, refusal)
        if refusal.code == TokenCode.SCOPE_MISMATCH:
            self.store._tokens.change(attempt.token, use_count=0)


# shows: a session token of max_uses 3: one use, one try with other parameters (refused), then three
#   more uses all run
@broken(kills="5.4-session-scope", because=".")
class ARefusalGivesAUseBack(ConfirmationGate):
    """Takes one use off a session token's count with each refusal, as if it had counted it."""

    def rejected(self, attempt: RedemptionAttempt, refusal: TokenRefusal) -> None:
        super().rejected(attempt, refusal)
        if words.is_token(attempt.token):
            self.store._tokens.change(
                attempt.token,
                lambda token: (token.max_uses > 1) & (token.use_count > 0),
                use_count=lambda token: token.use_count - 1,
            )


# shows: a quota token whose operation fails after its effect (simulate "crash" at bulk_export)
#   resumes a second time; the table names no such call yet
@broken(kills="5.2-consumed-before-execution", because=".")
class FailuresGiveQuotaTokensBack(ConfirmationGate):
    """Takes the use of a quota token back when the operation that went on with it fails."""

    def perform(
        self, name: str, params: Mapping[str, Any], *, user: str, session: str = ""
    ) -> Mapping[str, Any]:
        try:
            return super().perform(name, params, user=user, session=session)
        except BackendError:
            self.store._tokens.change(params.get(words.QUOTA_MEMBER), use_count=0)
            raise


# ---- somebody else: somebody_else.py

FIRST = next(iter(ADAPTERS.values()))


# shows: delete_repo without a token at the other adapter runs
@broken(kills="1.3-flow", because=".")
class TheSecondAdapterAsksNobody(ConfirmationGate):
    """Has the gate in front of its first adapter; the second looks at tokens that come, and asks
    for none."""

    def confirm(self, call: OperationCall) -> None:
        if self.adapter_name == FIRST or words.CONFIRMATION_MEMBER in call.params:
            super().confirm(call)


# shows: a token of the other adapter, there, with other parameters runs
@broken(kills="3.2-bound-parameters", because=".")
class TheSecondAdapterComparesNoParameters(ConfirmationGate):
    """Compares parameters at its first adapter only."""

    def check_parameters(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if self.adapter_name == FIRST:
            super().check_parameters(record, attempt)


# shows: a token of the other adapter still runs after the session that it was issued in has ended
@broken(kills="5.3-session-end", because=".")
class SessionsEndAtTheFirstAdapter(TokenStore):
    """The end of a session revokes the tokens of the first adapter."""

    def revoke_all(self, because: str, **whose: str) -> list[TokenRecord]:
        if because == "session end":
            whose["adapter_name"] = FIRST
        return super().revoke_all(because, **whose)


# shows: a thousand open tokens at each of two adapters: the first ones are TOKEN_INVALID
@broken(kills="5.5-capacity", because=".")
class AdaptersShareTheRoom(TokenStore):
    """Keeps fifteen hundred open tokens in all, however many adapters there are."""

    def add(self, record: TokenRecord) -> None:
        super().add(record)
        active = [one.id for one in self.records() if one.state is TokenState.ACTIVE]
        for token in active[: -CAPACITY * 3 // 2]:
            self._tokens.remove(token)


# shows: ask for a token with a lifetime of 60 s, then for one without: its expires_at is 60 s
#   ahead, where 300 are due
@broken(kills="5.1-default-ttl", because=".")
class WhatOneAskedForStays(ConfirmationGate):
    """Keeps the lifetime that one call asked for as that of the calls after it."""

    def lifetime(self, kind: TokenType, call: OperationCall) -> float:
        asked = TTL_MEMBER in call.params
        found = super().lifetime(kind, call)
        kept: float = self.__dict__.get("asked", found)
        if asked:
            self.__dict__["asked"] = found
        return found if asked else min(kept, self.maximum(self.life_of(kind, call)))

    def life_of(self, kind: TokenType, call: OperationCall) -> str:
        return words.QUOTA_LIFE if kind is TokenType.QUOTA else call.operation.danger.word


# shows: the audit entry of a token issued at the other adapter names the first one as adapter_name
@broken(kills="6.4-audit", because=".")
class LogsTheFirstAdapterForAll(ConfirmationExtension):
    """Writes the first adapter's name into every entry of the log."""

    def entry(self, entry: AuditEntry) -> dict[str, Any]:
        return {**super().entry(entry), "adapter_name": FIRST}


# shows: the status of a token, asked for at the other adapter, tells that one as adapter_name
@broken(kills="2.3-payload", because=".")
class TellsItsOwnNameForAll(ConfirmationGate):
    """Tells the adapter that was asked, and not the one that issued the token."""

    def status(self, token: Any, *, user: str) -> dict[str, Any]:
        return {**super().status(token, user=user), "adapter_name": self.adapter_name}


# ---- absent: absent.py


# shows: confirmation_token "" (or null, false, 0) runs a gated operation
@broken(kills="1.3-flow", because=".")
class AnEmptyTokenIsNotChecked(ConfirmationGate):
    """Asks for a token if the member is missing, and checks it if it is not empty."""

    def confirm(self, call: OperationCall) -> None:
        if words.CONFIRMATION_MEMBER not in call.params:
            raise self.require_confirmation(call)
        if call.params[words.CONFIRMATION_MEMBER]:
            super().confirm(call)


# shows: _quota_continue "" resumes a paused operation
@broken(kills="2.1-quota", because=".")
class AnEmptyQuotaTokenEndsAPause(ConfirmationGate):
    """Ends a pause if there is a member for the token, and checks the token if it is not empty."""

    def redeem(self, attempt: RedemptionAttempt) -> TokenRecord:
        if attempt.type is TokenType.QUOTA and not attempt.token:
            return None  # type: ignore[return-value]  # nobody looks at it
        return super().redeem(attempt)


# shows: delete_repo with params {} (or none) runs without a token
@broken(kills="1.3-flow", because=".")
class NothingToConfirmWithoutParams(ConfirmationGate):
    """Takes a call without params for one that cannot do any harm, and runs it."""

    def confirm(self, call: OperationCall) -> None:
        if call.params:
            super().confirm(call)


# shows: the first answer of an operation with session tokens (delete_branch) has no expires_at
@broken(kills="3.3-required-response", because=".")
class SessionTokensSayNoExpiry(ConfirmationGate):
    """Does not say when a token for a session expires, as if it were only to end with it."""

    def required_details(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        details = super().required_details(call, record)
        if record.session_scoped:
            del details["expires_at"]
        return details


# ---- fractions of time: fractions.py


# shows: a try 1 s before the end of the tolerance, then one of another token 1 s after its end:
#   that one runs
@broken(kills="4.1-not-expired", because=".")
class ReadsTheClockNowAndThen(ConfirmationGate):
    """Asks what time it is every ten seconds, and goes by that in between."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        now = self.clock.now()
        read: datetime.datetime = self.__dict__.setdefault("read", now)
        if not datetime.timedelta(0) <= now - read < datetime.timedelta(seconds=10):
            read = self.__dict__["read"] = now
        if record.expires_at is not None and read > self.last_instant(record.expires_at):
            super().check_not_expired(record, attempt)


# shows: with the clock in 2040 a fresh token is TOKEN_EXPIRED
@broken(kills="4.1-not-expired", because=".")
class SecondsInThirtyTwoBits(ConfirmationGate):
    """Keeps the expiry in seconds since 1970 in 32 bits with a sign, which end in 2038."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        assert record.expires_at is not None
        seconds = record.expires_at.timestamp()
        if seconds >= 2**31:
            wrapped = record.expires_at - datetime.timedelta(seconds=2**32)
            record = replace(record, expires_at=wrapped)
        super().check_not_expired(record, attempt)


# shows: asking for a lifetime of 900.5 s gives expires_at 900.5 s ahead
@broken(kills="5.1-maximum-ttl", because=".")
class CapsTheWholePart(ConfirmationGate):
    """Compares the whole seconds of a lifetime with the maximum."""

    def lifetime(self, kind: TokenType, call: OperationCall) -> float:
        found, asked = super().lifetime(kind, call), call.params.get(TTL_MEMBER)
        return asked if isinstance(asked, float) and int(asked) == found else found


# shows: the server starts with a tolerance of 300.5
@broken(kills="5.1-skew-range", because=".")
class CutsFractionsOfTheTolerance(SettingsReader):
    """Compares the whole seconds of a tolerance with its range."""

    def tolerance(self, value: Any) -> float:
        is_number = isinstance(value, float) and math.isfinite(value)
        return super().tolerance(int(value) if is_number else value)


# shows: with a tolerance of 60.5 the log has no warning
@broken(kills="5.1-skew-warning", because=".")
class WarnsOfWholeSeconds(SettingsReader):
    """Compares the whole seconds of a tolerance when it asks whether to warn."""

    def warnings(self, tolerance: float) -> tuple[str, ...]:
        return super().warnings(tolerance) if int(tolerance) > 60 else ()


class Graceful(ConfirmationGate):
    """Knows whether a token has expired and is still tolerated; no mutant by itself."""

    def in_grace(self, record: TokenRecord) -> bool:
        end = record.expires_at
        return end is not None and end < self.clock.now() <= self.last_instant(end)


# shows: a used token, between its expires_at and the end of the tolerance, runs a second time
@broken(kills="4.1-not-consumed", because=".")
class ToleratedMeansValid(Graceful):
    """Takes a token that it tolerates for valid, before it has asked whether it was used."""

    def check_not_consumed(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if not self.in_grace(record):
            super().check_not_consumed(record, attempt)

    def consume(self, record: TokenRecord) -> None:
        if record.state is not TokenState.USED:
            super().consume(record)


# shows: a token with other parameters, between its expires_at and the end of the tolerance, runs
@broken(kills="3.2-bound-parameters", because=".")
class ToleratesOtherParametersToo(Graceful):
    """Takes a token that it tolerates for valid, before it has compared the parameters."""

    def check_parameters(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if not self.in_grace(record):
            super().check_parameters(record, attempt)


# ---- forgotten too soon, or never: forgotten.py


# shows: use a token, use a hundred others, use the first one again: it runs a second time
@broken(kills="4.1-not-consumed", because=".")
class RemembersAHundredUses(RemembersUses):
    """Remembers which hundred tokens were used last."""

    def forget(self, record: TokenRecord) -> None:
        for token in list(self.used)[:-100]:
            self.used.pop(token, None)


# shows: use a token, log out (or another trigger), use it again: it runs a second time
@broken(kills="6.1-replay", because=".")
class ForgetsUsesAtALogout(RemembersUses):
    """Forgets at a logout and the like which tokens were used."""

    def revoke_all(self, because: str, **whose: str) -> int:
        self.used.clear()
        return super().revoke_all(because, **whose)


class RemembersRevocations(ConfirmationGate):
    """Keeps revocations apart from the tokens, with the instant of each; no mutant by itself."""

    @property
    def revoked(self) -> dict[str, datetime.datetime]:
        found: dict[str, datetime.datetime] = self.__dict__.setdefault("revoked_at", {})
        return found

    def revoke_record(self, record: TokenRecord) -> bool:
        if record.state is not TokenState.ACTIVE or self.is_revoked(record):
            return False
        self.revoked[record.id] = self.clock.now()
        return True

    def is_revoked(self, record: TokenRecord) -> bool:
        return record.id in self.revoked

    def check_not_revoked(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        super().check_not_revoked(record, attempt)
        if self.is_revoked(record):
            raise TokenRefusal(TokenCode.INVALID, INVALID_MESSAGE)


# shows: revoke a token, restart over the same store (or go to a replica): it runs
@broken(kills="5.3-revocation", because=".")
class RevocationsOfEachProcess(RemembersRevocations):
    """Remembers in the process which tokens were revoked; the tokens outlive it."""


# shows: revoke a token, wait 90 s of its life: it runs
@broken(kills="5.3-revocation", because=".")
class ForgetsRevocationsAfterAMinute(RemembersRevocations):
    """Remembers for a minute which tokens were revoked."""

    def is_revoked(self, record: TokenRecord) -> bool:
        at = self.revoked.get(record.id)
        return at is not None and self.clock.now() - at <= datetime.timedelta(minutes=1)


# shows: the first of 150 open quota tokens is TOKEN_INVALID
@broken(kills="5.5-capacity", because=".")
class LittleRoomForPauses(TokenStore):
    """Keeps a hundred quota tokens."""

    def add(self, record: TokenRecord) -> None:
        super().add(record)
        pauses = [one.id for one in self.records() if one.type is TokenType.QUOTA]
        for token in pauses[:-100]:
            self._tokens.remove(token)


# shows: a quota token is in the store more than an hour after it expired
@broken(kills="5.5-purge", because=".")
class PurgesConfirmationsOnly(TokenStore):
    """Purges confirmation tokens, and keeps quota tokens for ever."""

    def forget_expired(self, before: datetime.datetime) -> None:
        self._tokens.remove_all(
            lambda one: (one.expires_at < before) & (one.type == TokenType.CONFIRMATION)
        )


# shows: a session token is in the store more than an hour after it expired
@broken(kills="5.5-purge", because=".")
class KeepsSessionTokens(TokenStore):
    """Leaves tokens for a session to the end of the session, which purges nothing."""

    def forget_expired(self, before: datetime.datetime) -> None:
        self._tokens.remove_all(lambda one: (one.expires_at < before) & (one.max_uses == 1))


# shows: a revoked token is in the store more than an hour after it expired
@broken(kills="5.5-purge", because=".")
class KeepsRevokedTokens(TokenStore):
    """Purges what is active or used, and keeps revoked tokens for ever."""

    def forget_expired(self, before: datetime.datetime) -> None:
        self._tokens.remove_all(lambda one: (one.expires_at < before) & (one.revoked_because == ""))


# shows: no token is issued for an hour after some expired: they are in the store
@broken(kills="5.5-purge", because=".")
class PurgesWhenATokenIsIssued(ConfirmationGate):
    """Purges when it issues a token, and never if nobody wants one."""

    def sweep(self) -> None:
        pass

    def issue(self, kind: TokenType, call: OperationCall) -> TokenRecord:
        self.purge(self.clock.now())
        return super().issue(kind, call)


# ---- not told: not_told.py


# shows: issue, log out (or another trigger), look at the audit: no TOKEN_REVOKED for the token
@broken(kills="6.4-audit", because=".")
class AutomaticRevocationsAreNotLogged(ConfirmationGate):
    """Logs revocations by hand, and none that a logout or the like brings about."""

    def revoke_all(self, because: str, **whose: str) -> int:
        if because == "session end":
            return super().revoke_all(because, **whose)
        return len(self.store.revoke_all(because, **whose))


# shows: issue, end the session, look at the audit from another: no TOKEN_REVOKED for the token
@broken(kills="6.4-audit", because=".")
class SessionEndsAreNotLogged(ConfirmationGate):
    """Does not log that the end of a session revoked tokens."""

    def session_ended(self, session: str) -> None:
        if session:
            self.store.revoke_all("session end", session_id=session)


# shows: try an expired token, look at the audit: no TOKEN_REJECTED for it
@broken(kills="6.4-audit", because=".")
class ExpiredTokensAreNotLogged(LeavesOut):
    """Takes an expired token for the ordinary course of things, and does not log its refusal."""

    def logs(self, event: Event, token_id: str, session: str, failure: str) -> bool:
        return failure != TokenCode.EXPIRED


# shows: try a token that was never issued, look at the audit: no TOKEN_REJECTED
@broken(kills="6.4-audit", because=".")
class UnknownTokensAreNotLogged(LeavesOut):
    """Has no record to log if a token is unknown, and logs nothing."""

    def logs(self, event: Event, token_id: str, session: str, failure: str) -> bool:
        return event is not Event.REJECTED or failure != TokenCode.INVALID


# shows: after a quota pause the audit has no TOKEN_ISSUED for the quota token
@broken(kills="6.4-audit", because=".")
class PausesAreNotLogged(LeavesOut):
    """Logs the issue of confirmation tokens, and of no quota token."""

    def logs(self, event: Event, token_id: str, session: str, failure: str) -> bool:
        return event is not Event.ISSUED or not token_id.startswith(words.QUOTA_PREFIX)


# shows: after a quota token has resumed its operation the audit has no TOKEN_VALIDATED for it
@broken(kills="6.4-audit", because=".")
class ResumptionsAreNotLogged(LeavesOut):
    """Logs the use of confirmation tokens, and of no quota token."""

    def logs(self, event: Event, token_id: str, session: str, failure: str) -> bool:
        return event is not Event.VALIDATED or not token_id.startswith(words.QUOTA_PREFIX)


# shows: two refusals of one token are one TOKEN_REJECTED, three uses of a session token one
#   TOKEN_VALIDATED
@broken(kills="6.4-audit", because=".")
class OneEntryOfEachKind(LeavesOut):
    """Has one row for each token and event, and drops what happens a second time."""

    def logs(self, event: Event, token_id: str, session: str, failure: str) -> bool:
        written: set[tuple[str, str]] = self.store.__dict__.setdefault("written", set())
        is_new = (event, token_id) not in written
        written.add((event, token_id))
        return is_new


# shows: issue, wait a minute, redeem: the timestamp of TOKEN_VALIDATED is that of TOKEN_ISSUED
@broken(kills="6.4-audit", because=".")
class LogsTheTimeOfIssue(ConfirmationExtension):
    """Writes the instant at which a token was issued into every entry about it."""

    def entry(self, entry: AuditEntry) -> dict[str, Any]:
        record = self.store.get(entry.token_id)
        return super().entry(
            entry if record is None else replace(entry, timestamp=record.issued_at)
        )


# shows: the status of a session token after its last use is that of a fresh one
@broken(kills="7.3-status", because=".")
class UsedUpSessionTokensAreActive(ConfirmationGate):
    """Tells a token for a session as active, also when all its uses are gone."""

    def state_of(self, record: TokenRecord) -> str:
        found = super().state_of(record)
        return "active" if record.max_uses > 1 and found == "used" else found


# shows: the status of a quota token after its use is that of a fresh one
@broken(kills="7.3-status", because=".")
class UsedQuotaTokensAreActive(ConfirmationGate):
    """Tells a quota token as active after its use."""

    def state_of(self, record: TokenRecord) -> str:
        found = super().state_of(record)
        is_pause = record.type is words.TokenType.QUOTA
        return "active" if is_pause and found == "used" else found


# shows: issue, wait a minute, ask for the status: issued_at is a minute late
@broken(kills="2.3-payload", because=".")
class IssuedWhenAsked(ConfirmationGate):
    """Tells the instant of the question as that of the issue."""

    def status(self, token: Any, *, user: str) -> dict[str, Any]:
        now = self.instant(self.clock.now())
        return {**super().status(token, user=user), "issued_at": now}


# ---- the untested twin: untested_twin.py


# shows: a quota token past its expires_at and the tolerance resumes its operation
@broken(kills="4.1-not-expired", because=".")
class ExpiredPausesEnd(ConfirmationGate):
    """Looks at the expiry of confirmation tokens only."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.type is TokenType.CONFIRMATION:
            super().check_not_expired(record, attempt)


# shows: the identifiers of quota tokens have 8 hexadecimal digits: 32 bits, where 128 are due
@broken(kills="3.1-entropy", because=".")
class ShortPauseTokens(StoredTokens):
    """Issues quota tokens of 32 bits, since they seem to matter less."""

    def issue(self, record: TokenRecord) -> TokenRecord:
        if record.type is TokenType.CONFIRMATION:
            return super().issue(record)
        issued = replace(record, id=record.type.prefix + secrets.token_hex(4))
        self.store.add(issued)
        return issued


# shows: quota tokens have 111 characters, where 80 are the most
@broken(kills="2.2-syntax", because=".")
class LongPauseTokens(ConfirmationGate):
    """Issues quota tokens that are longer than a token may be, and takes them as they are."""

    class Longer(StoredTokens):
        def issue(self, record: TokenRecord) -> TokenRecord:
            if record.type is TokenType.CONFIRMATION:
                return super().issue(record)
            issued = replace(record, id=record.type.prefix + secrets.token_hex(48))
            self.store.add(issued)
            return issued

    def stored_tokens(self) -> StoredTokens:
        return self.Longer(self.store)

    def find(self, attempt: RedemptionAttempt) -> TokenRecord | None:
        is_text = isinstance(attempt.token, str)
        return super().find(attempt) or (self.store.get(attempt.token) if is_text else None)


# shows: a quota token of one adapter resumes the same operation at another one
@broken(kills="4.1-adapter", because=".")
class PausesEndAtAnyAdapter(ConfirmationGate):
    """Compares the adapter of confirmation tokens only."""

    def check_adapter(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.type is TokenType.CONFIRMATION:
            super().check_adapter(record, attempt)


# shows: one quota token eight times at once resumes its operation several times
@broken(kills="2.1-quota", because=".")
class QuotaTokensInACrowd(ConfirmationGate):
    """Marks quota tokens a little after it has looked whether they were used."""

    def consume(self, record: TokenRecord) -> None:
        if record.type is TokenType.CONFIRMATION:
            super().consume(record)
            return
        time.sleep(0.1)  # so that all who come at once have passed the checks
        self.mint.use(record)


# shows: a used quota token resumes its operation once more after a restart over the same store
@broken(kills="6.1-replay", because=".")
class UsesOfPausesInEachProcess(ConfirmationGate):
    """Remembers in the process which quota tokens were used; the tokens outlive it."""

    def consume(self, record: TokenRecord) -> None:
        used: set[str] = self.__dict__.setdefault("used", set())
        if record.type is TokenType.CONFIRMATION:
            super().consume(record)
        elif record.id in used:
            raise self.already_used(record)
        used.add(record.id)


# shows: asking for a lifetime of 900 s (or a day) at a quota pause gives more than 600 s
@broken(kills="5.1-maximum-ttl", because=".")
class PausesAsLongAsOthers(ConfirmationGate):
    """Has one maximum, the fifteen minutes of most levels, for quota tokens too."""

    def maximum(self, name: str) -> float:
        return super().maximum("destructive" if name == QUOTA_LIFE else name)


# shows: at tolerance 0 a quota token runs 10 s after its expires_at
@broken(kills="5.1-skew-window", because=".")
class TheUsualToleranceForPauses(ConfirmationGate):
    """Tolerates quota tokens for the usual half minute, whatever is configured."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        end = record.expires_at
        usual = datetime.timedelta(seconds=DEFAULT_TOLERANCE)
        if record.type is TokenType.CONFIRMATION or end is None or self.clock.now() > end + usual:
            super().check_not_expired(record, attempt)


# shows: a quota token still resumes its operation after a logout, or after its session has ended
@broken(kills="5.3-session-end", because=".")
class EndsConfirmationsOnly(TokenStore):
    """Revokes confirmation tokens when a session ends or somebody logs out, and no quota tokens."""

    def revoke_all(self, because: str, **whose: str) -> list[TokenRecord]:
        return [
            one
            for one in self.records()
            if one.type is TokenType.CONFIRMATION
            and all(getattr(one, name) == value for name, value in whose.items())
            and self.revoke(one, because)
        ]


# shows: the params_hash in the status of a quota token has 128 bits
@broken(kills="3.2-sha256", because=".")
class ShortHashesForPauses(ConfirmationGate):
    """Binds quota tokens with MD5."""

    def issue(self, kind: TokenType, call: OperationCall) -> TokenRecord:
        record = super().issue(kind, call)
        if kind is TokenType.QUOTA:
            short = hashlib.md5(record.params_hash.encode(), usedforsecurity=False).hexdigest()
            self.store._tokens.change(record.id, params_hash=short)
        return record

    def check_parameters(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.type is TokenType.CONFIRMATION:
            super().check_parameters(record, attempt)
            return
        long = self.hash_of(attempt.operation, attempt.params)
        if record.params_hash != hashlib.md5(long.encode(), usedforsecurity=False).hexdigest():
            raise self.mismatch(attempt)


# shows: a session token of one adapter (delete_branch), in its session, runs at another one
@broken(kills="4.1-adapter", because=".")
class SessionTokensAtAnyAdapter(ConfirmationGate):
    """Takes a token for a session at every adapter of that session."""

    def check_adapter(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if not record.session_scoped:
            super().check_adapter(record, attempt)


# shows: a token of delete_branch, in its session, runs delete_repo
@broken(kills="3.2-bound-operation", because=".")
class AConfirmedSession(ConfirmationGate):
    """Takes a token for a session for consent to whatever is done in that session."""

    def check_operation(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if not record.session_scoped:
            super().check_operation(record, attempt)

    def check_parameters(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if not record.session_scoped or record.operation == attempt.operation.name:
            super().check_parameters(record, attempt)


# shows: a session token of max_uses 3, eight times at once, runs more than three times
@broken(kills="5.4-session-scope", because=".")
class UsesOfASessionInACrowd(TokenStore):
    """Reads how often a token for a session was used, and writes one more a little later."""

    def use(self, token_id: str) -> bool:
        record = self.get(token_id)
        if record is None or record.max_uses == 1:
            return super().use(token_id)
        time.sleep(0.1)  # so that all who come at once have read
        self._tokens.change(token_id, use_count=record.use_count + 1)
        return record.use_count < record.max_uses


# shows: asking for a day for a session token gives expires_at a day ahead
@broken(kills="5.1-maximum-ttl", because=".")
class SessionTokensHaveNoMaximum(ConfirmationGate):
    """Gives tokens for a session the lifetime that is asked for, however long."""

    def lifetime(self, kind: TokenType, call: OperationCall) -> float:
        found, asked = super().lifetime(kind, call), call.params.get(TTL_MEMBER)
        is_scoped = kind is TokenType.CONFIRMATION and call.operation.max_uses > 1 and call.session
        return max(found, asked) if is_scoped and isinstance(asked, (int, float)) else found


class OfSigned(ConfirmationGate):
    """Knows whether it issues signed tokens; no mutant by itself."""

    @property
    def signs(self) -> bool:
        return isinstance(self.mint, SignedTokens)


# shows: started with signed tokens: a token past its end and the tolerance runs
@broken(kills="4.1-not-expired", because=".")
class SignedTokensNeverExpire(OfSigned):
    """Checks the signature of a signed token, and not the time in it."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if not self.signs:
            super().check_not_expired(record, attempt)


# shows: started with signed tokens: a used token runs a second time
@broken(kills="4.1-not-consumed", because=".")
class SignedTokensServeAgain(OfSigned):
    """Keeps no list of the signed tokens that were used."""

    def consume(self, record: TokenRecord) -> None:
        if not self.signs:
            super().consume(record)


# shows: started with signed tokens: a revoked token runs
@broken(kills="5.3-revocation", because=".")
class SignedTokensOutliveRevocation(OfSigned):
    """Says that a signed token is revoked, and has nowhere to keep that."""

    def revoke_record(self, record: TokenRecord) -> bool:
        return self.signs or super().revoke_record(record)


# shows: started with signed tokens: a token with other parameters runs
@broken(kills="3.2-bound-parameters", because=".")
class SignsNoParameters(SignedTokens):
    """Leaves the parameters out of what a signed token is bound to."""

    def scope(self, nonce: bytes, record: TokenRecord) -> bytes:
        return super().scope(nonce, replace(record, params_hash=""))


# shows: started with signed tokens: a token of one adapter runs at another one
@broken(kills="4.1-adapter", because=".")
class SignsNoAdapter(SignedTokens):
    """Leaves the adapter out of what a signed token is bound to."""

    def scope(self, nonce: bytes, record: TokenRecord) -> bytes:
        return super().scope(nonce, replace(record, adapter_name=""))


# shows: a token of level 4 (two minutes), or one with a lifetime of 60 s asked for, runs 200 s
#   after its issue
@broken(kills="4.1-not-expired", because=".")
class FiveMinutesAfterTheIssue(ConfirmationGate):
    """Works out the end of a token anew, five minutes after its issue, whatever it promised."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        end = record.issued_at + datetime.timedelta(minutes=5)
        if self.clock.now() > self.last_instant(end):
            super().check_not_expired(record, attempt)


# shows: a burst of tries of a genuine token with other parameters is never slowed
@broken(kills="6.5-rate-limit", because=".")
class MismatchesAreNotCounted(CountsSomeFailures):
    """Counts unknown tokens, and not those that were tried for something else."""

    uncounted = (TokenCode.SCOPE_MISMATCH,)


# shows: a burst of calls that are paused, each with a new quota token, is never slowed
@broken(kills="6.5-rate-limit", because=".")
class PausesAreNotLimited(ConfirmationGate):
    """Limits the issue of confirmation tokens, and not that of quota tokens."""

    def pause(self, call: OperationCall) -> TokenRefusal:
        self.store._buckets.remove(f"issue/{call.user}")
        return super().pause(call)


# ---- shown, not meant: shown_not_meant.py


# shows: two calls of one operation with other repos get the same confirmation_message, which names
#   the first repo
@broken(kills="3.3-required-response", because=".")
class TheQuestionOfTheFirstCall(Showing):
    """Keeps the question of each operation when it is first asked, with that call's parameters."""

    def other(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        asked: dict[str, str] = self.__dict__.setdefault("asked", {})
        question = call.operation.describe(call.params)
        return {"confirmation_message": asked.setdefault(call.operation.name, question)}


# shows: the refusal of an expired token shows the values of owner and repo
@broken(kills="6.3-no-parameter-values", because=".")
class ExpiredTokensWithTheCall(ConfirmationGate):
    """Repeats the question, parameters and all, when a token has expired."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        try:
            super().check_not_expired(record, attempt)
        except TokenRefusal as refusal:
            refusal.details["confirmation_message"] = attempt.operation.describe(attempt.params)
            raise


# shows: the refusal of an unknown quota token shows the value of dataset
@broken(kills="6.3-no-parameter-values", because=".")
class RefusedPausesWithTheCall(ConfirmationGate):
    """Repeats the call when it refuses a quota token."""

    def redeem(self, attempt: RedemptionAttempt) -> TokenRecord:
        try:
            return super().redeem(attempt)
        except TokenRefusal as refusal:
            if attempt.type is words.TokenType.QUOTA:
                refusal.details["params"] = dict(attempt.params)
            raise


# shows: what is no token in the place of a quota token gets other words than an unknown quota token
@broken(kills="6.3-one-answer-for-unknown", because=".")
class MalformedPausesAreToldApart(ConfirmationGate):
    """Says of what came as a quota token that it is none, if it does not look like one."""

    def find(self, attempt: RedemptionAttempt) -> TokenRecord | None:
        if attempt.type is words.TokenType.QUOTA and not words.is_token(attempt.token):
            raise TokenRefusal(words.TokenCode.INVALID, "That is no token at all")
        return super().find(attempt)


# shows: started with signed tokens: the refusal of an expired token holds the key
@broken(kills="6.2-key-hidden", because=".")
class ExpiredTokensShowTheKey(ConfirmationGate):
    """Shows the key with the refusal of an expired token, to help with finding errors."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        try:
            super().check_not_expired(record, attempt)
        except TokenRefusal as refusal:
            refusal.details["signed_with"] = self.settings.signing_key
            raise
