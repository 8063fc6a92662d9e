"""Servers that look at a part of what they should compare."""

from __future__ import annotations

import base64
import binascii
import itertools
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.minting import (
    SignedTokens,
    StoredTokens,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    AdapterOperation,
    RedemptionAttempt,
    TokenRecord,
)
from tests.mutants.confirmation_tokens.parts import broken
from tests.mutants.confirmation_tokens.reading import ReadsTokens

NONCE, BODY = 16, 32
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

    def find(self, token: str, attempt: RedemptionAttempt | None) -> TokenRecord | None:
        kind = next(one for one in words.TokenType if token.startswith(one.prefix))
        try:
            raw = base64.b64decode(token.removeprefix(kind.prefix), altchars=b"-_", validate=True)
        except (ValueError, binascii.Error):
            return None
        body, signature = raw[:BODY], raw[BODY:]
        if len(body) != BODY or not self.same(signature, self.signature(kind, body)):
            return None
        return self.store.get(token) or self._unfold(token, kind, body, attempt)


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
