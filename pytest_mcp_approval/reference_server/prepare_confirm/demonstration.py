"""What the back end begins with, and the table that tells the suite how to use it.

`SUITE_SETTINGS` is what a user of the suite would write under [prepare_confirm] for a server like
this one: arguments that may be prepared and confirmed, how to undo, and how to bring about what
some rules need. Knows no rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .records import Project, User

AWKWARD_IDS = (
    "pipe|inside",
    "|",
    "ends|with|0123456789abcdef",
    'quote"inside',
    "apostrophe'; DROP TABLE projects; --",
    "line\nbreak",
    "tab\tand\rreturn",
    "back\\slash",
    '{"action":"delete_projects"}',
    " blanks around ",
    "%s%00{0}",
    "ünïcödé ☃ 🔑",
    "Ⅻ",
    "../../etc",
    "null",
    "0",
    # Read as a number, a list, a pattern or a form, they are something else.
    "007",
    "1e3",
    "1.0",
    "one,two",
    "one+two",
    "cut\u0001off",
    "true",
    "<b>&amp;</b>",
    "a%2Fb",
    "a[b]",
    # Members that JavaScript, Python and Java have already.
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "__class__",
    "$type",
    # What refusals say.
    "Token has expired",
    "Token has already been used",
    "Invalid token signature",
    "wrong action type",
    f"long-{'x' * 194}1",
    "look-alike",
    "l__k-alike",
    "résumé",
)
LOOK_ALIKES = (
    "1",
    "7",
    "1000",
    "one",
    "two",
    "one two",
    "cut",
    "pipe",
    "blanks around",
    " blanks  around ",
    "ünïcödé",
    "XII",
    "a/b",
    "<b>&</b>",
    f"long-{'x' * 194}2",
    "look",
    "look-alike-1",
    "lo0k-alike",
    "Look-Alike",
    "look-alike ",
    "look\u200b-alike",
    "re\u0301sume\u0301",
)
"""Next to those above, and other things: what is done to one is not done to the other."""
MANY = 10_000
_MANY_IDS = [f"bulk-{number:05}" for number in range(MANY)]

PROJECTS = (
    Project("proj-1", "Spring catalogue"),
    Project("proj-2", "Summer catalogue"),
    Project("proj-3", "Autumn catalogue", artworks=3, unfinished=0),
    Project("proj-4", "Winter catalogue", artworks=2, unfinished=2),
    *(Project(awkward, "A project with an awkward id") for awkward in (*AWKWARD_IDS, *LOOK_ALIKES)),
)
USERS = (
    User("john.doe", "John Doe", "john.doe@example.org"),
    User("jane.roe", "Jane Roe", "jane.roe@example.org", is_sso=True),
    User("john.doe2", "John Doe", "john.doe@example.org"),
    User("John.Doe", "John Doe", "john.doe@example.org"),
)


def _projects(ids: Iterable[str], **members: Any) -> list[dict[str, Any]]:
    return [{"project_id": one, "name": "Made for a test", **members} for one in ids]


def _created(*projects: dict[str, Any]) -> dict[str, Any]:
    return {"tool": "create_projects", "arguments": {"projects": list(projects)}}


_TWO = ["proj-1", "proj-2"]
_USER, _SSO_USER, *_NAMESAKES = (
    {name: getattr(user, name) for name in ("username", "name", "email", "is_sso")}
    for user in USERS
)

_AWKWARD = [
    {"project_ids": list(ids), "force": False}
    for ids in (AWKWARD_IDS, LOOK_ALIKES, AWKWARD_IDS[:1], ["|"], ["0"])
]

SUITE_SETTINGS: dict[str, Any] = {
    "payload": True,
    "held": "count_held_tokens",
    "store": "tool:list_kept_records",
    "expiry-setting": "expiry_minutes",
    "key-setting": "secret_key",
    "zone-setting": "time_zone",
    "pairs": {
        "close_projects": {
            "arguments": {"project_ids": _TWO, "force": False},
            "forced": {"project_ids": ["proj-4"], "force": True},
            "reversible": True,
            "undo": {"tool": "reopen_projects", "arguments": {"project_ids": _TWO}},
            "restore": _created(
                *_projects(_TWO),
                *_projects(["proj-4"], artworks=2, unfinished=2),
            ),
            "change-shown": True,
            "change": _created(*_projects(["proj-2"], artworks=1)),
            "appear": _created(*_projects(["proj-5"])),
            "awkward": _AWKWARD,
            "awkward-before": _created(*_projects([*AWKWARD_IDS, *LOOK_ALIKES])),
        },
        "delete_projects": {
            "arguments": {"project_ids": _TWO, "force": False},
            "forced": {"project_ids": ["proj-3"], "force": True},
            "reversible": False,
            "restore": _created(
                *_projects(_TWO),
                *_projects(["proj-3"], artworks=3),
            ),
            "change-shown": True,
            "change": _created(*_projects(["proj-2"], artworks=4)),
            "appear": _created(*_projects(["proj-6"])),
            "awkward": _AWKWARD,
            "awkward-before": _created(*_projects([*AWKWARD_IDS, *LOOK_ALIKES])),
            "many": {"project_ids": _MANY_IDS, "force": False},
            "many-before": _created(*_projects(_MANY_IDS)),
        },
        "delete_user": {
            "arguments": {"username": "john.doe"},
            "reversible": False,
            "sso": {"username": "jane.roe"},
            "restore": [
                {"tool": "create_user", "arguments": _USER},
                {"tool": "create_user", "arguments": _SSO_USER},
            ],
            "awkward-before": [{"tool": "create_user", "arguments": one} for one in _NAMESAKES],
            "awkward": [{"username": one["username"]} for one in _NAMESAKES],
            "change-shown": True,
            "change": {
                "tool": "create_user",
                "arguments": {**_USER, "email": "somebody.else@example.org"},
            },
        },
    },
    "back-end": {
        "setting": "back_end",
        "fails": "fails",
        "half": "half_fails",
        "late": "fails_late",
        "slow": "slow",
    },
}
