"""Settings of extensions: how one is declared, and the checks that several families make.

The settings of a family are a dataclass; a field made by `option` is also a command-line option.
With a bad value nothing starts: one line says "name: got ..., expected ...". Knows no family.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NoReturn

_OPTION = "option"


class ExtensionSettingError(ValueError):
    """A bad value, as `name: got ..., expected ...`: nothing starts."""


@dataclass(frozen=True)
class CommandLineOption:
    """How a setting is given on the command line."""

    name: str
    argument: Mapping[str, Any]
    """For argparse."""
    alone: bool = False
    """Whether it also means that the server has only this family."""


def option(default: Any, name: str, help: str, *, alone: bool = False, **argument: Any) -> Any:
    """A setting that is also a command-line option."""
    told = CommandLineOption(name, {"help": help, **argument}, alone)
    return field(default=default, metadata={_OPTION: told})


def options_in(settings: type) -> dict[str, CommandLineOption]:
    """The options of a family's settings, by the name of the setting."""
    return {one.name: one.metadata[_OPTION] for one in fields(settings) if one.metadata}


def refuse(name: str, value: Any, expected: str) -> NoReturn:
    raise ExtensionSettingError(f"{name}: got {ascii(value)[:60]}, expected {expected}")


def check_names(given: Mapping[str, Any], known: Iterable[str]) -> None:
    names = list(known)
    for name in given:
        if name not in names:
            raise ExtensionSettingError(
                f"{name}: got an unknown setting, expected one of {', '.join(names)}"
            )


def bounded(name: str, value: Any, most: float, unit: str = "seconds") -> float:
    """More than 0: zero does not mean "the default"."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 < value <= most:
        refuse(name, value, f"{unit} up to {most}, and more than 0")
    return float(value)


def one_of(name: str, value: Any, known: Iterable[str]) -> str:
    names = list(known)
    if value not in names:
        refuse(name, value, " or ".join(names) if len(names) < 3 else f"one of {', '.join(names)}")
    return str(value)


def truth(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        refuse(name, value, "true or false")
    return bool(value)
