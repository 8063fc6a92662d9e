"""The authenticator as a client library sees it: CTAP2 and U2F messages in, answers out.

`VirtualCtapDevice` is what python-fido2 talks to; `CtapProcessor` is the same without python-fido2,
for other transports. Knows nothing of pages and origins.
"""

from .device import VirtualCtapDevice
from .processor import CtapProcessor
from .status import CtapFailure, DeviceRemoved, Status

__all__ = ["CtapFailure", "CtapProcessor", "DeviceRemoved", "Status", "VirtualCtapDevice"]
