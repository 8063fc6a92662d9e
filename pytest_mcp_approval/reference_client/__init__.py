"""The reference client: the client half of SEP-2672 and of elicitation, as a program and a library.

    python -m pytest_mcp_approval.reference_client http://localhost:3000/mcp

Imports vocabularies and support only, so that a client author can read it by itself.
"""

from .client import ReferenceClient
from .opening import open_client
from .outcomes import Cancelled, Declined, Done, Outcome, Refused, Unknown, Unusable
from .people import Decision, FormQuestion, Person, Review, UrlQuestion

__all__ = [
    "Cancelled",
    "Decision",
    "Declined",
    "Done",
    "FormQuestion",
    "Outcome",
    "Person",
    "ReferenceClient",
    "Refused",
    "Review",
    "Unknown",
    "Unusable",
    "UrlQuestion",
    "open_client",
]
