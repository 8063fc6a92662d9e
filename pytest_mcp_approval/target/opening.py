"""From a target's name to the target. Each kind of target imports what it needs on first use.

Knows no family.
"""

from __future__ import annotations

from ..config.settings import PREFIX, Settings
from .errors import TargetError
from .grammar import PORT, TargetSpec, parse_target
from .targets import HttpTarget, Target


def open_target(text: str, settings: Settings) -> Target:
    """The target of that name. Nothing is started before it is used."""
    spec = parse_target(text)
    if settings.replicas is not None:
        _check_replicas(spec, settings)
    if settings.network_faults and spec.kind != "http" and spec.transport != "http":
        raise TargetError(
            f"{PREFIX}network-faults: got {PREFIX}target={text}, expected one that is reached over "
            "HTTP"
        )
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


def _check_replicas(spec: TargetSpec, settings: Settings) -> None:
    """Whether the suite can start that many."""
    wrong = ""
    if len(settings.targets) > 1:
        wrong = "several targets are named, which are the replicas: count them or name them"
    elif spec.kind == "http" and settings.launch is None:
        wrong = f"the suite does not start this server: name each replica by {PREFIX}target"
    elif spec.kind == "http" and PORT not in spec.url:
        wrong = f"two servers cannot listen on one port: write {PORT} in the URL and the command"
    elif spec.kind not in ("http", "stdio", "reference"):
        wrong = f"a {spec.kind}: target has no processes that share a state"
    elif spec.kind == "reference" and (spec.transport, spec.store) == ("stdio", "memory"):
        wrong = "it keeps everything in memory, which two processes cannot share"
    if wrong:
        raise TargetError(f"{PREFIX}replicas: got {settings.replicas}, but {wrong}")
