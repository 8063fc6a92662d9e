"""Who acts in place of a person: a client of plain forms, a hook of the user, a real browser.

Knows no specification: the family knows what a person is asked, and what they may answer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ...support.hook import HookError, tell_hook
from ...support.json_reading import JsonError, read_json
from ...support.text import neutralise
from ...target import Target
from .driver import DriverError
from .form_client import FormClient

Told = Callable[[dict[str, Any]], Any]
"""Tells a hook what the person does, as JSON; returns its answer, or None without one."""


def hosts_of(target: Target) -> list[str]:
    """The hosts on which pages of this target may be, besides loopback."""
    own = urlsplit(target.spec.url).hostname if target.spec.url else None
    return [own.lower()] if own else []


def form_client_for(target: Target, headers: Mapping[str, str] | None = None) -> FormClient:
    """A new form client, with no cookies yet; `headers` are those of the person."""
    return FormClient(hosts_of(target), target.settings.timeout, headers)


def told_function(function: Callable[[dict[str, Any]], Any]) -> Told:
    """For a Python function of the user: it gets the object, and returns an answer or None."""

    def tell(told: dict[str, Any]) -> Any:
        try:
            return function(told)
        except Exception as error:
            said = neutralise(f"{type(error).__name__}: {error}", 160)
            raise DriverError(f"the hook for decisions: {said}") from error

    return tell


def told_hook(hook: str, seconds: float, directory: Path) -> Told:
    """For a command (which reads it on its standard input) or a URL."""

    def tell(told: dict[str, Any]) -> Any:
        try:
            said = tell_hook(hook, told, seconds=seconds, directory=directory)
        except HookError as error:
            raise DriverError(f"the hook for decisions: {error}") from None
        try:
            return read_json(said)
        except JsonError:
            return None

    return tell


@contextlib.contextmanager
def in_words(what: str, error_of: type[DriverError], longest: int = 200) -> Iterator[None]:
    """Turn Playwright's error about a page into one line: it is not an error of the suite."""
    from playwright.sync_api import Error

    try:
        yield
    except Error as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise error_of(f"{what}: {neutralise(' / '.join(lines[:2]), longest)}") from None


@cache
def script_in(file: Path, name: str) -> str:
    """One of the functions that look at a page from inside, in a file of JavaScript."""
    text = file.read_text(encoding="utf-8")
    return text.split(f"// ---- {name}\n", 1)[1].split("// ---- ", 1)[0].strip()
