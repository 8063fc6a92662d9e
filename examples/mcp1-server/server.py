"""A desk for projects and users, on mcp 1.x over stdio, whose destructive tools need two steps.

    python server.py

CONFIRMATION_SECRET_KEY sets the key (default: random for each start), CONFIRMATION_EXPIRY_MINUTES
how long a token is good (default: 5).
"""

from __future__ import annotations

import itertools
import os
from typing import Any

from confirmation import ConfirmationService, TokenError
from mcp.server.fastmcp import FastMCP

desk = FastMCP("project-desk")
confirmations = ConfirmationService(
    secret=os.environ.get("CONFIRMATION_SECRET_KEY") or None,
    expiry_minutes=float(os.environ.get("CONFIRMATION_EXPIRY_MINUTES", "5")),
)
stamps = itertools.count(1)
projects: dict[str, dict[str, Any]] = {}
users: dict[str, dict[str, Any]] = {}
changes: list[dict[str, Any]] = []


def put_project(project_id: str, artworks: int = 0) -> None:
    projects[project_id] = {
        "id": project_id,
        "status": "open",
        "artworks": artworks,
        "stamp": next(stamps),
    }


def put_user(username: str, is_sso: bool = False) -> None:
    users[username] = {
        "username": username,
        "email": f"{username}@example.org",
        "is_sso": is_sso,
        "stamp": next(stamps),
    }


for name in ("poster", "leaflet"):
    put_project(name)
put_project("atlas", artworks=3)
put_user("erika")
put_user("max", is_sso=True)


def preview(
    action: str, operation: str, things: list[dict[str, Any]], warnings: list[str], force: bool
) -> dict[str, Any]:
    shown = [{name: value for name, value in one.items() if name != "stamp"} for one in things]
    seen = [[one.get("id") or one["username"], one["stamp"]] for one in things]
    token, expires_at = confirmations.issue(action, {"seen": seen, "force": force})
    return {
        "action": "preview",
        "operation": operation,
        "items": shown,
        "warnings": warnings,
        "confirmation_token": token,
        "token_expires_at": expires_at,
        "next_step": f"Show this to the user; if they agree, call confirm_{action}",
    }


def refused(why: object) -> dict[str, Any]:
    return {"success": False, "message": f"Confirmation failed: {why}"}


def carry_out(
    token: Any, action: str, past: str, shelf: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Do what the token lists to things that are still as they were shown."""
    try:
        data = confirmations.redeem(token, action)
    except TokenError as error:
        return refused(error)
    done, left = [], []
    for name, stamp in data["seen"]:
        if shelf.get(name, {}).get("stamp") != stamp:
            left.append(name)
            continue
        if past == "closed":
            shelf[name] = {**shelf[name], "status": "closed", "stamp": next(stamps)}
        else:
            del shelf[name]
        changes.append({"what": past, "name": name, "force": data["force"]})
        done.append(name)
    message = f"{past} {len(done)} of {len(data['seen'])}"
    if left:
        message += f"; gone or changed since the preview: {', '.join(left)}"
    return {
        "success": not left,
        "action": past,
        f"{past}_count": len(done),
        "ids": done,
        "message": message,
    }


def found(project_ids: list[str]) -> list[dict[str, Any]] | None:
    known = [projects[one] for one in dict.fromkeys(project_ids) if one in projects]
    return known if len(known) == len(set(project_ids)) and known else None


@desk.tool()
def prepare_close_projects(project_ids: list[str], force: bool = False) -> dict[str, Any]:
    """Show what closing these projects would do. Changes nothing."""
    things = found(project_ids)
    if things is None or any(one["status"] != "open" for one in things):
        return refused("not all of these are open projects")
    warnings = [f"{len(things)} project(s) will be closed", "Reversible: see reopen_projects"]
    return preview("close_projects", "close", things, warnings, force)


@desk.tool()
def confirm_close_projects(confirmation_token: str) -> dict[str, Any]:
    """Close what prepare_close_projects has shown."""
    return carry_out(confirmation_token, "close_projects", "closed", projects)


@desk.tool()
def prepare_delete_projects(project_ids: list[str], force: bool = False) -> dict[str, Any]:
    """Show what deleting these projects would do. Changes nothing."""
    things = found(project_ids)
    if things is None or (not force and any(one["artworks"] for one in things)):
        return refused("not all of these are projects without artworks")
    lost = sum(one["artworks"] for one in things)
    warnings = [
        f"DESTRUCTIVE: {len(things)} project(s) and {lost} artwork(s) will be gone",
        "This cannot be undone",
    ]
    return preview("delete_projects", "delete", things, warnings, force)


@desk.tool()
def confirm_delete_projects(confirmation_token: str) -> dict[str, Any]:
    """Delete what prepare_delete_projects has shown."""
    return carry_out(confirmation_token, "delete_projects", "deleted", projects)


@desk.tool()
def prepare_delete_user(username: str) -> dict[str, Any]:
    """Show what deleting this user would do. Changes nothing."""
    if username not in users:
        return refused("there is no such user")
    user = users[username]
    warnings = [
        f"DESTRUCTIVE: the user with the address {user['email']} will be gone",
        "This cannot be undone",
    ]
    if user["is_sso"]:
        warnings.append("The user signs in by SSO, which may be affected too")
    return preview("delete_user", "delete", [user], warnings, False)


@desk.tool()
def confirm_delete_user(confirmation_token: str) -> dict[str, Any]:
    """Delete the user that prepare_delete_user has shown."""
    return carry_out(confirmation_token, "delete_user", "deleted", users)


@desk.tool()
def reopen_projects(project_ids: list[str]) -> dict[str, Any]:
    """Open closed projects again."""
    for one in project_ids:
        put_project(one, projects.get(one, {}).get("artworks", 0))
    return {"success": True, "message": f"reopened {len(project_ids)}"}


@desk.tool()
def create_projects(project_ids: list[str], artworks: int = 0) -> dict[str, Any]:
    """Create projects, or replace them."""
    for one in project_ids:
        put_project(one, artworks)
    return {"success": True, "message": f"created {len(project_ids)}"}


@desk.tool()
def create_user(username: str, is_sso: bool = False) -> dict[str, Any]:
    """Create a user, or replace one."""
    put_user(username, is_sso)
    return {"success": True, "message": f"created {username}"}


@desk.tool()
def list_changes() -> dict[str, Any]:
    """Everything that was closed or deleted so far."""
    return {"changes": changes}


@desk.tool()
def count_used_tokens() -> dict[str, Any]:
    """How many used tokens are remembered."""
    return {"count": len(confirmations.used)}


if __name__ == "__main__":
    desk.run()
