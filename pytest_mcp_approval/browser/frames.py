"""Where a request comes from, as the browser knows it: the origin of a frame and of those above it.

What a page says about itself is never believed, except where it takes something away: an opaque
origin, a permissions policy that forbids. Knows nothing of prompts and keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..support.origins import OPAQUE, origin_of_url

if TYPE_CHECKING:
    from playwright.sync_api import Frame

_DEEPEST = 64


@dataclass(frozen=True)
class FramePlace:
    """Whose request it is: what a browser would write into the client data."""

    url: str
    origin: str
    cross_origin: bool = False
    top_origin: str | None = None


def origin_of(frame: Frame) -> str:
    """The origin of a frame; of an empty one that of the document that made it."""
    for _ in range(_DEEPEST):
        found = origin_of_url(frame.url)
        if found is not None:
            return found
        parent = frame.parent_frame
        if parent is None:
            opener = frame.page.opener()
            parent = opener.main_frame if opener is not None else None
        if parent is None:
            break
        frame = parent
    return OPAQUE


def place_of(frame: Frame, *, opaque: bool = False) -> FramePlace:
    """`opaque` is what the document says of itself: a sandbox does not show in an address."""
    origin = OPAQUE if opaque else origin_of(frame)
    above = [origin_of(one) for one in _ancestors(frame)]
    crossed = any(one != origin for one in above)
    return FramePlace(frame.url, origin, crossed, above[-1] if crossed else None)


def is_allowed(frame: Frame, kind: str) -> bool:
    """Whether every frame element between this document and the top lets it use passkeys.

    WebAuthn Level 3, section 5.9: the features are for the same origin only, unless the `allow` of
    the frame element says otherwise. Headers can only forbid more; the document tells that itself.
    """
    feature = f"publickey-credentials-{kind}"
    below = frame
    for parent in _ancestors(frame):
        inner, outer = origin_of(below), origin_of(parent)
        if inner != outer:
            allow = below.frame_element().get_attribute("allow") or ""
            if not _allows(allow, feature, inner, outer):
                return False
        below = parent
    return True


def _allows(policy: str, feature: str, inner: str, outer: str) -> bool:
    """An `allow` attribute: features apart by semicolons, each with the origins that it is for."""
    for directive in policy[:10_000].split(";"):
        name, *origins = directive.split()[:50] or [""]
        if name.lower() == feature:
            if not origins:
                return True  # no list stands for 'src': where the frame was sent
            listed = [one.lower() for one in origins]
            return any(
                one in ("*", "'src'", inner) or (one == "'self'" and inner == outer)
                for one in listed
            )
    return False


def _ancestors(frame: Frame) -> list[Frame]:
    """Those above a frame, the top last."""
    found: list[Frame] = []
    above = frame.parent_frame
    while above is not None and len(found) < _DEEPEST:
        found.append(above)
        above = above.parent_frame
    return found
