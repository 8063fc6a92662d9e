"""The descriptors of the suite's own apps: how a gateway is told of each.

An app for each way in, and twins of them that are where a credential must not go. Knows no request
and no answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from .vocabulary import APP_TOKEN_SECONDS, AuthType

HOW_TO_GET_IT = "Ask the suite for what it made"
"""What every app tells a person who is asked for a credential."""
HELP_URL = "http://localhost/suite-help"
"""Where every app whose credential is typed in says that help is."""
_INSTRUCTIONS = {"short": HOW_TO_GET_IT, "helpUrl": HELP_URL}
PREFIXES = ("token", "ApiKey", "BEARER", "key=")
"""As descriptors write them: they arrive as they are."""
NEAR_DOMAINS = (
    ("localhost", "host"),
    ("localhost", ".ocalhost"),
    ("localhost", "localhost.example"),
    ("localhost", "local"),
    ("localhost", "sub.localhost"),
    ("127.0.0.1", ".0.0.1"),
    ("127.0.0.1", "27.0.0.1"),
    ("127.0.0.1", "127.0.0.11"),
)
"""A host of ours, and a domain of which it is none."""


class AppDescriptors(ABC):
    """What the apps say of themselves."""

    cookies: Mapping[str, str]
    """By name, those that the apps with cookies require."""
    _twins: bool

    @abstractmethod
    def url(self, host: str = "localhost") -> str:
        """Where all of them are, under this name of the machine."""

    def descriptors(self) -> list[dict[str, Any]]:
        """The apps, as described to a gateway."""
        bearer = _key(location="header", name="Authorization", prefix="Bearer")
        cookie, office = self._cookie("localhost"), self._office("office")
        return [
            self._app("key-header", bearer),
            self._app("key-plain", _key(location="header", name="X-Suite-Key")),
            self._app("key-query", _key(location="query", name="suite_key")),
            self._app("office", office),
            self._app("cookie", cookie),
            self._app("oauth", self._oauth("oauth")),
            self._app("other-oauth", self._oauth("other-oauth")),
            # The same credentials, for apps that are not where they should be.
            self._app("cookie-elsewhere", cookie, host="127.0.0.1"),
            self._app("cookie-moved", cookie, path="/moved"),
            self._app("key-moved", bearer, path="/moved"),
            # Reaches this machine by an address that is not loopback.
            self._app("key-far", bearer, host="0.0.0.0"),
            *(self._twin_descriptors() if self._twins else ()),
        ]

    def _twin_descriptors(self) -> list[dict[str, Any]]:
        office, cookie = self._office, self._cookie
        plain = _key(location="header", name="X-Suite-Key")
        in_query = _key(location="query", name="suite_key")
        far = "0.0.0.0"
        return [
            self._app("key-plain-moved", plain, path="/moved"),
            self._app("key-query-moved", in_query, path="/moved"),
            self._app("office-moved", office("office-moved"), path="/moved"),
            self._app("oauth-moved", self._oauth("oauth-moved"), path="/moved"),
            self._app("office-exchange-moved", office("office-exchange-moved", end="moved/token")),
            self._app(
                "oauth-exchange-moved", self._oauth("oauth-exchange-moved", end="moved/token")
            ),
            self._app("key-plain-far", plain, host=far),
            self._app("key-query-far", in_query, host=far),
            self._app("cookie-far", cookie(far), host=far),
            self._app("office-far", office("office-far"), host=far),
            self._app("oauth-far", self._oauth("oauth-far"), host=far),
            self._app("office-exchange-far", office("office-exchange-far", host=far)),
            self._app("oauth-exchange-far", self._oauth("oauth-exchange-far", host=far)),
            *(
                self._app(f"cookie-near-{number}", cookie(domain), host=host)
                for number, (host, domain) in enumerate(NEAR_DOMAINS)
            ),
        ]

    def commas(self) -> dict[str, Any]:
        """An app of which one tool's name is those of two others with a comma between them."""
        return self._app("commas", self._oauth("commas"), tools=("read", "wipe", "read,wipe"))

    @property
    def many_tools(self) -> tuple[str, ...]:
        return tuple(f"tool{number}" for number in range(12))

    def many(self) -> dict[str, Any]:
        """An app with many tools."""
        return self._app("many", self._oauth("many"), tools=self.many_tools)

    def colliding(self) -> list[dict[str, Any]]:
        """Two apps of which one id is the other with a part and a hyphen before it."""
        plain = _key(location="header", name="X-Suite-Key")
        ids = {"key-plain": "x.suite", "key-far-off": "b-x.suite"}
        return [{**self._app(place, plain), "id": own} for place, own in ids.items()]

    def prefixed(self) -> list[dict[str, Any]]:
        """An app for each prefix of a key."""
        return [
            self._app(f"key-prefix-{n}", _key(location="header", name="X-Key", prefix=prefix))
            for n, prefix in enumerate(PREFIXES)
        ]

    def helping(self, app: str, url: str) -> dict[str, Any]:
        """An app whose help is at this address."""
        auth = _key(location="header", name="Authorization", prefix="Bearer")
        short = f"<b data-suite>{HOW_TO_GET_IT}</b>"
        auth["apiKey"] |= {"instructions": {"short": short, "helpUrl": url}}
        auth["apiKey"] |= {"obtainUrl": url}
        return self._app(app, auth)

    def ways(self) -> dict[str, AuthType]:
        """How each app lets the gateway in, by the name that its paths begin with."""
        return {
            one["id"].removeprefix("suite."): AuthType(one["auth"]["type"])
            for one in self.descriptors()
        }

    def _app(
        self,
        app: str,
        auth: dict[str, Any],
        *,
        host: str = "localhost",
        path: str = "/tools",
        tools: tuple[str, ...] = ("read", "write", "wipe"),
    ) -> dict[str, Any]:
        return {
            "id": f"suite.{app}",
            "name": f"Suite {app}",
            "type": "web",
            "platforms": ["web"],
            "baseUrl": f"{self.url(host)}/{app}",
            "auth": auth,
            "tools": [
                {
                    "name": name,
                    "description": f"Does nothing ({name}).",
                    "parameters": {},
                    "execution": {"method": "POST", "path": f"{path}/{name}"},
                }
                for name in tools
            ],
        }

    def _cookie(self, domain: str) -> dict[str, Any]:
        return _auth(
            AuthType.COOKIE,
            loginUrl=HELP_URL,
            requiredCookies=list(self.cookies),
            domain=domain,
            instructions=HOW_TO_GET_IT,
        )

    def _office(
        self, app: str, *, end: str = "auth/token", host: str = "localhost"
    ) -> dict[str, Any]:
        return _auth(
            AuthType.APP_CREDENTIAL,
            tokenEndpoint=f"{self.url(host)}/{app}/{end}",
            tokenType="tenantAccessToken",
            expiresIn=APP_TOKEN_SECONDS,
            instructions=_INSTRUCTIONS,
        )

    def _oauth(
        self, app: str, *, end: str = "oauth/token", host: str = "localhost"
    ) -> dict[str, Any]:
        return _auth(
            AuthType.OAUTH2,
            authorizationEndpoint=f"{self.url()}/{app}/authorize",
            tokenEndpoint=f"{self.url(host)}/{app}/{end}",
            clientId="suite-gateway",
            scope="read write",
        )


def _auth(kind: AuthType, **settings: Any) -> dict[str, Any]:
    return {"type": kind.value, kind.value: settings}


def _key(**settings: str) -> dict[str, Any]:
    return _auth(AuthType.API_KEY, **settings, instructions=_INSTRUCTIONS)
