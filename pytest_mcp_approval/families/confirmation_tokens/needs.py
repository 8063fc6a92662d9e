"""What rules of confirmation tokens need from a target, beyond what all families need."""

from __future__ import annotations

from collections.abc import Callable

from ..base.needs import Check
from ..base.probes import FORMS
from .binding import ConfirmationBinding, binding_of
from .settings import FAMILY


def _told(holds: Callable[[ConfirmationBinding], bool], missing: str) -> Check:
    return lambda target: None if holds(binding_of(target)) else f"needs {missing}"


CHECKS: dict[str, Check] = {
    "tolerance": _told(
        lambda binding: binding.can_vary("tolerance"),
        f"a start with another tolerance: [{FAMILY}] variants.tolerance = "
        '"stdio:<command with {value}>"',
    ),
    **{
        name: _told(
            lambda binding, name=name: name in binding.table.probes,  # type: ignore[misc]
            f"to see the {what}: [{FAMILY}] {name} = {FORMS}",
        )
        for name, what in {"audit": "audit log", "log": "log", "store": "store"}.items()
    },
    "introspection": _told(
        lambda binding: bool(binding.table.introspection),
        f'introspection: [{FAMILY}] introspection = {{operation = "introspect", ...}}',
    ),
    "pair": _told(
        lambda binding: bool(binding.table.other_adapter),
        f"a second adapter over the same store: [{FAMILY}] other-adapter.tool or .target",
    ),
    "quota": _told(
        lambda binding: any(one.quota for one in binding.table.operations),
        f"an operation that pauses: quota = true in [{FAMILY}] operations",
    ),
}
