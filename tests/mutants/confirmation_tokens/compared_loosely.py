"""Servers that take two things for the same because they look alike."""

from __future__ import annotations

import re
import unicodedata
import urllib.parse
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import (
    ConfirmationGate,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.minting import (
    StoredTokens,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    AdapterOperation,
    RedemptionAttempt,
    TokenRecord,
)
from tests.mutants.confirmation_tokens.parts import broken
from tests.mutants.confirmation_tokens.reading import (
    ReadsParameters,
    ReadsTokens,
    at_every_depth,
)

# ---- tokens


@broken(kills="2.2-case-sensitive", because="a token with the case of its last[^§]*operation run")
class LastLetterInAnyCase(StoredTokens):
    """Compares all of a token but its last letter with regard to case."""

    def find(self, token: str, attempt: RedemptionAttempt | None) -> TokenRecord | None:
        last = max((at for at, one in enumerate(token) if one.isalpha()), default=0)
        other = token[:last] + token[last : last + 1].swapcase() + token[last + 1 :]
        return self.store.get(token) or self.store.get(other)


# ---- operations


@broken(kills="3.2-bound-operation", because="archive_repo with a token of[^§]*operation run")
class ComparesTheObjectOnly(ConfirmationGate):
    """Compares what an operation acts on, and not what it does."""

    def check_operation(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.operation.rpartition("_")[2] != attempt.operation.name.rpartition("_")[2]:
            raise self.mismatch(attempt)

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        return words.params_hash("", params, operation.critical)


@broken(kills="3.2-bound-operation", because="archive_repo with a token of[^§]*operation run")
class ComparesTheLevel(ConfirmationGate):
    """A token confirms any operation of the same level on the same parameters."""

    def check_operation(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.danger_level != attempt.operation.danger.word:
            raise self.mismatch(attempt)

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        return words.params_hash(operation.danger.word, params, operation.critical)


@broken(kills="6.2-tamper", because=r"a destructive token with a blank behind it[^§]*success")
class TrimsTokens(ReadsTokens):
    """Takes blanks and line ends off a token before it looks it up."""

    def read(self, token: str) -> str:
        return token.strip()


@broken(kills="6.2-tamper", because=r"a destructive token with a percent escape[^§]*success")
class UndoesPercents(ReadsTokens):
    """Undoes percent encoding once more, on what was never encoded."""

    def read(self, token: str) -> str:
        return urllib.parse.unquote(token)


@broken(kills="6.2-tamper", because=r"a destructive token with a full-width character[^§]*success")
class FoldsWidthsOfTokens(ReadsTokens):
    """Brings a token into a Unicode form in which wide, small and ordinary letters are one."""

    def read(self, token: str) -> str:
        return unicodedata.normalize("NFKC", token)


@broken(kills="6.2-tamper", because=r"a destructive token with padding behind it[^§]*success")
class PaddingDoesNotCount(ReadsTokens):
    """Takes a token for base64, and drops the padding behind it."""

    def read(self, token: str) -> str:
        return token.rstrip("=")


@broken(kills="6.2-tamper", because=r"a destructive token with a blank behind it[^§]*success")
class FindsATokenInAText(ReadsTokens):
    """Searches the text for a token, where the whole text should be one."""

    def read(self, token: str) -> str:
        found = words.TOKEN.search(token)
        return found.group() if found else token


@broken(kills="6.2-tamper", because=r"a destructive token with a hyphen put in[^§]*success")
class HyphensDoNotCount(StoredTokens):
    """Leaves hyphens out when it compares, as some do with UUIDs."""

    def find(self, token: str, attempt: RedemptionAttempt | None) -> TokenRecord | None:
        plain = token.replace("-", "")
        return next((one for one in self.store.records() if one.id.replace("-", "") == plain), None)


@broken(kills="6.2-tamper", because=r"a destructive token with[^§]*underscore[^§]*success")
class LooksUpWithLike(StoredTokens):
    """Looks tokens up with LIKE, for which an underscore is any character."""

    def find(self, token: str, attempt: RedemptionAttempt | None) -> TokenRecord | None:
        pattern = re.compile(re.escape(token).replace("_", "."))
        return next((one for one in self.store.records() if pattern.fullmatch(one.id)), None)


@broken(kills="6.2-tamper", because=r"a destructive token with another case of its[^§]*success")
class PrefixInAnyCase(ReadsTokens):
    """Reads the prefix without regard to case, and the identifier with it."""

    def read(self, token: str) -> str:
        for prefix in words.PREFIXES:
            if token.lower().startswith(prefix):
                return prefix + token[len(prefix) :]
        return token


@broken(
    kills="4.1-every-check", because=r"a quota token in another case[^§]*success, operation run"
)
class PausesInAnyCase(StoredTokens):
    """Looks quota tokens up without regard to case."""

    def find(self, token: str, attempt: RedemptionAttempt | None) -> TokenRecord | None:
        if not token.startswith(words.QUOTA_PREFIX):
            return super().find(token, attempt)
        folded = token.lower()
        return next((one for one in self.store.records() if one.id.lower() == folded), None)


@broken(kills="5.3-revocation", because=r"a token, after[^§]*TOKEN_INVALID, operation not run")
class RevokesInAnyCase(ConfirmationGate):
    """Looks tokens up with regard to case when they are used, and without when they are revoked."""

    def look_up(self, token: Any, user: str) -> TokenRecord | None:
        folded = str(token).lower()
        return next((one for one in self.store.records() if one.id.lower() == folded), None)


@broken(kills="5.3-revocation", because=r"a token, after[^§]*TOKEN_INVALID, operation not run")
class RevokesByABeginning(ConfirmationGate):
    """Revokes the first token that begins with what was sent."""

    def look_up(self, token: Any, user: str) -> TokenRecord | None:
        if not words.is_token(token):
            return None
        return next((one for one in self.store.records() if one.id.startswith(token)), None)


def as_text(value: Any) -> str:
    """A text as it is, and anything else in a form of its own."""
    return value if isinstance(value, str) else f"[{words.params_hash('', {'': value}, [''])}]"


@broken(kills="3.2-bound-parameters", because=r"delete_repo with[^§]*success, operation run")
class TrimsParameters(ReadsParameters):
    """Takes the blanks around texts off before it hashes them."""

    def read(self, value: Any) -> Any:
        return at_every_depth(value, lambda one: one.strip() if isinstance(one, str) else one)


@broken(kills="3.2-bound-parameters", because=r"delete_repo with[^§]*success, operation run")
class FoldsFormsOfParameters(ReadsParameters):
    """Hashes texts in a Unicode form in which many different letters are one."""

    def read(self, value: Any) -> Any:
        def folded(one: Any) -> Any:
            return unicodedata.normalize("NFKC", one) if isinstance(one, str) else one

        return at_every_depth(value, folded)


@broken(kills="3.2-bound-parameters", because=r"delete_repo with[^§]*success, operation run")
class JoinsWithoutSeparators(ConfirmationGate):
    """Hashes the values in a row, with nothing to show where one ends and the next begins."""

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        row = "".join(as_text(params[name]) for name in operation.critical if name in params)
        return words.params_hash(operation.name, {"row": row}, ["row"])


@broken(kills="3.2-bound-parameters", because=r"delete_repo with[^§]*success, operation run")
class WritesAQueryByHand(ConfirmationGate):
    """Hashes name=value&name=value, and escapes nothing in the values."""

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        bound = sorted(name for name in operation.critical if name in params)
        row = "&".join(f"{name}={as_text(params[name])}" for name in bound)
        return words.params_hash(operation.name, {"row": row}, ["row"])


@broken(kills="3.2-bound-parameters", because=r"delete_repo with[^§]*success, operation run")
class ValuesWithoutTheirNames(ConfirmationGate):
    """Hashes the sorted values, and not which parameter has which."""

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        values = sorted(as_text(params[name]) for name in operation.critical if name in params)
        return words.params_hash(operation.name, {"values": values}, ["values"])


@broken(kills="3.2-bound-parameters", because=r"purge_path with[^§]*success, operation run")
class SortsLists(ReadsParameters):
    """Sorts lists too when it brings the parameters into one order."""

    def read(self, value: Any) -> Any:
        if isinstance(value, list):
            return sorted(map(self.read, value), key=repr)
        if isinstance(value, dict):
            return {name: self.read(one) for name, one in value.items()}
        return value


@broken(kills="3.2-bound-parameters", because=r"purge_path with[^§]*success, operation run")
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
