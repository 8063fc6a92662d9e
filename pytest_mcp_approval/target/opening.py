"""From a target's name to the target. Each kind of target imports what it needs on first use.

Knows no family.
"""

from __future__ import annotations

from ..config.settings import Settings
from .errors import TargetError
from .grammar import parse_target
from .targets import HttpTarget, Target


def open_target(text: str, settings: Settings) -> Target:
    """The target of that name. Nothing is started before it is used."""
    spec = parse_target(text)
    if spec.kind == "http" and settings.launch is None:
        return HttpTarget(spec, settings)
    if spec.kind in ("http", "stdio"):
        from .started import LaunchedTarget, StdioTarget

        return (LaunchedTarget if spec.kind == "http" else StdioTarget)(spec, settings)
    if spec.kind in ("command", "verifier"):
        from .verifiers import CallableTarget, CommandTarget

        return (CommandTarget if spec.kind == "command" else CallableTarget)(spec, settings)
    if spec.kind == "python":
        from .python_target import open_python_target

        return open_python_target(spec, settings)
    # The reference server needs packages that a user of the suite may not have.
    try:
        from .reference import ReferenceStdioTarget, ReferenceTarget
    except ModuleNotFoundError as error:
        raise TargetError(
            f"the reference server needs {error.name!r}: "
            "pip install 'pytest-mcp-approval[reference]'"
        ) from None
    if spec.transport == "stdio":
        return ReferenceStdioTarget(spec, settings)
    return ReferenceTarget(spec, settings)
