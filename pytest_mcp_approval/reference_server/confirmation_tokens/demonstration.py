"""The demonstration operations: one for every case that the document distinguishes; and what a
suite that checks this server is told about them, as its table [confirmation_tokens].

Each records what it did in the effects and does nothing else, so a suite may call them all. An
operation knows its parameters; it does not know whether it is gated, who confirmed it, or which
transport is used.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ...families.confirmation_tokens.vocabulary import Danger
from ..server.effects import RecordedEffects
from ..server.visible_text import visible
from .records import AdapterOperation

SLOW_SECONDS = 0.15


class BackendError(Exception):
    """The backend of an operation failed, after it had its effect."""


def _run(effects: RecordedEffects, name: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
    number = effects.record(name, params)["number"]
    if params.get("simulate") == "slow":
        time.sleep(SLOW_SECONDS)
    if params.get("simulate") == "crash":
        raise BackendError("the backend broke down")
    return {"ran": name, "number": number}


def _ask(question: str, params: Mapping[str, Any]) -> str:
    """What a person is asked, without characters that hide or reverse text."""
    shown = {name: visible(str(value))[:60] for name, value in params.items()}
    return question.format_map(defaultdict(lambda: "?", shown))


def _demonstrated(
    name: str,
    danger: Danger,
    calls: list[Mapping[str, Any]],
    question: str = "Proceed?",
    **more: Any,
) -> tuple[AdapterOperation, list[Mapping[str, Any]]]:
    """An operation, and calls of it that a suite may make. The question names parameters."""
    run = partial(_run, RecordedEffects(), name)
    return AdapterOperation(name, danger, run, partial(_ask, question), **more), calls


def _call(params: Mapping[str, Any], *others: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"params": params, "other-params": list(others)}


_REPOSITORY = {
    "params": {
        "owner": "acme-laboratories",
        "repo": "widgets-2041",
        "force": False,
        "selector": {"branch": "trunk-line", "tag": "release-17"},
    },
    "other-params": [
        {"repo": "gadgets-3077"},
        {"owner": "umbrella-holdings"},
        {"repo": "WIDGETS-2041"},
        {"force": True},
        {"permanent": True},
        {"selector": {"branch": "trunk-line", "tag": "release-18"}},
    ],
    "metadata": {"request_id": "request-0002", "timestamp": "2026-01-28T12:00:00Z"},
}
_OF_REPOSITORY = ("owner", "repo", "force", "permanent", "selector")


_DEMONSTRATED = (
    _demonstrated(
        "delete_repo",
        Danger.DESTRUCTIVE,
        [_REPOSITORY],
        "Delete {owner}/{repo}? This cannot be undone.",
        reasons=("Removes the repository with all it holds", "Cannot be taken back"),
        critical=_OF_REPOSITORY,
    ),
    _demonstrated(
        "archive_repo",
        Danger.DESTRUCTIVE,
        [_REPOSITORY],
        "Archive {owner}/{repo}?",
        reasons=("Nobody can write to it any more",),
        critical=_OF_REPOSITORY,
    ),
    _demonstrated(
        "purge_path",
        Danger.DANGEROUS,
        [
            _call(
                {
                    "path": "/srv/cache-4410",
                    "recursive": False,
                    "days": 30,
                    "kinds": ["temporary", "backup"],
                },
                {"path": "/srv/cache-4411"},
                {"recursive": True},
                {"days": 31},
                {"kinds": ["temporary", "archive"]},
            )
        ],
        "Purge {path}?",
        reasons=("Removes files that others may need",),  # and bound to every parameter
    ),
    _demonstrated(
        "wipe_account",
        Danger.FORBIDDEN,
        [_call({"account": "demonstration-7"}, {"account": "demonstration-8"})],
        "Wipe the account {account}?",
        reasons=("Removes everything that an account has", "Is never done without good cause"),
        critical=("account",),
    ),
    _demonstrated("get_repo", Danger.SAFE, [{"params": {"repo": "widgets-2041"}}]),
    _demonstrated(
        "rename_repo", Danger.REVERSIBLE, [{"params": {"repo": "widgets-2041", "to": "gears"}}]
    ),
    _demonstrated(
        "delete_branch",
        Danger.DESTRUCTIVE,
        [_call({"branch": "feature-one"}, {"branch": "feature-two"})],
        "Delete the branch {branch}?",
        reasons=("Removes a branch",),
        critical=("branch",),
        max_uses=3,
    ),
    _demonstrated(
        "deploy_release",
        Danger.DANGEROUS,
        [
            {"params": {"release": "release-17", "simulate": "crash"}, "crashes": True},
            {"params": {"release": "release-17", "simulate": "slow"}, "slow": True},
        ],
        "Deploy {release}?",
        reasons=("Replaces what is running",),
        critical=("release", "simulate"),
    ),
    _demonstrated(
        "bulk_export",
        Danger.REVERSIBLE,
        [_call({"dataset": "measurements-88"}, {"dataset": "measurements-89"})],
        "Go on with exporting {dataset}?",
        critical=("dataset",),
        quota=2,
        quota_metric="exports",
    ),
    _demonstrated(
        "bulk_import",
        Danger.REVERSIBLE,
        [{"params": {"dataset": "measurements-88"}}],
        "Go on with importing {dataset}?",
        critical=("dataset",),
        quota=2,
        quota_metric="imports",
    ),
)


def _row(operation: AdapterOperation) -> dict[str, Any]:
    row: dict[str, Any] = {"name": operation.name, "danger": int(operation.danger)}
    if operation.max_uses > 1:
        row["max-uses"] = operation.max_uses
    if operation.quota is not None:
        row["quota"] = True
    return row


SUITE_SETTINGS: Mapping[str, Any] = {
    "tool": "mcp_aql",
    "ttl-at": "arguments.params.confirmation_ttl_seconds",
    "clock-skew-tolerance-seconds": 30,
    "operations": [{**_row(one), **call} for one, calls in _DEMONSTRATED for call in calls],
    "audit": "tool:mcp_aql_audit",
    "log": "tool:mcp_aql_log",
    "store": "tool:mcp_aql_store",
    "plant": "tool:mcp_aql_plant",
    "introspection": {"status": "token_status"},
    "triggers": [
        {"name": "log_out", "why": "logout", "whose": "user"},
        {
            "name": "change_configuration",
            "why": "adapter configuration change",
            "whose": "adapter",
        },
        {"name": "report_incident", "why": "security event", "whose": "user"},
    ],
    "other-adapter": {"tool": "mcp_aql_archive"},
}


def demonstration_operations(effects: RecordedEffects) -> list[AdapterOperation]:
    """Operations that do nothing but leave a trace."""
    return [replace(one, run=partial(_run, effects, one.name)) for one, _ in _DEMONSTRATED]
