"""JSON-RPC for MCP over stdio, Streamable HTTP and in-process ASGI, in exact bytes.

Knows nothing about approval. Standard library only, since an SDK's client refuses or repairs just
the messages that a suite must send. `open_session` raises a `WireError`; from then on, whatever a
server does is a `Reply`.
"""

from .eras import HANDSHAKE_REVISIONS as HANDSHAKE_REVISIONS
from .eras import SESSIONLESS_REVISIONS as SESSIONLESS_REVISIONS
from .eras import Era as Era
from .errors import ApplicationFailedError as ApplicationFailedError
from .errors import BadAddressError as BadAddressError
from .errors import CommandFailedError as CommandFailedError
from .errors import ListingError as ListingError
from .errors import NothingAnsweredError as NothingAnsweredError
from .errors import NotMcpError as NotMcpError
from .errors import RefusedError as RefusedError
from .errors import RevisionError as RevisionError
from .errors import UnreachableError as UnreachableError
from .errors import WireError as WireError
from .in_process import InProcessTransport as InProcessTransport
from .inbox import ServerRequest as ServerRequest
from .messages import Message as Message
from .messages import Outgoing as Outgoing
from .messages import RawJson as RawJson
from .messages import notification_bytes as notification_bytes
from .messages import request_bytes as request_bytes
from .messages import response_bytes as response_bytes
from .messages import to_json as to_json
from .open_call import OpenCall as OpenCall
from .opening import open_session as open_session
from .over_http import HttpTransport as HttpTransport
from .over_stdio import StdioTransport as StdioTransport
from .patience import Patience as Patience
from .patience import Trouble as Trouble
from .patience import keeping as keeping
from .race import race as race
from .race import race_replicas as race_replicas
from .reply import ErrorObject as ErrorObject
from .reply import Outcome as Outcome
from .reply import Reply as Reply
from .session import Session as Session
from .session_stream import SessionStream as SessionStream
from .transport import Transport as Transport
