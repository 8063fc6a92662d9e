"""The demonstration apps: one of every kind, every way in, and neighbours to keep apart.

`{demonstration}` stands for the address of the demonstration app, which is known only once it runs.
Knows no consent and no credential.
"""

from __future__ import annotations

import sys
from typing import Any

from .descriptors import App, read_apps

PLACE = "demonstration"
CLIENT_ID = "aai-gateway"

_TEXT = {"type": "string"}


def _tool(
    name: str,
    description: str,
    parameters: dict[str, str] | None = None,
    returns: str = "",
    **execution: Any,
) -> dict[str, Any]:
    """A tool whose parameters are all texts, and all required."""
    described = {key: {**_TEXT, "description": text} for key, text in (parameters or {}).items()}
    tool: dict[str, Any] = {
        "name": name,
        "description": description,
        "parameters": described,
        "required": list(described),
        "execution": execution or {"method": "POST", "path": f"/tools/{name}"},
    }
    if returns:
        tool["returns"] = {"type": "object", "description": returns}
    return tool


def _web(
    place: str, id: str, name: str, auth: dict[str, Any], *tools: dict[str, Any]
) -> dict[str, Any]:
    return {
        "id": id,
        "name": name,
        "type": "web",
        "platforms": ["web"],
        "baseUrl": f"{{{PLACE}}}/{place}",
        "auth": auth,
        "tools": list(tools),
    }


def _desktop(id: str, name: str, *tools: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": id,
        "name": name,
        "type": "desktop",
        "platforms": ["macos", "linux", "windows"],
        "tools": list(tools),
    }


def _told(short: str, place: str) -> dict[str, str]:
    return {"short": short, "helpUrl": f"{{{PLACE}}}/{place}"}


_SEND_EMAIL = _tool(
    "sendEmail",
    "Sends an email in the user's name.",
    {"subject": "The line above the message", "body": "The message itself"},
)
_SEND_EMAIL["parameters"] = {
    "to": {"type": "array", "items": _TEXT, "description": "Who gets it: email addresses"},
    **_SEND_EMAIL["parameters"],
}
_SEND_EMAIL["required"] = ["to", "subject", "body"]

MAIL = _web(
    "mail",
    "com.example.mail",
    "Example Mail",
    {
        "type": "oauth2",
        "oauth2": {
            "authorizationEndpoint": f"{{{PLACE}}}/mail/authorize",
            "tokenEndpoint": f"{{{PLACE}}}/mail/oauth/token",
            "clientId": CLIENT_ID,
            "scope": "read write",
        },
    },
    _SEND_EMAIL,
    _tool("readInbox", "Reads the newest emails.", {}, "Sender, subject and text of each email"),
    _tool("listContacts", "Lists the address book.", {}, "Names and email addresses"),
    _tool("deleteEmail", "Deletes one email for good.", {"id": "Which email"}),
)
NOTES = _web(
    "notes",
    "com.example.notes",
    "Example Notes",
    {
        "type": "apiKey",
        "apiKey": {
            "location": "header",
            "name": "Authorization",
            "prefix": "Bearer",
            "obtainUrl": f"{{{PLACE}}}/notes/keys",
            "instructions": _told("Make a key on the page of your integrations", "notes/keys"),
        },
    },
    _tool("addNote", "Writes a note.", {"text": "What it says"}),
    _tool("readNotes", "Reads all notes.", {}, "Every note with its text"),
)
SEARCH = _web(
    "search",
    "com.example.search",
    "Example Search",
    {
        "type": "apiKey",
        "apiKey": {
            "location": "query",
            "name": "api_key",
            "obtainUrl": f"{{{PLACE}}}/search/keys",
            "instructions": _told("Take the key from your account's page", "search/keys"),
        },
    },
    _tool(
        "search", "Searches the documents.", {"query": "What to look for"}, "Titles of documents"
    ),
)
OFFICE = _web(
    "office",
    "com.example.office",
    "Example Office",
    {
        "type": "appCredential",
        "appCredential": {
            "tokenEndpoint": f"{{{PLACE}}}/office/auth/token",
            "tokenType": "tenantAccessToken",
            "expiresIn": 7200,
            "instructions": _told(
                "Both stand on the page of your app in the developer console", "office/console"
            ),
        },
    },
    _tool("createDocument", "Creates a document.", {"title": "Its title"}),
    _tool("listDocuments", "Lists all documents.", {}, "Titles and owners"),
)
SOCIAL = _web(
    "social",
    "com.example.social",
    "Example Social",
    {
        "type": "cookie",
        "cookie": {
            "loginUrl": f"{{{PLACE}}}/social/login",
            "requiredCookies": ["web_session", "web_signature"],
            "domain": "localhost",
            "instructions": "Log in with your browser, then copy the cookies from its tools",
        },
    },
    _tool("publishPost", "Publishes a post for everybody to see.", {"text": "The post"}),
    _tool("readTimeline", "Reads the newest posts.", {}, "Posts of the people you follow"),
)
CALENDAR = _desktop(
    "com.example.calendar",
    "Example Calendar",
    _tool(
        "createEvent",
        "Puts an event into the calendar.",
        {"title": "What it is called", "day": "When, as in 2030-01-31"},
        event="create",
    ),
    _tool("listEvents", "Lists coming events.", {}, "Titles and days", event="list"),
)
FILES = {
    "id": "org.example.files",
    "name": "Example Files",
    "type": "command",
    "platforms": ["linux", "macos", "windows"],
    "tools": [
        _tool(
            "countCharacters",
            "Counts the characters of a text.",
            {"text": "What is counted"},
            "The number",
            command=["{python}", "-I", "-S", "-c", "import sys; print(len(sys.argv[1]))", "{text}"],
        ),
        _tool(
            "deleteAllFiles",
            "Deletes all files in the home folder (a demonstration: it only says so).",
            {},
            command=["{python}", "-I", "-S", "-c", "print('nothing was deleted')"],
        ),
    ],
}
# If names are joined by a hyphen, caller "A-b" with the first and caller "A" with the second get
# the same name.
NEIGHBOURS = (
    _desktop(
        "com.x",
        "Neighbour X",
        _tool("look", "Looks around.", {}, event="look"),
        _tool("touch", "Touches something.", {}, event="touch"),
    ),
    _desktop(
        "b-com.x",
        "Neighbour B-X",
        _tool("look", "Looks around.", {}, event="look"),
        _tool("touch", "Touches something.", {}, event="touch"),
    ),
)
DESCRIPTORS: tuple[dict[str, Any], ...] = (
    MAIL,
    NOTES,
    SEARCH,
    OFFICE,
    SOCIAL,
    CALENDAR,
    FILES,
    *NEIGHBOURS,
)
COMMAND_PLACES = {"python": sys.executable}
"""What a command may use without a path."""


def demonstration_apps() -> dict[str, App]:
    """By id, not located yet."""
    return read_apps(DESCRIPTORS)
