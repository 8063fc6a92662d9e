"""The command line of the reference server: options in, a running server out.

What is wrong with an option is one line and exit code 2. Knows no rule of any specification.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from . import missing_extra
from .extensions import FAMILIES, extension_class, options_of
from .server.settings import ExtensionSettingError

if TYPE_CHECKING:
    from .server.extension import Extension
    from .server.mcp_server import ReferenceServer

PROGRAM = "python -m pytest_mcp_approval.reference_server"
_WILDCARDS = ("0.0.0.0", "::", "")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class UsageError(ValueError):
    """An option that cannot be followed."""


@dataclass(frozen=True)
class ListeningAddress:
    """Where to listen."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> ListeningAddress:
        host, separator, port = text.rpartition(":")
        if not separator or not port.isdigit() or int(port) > 65535:
            raise UsageError(f"--http: got {text!r}, expected HOST:PORT, such as localhost:8000")
        return cls(host.strip("[]"), int(port))

    @property
    def is_wildcard(self) -> bool:
        return self.host in _WILDCARDS

    def url(self, port: int) -> str:
        host = "localhost" if self.is_wildcard else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/mcp"

    def page(self, port: int) -> str:
        """Where the page is opened: by name, since browsers have no passkeys for numbers."""
        host = "localhost" if self.is_wildcard or self.host in _LOOPBACK else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def parser() -> argparse.ArgumentParser:
    options = _Parser(
        prog=PROGRAM,
        description="An MCP server whose tools need human approval, to try it on.",
    )
    transport = options.add_mutually_exclusive_group()
    transport.add_argument(
        "--http",
        metavar="HOST:PORT",
        help="Streamable HTTP (default: localhost:8000); port 0 takes a free one",
    )
    transport.add_argument("--stdio", action="store_true", help="standard input and output")
    options.add_argument(
        "--store",
        default="memory",
        metavar="STORE",
        help="memory (default), sqlite:PATH, or an SQLAlchemy URL",
    )
    options.add_argument(
        "--clock-file",
        metavar="PATH",
        help="take the time from this file: +61 shifts it, an instant stops it",
    )
    options.add_argument(
        "--user-header", metavar="NAME", help="the HTTP header that names the user; for trials only"
    )
    options.add_argument(
        "--allowed-host",
        action="append",
        default=[],
        metavar="NAME",
        help="serve under this host name too; repeatable (default: loopback names only)",
    )
    options.add_argument(
        "--json-response", action="store_true", help="answer with JSON instead of event streams"
    )
    options.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FAMILY.KEY=VALUE",
        help="a setting of one family, its value as JSON or text; repeatable",
    )
    options.add_argument(
        "--require",
        action="append",
        default=[],
        metavar="FAMILY",
        help="do not start without this family, if the environment lacks what it must be told; "
        "repeatable",
    )
    options.add_argument(
        "--only",
        metavar="FAMILY",
        help="have this family alone",
    )
    for family in FAMILIES:
        declared = options_of(family)
        group = options.add_argument_group(family) if declared else options
        for setting, option in declared.items():
            group.add_argument(
                option.name,
                dest=f"{family}.{setting}",
                default=argparse.SUPPRESS,
                **option.argument,
            )
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 after a clean end, 2 for what cannot be started."""
    try:
        options = parser().parse_args(arguments)
        if options.stdio:
            return _serve_stdio(options)
        return _serve_http(options, ListeningAddress.parse(options.http or "localhost:8000"))
    except UsageError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
    except ModuleNotFoundError as error:
        print(f"{PROGRAM}: {missing_extra(error)}", file=sys.stderr)
    return 2


def _build(options: argparse.Namespace) -> ReferenceServer:
    from .assembly import build
    from .server.clock import FileClock, SystemClock
    from .server.extension import Backing

    clock = FileClock(options.clock_file) if options.clock_file else SystemClock()
    try:
        clock.now()
    except (ValueError, OSError) as error:
        raise UsageError(f"--clock-file: {error}") from None
    names = _families(options)
    extensions = {name: extension_class(name) for name in names}
    check_store(options.store)
    settings = _told_by_options(options)
    for family, own in _told_by_set(options.set, names).items():
        settings.setdefault(family, {}).update(own)
    _add_environment(settings, extensions, options.require)
    try:
        return build(
            extensions=extensions,
            settings=settings,
            backing=Backing(None if options.store == "memory" else store_url(options.store)),
            clock=clock,
            user_header=options.user_header,
        )
    except ExtensionSettingError as error:
        name = str(error).partition(":")[0]
        for family in names:
            if name in options_of(family):  # said by an option of its own
                said = f"{options_of(family)[name].name}{str(error)[len(name) :]}"
                raise UsageError(said) from None
        raise UsageError(f"{'' if name.isupper() else '--set: '}{error}") from None


def _families(options: argparse.Namespace) -> list[str]:
    if options.only is not None and options.only not in FAMILIES:
        raise UsageError(f"--only: got {options.only!r}, expected one of {', '.join(FAMILIES)}")
    for family, own in _told_by_options(options).items():
        if any(options_of(family)[setting].alone for setting in own):
            return [family]
    return [options.only] if options.only else list(FAMILIES)


def _told_by_options(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """What options of the families' own say, by family."""
    settings: dict[str, dict[str, Any]] = {}
    for name, value in vars(options).items():
        family, dot, setting = name.partition(".")
        if dot:
            settings.setdefault(family, {})[setting] = value
    return settings


def _told_by_set(given: Sequence[str], families: Sequence[str]) -> dict[str, dict[str, Any]]:
    settings: dict[str, dict[str, Any]] = {}
    for text in given:
        place, equals, value = text.partition("=")
        family, _, key = place.partition(".")
        if not equals or not key or family not in families:
            raise UsageError(
                f"--set: got {text!r}, expected FAMILY.KEY=VALUE with a family of "
                f"{', '.join(families)}"
            )
        try:
            settings.setdefault(family, {})[key] = json.loads(value)
        except ValueError:
            settings.setdefault(family, {})[key] = value
    return settings


def _add_environment(
    settings: dict[str, dict[str, Any]],
    extensions: Mapping[str, type[Extension]],
    required: Sequence[str],
) -> None:
    """What extensions are told by the environment, where --set says nothing of it."""
    for family, extension in extensions.items():
        for name, variable in extension.environment_settings.items():
            if variable in os.environ or family in required:
                settings.setdefault(family, {}).setdefault(name, os.environ.get(variable))


def store_url(name: str) -> str:
    """`sqlite:PATH` as SQLAlchemy writes it."""
    if name.startswith("sqlite:") and not name.startswith("sqlite://"):
        return f"sqlite:///{name.removeprefix('sqlite:')}"
    return name


def check_store(name: str) -> None:
    """`memory`, `sqlite:PATH` or an SQLAlchemy URL; `UsageError` for what cannot be opened."""
    if name == "memory":
        return
    import sqlalchemy

    url = store_url(name)
    if url in ("sqlite://", "sqlite:///", "sqlite:///:memory:"):
        raise UsageError(f"--store: got {name!r}, expected a file; for none say memory")
    try:
        engine = sqlalchemy.create_engine(url)
        try:
            engine.connect().close()
        finally:
            engine.dispose()
    except ModuleNotFoundError as error:
        raise UsageError(f"--store: {name!r} needs the module {error.name}") from None
    except sqlalchemy.exc.ArgumentError:
        raise UsageError(
            f"--store: got {name!r}, expected memory, sqlite:PATH or an SQLAlchemy URL"
        ) from None
    except sqlalchemy.exc.SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        raise UsageError(f"--store: cannot open {name!r}: {reason}") from None


def _serve_stdio(options: argparse.Namespace) -> int:
    server = _build(options)
    try:
        server.run_stdio()
    finally:
        server.close()
    return 0


def _serve_http(options: argparse.Namespace, address: ListeningAddress) -> int:
    import uvicorn

    listener = _listen(address)
    try:
        port = listener.getsockname()[1]
        server = _build(options)
    except BaseException:
        listener.close()
        raise
    for extension in server.extensions:
        extension.served_at(f"http://localhost:{port}")
    origins = [origin for extension in server.extensions for origin in extension.page_origins()]
    hosts = [*options.allowed_host, *([] if address.is_wildcard else [address.host])]
    app = server.asgi_app(
        allowed_hosts=hosts, allowed_origins=origins, json_response=options.json_response
    )
    lines = [f"ready: {address.url(port)}"]
    if address.page(port) in origins:  # elsewhere no passkey could be enrolled
        lines.append(f"page: {address.page(port)}/")
    runner = _Announcing(
        uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=3), lines
    )
    # uvicorn ends in good order on SIGTERM, and then raises the signal once more.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        runner.run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        server.close()
    return 0


def _Announcing(config: Any, lines: list[str]) -> Any:  # noqa: N802 - makes a class once uvicorn is there
    import uvicorn

    class Announcing(uvicorn.Server):
        """Says once that it can be reached, and where."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                print(*lines, sep="\n", flush=True)

    return Announcing(config)


def _listen(address: ListeningAddress) -> socket.socket:
    try:
        found = socket.getaddrinfo(
            address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        # localhost may mean ::1 or 127.0.0.1: clients try both, IPv4 is there everywhere.
        family, kind, protocol, _, where = sorted(found, key=lambda one: one[0] != socket.AF_INET)[
            0
        ]
        listener = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "no host name"
        raise UsageError(f"--http: cannot listen on {address.host}: {reason}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        listener.listen(512)
    except OSError as error:
        listener.close()
        raise UsageError(
            f"--http: cannot listen on {address.host}:{address.port}: {error.strerror}"
        ) from None
    return listener
