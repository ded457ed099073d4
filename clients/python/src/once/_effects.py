"""Effects that are committed together, with the result of a claim or by themselves."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Union

from ._core import check_name, present, unquoted
from ._errors import Invalid
from ._values import Duration, LogEvent, Time, duration_text, time_text

Items = Union[str, Sequence[Any]]


def event_body(event: Any) -> Dict[str, Any]:
    """An event as the server takes it."""
    if not isinstance(event, LogEvent):
        return {"data": event}
    time = None if event.time is None else time_text(event.time)
    return {"data": event.data, **present(time=time, id=event.id)}


def tally_body(
    kind: Optional[str],
    amount: Any,
    *,
    id: Optional[str] = None,
    id_ttl: Optional[Duration] = None,
    at: Optional[Time] = None,
    window: Optional[str] = None,
    ttl: Optional[Duration] = None,
    **shape: Any,
) -> Dict[str, Any]:
    """A change of a tally. Without a kind an int is a sum, a float a real, and texts are a top."""
    if kind is None:
        kind = _kind_of(amount)
    body: Dict[str, Any] = {"kind": kind}
    if kind in ("sum", "real", "count"):
        if amount is not None:
            body["add"] = amount
    elif kind in ("max", "min"):
        body["value"] = amount
    else:
        body["items"] = [amount] if isinstance(amount, str) else list(amount)
    body.update(
        present(
            id=id,
            id_ttl=None if id_ttl is None else duration_text(id_ttl),
            at=None if at is None else time_text(at),
            window=window,
            ttl=None if ttl is None else duration_text(ttl),
            **shape,
        )
    )
    return body


def _kind_of(amount: Any) -> str:
    if isinstance(amount, bool) or amount is None:
        raise Invalid(f"not an amount: {amount!r}")
    if isinstance(amount, int):
        return "sum"
    return "real" if isinstance(amount, float) else "top"


@dataclass
class DocumentPart:
    """A document of a commit. Without a condition it is created or replaced."""

    key: str
    change: Dict[str, Any]
    if_match: Optional[str] = None
    create: bool = False

    def body(self) -> Dict[str, Any]:
        """As the server takes it."""
        condition: Dict[str, Any] = {}
        if self.create:
            condition["if_none_match"] = "*"
        elif self.if_match is not None:
            condition["if_match"] = self.if_match
        elif "body" in self.change:
            condition["overwrite"] = True
        return {"key": self.key, **condition, **self.change}


@dataclass
class Effects:
    """Appends, documents and tallies that take effect together, or not at all.

    Every method returns the effects themselves, so that calls can be chained.
    """

    logs: List[Dict[str, Any]] = field(default_factory=list)
    documents: List[DocumentPart] = field(default_factory=list)
    tallies: List[Dict[str, Any]] = field(default_factory=list)

    def append(self, stream: str, *events: Any) -> "Effects":
        """Appends events, adjacent and in this order."""
        if not events:
            raise Invalid("no event to append")
        self.logs.append({"stream": check_name(stream), "events": [event_body(e) for e in events]})
        return self

    def put(
        self, key: str, value: Any, *, create: bool = False, if_match: Optional[str] = None
    ) -> "Effects":
        """Puts a document: creates or replaces it unless a condition is given."""
        return self._document(key, {"body": value}, create, if_match)

    def patch(self, key: str, patch: Any, *, if_match: Optional[str] = None) -> "Effects":
        """Changes a JSON document by a merge patch."""
        return self._document(key, {"patch": patch}, False, if_match)

    def delete(self, key: str, *, if_match: Optional[str] = None) -> "Effects":
        """Removes a document."""
        return self._document(key, {"delete": True}, False, if_match)

    def _document(
        self, key: str, change: Dict[str, Any], create: bool, if_match: Optional[str]
    ) -> "Effects":
        if create and if_match is not None:
            raise Invalid("either create or if_match")
        etag = None if if_match is None else unquoted(str(if_match))
        self.documents.append(DocumentPart(check_name(key), change, etag, create))
        return self

    def add(self, tally: str, amount: Any, *, kind: Optional[str] = None, **options: Any) -> "Effects":
        """Merges into a tally; options as for `Tally.add`, without an id."""
        self.tallies.append({"key": check_name(tally), **tally_body(kind, amount, **options)})
        return self

    def count(self, tally: str, add: int = 1, **options: Any) -> "Effects":
        """Adds to a count."""
        return self.add(tally, add, kind="count", **options)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to commit."""
        return not (self.logs or self.documents or self.tallies)
