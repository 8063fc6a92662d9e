"""Servers that look at a part of what they should compare."""

from __future__ import annotations

import itertools
import json
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import (
    ConfirmationGate,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.minting import (
    SignedTokens,
    StoredTokens,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    AdapterOperation,
    RedemptionAttempt,
    TokenRecord,
    TokenState,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.store import TokenStore
from tests.mutants.confirmation_tokens.parts import broken
from tests.mutants.confirmation_tokens.reading import (
    ReadsParameters,
    ReadsTokens,
    at_every_depth,
)

NONCE = 16
"""How many bytes of a signed token are random, and how many come before its signature."""

# ---- of the parameters


@broken(kills="3.2-bound-parameters", because='"tag"[^§]*operation run')
class NamesOfNestedMembers(ConfirmationGate):
    """Hashes the names in nested objects with the list of allowed top-level names, so none of their
    values counts."""

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        flat = {
            name: sorted(value) if isinstance(value, dict) else value
            for name, value in params.items()
        }
        return super().hash_of(operation, flat)


# ---- of a token


@broken(kills="6.2-tamper", because="characters with character[^§]*success")
class FoundByItsEnd(StoredTokens):
    """Finds a token by its last sixteen characters."""

    def find(self, token: str, attempt: RedemptionAttempt | None) -> TokenRecord | None:
        return next(
            (one for one in self.store.records() if one.id[-16:] == token[-16:]),
            super().find(token, attempt),
        )


@broken(kills="6.2-tamper", because="characters with character[^§]*success")
class BothEndsOfAToken(StoredTokens):
    """Compares a token as its log shows it: the first and the last eight characters."""

    def find(self, token: str, attempt: RedemptionAttempt | None) -> TokenRecord | None:
        def ends(text: str) -> tuple[str, str]:
            return text[:13], text[-8:]

        found = (one for one in self.store.records() if ends(one.id) == ends(token))
        return super().find(token, attempt) or next(found, None)


class LooseSignature(SignedTokens):
    """Compares signatures as a subclass says; no mutant by itself."""

    def same(self, sent: bytes, right: bytes) -> bool:
        raise NotImplementedError

    def is_genuine(self, given: bytes, signature: bytes) -> bool:
        return self.same(given, signature)


@broken(kills="6.2-tamper", because="characters with character[^§]*success")
class FourBytesOfTheSignature(LooseSignature):
    """Compares the first four bytes of a signature."""

    def same(self, sent: bytes, right: bytes) -> bool:
        return sent[:4] == right[:4]


@broken(kills="4.1-exists", because="made longer[^§]*operation run")
class CutsLongTokens(ReadsTokens):
    """Cuts what comes to the length of its column, whatever stood behind it."""

    def read(self, token: str) -> str:
        return next((one.id for one in self.store.records() if token.startswith(one.id)), token)


@broken(kills="6.2-tamper", because="with character 6 changed[^§]*success")
class TheNonceIsNotSigned(SignedTokens):
    """Leaves the random part of a token out of its signature and of its scope."""

    def signed_part(self, body: bytes) -> bytes:
        return body[NONCE:]

    def scope(self, nonce: bytes, record: TokenRecord) -> bytes:
        return super().scope(b"", record)


# ---- of what should be random


@broken(kills="3.1-entropy", because="128 bits that change[^§]*bits: [0-9a-f]{16}0{8}")
class CountsBehindRandomBits(StoredTokens):
    """Puts a counter behind 64 random bits, to make up for the length."""

    counter = itertools.count(1)

    def identifier(self) -> str:
        return f"{secrets.token_hex(8)}{next(self.counter):016x}"


@broken(kills="3.1-entropy", because=r"different tokens\n1 different")
class AHashOfTheCall(StoredTokens):
    """A token is the hash of its call, which anybody can work out."""

    def issue(self, record: TokenRecord) -> TokenRecord:
        issued = replace(record, id=record.type.prefix + record.params_hash)
        self.store._tokens.remove(issued.id)
        self.store.add(issued)
        return issued


@broken(kills="6.2-tamper", because=r"a signed token without its last[^§]*success")
class ShortSignaturesFit(LooseSignature):
    """Compares as much of a signature as was sent."""

    def same(self, sent: bytes, right: bytes) -> bool:
        return right.startswith(sent)


@broken(kills="3.2-bound-parameters", because=r"delete_repo with[^§]*success, operation run")
class ValuesOf64Characters(ReadsParameters):
    """Keeps the first 64 characters of a text, and hashes those."""

    def read(self, value: Any) -> Any:
        return at_every_depth(value, lambda one: one[:64] if isinstance(one, str) else one)


@broken(kills="3.2-bound-parameters", because=r"delete_repo with[^§]*success, operation run")
class TheFirstKilobyteIsBound(ConfirmationGate):
    """Hashes the first kilobyte of the parameters."""

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        bound = {name: params[name] for name in operation.critical if name in params}
        written = json.dumps(bound, sort_keys=True)
        if len(written) <= 1024:
            return super().hash_of(operation, params)
        return words.params_hash(operation.name, {"written": written[:1024]}, ["written"])


@broken(kills="3.2-bound-parameters", because=r"purge_path with[^§]*success, operation run")
class TheFirstOfAList(ReadsParameters):
    """Binds the first entry of a list."""

    def read(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.read(one) for one in value[:1]]
        if isinstance(value, dict):
            return {name: self.read(one) for name, one in value.items()}
        return value


@broken(kills="3.2-bound-parameters", because=r"delete_repo with[^§]*success, operation run")
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


@broken(kills="3.2-bound-parameters", because=r"delete_repo with[^§]*success, operation run")
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


@broken(kills="5.3-session-end", because=r"a token after a logout[^§]*success, operation run")
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


@broken(
    kills="5.3-session-end", because=r"a token whose session has ended[^§]*success, operation run"
)
class SessionsEndWithTheirLatestToken(TokenStore):
    """Revokes one token when a session ends, the latest."""

    def revoke_all(self, because: str, **whose: str) -> list[TokenRecord]:
        if because != "session end":
            return super().revoke_all(because, **whose)
        fitting = (one for one in reversed(self.records()) if one.session_id == whose["session_id"])
        latest = next((one for one in fitting if one.state is TokenState.ACTIVE), None)
        return [latest] if latest is not None and self.revoke(latest, because) else []


@broken(kills="3.1-entropy", because=r"token to token\n6[0-9] bits")
class HalfTheBitsTwice(StoredTokens):
    """Fills a token up by writing its 64 random bits twice."""

    def identifier(self) -> str:
        return secrets.token_hex(8) * 2
