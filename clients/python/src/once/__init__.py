"""Things take effect once, on a world that delivers at least once.

>>> import once
>>> client = once.connect("http://127.0.0.1:7600")
>>> outcome = client.run("invoice-42", lambda attempt: charge(attempt.fence))
"""
from __future__ import annotations

from typing import Optional, Union

from ._async_client import AsyncAttempt, AsyncClient, connect_async
from ._client import Attempt, Client, connect
from ._core import Answer
from ._effects import Effects
from ._errors import (
    Busy,
    Closed,
    Contended,
    Corrupt,
    Denied,
    Fenced,
    Invalid,
    Mismatch,
    NotFound,
    OnceError,
    PreconditionFailed,
    TooLarge,
    Unavailable,
    Unknown,
    Unsupported,
)
from ._http import asgi, wsgi
from ._lambda import lambda_handler
from ._lease import CURRENT
from ._serializer import Serializer
from ._telemetry import Notice
from ._values import (
    Appended,
    Bucket,
    ClaimRecord,
    Committed,
    Document,
    DocumentInfo,
    ETag,
    Event,
    EventStatus,
    Finished,
    HotKey,
    LogEvent,
    LogInfo,
    Outcome,
    Page,
    Previous,
    SeenRecord,
    Tallied,
    TallyInfo,
    Ticket,
    Token,
    TopItem,
)

__version__ = "0.1.0"


def current_attempt() -> Union[Attempt, AsyncAttempt]:
    """The attempt whose work this is called from, such as a function under `idempotent`."""
    attempt: Optional[Union[Attempt, AsyncAttempt]] = CURRENT.get()  # type: ignore[assignment]
    if attempt is None:
        raise Invalid("no attempt is under way here")
    return attempt


__all__ = [
    "Answer", "Appended", "AsyncAttempt", "AsyncClient", "Attempt", "Bucket", "Busy", "ClaimRecord", "Client",
    "Closed", "Committed", "Contended", "Corrupt", "Denied", "Document", "DocumentInfo", "ETag", "Effects", "Event",
    "EventStatus", "Fenced", "Finished", "HotKey", "Invalid", "LogEvent", "LogInfo", "Mismatch", "NotFound",
    "Notice", "OnceError", "Outcome", "Page", "PreconditionFailed", "Previous", "SeenRecord", "Serializer",
    "Tallied", "TallyInfo", "Ticket", "Token", "TooLarge", "TopItem", "Unavailable", "Unknown", "Unsupported", "asgi",
    "connect", "connect_async", "current_attempt", "lambda_handler", "wsgi",
]  # fmt: skip
