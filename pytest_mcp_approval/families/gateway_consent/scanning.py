"""Looks for secrets in whatever a server has written: as they are, and in common encodings.

Knows no server: it is given bytes or places to look at. A finding says what the secret is, and
never shows it.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote, quote_plus

from ...support.text import neutralise
from ..base.driver import DriverError

_LARGEST_FILE = 64 * 1024 * 1024
_MOST_FILES = 2000
_PACKED = re.compile(rb"\x78[\x01\x5e\x9c\xda]|\x1f\x8b\x08")
"""How zlib and gzip begin."""
_MOST_PACKED = 32
_LARGEST_UNPACKED = 4 * 1024 * 1024


@dataclass(frozen=True)
class FoundSecret:
    """A secret that was found."""

    secret: str
    """What it is, in words."""
    form: str
    place: str

    def __str__(self) -> str:
        return f"the {self.secret} {self.form} in {self.place}"


def forms_of(secret: str) -> dict[str, set[bytes]]:
    """The ways in which a secret may be written, by name."""
    raw = secret.encode("utf-8", "surrogatepass")
    return {
        "in clear": {raw},
        "as UTF-16": {secret.encode(f"utf-16-{end}", "surrogatepass") for end in ("le", "be")},
        "as JSON": {
            json.dumps(secret, ensure_ascii=plain)[1:-1].encode("utf-8", "surrogatepass")
            for plain in (True, False)
        },
        "in a URL": {
            write(secret, safe="", errors="replace").encode() for write in (quote, quote_plus)
        },
        "as HTML": {escape(secret).encode("utf-8", "surrogatepass")},
        "in base64": set(_base64(raw)),
        "in hexadecimal": {raw.hex().encode(), raw.hex().upper().encode()},
        "backwards": {raw[::-1]},
    }


def _base64(raw: bytes) -> Iterator[bytes]:
    """At any place in a longer text: the characters that do not depend on its neighbours."""
    for before in range(3):
        whole = (8 * before + 8 * len(raw)) // 6
        first = -(-8 * before // 6)
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(b"\0" * before + raw)[first:whole]


def find(content: bytes, secrets: Mapping[str, str], place: str) -> list[FoundSecret]:
    """Which secrets it contains; `secrets` describes each, by the secret."""
    hits = []
    for secret, what in secrets.items():
        if not secret:
            continue
        for form, written in forms_of(secret).items():
            if any(one in content for one in written):
                hits.append(FoundSecret(what, form, place))
                break
    return hits


def _unpacked(content: bytes) -> Iterator[bytes]:
    """What was only compressed, from each place where that may begin."""
    places = (found.start() for found in _PACKED.finditer(content))
    for place in itertools.islice(places, _MOST_PACKED):
        with contextlib.suppress(zlib.error):
            reader = zlib.decompressobj(zlib.MAX_WBITS | 32)
            yield reader.decompress(content[place:], _LARGEST_UNPACKED)


def files_under(places: Iterable[str | Path]) -> list[Path]:
    """All files of these folders (or these files), no link followed."""
    found: list[Path] = []
    for place in map(Path, places):
        inside = sorted(place.rglob("*")) if place.is_dir() else [place]
        found += [path for path in inside if path.is_file() and not path.is_symlink()]
    if len(found) > _MOST_FILES:
        raise DriverError(f"got {len(found)} files to look at, expected {_MOST_FILES} at most")
    return found


def scan(places: Iterable[str | Path], secrets: Mapping[str, str]) -> list[FoundSecret]:
    """Contents and names of all files there. `DriverError` if some cannot be read."""
    hits: list[FoundSecret] = []
    for path in files_under(places):
        try:
            with path.open("rb") as handle:
                content = handle.read(_LARGEST_FILE + 1)
        except FileNotFoundError:  # gone meanwhile
            continue
        except OSError as error:
            raise DriverError(
                f"{neutralise(path.name, 60)} cannot be read: {error.strerror}"
            ) from None
        if len(content) > _LARGEST_FILE:
            raise DriverError(f"{neutralise(path.name, 60)} has more than {_LARGEST_FILE} bytes")
        for form in (content, *_unpacked(content)):
            hits += find(form, secrets, neutralise(path.name, 60))
        hits += find(str(path.name).encode("utf-8", "surrogateescape"), secrets, "a file's name")
    return hits
