"""Reads the words of the command line: argparse, with errors of one line and a guess at what was
meant. Knows no word of its own."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from ..support.nearest import nearest
from ..support.text import neutralise
from .console import columns

USAGE = 4
"""The exit code for words that make no sense: pytest's own."""


class WrongWordsError(Exception):
    """One line: what is wrong, and what to do."""


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=36, width=columns())


class Parser(argparse.ArgumentParser):
    """Raises `WrongWordsError` where argparse would print its usage and exit."""

    def __init__(self, program: str, description: str, **more: object) -> None:
        super().__init__(
            prog=program,
            description=description,
            allow_abbrev=False,
            formatter_class=_Formatter,
            **more,  # type: ignore[arg-type]
        )

    def error(self, message: str) -> NoReturn:
        raise WrongWordsError(message)

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """The options; words may stand before, between and after them."""
        found, unknown = self.parse_known_intermixed_args(list(words))
        if unknown:
            raise WrongWordsError(self._about(unknown[0]))
        return found

    def _about(self, word: str) -> str:
        name = word.partition("=")[0]
        if not name.startswith("-"):
            return f"got {neutralise(name, 100)!r}, which is one word too many; {self._help}"
        known = [one for one in self._option_string_actions if one.startswith("--")]
        guess = nearest(name, known)
        meant = f"did you mean {guess!r}? " if guess else ""
        return f"got {neutralise(name, 100)!r}, {meant}{self._help}"

    @property
    def _help(self) -> str:
        return f"all options: {self.prog} --help"
