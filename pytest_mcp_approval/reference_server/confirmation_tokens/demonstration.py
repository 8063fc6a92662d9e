"""The demonstration operations: one of every case that the document tells apart.

Each writes what it did into the effects. An operation knows its parameters; it does not know
whether it is gated, who confirmed it, or what carries its call.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ...families.confirmation_tokens.vocabulary import Danger
from ..server.effects import RecordedEffects
from ..server.visible_text import visible
from .records import AdapterOperation

SLOW_SECONDS = 0.15


class BackendError(Exception):
    """What is behind an operation broke down, after it had its effect."""


def demonstration_operations(effects: RecordedEffects) -> list[AdapterOperation]:
    """Operations that do nothing but leave a trace."""

    def run(name: str) -> Any:
        def record(params: Mapping[str, Any]) -> Mapping[str, Any]:
            return {"ran": name, "number": effects.record(name, params)["number"]}

        return record

    def deploy(params: Mapping[str, Any]) -> Mapping[str, Any]:
        done = {"ran": "deploy_release", **effects.record("deploy_release", params)}
        if params.get("simulate") == "slow":
            time.sleep(SLOW_SECONDS)
        if params.get("simulate") == "crash":
            raise BackendError("the backend broke down")
        return {"ran": done["ran"], "number": done["number"]}

    repository = ("owner", "repo", "force", "permanent", "selector")
    return [
        AdapterOperation("get_repo", Danger.SAFE, run("get_repo")),
        AdapterOperation("rename_repo", Danger.REVERSIBLE, run("rename_repo")),
        AdapterOperation(
            "delete_repo",
            Danger.DESTRUCTIVE,
            run("delete_repo"),
            lambda params: f"Delete {_named(params, 'owner', 'repo')}? This cannot be undone.",
            ("Removes the repository with all it holds", "Cannot be taken back"),
            repository,
        ),
        AdapterOperation(
            "archive_repo",
            Danger.DESTRUCTIVE,
            run("archive_repo"),
            lambda params: f"Archive {_named(params, 'owner', 'repo')}?",
            ("Nobody can write to it any more",),
            repository,
        ),
        AdapterOperation(
            "purge_path",
            Danger.DANGEROUS,
            run("purge_path"),
            lambda params: f"Purge {_named(params, 'path')}?",
            ("Removes files that others may need",),
            ("path", "recursive"),
        ),
        AdapterOperation(
            "wipe_account",
            Danger.FORBIDDEN,
            run("wipe_account"),
            lambda params: f"Wipe the account {_named(params, 'account')}?",
            ("Removes everything that an account has", "Is never done without good cause"),
            ("account",),
        ),
        AdapterOperation(
            "delete_branch",
            Danger.DESTRUCTIVE,
            run("delete_branch"),
            lambda params: f"Delete the branch {_named(params, 'branch')}?",
            ("Removes a branch",),
            ("branch",),
            max_uses=3,
        ),
        AdapterOperation(
            "deploy_release",
            Danger.DANGEROUS,
            deploy,
            lambda params: f"Deploy {_named(params, 'release')}?",
            ("Replaces what is running",),
            ("release", "simulate"),
        ),
        AdapterOperation(
            "bulk_export",
            Danger.REVERSIBLE,
            run("bulk_export"),
            lambda params: f"Go on with exporting {_named(params, 'dataset')}?",
            critical=("dataset",),
            quota=2,
            quota_metric="exports",
        ),
        AdapterOperation(
            "bulk_import",
            Danger.REVERSIBLE,
            run("bulk_import"),
            lambda params: f"Go on with importing {_named(params, 'dataset')}?",
            critical=("dataset",),
            quota=2,
            quota_metric="imports",
        ),
    ]


def _named(params: Mapping[str, Any], *names: str) -> str:
    """What a person is asked about, with nothing in it that hides or turns around text."""
    return "/".join(visible(str(params.get(name, "?")))[:60] for name in names)
