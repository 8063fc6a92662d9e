"""The user's code that a setting names: `module:NAME`, also found in the user's folder."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any, TypeVar

from .reader import SettingsError

Base = TypeVar("Base")


def imported(place: str, name: str, directory: Path, form: str = "module:NAME") -> Any:
    """The object of that name; `place` is the setting that names it."""
    module, colon, attribute = name.partition(":")
    if not colon or not module or not attribute:
        raise SettingsError(f"{place}: got {name!r}, expected {form}")
    if str(directory) not in sys.path:
        sys.path.insert(0, str(directory))
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise SettingsError(f"{place}: no module {error.name!r} for {name}") from None
    except AttributeError:
        raise SettingsError(f"{place}: {module} has no {attribute!r}") from None
    except Exception as error:
        raise SettingsError(f"{place}: importing {module} failed: {error!r}") from error


def hook_class(place: str, name: str, directory: Path, base: type[Base]) -> type[Base]:
    """The subclass of `base` that a hook names; without a name the class itself."""
    if not name:
        return base
    found = imported(place, name, directory, "module:Class")
    if not isinstance(found, type) or not issubclass(found, base):
        raise SettingsError(f"{place}: {name} is no subclass of {base.__module__}.{base.__name__}")
    return found
