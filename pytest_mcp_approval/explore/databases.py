"""The example databases of Hypothesis in which explorations keep what they found.

A folder, a Redis server or the artifact of an earlier CI run carries finds from one job to the
next. Knows no model.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from hypothesis.database import (
    DirectoryBasedExampleDatabase,
    ExampleDatabase,
    GitHubArtifactDatabase,
    MultiplexedDatabase,
    ReadOnlyDatabase,
)

_REDIS = ("redis://", "rediss://", "unix://")
_GITHUB = "github:"
ARTIFACT = "mcp-approval-explored"
"""The name of the artifact with the folder of an earlier run."""


class DatabaseError(Exception):
    """A database cannot be used; one line says why."""


def open_databases(named: Sequence[str], directory: Path) -> ExampleDatabase | None:
    """All that are named, as one; the first is written, the others are only read."""
    opened = [_open(one, directory) for one in named]
    if not opened:
        return None
    first, *others = opened
    return MultiplexedDatabase(first, *map(ReadOnlyDatabase, others)) if others else first


def _open(named: str, directory: Path) -> ExampleDatabase:
    if named.startswith(_REDIS):
        try:
            from hypothesis.extra.redis import RedisExampleDatabase
            from redis import Redis
        except ImportError as error:
            raise DatabaseError(f"explore-database: {error}: pip install redis") from None
        return RedisExampleDatabase(Redis.from_url(named), key_prefix=b"mcp-approval-example:")
    if named.startswith(_GITHUB):
        owner, _, repository = named.removeprefix(_GITHUB).partition("/")
        if not (owner and repository):
            raise DatabaseError(
                f"explore-database: got {named!r}, expected github:OWNER/REPOSITORY"
            )
        if not os.environ.get("GITHUB_TOKEN"):
            raise DatabaseError("explore-database: github: needs the variable GITHUB_TOKEN")
        return ReadOnlyDatabase(GitHubArtifactDatabase(owner, repository, ARTIFACT))
    return DirectoryBasedExampleDatabase(directory / named)
