"""What calls give back, and durations and times as the server writes them."""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, Generic, Iterator, List, Mapping, Optional, TypeVar, Union

from ._errors import Invalid

Duration = Union[str, int, float, timedelta]
Time = Union[str, datetime]

T = TypeVar("T")

MISSING: Any = object()  # Told from None, which is a value.

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"([0-9]+)(ms|s|m|h|d)")


def seconds(duration: Duration) -> float:
    """``"250ms"``, ``"30s"``, a number of seconds or a timedelta, as seconds."""
    if isinstance(duration, timedelta):
        value = duration.total_seconds()
    elif isinstance(duration, bool):
        raise Invalid(f"not a duration: {duration!r}")
    elif isinstance(duration, (int, float)):
        value = float(duration)
    else:
        found = _DURATION.fullmatch(duration) if isinstance(duration, str) else None
        if found is None:
            raise Invalid(f"not a duration such as 250ms, 30s, 5m, 24h or 7d: {duration!r}")
        value = int(found.group(1)) * _UNITS[found.group(2)]
    if not 0 <= value < 1e12:
        raise Invalid(f"not a duration: {duration!r}")
    return value


def duration_text(duration: Duration) -> str:
    """As the server takes it. A text is sent as it was given."""
    value = seconds(duration)
    if isinstance(duration, str):
        return duration
    return f"{round(value * 1000)}ms" if value % 1 else f"{int(value)}s"


def time_text(time: Time) -> str:
    """RFC 3339. A time without a zone is local, as datetime has it."""
    if isinstance(time, str):
        return time
    return time.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_time(text: Any) -> Optional[datetime]:
    """A time in an answer; None if the answer has none."""
    if not isinstance(text, str):
        return None
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What came of a key. ``replayed``: it had been done before, and nothing ran now."""

    result: T
    replayed: bool
    completed_at: Optional[datetime] = None
    attempt: Optional[int] = None
    fence: Optional[int] = None


@dataclass(frozen=True)
class Previous:
    """What the attempt before left behind."""

    failure: Any
    failed_at: Optional[datetime]
    attempt: Optional[int]


@dataclass(frozen=True)
class Ticket:
    """A claim that is the caller's until its lease ends."""

    key: str
    ticket: str
    fence: int
    attempt: int
    lease_until: Optional[datetime]
    asked: float  # Monotonic: the lease began no earlier.
    guarded: bool = True  # False: the store was down, and the server was told to proceed.
    previous: Optional[Previous] = None


@dataclass(frozen=True)
class Finished:
    """A claim that has an outcome. ``failed``: it failed for good, and ``result`` is its failure."""

    key: str
    result: Any
    failed: bool
    completed_at: Optional[datetime]


@dataclass(frozen=True)
class ClaimRecord:
    """A claim as it is stored. ``state``: busy, abandoned, done, failed, free or corrupt."""

    key: str
    state: str
    owner: Optional[str] = None
    fence: Optional[int] = None
    attempt: Optional[int] = None
    claimed_at: Optional[datetime] = None
    lease_until: Optional[datetime] = None
    completed_at: Optional[datetime] = None
    failed_at: Optional[datetime] = None
    kept_until: Optional[datetime] = None
    result: Any = None
    failure: Any = None
    raw: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @staticmethod
    def of(raw: Mapping[str, Any], key: str = "") -> "ClaimRecord":
        """From the server's JSON. What it has besides is in ``raw``."""
        return ClaimRecord(
            key=str(raw.get("key", key)),
            state=str(raw.get("state", "")),
            owner=raw.get("owner"),
            fence=raw.get("fence"),
            attempt=raw.get("attempt"),
            claimed_at=parse_time(raw.get("claimed_at")),
            lease_until=parse_time(raw.get("lease_until")),
            completed_at=parse_time(raw.get("completed_at")),
            failed_at=parse_time(raw.get("failed_at")),
            kept_until=parse_time(raw.get("kept_until")),
            result=raw.get("result"),
            failure=raw.get("failure"),
            raw=raw,
        )


@dataclass(frozen=True)
class SeenRecord:
    """When an id was first seen, and until when that is known."""

    id: str
    at: Optional[datetime]
    until: Optional[datetime]


@dataclass(frozen=True)
class LogEvent:
    """An event to append, if it has a time or an id of its own."""

    data: Any
    time: Optional[Time] = None
    id: Optional[str] = None


@dataclass(frozen=True)
class Event:
    """An event as it was read."""

    index: int
    time: Optional[datetime]
    data: Any


@dataclass(frozen=True)
class Appended:
    """Where events are. ``first`` and ``last`` are None if all of them were known by their ids."""

    first: Optional[int]
    last: Optional[int]
    replayed: bool = False
    indexes: Optional[List[int]] = None


class Page(List[Event]):
    """Events in order. ``next`` is where the next page begins."""

    def __init__(self, events: List[Event], next: int, closed: bool = False) -> None:
        super().__init__(events)
        self.next = next
        self.closed = closed


@dataclass(frozen=True)
class LogInfo:
    """A log in a listing, or both ends of one."""

    stream: str
    oldest: Optional[int]
    next: Optional[int]
    closed: bool = False


class ETag(str):
    """The ETag of a document after a change, without quotes."""

    replayed: bool = False

    @property
    def etag(self) -> str:
        """Itself, so that a put and a get are read alike."""
        return str(self)


@dataclass(frozen=True)
class Document:
    """A document's value and its ETag. ``value, etag = document`` works, too."""

    value: Any
    etag: str
    content_type: str = "application/json"

    def __iter__(self) -> Iterator[Any]:
        return iter((self.value, self.etag))


@dataclass(frozen=True)
class DocumentInfo:
    """A document in a listing."""

    key: str
    etag: str
    bytes: int
    content_type: str


@dataclass(frozen=True)
class Tallied:
    """A tally after a change. ``value`` may be missing in the answer to a commit."""

    kind: str
    value: Any
    replayed: bool = False


@dataclass(frozen=True)
class TopItem:
    """One of the most frequent items: counted at most ``count`` times, at least ``count - error``."""

    item: str
    count: int
    error: int


@dataclass(frozen=True)
class Bucket:
    """One bucket of a windowed tally."""

    at: Optional[datetime]
    value: Any


@dataclass(frozen=True)
class TallyInfo:
    """A tally in a listing."""

    key: str
    kind: str
    window: Optional[str]


@dataclass(frozen=True)
class Committed:
    """All parts of a commit happened; one answer for each."""

    replayed: bool
    logs: List[Appended]
    documents: List[ETag]
    tallies: List[Tallied]


@dataclass(frozen=True)
class HotKey:
    """A key with many conflicts of late."""

    key: str
    conflicts: int


@dataclass(frozen=True)
class Token:
    """A token. ``token`` is its secret, and is there only when it was just made."""

    id: str
    label: Optional[str]
    namespace: Optional[str]
    read_only: bool
    created_at: Optional[datetime]
    expires_at: Optional[datetime]
    token: Optional[str] = field(default=None, repr=False)

    @staticmethod
    def of(raw: Mapping[str, Any]) -> "Token":
        """From the server's JSON."""
        return Token(
            id=str(raw.get("id", "")),
            label=raw.get("label"),
            namespace=raw.get("namespace"),
            read_only=bool(raw.get("read_only")),
            created_at=parse_time(raw.get("created_at")),
            expires_at=parse_time(raw.get("expires_at")),
            token=raw.get("token"),
        )


@dataclass(frozen=True)
class EventStatus:
    """What became of a CloudEvent: ``processed``, ``skipped``, or in a batch also other things."""

    status: str
    event_id: Optional[str]
    processed_at: Optional[datetime] = None
    raw: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @staticmethod
    def of(raw: Mapping[str, Any]) -> "EventStatus":
        """From the server's JSON. What it has besides is in ``raw``."""
        return EventStatus(
            status=str(raw.get("status", "")),
            event_id=raw.get("event_id"),
            processed_at=parse_time(raw.get("processed_at")),
            raw=raw,
        )


Json = Any
JsonObject = Dict[str, Any]
