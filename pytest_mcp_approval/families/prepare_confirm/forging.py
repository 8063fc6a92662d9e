"""Tokens as somebody else would write them: changed, unsigned, signed with a guess, respelled.

Each function returns texts, by a name for the report. Knows no server.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import html
import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from .vocabulary import SEPARATOR, read_payload, split_token

MOST_POSITIONS = 400
"""In a very long token this many places are tried, spread over all of it."""

GUESSES = (
    "",
    "secret",
    "your-secret-key",
    "your-secure-random-key-here",
    "changeme",
    "default",
    "confirmation",
    "test",
)

_WIDE = {ord(digit): ord(digit) + 0xFEE0 for digit in "0123456789"}
_PUT_IN = {
    "a blank": " ",
    "a line break": "\n",
    "a zero byte": "\0",
    "a letter beyond ASCII": "é",
    "a character that cannot be seen": "\u200b",
}
_IGNORABLE = ("a blank put", "a line break put", "that cannot be seen put")


def changed_at_each_place(token: str) -> Iterator[tuple[int, str]]:
    """The token with one character replaced by its neighbour in the same alphabet."""
    step = max(1, -(-len(token) // MOST_POSITIONS))
    places = set(range(0, len(token), step)) | {len(token) - 1}
    if SEPARATOR in token:
        places.add(token.rindex(SEPARATOR))
    for place in sorted(places):
        yield place, f"{token[:place]}{_neighbour(token[place])}{token[place + 1 :]}"


def _neighbour(character: str) -> str:
    for alphabet in ("0123456789", "abcdef", "ghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"):
        if character in alphabet:
            return alphabet[(alphabet.index(character) + 1) % len(alphabet)]
    return "!" if character != "!" else "?"


def cut_or_grown(token: str) -> dict[str, str]:
    """Parts of the token, and more than it."""
    half = len(token) // 2
    found = {
        "without its last character": token[:-1],
        "without its first character": token[1:],
        "its first half": token[:half],
        "its second half": token[half:],
        "with a character behind": f"{token}0",
        "with a character before": f"0{token}",
        "twice": token + token,
    }
    if SEPARATOR in token:
        payload, signature = token.rsplit(SEPARATOR, 1)
        found |= {
            "without a signature": payload,
            "with an empty signature": f"{payload}{SEPARATOR}",
            "with a signature alone": f"{SEPARATOR}{signature}",
            "with its parts swapped": f"{signature}{SEPARATOR}{payload}",
            "with its signature twice": f"{token}{SEPARATOR}{signature}",
            "with a signature of zeros": f"{payload}{SEPARATOR}{'0' * len(signature)}",
            "with a random signature": f"{payload}{SEPARATOR}{_random_like(signature)}",
        }
    return found


def _random_like(signature: str) -> str:
    return secrets.token_hex(len(signature))[: len(signature)]


def respelled(token: str) -> dict[str, str]:
    """What a lenient reader takes for the same token, and a strict one rejects."""
    head, separator, tail = token.rpartition(SEPARATOR)
    found = {
        "a blank behind": f"{token} ",
        "a blank before": f" {token}",
        "a line break behind": f"{token}\n",
        "a zero byte behind": f"{token}\x00",
        "= behind": f"{token}=",
        "in quotes": f'"{token}"',
        "as a JSON text": json.dumps(token),
        "as a JSON text without its quotes": json.dumps(token)[1:-1],
        "percent-encoded": quote(token, safe=""),
        "with its separator percent-encoded": token.replace(SEPARATOR, "%7C"),
        "as in HTML": html.escape(token),
        "in base64": base64.b64encode(token.encode()).decode(),
        "in wide digits": token.translate(_WIDE),
        "a character behind that cannot be seen": f"{token}\u200b",
        "after the word Bearer": f"Bearer {token}",
    }
    if separator:
        found["its signature in the other case"] = f"{head}{separator}{tail.swapcase()}"
        found["a blank around the separator"] = f"{head} {separator} {tail}"
    return {name: one for name, one in found.items() if one != token}


def is_ignorable(name: str) -> bool:
    """Whether what `put_into` did, by its name, may lawfully be taken for the very token."""
    return any(one in name for one in _IGNORABLE)


def put_into(token: str, ids: Sequence[str]) -> dict[str, str]:
    """The token with something else, less or more in both its halves, and in the ids that it
    names. What a careless reader drops before it verifies a signature counts when it is read."""
    places = {}
    for name, some in {"its first id": ids[:1], "its last id": ids[1:][-1:]}.items():
        for spelled in map(json.dumps, some):
            if spelled in token:
                places[name] = token.rindex(spelled) + len(spelled) // 2
    places |= {f"{number}/8 of it": len(token) * number // 8 for number in (3, 7)}
    found = {}
    for where, place in places.items():
        before, after = token[:place], token[place:]
        for name, text in _PUT_IN.items():
            found[f"with {name} put in at {where}"] = f"{before}{text}{after}"
        found[f"without a character at {where}"] = f"{before}{after[1:]}"
        found[f"with a character twice at {where}"] = f"{before}{after[:1]}{after}"
        letter = next((n for n, one in enumerate(after) if one.swapcase() != one), None)
        if letter is not None and place + letter < max(token.rfind(SEPARATOR), 0):
            swapped = after[letter].swapcase()
            found[f"with a letter in the other case at {where}"] = (
                f"{before}{after[:letter]}{swapped}{after[letter + 1 :]}"
            )
    return {name: one for name, one in found.items() if one != token}


def _another(value: Any, other_id: str) -> Any:
    """A value of the same kind that says something else."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        return other_id
    if isinstance(value, list) and value:
        return [*value[:-1], _another(value[-1], other_id)]
    return [other_id]


def forged_payloads(token: str, other_id: str) -> dict[str, str]:
    """For tokens of the documented format: what a thief would like it to say.

    ValueError if the token is not in that format.
    """
    text, signature = split_token(token)
    payload = read_payload(text)
    wanted = {
        "of a later expiry": replace(payload, expires_at=payload.expires_at + 10**8),
        "of another nonce": replace(payload, nonce=secrets.token_hex(16)),
        "for another action": replace(payload, action=f"{payload.action}x"),
    }
    for name, value in payload.data.items():
        data = {**payload.data, name: _another(value, other_id)}
        wanted[f"with another {name}"] = replace(payload, data=data)
    found = {
        f"{name}, under the old signature": f"{one.to_text()}{SEPARATOR}{signature}"
        for name, one in wanted.items()
    }
    for name, one in wanted.items():
        written = one.to_text()
        plain = hashlib.sha256(written.encode()).hexdigest()
        found[f"{name}, with a plain SHA-256"] = f"{written}{SEPARATOR}{plain}"
    for guess in GUESSES:
        written = wanted["of another nonce"].to_text()
        signed = hmac.new(guess.encode(), written.encode(), hashlib.sha256).hexdigest()
        found[f"signed with the key {guess!r}"] = f"{written}{SEPARATOR}{signed}"
    encoded = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    found["with its payload in base64"] = f"{encoded}{SEPARATOR}{signature}"
    return found
