"""Rate limits by the server's clock: a bucket for each caller and kind, refilled evenly.

Knows no token. A clock that was set back refills nothing and takes nothing away.
"""

from __future__ import annotations

import datetime

from .records import Bucket
from .settings import RateLimit


def take(
    bucket: Bucket | None, key: str, limit: RateLimit, now: datetime.datetime
) -> tuple[Bucket, float]:
    """The bucket with one taken out and 0; or as it is, and the seconds until there is one."""
    left = float(limit.burst)
    if bucket is not None:
        gone = max(0.0, (now - bucket.at).total_seconds())
        left = min(left, bucket.left + gone * limit.burst / limit.seconds)
    if left >= 1:
        return Bucket(key, left - 1, now), 0.0
    return Bucket(key, left, now), (1 - left) * limit.seconds / limit.burst
