"""Several servers over one state: calls that reach all of them at the same moment.

Knows no family.
"""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from ...wire import HttpTransport, Reply, Session, race_replicas

ReplicaCall = tuple[Session, tuple[str, Mapping[str, Any]]]
_SECONDS = 10.0


def all_at_once(calls: Sequence[ReplicaCall]) -> list[Reply]:
    """Over HTTP the last bytes of all requests leave together. Elsewhere threads do what they can,
    and a race without a second winner is weak evidence."""
    if all(isinstance(session.transport, HttpTransport) for session, _ in calls):
        return race_replicas(calls)
    start = threading.Barrier(len(calls), timeout=_SECONDS)

    def send(session: Session, call: tuple[str, Mapping[str, Any]]) -> Reply:
        start.wait()
        return session.call(*call)

    with concurrent.futures.ThreadPoolExecutor(len(calls)) as threads:
        sent = [threads.submit(send, *one) for one in calls]
        return [one.result() for one in sent]
