"""The address of a database: what may be shown of it, and a file that is its owner's alone.

Knows no table.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from pathlib import Path

import sqlalchemy

logger = logging.getLogger(__name__)

HIDDEN = "***"
_USER_INFORMATION = re.compile(r"//[^@/]*(?:/[^@]*)?@")
_SECRET = re.compile(r"(?i)pass|secret|token|key")


def shown(url: str) -> str:
    """The address without what opens the database, also if it cannot be read as one."""
    try:
        parts = sqlalchemy.make_url(url)
    except (sqlalchemy.exc.ArgumentError, ValueError):
        return _USER_INFORMATION.sub(f"//{HIDDEN}@", url)
    query = {name: HIDDEN if _SECRET.search(name) else value for name, value in parts.query.items()}
    return without_secrets(parts.set(query=query).render_as_string(hide_password=True), url)


def without_secrets(text: str, url: str) -> str:
    """What a driver says about an address, which may repeat it."""
    try:
        parts = sqlalchemy.make_url(url)
    except (sqlalchemy.exc.ArgumentError, ValueError):
        return text
    values = [parts.password, *(parts.query[name] for name in parts.query if _SECRET.search(name))]
    for value in values:
        for secret in (value,) if isinstance(value, str) else value or ():
            text = text.replace(secret, HIDDEN)
    return text


def make_private(url: str) -> None:
    """SQLite's file, readable for its owner only; SQLite gives the files beside it the same mode.

    One that exists stays as it is, since somebody may want it so; a warning says who can read it.
    """
    parts = sqlalchemy.make_url(url)
    if parts.get_backend_name() != "sqlite" or not parts.database or "uri" in parts.query:
        return
    path = Path(parts.database)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        mode = stat.S_IMODE(path.stat().st_mode)
        if os.name == "posix" and mode & 0o077:
            logger.warning("%s: got mode %04o, expected 0600: others can read it", path, mode)
    except OSError:
        pass  # SQLite says what is wrong
