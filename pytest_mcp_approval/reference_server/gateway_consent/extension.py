"""The gateway as a part of the reference server: every app's tools, and some that only read.

Nothing is opened until it is needed: no vault before the first call, no page before the first
question, no demonstration app before the first call to a web app. Knows MCP's shapes of tools,
results and errors; the rules are in the gateway.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from ...families.gateway_consent import vocabulary as words
from ...families.gateway_consent.vocabulary import tool_name
from ..server.answers import tool_listing, tool_result
from ..server.extension import Caller, Extension, ExtensionParts
from ..server.listener import Listener
from ..server.pages import style_routes
from ..server.settings import ExtensionSettingError
from .consent import ConsentQuestion, Decisions
from .consent_page import ConsentPages
from .demonstration import PLACE
from .descriptors import App, AppTool
from .gate import Gateway
from .log import logger
from .settings import Storage, read_settings
from .suite_settings import SUITE_SETTINGS
from .vault import Vault, VaultError

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from .authorisation import Authoriser
    from .demonstration_app import DemonstrationApp

LOG_FILE = "gateway.log"

Made = TypeVar("Made")


class Part(Generic[Made]):
    """Made when it is first needed, and only once, even if several calls need it at once."""

    def __init__(self, make: Callable[[Any], Made]) -> None:
        self._make = make

    def __get__(self, extension: GatewayExtension, owner: type | None = None) -> Made:
        name = self._make.__name__
        with extension.lock:
            if name not in extension.made:
                extension.made[name] = self._make(extension)
            made: Made = extension.made[name]
            return made


class GatewayExtension(Extension):
    """Tools of apps, behind consent. Each part is made by a method, so that it can be broken."""

    family = words.FAMILY
    suite_settings: ClassVar[Mapping[str, Any]] = SUITE_SETTINGS
    gateway_class: ClassVar[type[Gateway]] = Gateway
    decisions_class: ClassVar[type[Decisions]] = Decisions
    pages_class: ClassVar[type[ConsentPages]] = ConsentPages

    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        self.settings = read_settings(parts.settings)
        self._backing = parts.backing
        self.lock = threading.RLock()
        self.made: dict[str, Any] = {}
        self._is_reset = False
        self._log: logging.Handler | None = None
        self.listener = Listener(self.pages_beside)
        self._tools: dict[str, tuple[App, AppTool]] = {
            tool_name(app.id, tool.name): (app, tool)
            for app in self.settings.apps.values()
            for tool in app.tools.values()
        }
        self._listings = [
            *(entry for app in self.settings.apps.values() for entry in app.listings()),
            *_LOOKING,
        ]
        if self.settings.storage not in (Storage.AUTOMATIC, Storage.MEMORY):
            # If a storage was named, it must be there, or nothing starts.
            try:
                _ = self.vault
            except VaultError as error:
                raise ExtensionSettingError(str(error)) from None

    # ---- parts

    @Part
    def vault(self) -> Vault:
        """It outlives this server."""
        vault = self._backing.keep(self.family, self.make_vault)
        if self._is_reset:
            vault.reset()
        if vault.folder is not None:
            self.open_log(vault.folder)
        return vault

    def make_vault(self, url: str | None = None) -> Vault:
        from .store import open_vault  # here: in memory no cryptography is needed

        return open_vault(self.settings, url)

    @Part
    def decisions(self) -> Decisions:
        return self.decisions_class(self.vault, self.clock)

    @Part
    def pages(self) -> ConsentPages:
        return self.pages_class(
            self.decisions, lambda: self.settings.apps, self.settings.person_code
        )

    @Part
    def authoriser(self) -> Authoriser:
        return self.make_authoriser()

    def make_authoriser(self) -> Authoriser:
        from .authorisation import Authoriser

        return Authoriser(self.vault, self.clock, lambda: self.listener.url, self.located_apps)

    @Part
    def gateway(self) -> Gateway:
        return self.gateway_class(
            self.decisions, self.effects, self.consent_url, lambda: self.authoriser, self.locate
        )

    def consent_url(self, question: ConsentQuestion) -> str:
        return self.listener.url + self.pages.path(question)

    def pages_beside(self) -> list[BaseRoute]:
        """What the listener serves."""
        return [*style_routes(), *self.pages.routes(), *self.authoriser.routes()]

    def locate(self, app: App) -> App:
        """A web app with its address; starts the demonstration if the app is part of it."""
        if f"{{{PLACE}}}" not in (app.base_url or ""):
            return app
        return app.located({PLACE: self.demonstration.url})

    def located_apps(self) -> dict[str, App]:
        return {id: self.locate(app) for id, app in self.settings.apps.items()}

    @property
    def demonstration(self) -> DemonstrationApp:
        return self.kept_demonstration.app

    @Part
    def kept_demonstration(self) -> _KeptDemonstration:
        """It is a separate party: a restart of the gateway does not end it."""
        kept = self._backing.keep(
            f"{self.family} demonstration", lambda _: _KeptDemonstration(self.make_demonstration)
        )
        kept.gateways.add(self)
        if self._is_reset:
            kept.reset()
        return kept

    def make_demonstration(self, redirect_uris: Callable[[], list[str]]) -> DemonstrationApp:
        from .demonstration_app import DemonstrationApp

        return DemonstrationApp(self.clock, redirect_uris=redirect_uris, apps=self.settings.apps)

    # ---- the log

    def open_log(self, folder: Path) -> None:
        """Beside the vault's files."""
        self._log = logging.FileHandler(folder / LOG_FILE, encoding="utf-8", delay=True)
        self._log.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logger.addHandler(self._log)
        logger.setLevel(logging.INFO)

    # ---- tools

    def listings(self) -> list[dict[str, Any]]:
        return self._listings

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        if name == words.STATUS_TOOL:
            return self.result(self.status())
        if name == words.EXPORT_TOOL:
            return self.result(self.decisions.export())
        if name == words.KEY_STORE_TOOL:
            return self.result(self.key_store())
        if name == words.CREDENTIALS_TOOL:
            return self.result(self.authoriser.credentials.export())
        app, tool = self._tools[name]
        return self.result(self.gateway.call(caller, app, tool, arguments))

    def result(self, answer: dict[str, Any]) -> dict[str, Any]:
        return tool_result(answer)

    def key_store(self) -> dict[str, Any]:
        """The names of what it has in a key store; without one there are none."""
        accounts = self.vault.accounts()
        return {
            "entries": [{"service": words.KEY_STORE_SERVICE, "account": one} for one in accounts]
        }

    def status(self) -> dict[str, Any]:
        """What a suite that checks this gateway must know about it; nothing secret."""
        folder = self.vault.folder
        return {
            "pagesUrl": self.listener.url,
            "demonstrationUrl": self.demonstration.url,
            "storage": self.vault.storage,
            "folder": None if folder is None else str(folder),
            "logFile": None if folder is None else str(folder / LOG_FILE),
        }

    # ---- life

    def reset(self) -> None:
        with self.lock:
            self._is_reset = True  # for parts that are made later
            for name in ("vault", "kept_demonstration", "decisions", "authoriser"):
                if name in self.made:
                    self.made[name].reset()

    def close(self) -> None:
        self.listener.stop()
        with self.lock:
            if "kept_demonstration" in self.made:
                self.kept_demonstration.gateways.discard(self)
                if not self.kept_demonstration.gateways:
                    self.demonstration.stop()
            if self._log is not None:
                logger.removeHandler(self._log)
                self._log.close()
                self._log = None


class _KeptDemonstration:
    """The demonstration app, for all gateways over one backing."""

    def __init__(self, make: Callable[[Callable[[], list[str]]], DemonstrationApp]) -> None:
        self.gateways: set[GatewayExtension] = set()
        self.app = make(self.redirect_uris)

    def redirect_uris(self) -> list[str]:
        """Where it may send people back to; needed only when a person is there."""
        return [uri for one in list(self.gateways) for uri in one.authoriser.redirect_uris()]

    def reset(self) -> None:
        self.app.reset()

    def close(self) -> None:
        self.app.stop()


_LOOKING = [
    tool_listing(
        words.STATUS_TOOL,
        "Gateway status",
        "Where the gateway's pages and files are.",
        read_only=True,
    ),
    tool_listing(
        words.EXPORT_TOOL,
        "Export consents",
        "Every remembered decision: client, app, tool.",
        read_only=True,
    ),
    tool_listing(
        words.KEY_STORE_TOOL,
        "Key store",
        "Under which names the gateway has something in the system's key store.",
        read_only=True,
    ),
    tool_listing(
        words.CREDENTIALS_TOOL,
        "Stored credentials",
        "In which form credentials are kept, by client and app; secrets are masked.",
        read_only=True,
    ),
]
