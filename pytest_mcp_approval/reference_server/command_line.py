"""The command line of the reference server: options in, a running server out.

A wrong option gives one line and exit code 2. Knows no rule of any specification.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NoReturn

from ..support.nearest import meant
from . import missing_extra
from .extensions import FAMILIES, extension_class, options_of
from .server.serving import ServedApplication, ServingError
from .server.settings import ExtensionSettingError

if TYPE_CHECKING:
    from .server.mcp_server import ReferenceServer

PROGRAM = "python -m pytest_mcp_approval.reference_server"
_WILDCARDS = ("0.0.0.0", "::", "")
_MOST_CONNECTIONS = 1000
"""Beyond them requests get 503, instead of descriptors running out."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class UsageError(ValueError):
    """An option with a wrong value."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        _, unknown, words = message.partition("unrecognized arguments: ")
        if unknown:
            name = words.split()[0].partition("=")[0]
            message = f"got {name!r}{meant(name, self._option_string_actions)}; see --help"
        raise UsageError(message)


def parser(program: str = PROGRAM) -> argparse.ArgumentParser:
    options = _Parser(
        prog=program,
        description="An MCP server whose tools need human approval, to try things out.",
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
        "--user-header", metavar="NAME", help="the HTTP header that names the user; for tests only"
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
        help="do not start without this family, if the environment lacks what it needs; repeatable",
    )
    options.add_argument(
        "--only",
        metavar="FAMILY",
        help="serve this family only",
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


def main(arguments: Sequence[str] | None = None, program: str = PROGRAM) -> int:
    """The exit code: 0 after a clean end, 2 if the server cannot start. `program` is what the user
    called it by."""
    try:
        options = parser(program).parse_args(arguments)
        if options.stdio:
            return _serve_stdio(options)
        return _serve_http(options, *_address(options.http or "localhost:8000"))
    except (UsageError, ServingError) as error:
        print(f"{program}: {error}", file=sys.stderr)
    except ModuleNotFoundError as error:
        print(f"{program}: {missing_extra(error)}", file=sys.stderr)
    return 2


def _build(options: argparse.Namespace) -> ReferenceServer:
    # All that is loaded here stays until the end: searching it for garbage, now or later, takes a
    # quarter of the time that the server needs to start.
    gc.disable()
    try:
        from .assembly import build
        from .server.clock import FileClock, SystemClock
        from .server.extension import Backing
        from .server.tables import RecordStore, StoreError
    finally:
        gc.freeze()
        gc.enable()

    clock = FileClock(options.clock_file) if options.clock_file else SystemClock()
    try:
        clock.now()
    except (ValueError, OSError) as error:
        raise UsageError(f"--clock-file: {error}") from None
    names = _families(options)
    extensions = {name: extension_class(name) for name in names}
    url = store_url(options.store)
    settings = _told_by_options(options)
    for family, key, value in _told_by_set(options.set, names):
        settings.setdefault(family, {})[key] = value
    for family, kind in extensions.items():
        for name, variable in kind.environment_settings.items():
            if variable in os.environ or family in options.require:
                settings.setdefault(family, {}).setdefault(name, os.environ.get(variable))
    try:
        server = build(
            extensions=extensions,
            settings=settings,
            backing=Backing(url),
            clock=clock,
            user_header=options.user_header,
        )
        for extension in server.extensions:
            kept = getattr(extension, "store", None)  # one whose settings are missing has none
            if isinstance(kept, RecordStore):
                kept.check_schema()
        return server
    except StoreError as error:
        raise UsageError(f"--store: {error}") from None
    except ExtensionSettingError as error:
        name, _, wrong = str(error).partition(":")
        for family in names:
            if name in options_of(family):  # set by its own option
                raise UsageError(f"{options_of(family)[name].name}:{wrong}") from None
        raise UsageError(f"{'' if name.isupper() else '--set: '}{error}") from None


def _families(options: argparse.Namespace) -> list[str]:
    if options.only is not None and options.only not in FAMILIES:
        raise UsageError(f"--only: got {options.only!r}, expected one of {', '.join(FAMILIES)}")
    for family, own in _told_by_options(options).items():
        if any(options_of(family)[setting].alone for setting in own):
            return [family]
    return [options.only] if options.only else list(FAMILIES)


def _told_by_options(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """The values of the families' own options, by family."""
    settings: dict[str, dict[str, Any]] = {}
    for name, value in vars(options).items():
        family, dot, setting = name.partition(".")
        if dot:
            settings.setdefault(family, {})[setting] = value
    return settings


def _told_by_set(given: Sequence[str], families: Sequence[str]) -> Iterator[tuple[str, str, Any]]:
    for text in given:
        place, equals, value = text.partition("=")
        family, _, key = place.partition(".")
        if not equals or not key or family not in families:
            raise UsageError(
                f"--set: got {text!r}, expected FAMILY.KEY=VALUE with a family of "
                f"{', '.join(families)}"
            )
        try:
            yield family, key, json.loads(value)
        except ValueError:
            yield family, key, value


def store_url(name: str) -> str | None:
    """The URL for `memory` (None), `sqlite:PATH` or an SQLAlchemy URL; `UsageError` if it cannot be
    opened."""
    if name == "memory":
        return None
    import sqlalchemy

    from .server.database_url import make_private, shown, without_secrets

    url = name
    if name.startswith("sqlite:") and not name.startswith("sqlite://"):
        url = f"sqlite:///{name.removeprefix('sqlite:')}"
    if url in ("sqlite://", "sqlite:///", "sqlite:///:memory:"):
        raise UsageError(f"--store: got {name!r}, expected a file; use memory for none")
    try:
        make_private(url)
        engine = sqlalchemy.create_engine(url)
        try:
            engine.connect().close()
        finally:
            engine.dispose()
    except ModuleNotFoundError as error:
        raise UsageError(f"--store: {shown(url)!r} needs the module {error.name}") from None
    except (sqlalchemy.exc.ArgumentError, ValueError):
        raise UsageError(
            f"--store: got {shown(url)!r}, expected memory, sqlite:PATH or an SQLAlchemy URL"
        ) from None
    except sqlalchemy.exc.SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        told = without_secrets(reason, url)
        raise UsageError(f"--store: cannot open {shown(url)!r}: {told}") from None
    return url


def _serve_stdio(options: argparse.Namespace) -> int:
    with closing(_build(options)) as server:
        server.run_stdio()
    return 0


def _address(text: str) -> tuple[str, int]:
    host, separator, port = text.rpartition(":")
    if not separator or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"--http: got {text!r}, expected HOST:PORT, such as localhost:8000")
    return host.strip("[]"), int(port)


def _url(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _serve_http(options: argparse.Namespace, host: str, port: int) -> int:
    with _listen(host, port) as listener, closing(_build(options)) as server:
        port = listener.getsockname()[1]
        for extension in server.extensions:
            extension.served_at(_url("localhost", port))
        origins = [origin for one in server.extensions for origin in one.page_origins()]
        own = [] if host in _WILDCARDS else [host]
        app = server.asgi_app(
            allowed_hosts=[*options.allowed_host, *own],
            allowed_origins=origins,
            json_response=options.json_response,
        )
        ended = threading.Event()
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, lambda *_: ended.set())
        served = ServedApplication(
            app,
            listener,
            log_level="warning",
            timeout_graceful_shutdown=3,
            limit_concurrency=_MOST_CONNECTIONS,
        )
        print(f"ready: {_url('localhost' if host in _WILDCARDS else host, port)}/mcp")
        # By name: browsers have no passkeys for numbers.
        page = _url("localhost" if host in (*_WILDCARDS, *_LOOPBACK) else host, port)
        if page in origins:  # on another origin no passkey could be enrolled
            print(f"page: {page}/")
        sys.stdout.flush()
        while served.is_alive() and not ended.wait(1):
            pass  # not in one wait, which Windows would not let Ctrl-C end
        served.stop()
    return 0


def _listen(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        # localhost may mean ::1 or 127.0.0.1: clients try both, IPv4 is there everywhere.
        family, *_, where = min(found, key=lambda one: one[0] != socket.AF_INET)
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server(where, family=family, backlog=512, dualstack_ipv6=both)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "no host name"
        raise UsageError(f"--http: cannot listen on {host}:{port}: {reason}") from None
