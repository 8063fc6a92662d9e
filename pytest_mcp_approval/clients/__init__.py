"""Clients under test: the suite plays their server, and the person at their terminal.

`scripted_server` answers what a scenario says, through the doors `http_door` and `stdio_door`.
`terminal` runs the client, `person` sits in front of it. Knows no family.
"""

from .messages import Answer, Ask, ClientError, HangUp, Incoming, Refusal, Result
from .opened import ClientUnderTest, OpenedClient
from .person import Person, Prompt
from .scripted_server import ScriptedServer

__all__ = [
    "Answer",
    "Ask",
    "ClientError",
    "ClientUnderTest",
    "HangUp",
    "Incoming",
    "OpenedClient",
    "Person",
    "Prompt",
    "Refusal",
    "Result",
    "ScriptedServer",
]
