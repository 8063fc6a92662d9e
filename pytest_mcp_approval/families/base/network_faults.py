"""A bad network between client and server, and a client that tries again: an approval serves once.

An answer is lost, a request arrives twice, a connection is cut in the middle of either, or both
come in slow halves. A client cannot tell these apart, so it sends the same call again. Written once
for all families: their steps are in `StagedApproval`. Knows no specification.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from ...catalogue import Finding, Grade, NotApplicable, NotVerified
from ...config.settings import PREFIX
from ...support.fault_proxy import ALL_BUT_THE_LAST, FaultProxy, NetworkFault
from ...target.proxied import ProxiedTarget, http_address
from ...wire import Patience, keeping
from .driver import DriverError
from .scenario import ScenarioView
from .staged import StagedApproval

PAGE = "docs/network-faults.md"
_PAUSE = 0.3
_IN_THE_HEAD = 0.1
FAULTS = (
    NetworkFault("its answer lost", answer_until=0.0),
    NetworkFault("its answer cut in the head", answer_until=_IN_THE_HEAD),
    NetworkFault("its answer cut before the last byte", answer_until=ALL_BUT_THE_LAST),
    NetworkFault("the request doubled", copies=2),
    NetworkFault("the request tripled and the answer lost", copies=3, answer_until=0.0),
    NetworkFault("the connection cut at once", request_until=0.0),
    NetworkFault("the request cut in the head", request_until=_IN_THE_HEAD),
    NetworkFault("the request cut in the middle", request_until=0.5),
    NetworkFault("the request cut before the last byte", request_until=ALL_BUT_THE_LAST),
    NetworkFault("both in slow halves", pause=_PAUSE),
)


def expect_once_over_faults(view: ScenarioView, make: Callable[[], StagedApproval]) -> None:
    """For a scenario; `make` begins a new approval."""
    url = http_address(view.target)
    if url is None:
        raise NotApplicable(f"{PREFIX}network-faults: the server is not reached over HTTP")
    if view.target.effects() is None:
        raise NotVerified(f"needs to see what ran: {PREFIX}effects URL|tool:NAME", minor=True)
    refused: list[str] = []
    with (
        FaultProxy(url) as proxy,
        contextlib.closing(ProxiedTarget(view.target, proxy.url)) as beyond,
    ):
        _honest(view, make, beyond)
        with view.several() as several:
            for fault in FAULTS:
                with several.one(fault.name):
                    _tried_again(view, make, proxy, beyond, fault, refused)
        _honest(view, make, beyond)
    if refused:
        view.left_open(
            f"an approval is used up, and nothing runs, after {' and after '.join(refused)}", PAGE
        )


def _honest(view: ScenarioView, make: Callable[[], StagedApproval], beyond: ProxiedTarget) -> None:
    with contextlib.closing(make()) as staged, view.honest_step("by way of a proxy"):
        staged.take_all(beyond)
        view.need_served(staged.use(beyond), "by way of a proxy an honest call failed")


def _tried_again(
    view: ScenarioView,
    make: Callable[[], StagedApproval],
    proxy: FaultProxy,
    beyond: ProxiedTarget,
    fault: NetworkFault,
    refused: list[str],
) -> None:
    with contextlib.closing(make()) as staged:
        with view.honest_step("by way of a proxy"):
            staged.take_all(beyond)
        # That it breaks off is our doing.
        with keeping(Patience(view.target.settings.timeout)):
            first = staged.use(beyond, before=lambda: proxy.arm(fault))
            if not proxy.spoilt:
                raise NotVerified("a request that was to be spoilt never came", minor=True)
        staged.forget()
        outcomes = [first]
        with contextlib.suppress(DriverError):
            outcomes += [staged.use(beyond), staged.use(beyond)]
        ran = [one for one in outcomes if one.executed]
        counted = sum(one.runs or 1 for one in ran)
        if len(ran) > 1 or counted > staged.most_runs():
            raise Finding(
                sent=f"an approved call, {fault.name}; then the same call twice more",
                expected="one run at most",
                got="; then ".join(one.describe() for one in outcomes),
                grade=Grade.RAN,
            )
        if not ran:
            refused.append(fault.name)
