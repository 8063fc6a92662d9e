"""Tokens as somebody else would write them: changed, unsigned, signed with a guess, respelled.

Each function returns texts, by a name for the report. Knows no server.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

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
    }
    if separator:
        found["its signature in the other case"] = f"{head}{separator}{tail.swapcase()}"
        found["a blank around the separator"] = f"{head} {separator} {tail}"
    return found


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
