"""The AppID extensions (WebAuthn Level 3, sections 10.1.1 and 10.1.2): credentials that were made
by U2F, before there were RP IDs, go on serving pages.

Such a credential knows the hash of a URL, its AppID, in the place of an RP ID's. Does not know how
a credential is found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .client_rules import same_site
from .encoding import shorten
from .errors import InvalidOptionsError, NotSupportedError, SecurityError

AT_SIGN_IN, AT_REGISTRATION = "appid", "appidExclude"


def app_id(
    inputs: Mapping[str, Any], name: str, other: str, origin: str, *, enforce: bool
) -> str | None:
    """The AppID that a page named by the extension `name`, None if it named none. The `other` one
    of the two belongs to the other ceremony."""
    if inputs.get(other) is not None:
        only = "sign-in" if other == AT_SIGN_IN else "registration"
        raise NotSupportedError(f"extensions.{other} is for {only} only")
    given = inputs.get(name)
    if given is None:
        return None
    if not isinstance(given, str):
        raise InvalidOptionsError(f"extensions.{name}", shorten(given), "a string")
    # FIDO AppID and Facet Specification 1.2, section 3.1.2: an empty one stands for the origin,
    # another is for pages of its own host. The list of facets behind the URL is not fetched: real
    # clients compare sites instead, as a note in section 10.1.1 says.
    if given and given != origin and enforce and not same_site(given, origin):
        raise SecurityError(
            f"extensions.{name}: got {shorten(given)} on {shorten(origin)}, expected an https URL "
            "of the same site"
        )
    return given or origin
