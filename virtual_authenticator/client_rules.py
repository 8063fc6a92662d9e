"""What a browser checks before it lets a page reach an authenticator: which origin may use which
RP ID (WebAuthn Level 3, sections 5.1.3, 5.1.4 and 5.11), and the names by which a rule is switched
off. Knows nothing of authenticators.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from .encoding import shorten
from .errors import NotAllowedError, SecurityError, WebAuthnError

if TYPE_CHECKING:
    from urllib.parse import SplitResult

MAXIMUM_LABELS = 5
"""How many registrable labels a client honours in a list of related origins (section 5.11)."""
_DEFAULT_PORTS = {"https": 443, "http": 80}


class Rule(StrEnum):
    """A client rule that a ceremony can be told to ignore."""

    SECURE_CONTEXT = "secure-context"
    RP_ID = "rp-id"
    ATTACHMENT = "attachment"
    RESIDENT_KEY = "resident-key"
    USER_VERIFICATION = "user-verification"
    ALGORITHMS = "algorithms"
    EXCLUDE_CREDENTIALS = "exclude-credentials"
    ALLOW_CREDENTIALS = "allow-credentials"
    TIMEOUT = "timeout"
    LARGE_BLOB = "large-blob"
    ATTESTATION = "attestation"
    """Off: the statement is passed on although the relying party asked for none."""


def as_rules(given: Iterable[Rule | str]) -> frozenset[Rule]:
    """Rules by object or by name; an unknown name is a ValueError."""
    try:
        return frozenset(Rule(one) for one in ((given,) if isinstance(given, str) else given))
    except ValueError:
        known = ", ".join(Rule)
        raise ValueError(f"ignoring: got {given!r}, expected names among {known}") from None


def is_conditional(mediation: str) -> bool:
    """Whether a page offers passkeys beside its fields instead of asking for one at once."""
    if mediation not in ("optional", "required", "conditional"):
        raise ValueError(
            f"mediation: got {shorten(mediation)}, expected optional, required or conditional"
        )
    return mediation == "conditional"


@lru_cache(maxsize=1024)
def host_of(origin: str) -> tuple[str, str]:
    """Scheme and host of an origin; SecurityError if no page can have it."""
    if origin == "null":  # the one origin without a host, with its own error
        raise NotAllowedError("origin: got an opaque one ('null'), expected scheme://host")
    parts = _split(origin)
    # Rebuilt and compared, since parsing tolerates blanks, an empty query and capitals.
    if parts is None or "@" in parts.netloc or f"{parts.scheme}://{parts.netloc.lower()}" != origin:
        raise SecurityError(
            f"origin: got {shorten(origin)}, expected scheme://host or scheme://host:port"
        )
    return parts.scheme, parts.hostname or ""


def _split(url: str) -> SplitResult | None:
    """The parts of a URL that has a host; None for anything else."""
    from urllib.parse import urlsplit  # with the first page: it takes a while to load

    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return None
    return parts if host and parts.netloc.isprintable() and " " not in parts.netloc else None


def check_secure_context(origin: str) -> None:
    """Only https, or http on this machine, may call the API."""
    scheme, host = host_of(origin)
    local = host == "localhost" or host.endswith(".localhost")
    if scheme != "https" and not (scheme == "http" and (local or _is_loopback(host))):
        raise SecurityError(f"origin: got {shorten(origin)}, expected https, or http on localhost")


def effective_rp_id(rp_id: str | None, origin: str) -> str:
    """The RP ID of a request: as given, or the host of the page."""
    return rp_id if rp_id is not None else host_of(origin)[1]


@lru_cache(maxsize=1024)
def page_may_use(rp_id: str, origin: str) -> bool:
    """Whether the origin is secure and may use the RP ID by itself."""
    try:
        check_secure_context(origin)
        return rp_id_suits(rp_id, origin)
    except WebAuthnError:
        return False


def rp_id_suits(rp_id: str, origin: str) -> bool:
    """Whether the RP ID is the page's host or a registrable suffix of it."""
    _, host = host_of(origin)
    if _is_address(host) or _is_address(rp_id) or not rp_id:
        return False  # an address is no domain (section 5.1.3, effective domain)
    if rp_id == host:
        return True
    owned = _registrable_domain(host)
    return owned is not None and host.endswith("." + rp_id) and f".{rp_id}".endswith("." + owned)


def check_rp_id(rp_id: str, origin: str, related: Mapping[str, Sequence[str]]) -> None:
    """The origin may use the RP ID by itself, or because the RP ID's site lists it."""
    if rp_id_suits(rp_id, origin):
        return
    host = host_of(origin)[1]
    if not _is_address(host) and related_origin_allows(origin, related.get(rp_id, ())):
        return
    why = "an address cannot be one" if _is_address(host) else "or a suffix of it that can be owned"
    raise SecurityError(
        f"rp id: got {shorten(rp_id)} on {shorten(origin)}, expected {shorten(host)} ({why})"
    )


def related_origin_allows(origin: str, listed: Sequence[str]) -> bool:
    """Section 5.11.1, on the `origins` that the RP ID's well-known document lists."""
    page = _split(origin)
    if page is None:
        return False
    caller = _origin_tuple(page)
    labels: set[str] = set()
    for candidate in listed:
        parts = _split(candidate)  # a URL, of which only the origin counts
        owned = _registrable_domain(parts.hostname or "") if parts is not None else None
        if parts is None or owned is None:
            continue
        label = owned.partition(".")[0]
        if label not in labels and len(labels) >= MAXIMUM_LABELS:
            continue
        if _origin_tuple(parts) == caller:
            return True
        labels.add(label)
    return False


def same_site(url: str, origin: str) -> bool:
    """Whether an https URL has the host of a page, or one with the same owner."""
    parts = _split(url)
    if parts is None or parts.scheme != "https":
        return False
    host, own = parts.hostname or "", host_of(origin)[1]
    if host == own:
        return True
    owned = None if _is_address(host) or _is_address(own) else _registrable_domain(own)
    return owned is not None and _registrable_domain(host) == owned


def _origin_tuple(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port or _DEFAULT_PORTS.get(parts.scheme)


def is_public_suffix(domain: str) -> bool:
    """Whether names below this domain belong to different owners (publicsuffix.org)."""
    suffixes = _suffixes()
    if f"!{domain}" in suffixes:
        return False
    _, _, parent = domain.partition(".")
    return not parent or domain in suffixes or f"*.{parent}" in suffixes


def _registrable_domain(host: str) -> str | None:
    """The part that can be owned: `example.co.uk` of shop.example.co.uk; None for a bare suffix."""
    labels = host.split(".")
    for start in range(len(labels)):
        if is_public_suffix(".".join(labels[start:])):
            return ".".join(labels[start - 1 :]) if start else None
    return None


@cache
def _suffixes() -> frozenset[str]:
    from fido2.rpid import suffixes  # parses a list of 10 000 lines

    return frozenset(suffixes)


def _is_address(host: str) -> bool:
    try:
        _address(host)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return _is_address(host) and bool(_address(host).is_loopback)


def _address(host: str) -> Any:
    import ipaddress  # few hosts need it: the answers above are remembered

    return ipaddress.ip_address(host)
