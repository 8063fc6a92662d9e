"""What a suite needs to be told to judge this server: its operations, with safe parameters.

The form is that of the table [confirmation_tokens] in the suite's settings. Nothing here is
dangerous: the operations leave a trace and do nothing else.
"""

from __future__ import annotations

from typing import Any

_REPOSITORY: dict[str, Any] = {
    "owner": "acme-laboratories",
    "repo": "widgets-2041",
    "force": False,
    "selector": {"branch": "trunk-line", "tag": "release-17"},
}
_OTHER_REPOSITORIES = [
    {"repo": "gadgets-3077"},
    {"owner": "umbrella-holdings"},
    {"repo": "WIDGETS-2041"},
    {"force": True},
    {"permanent": True},
    {"selector": {"branch": "trunk-line", "tag": "release-18"}},
]
_METADATA = {"request_id": "request-0002", "timestamp": "2026-01-28T12:00:00Z"}

SUITE_SETTINGS: dict[str, Any] = {
    "tool": "mcp_aql",
    "ttl-at": "arguments.params.confirmation_ttl_seconds",
    "clock-skew-tolerance-seconds": 30,
    "operations": [
        {
            "name": "delete_repo",
            "danger": 2,
            "params": _REPOSITORY,
            "other-params": _OTHER_REPOSITORIES,
            "metadata": _METADATA,
        },
        {
            "name": "archive_repo",
            "danger": 2,
            "params": _REPOSITORY,
            "other-params": _OTHER_REPOSITORIES,
            "metadata": _METADATA,
        },
        {
            "name": "purge_path",
            "danger": 3,
            "params": {"path": "/srv/cache-4410", "recursive": False},
            "other-params": [{"path": "/srv/cache-4411"}, {"recursive": True}],
        },
        {
            "name": "wipe_account",
            "danger": 4,
            "params": {"account": "demonstration-7"},
            "other-params": [{"account": "demonstration-8"}],
        },
        {"name": "get_repo", "danger": 0, "params": {"repo": "widgets-2041"}},
        {"name": "rename_repo", "danger": 1, "params": {"repo": "widgets-2041", "to": "gears"}},
        {
            "name": "delete_branch",
            "danger": 2,
            "params": {"branch": "feature-one"},
            "other-params": [{"branch": "feature-two"}],
            "max-uses": 3,
        },
        {
            "name": "deploy_release",
            "danger": 3,
            "params": {"release": "release-17", "simulate": "crash"},
            "crashes": True,
        },
        {
            "name": "deploy_release",
            "danger": 3,
            "params": {"release": "release-17", "simulate": "slow"},
            "slow": True,
        },
        {
            "name": "bulk_export",
            "danger": 1,
            "params": {"dataset": "measurements-88"},
            "other-params": [{"dataset": "measurements-89"}],
            "quota": True,
        },
        {
            "name": "bulk_import",
            "danger": 1,
            "params": {"dataset": "measurements-88"},
            "quota": True,
        },
    ],
    "audit": "tool:mcp_aql_audit",
    "log": "tool:mcp_aql_log",
    "store": "tool:mcp_aql_store",
    "plant": "tool:mcp_aql_plant",
    "introspection": {"status": "token_status"},
    "triggers": [
        {"name": "log_out", "why": "logout"},
        {"name": "change_configuration", "why": "adapter configuration change"},
        {"name": "report_incident", "why": "security event"},
    ],
    "other-adapter": {"tool": "mcp_aql_archive"},
}
