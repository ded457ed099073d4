"""Claims, logs, documents, tallies and the rest of the API, blocking.

Made from `_async_nouns.py` by `tools/unasync.py`; do not change it by hand.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Callable, Dict, List, Mapping, Optional, Sequence, TypeVar, Union

from . import _plans as plans
from ._core import Answer, Core, Plan, pages
from ._effects import Effects, Items, tally_body
from ._transport import Broken
from ._values import (
    MISSING,
    Appended,
    Bucket,
    ClaimRecord,
    Committed,
    Document as Snapshot,
    DocumentInfo,
    Duration,
    ETag,
    Event,
    EventStatus,
    Finished,
    HotKey,
    LogInfo,
    Page,
    SeenRecord,
    Tallied,
    TallyInfo,
    Ticket,
    Time,
    Token,
    TopItem,
    duration_text,
)

if TYPE_CHECKING:
    from ._client import Client

T = TypeVar("T")


class Claim:
    """One key's claim, by hand. `run` does all of this by itself."""

    def __init__(self, client: Client, key: str) -> None:
        self._client = client
        self.key = key

    def take(
        self,
        *,
        lease: Duration = "30s",
        ttl: Duration = "24h",
        wait: Duration = "0s",
        payload: Any = None,
        owner: Optional[str] = None,
        request: Optional[str] = None,
    ) -> Union[Ticket, Finished]:
        """Takes it, or tells its outcome. Raises `Busy` or `Mismatch`."""
        return self._client._drive(
            plans.take(
                self._client._core, self.key, lease=lease, ttl=ttl, wait=wait, payload=payload, owner=owner, request=request
            )
        )

    def renew(self, ticket: Union[Ticket, str], lease: Duration = "30s") -> None:
        """Holds it for longer. Raises `Fenced`."""
        self._client._drive(plans.renew(self._client._core, self.key, _text_of(ticket), lease))

    def complete(self, ticket: Union[Ticket, str], result: Any = None) -> bool:
        """Records the result. True if it had been recorded before."""
        return self._client._drive(plans.complete(self._client._core, self.key, _text_of(ticket), result))

    def release(self, ticket: Union[Ticket, str], failure: Any = None, *, final: bool = False) -> None:
        """Frees it for the next attempt, or records the failure for good."""
        self._client._drive(plans.release(self._client._core, self.key, _text_of(ticket), failure, final))

    def get(self) -> Optional[ClaimRecord]:
        """Its record, if there is one."""
        return self._client._drive(plans.show_claim(self._client._core, self.key))

    def forget(self) -> None:
        """May be claimed anew; its old ticket is fenced."""
        self._client._drive(plans.forget_claim(self._client._core, self.key))


def _text_of(ticket: Union[Ticket, str]) -> str:
    return ticket if isinstance(ticket, str) else ticket.ticket


class Log:
    """Events with consecutive indexes from 1."""

    def __init__(self, client: Client, stream: str) -> None:
        self._client = client
        self.stream = stream

    def append(
        self,
        events: Sequence[Any],
        *,
        batch: Optional[str] = None,
        expect: Optional[int] = None,
        ttl: Optional[Duration] = None,
        id_ttl: Optional[Duration] = None,
    ) -> Appended:
        """Appends events, all adjacent. A repeat under the same batch id appends nothing.

        Raises `PreconditionFailed` if the next index is not ``expect``, `Closed` if it is closed.
        """
        return self._client._drive(
            plans.append(self._client._core, self.stream, events, batch, expect, ttl, id_ttl)
        )

    def read(
        self,
        start: Optional[int] = None,
        *,
        limit: Optional[int] = None,
        order: Optional[str] = None,
        since: Optional[Time] = None,
    ) -> Page:
        """Up to ``limit`` events (100) from ``start`` (1) on; ``.next`` is where to read on."""
        return self._client._drive(
            plans.read(self._client._core, self.stream, start, limit, order, since)
        )

    def follow(
        self, start: int = 1, *, limit: Optional[int] = None, since: Optional[Time] = None
    ) -> Iterator[Event]:
        """Events as they come, without end. Resumes by itself, with no gap and no repeat.

        With ``since``, in place of ``start``, from the first event that was appended then or later.
        Ends when the log is closed. Raises `Unavailable` if no server is there for too long.
        """
        state = plans.FollowState(self._client._core, self.stream, start, limit, since)
        while not state.ended:
            try:
                with self._client._transport.lines(state.request(), self._client._core.timeout) as lines:
                    for line in lines:
                        event = state.feed(line)
                        if event is not None:
                            yield event
                        if state.ended:
                            break
            except Broken as broken:
                self._client._pause(state.pause(broken.reason))

    def trim(self, before: int) -> LogInfo:
        """Makes the events below an index unreadable."""
        return self._client._drive(plans.trim(self._client._core, self.stream, before))

    def close(self, ttl: Optional[Duration] = None) -> LogInfo:
        """No event is appended from now on; after ``ttl`` the log is gone."""
        return self._client._drive(plans.close_log(self._client._core, self.stream, ttl))

    def delete(self) -> bool:
        """Removes a closed log. False if there was none."""
        return self._client._drive(plans.delete_log(self._client._core, self.stream))


class Document:
    """A value with an ETag. Nothing is overwritten unseen."""

    def __init__(self, client: Client, key: str) -> None:
        self._client = client
        self.key = key

    def get(self) -> Optional[Snapshot]:
        """Value and ETag, or None."""
        return self._client._drive(plans.get_document(self._client._core, self.key))

    def get_if_changed(self, etag: str) -> Optional[Snapshot]:
        """Value and ETag if it is another one by now, else None."""
        return self._client._drive(plans.get_if_changed(self._client._core, self.key, etag))

    def put(
        self,
        value: Any,
        *,
        create: bool = False,
        if_match: Optional[str] = None,
        content_type: Optional[str] = None,
        id: Optional[str] = None,
        ttl: Optional[Duration] = None,
    ) -> ETag:
        """Creates it, or replaces the one with that ETag. Raises `PreconditionFailed`.

        A repeat under a known ``id`` changes nothing. If the document has changed or is gone by
        then, the ETag that it returns matches nothing.
        """
        return self._client._drive(
            plans.put_document(self._client._core, self.key, value, create, if_match, content_type, id, ttl)
        )

    def update(
        self,
        change: Callable[[Any], Any],
        *,
        default: Any = MISSING,
        content_type: Optional[str] = None,
        ttl: Optional[Duration] = None,
    ) -> Snapshot:
        """Puts what ``change`` makes of the value, and again if another was faster.

        ``change`` gets ``default`` if there is no document, or an empty dict. It may be called
        several times.
        """
        return self._client._drive(
            plans.update_document(self._client._core, self.key, change, default, content_type, ttl)
        )

    def patch(
        self,
        patch: Any,
        *,
        if_match: Optional[str] = None,
        id: Optional[str] = None,
        ttl: Optional[Duration] = None,
    ) -> Snapshot:
        """A merge patch, or a list of JSON patch operations. The server retries conflicts.

        A repeat under a known ``id`` changes nothing. Its value is None if the document is gone by then.
        """
        return self._client._drive(
            plans.patch_document(self._client._core, self.key, patch, if_match, id, ttl)
        )

    def delete(self, *, if_match: Optional[str] = None, id: Optional[str] = None) -> bool:
        """Removes the one with that ETag; without one, whatever is there. False: there was none."""
        return self._client._drive(plans.delete_document(self._client._core, self.key, if_match, id))


class Tally:
    """A number or a sketch that many merge into."""

    def __init__(self, client: Client, key: str) -> None:
        self._client = client
        self.key = key

    def add(
        self,
        amount: Any,
        *,
        kind: Optional[str] = None,
        id: Optional[str] = None,
        id_ttl: Optional[Duration] = None,
        at: Optional[Time] = None,
        window: Optional[str] = None,
        ttl: Optional[Duration] = None,
        **shape: Any,
    ) -> Tallied:
        """Merges. An int goes to a sum, a float to a real, texts to a top, unless ``kind`` says.

        With an ``id`` a repeat adds nothing. ``shape``: precision, counters, capacity, rate.
        """
        body = tally_body(kind, amount, id=id, id_ttl=id_ttl, at=at, window=window, ttl=ttl, **shape)
        return self._client._drive(plans.add_to_tally(self._client._core, self.key, body))

    def count(self, add: int = 1, **options: Any) -> Tallied:
        """Adds to a count; options as for `add`."""
        return self.add(add, kind="count", **options)

    def max(self, value: int, **options: Any) -> Tallied:
        """Keeps the larger."""
        return self.add(value, kind="max", **options)

    def min(self, value: int, **options: Any) -> Tallied:
        """Keeps the smaller."""
        return self.add(value, kind="min", **options)

    def distinct(self, items: Items, **options: Any) -> Tallied:
        """Counts different texts, as an estimate."""
        return self.add(items, kind="distinct", **options)

    def bloom(self, items: Items, **options: Any) -> Tallied:
        """Adds texts to a filter; ask with `contains`."""
        return self.add(items, kind="bloom", **options)

    def hit(self, items: Items, **options: Any) -> Tallied:
        """Counts the most frequent texts; read with `top`."""
        return self.add(items, kind="top", **options)

    def value(
        self, *, start: Optional[Time] = None, end: Optional[Time] = None, last: Optional[Duration] = None
    ) -> Any:
        """The value of all buckets, or of those in a range; None if it does not exist."""
        return self._client._drive(
            plans.tally_value(self._client._core, self.key, plans.tally_range(start, end, last))
        )

    def top(
        self,
        limit: int = 10,
        *,
        start: Optional[Time] = None,
        end: Optional[Time] = None,
        last: Optional[Duration] = None,
    ) -> List[TopItem]:
        """The most frequent items, with how much each may be overcounted."""
        return self._client._drive(
            plans.tally_top(self._client._core, self.key, limit, plans.tally_range(start, end, last))
        )

    def contains(self, item: str) -> bool:
        """Whether a filter has the text. False is certain, True is likely."""
        return bool(self._client._drive(plans.tally_value(self._client._core, self.key, {"item": item})))

    def series(
        self, *, start: Optional[Time] = None, end: Optional[Time] = None, last: Optional[Duration] = None
    ) -> List[Bucket]:
        """A row for each bucket that holds something, in order."""
        return self._client._drive(
            plans.tally_series(self._client._core, self.key, plans.tally_range(start, end, last))
        )

    def delete(self) -> bool:
        """Removes buckets, ids and kind. False if there was none."""
        return self._client._drive(plans.delete_tally(self._client._core, self.key))


class Tokens:
    """Who may come in."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def list(self) -> List[Token]:
        """All of them, without their secrets."""
        return self._client._drive(plans.list_tokens(self._client._core))

    def new(
        self,
        *,
        namespace: Optional[str] = None,
        read_only: bool = False,
        expires: Optional[Duration] = None,
        label: Optional[str] = None,
    ) -> Token:
        """Makes one; its secret is in ``.token``, this once."""
        return self._client._drive(plans.new_token(self._client._core, namespace, read_only, expires, label))

    def revoke(self, id: str) -> bool:
        """It opens nothing any more. False if there was none."""
        return self._client._drive(plans.revoke_token(self._client._core, id))


class Nouns:
    """All calls of a client but `run` and `idempotent`."""

    _core: Core

    def _drive(self, plan: Plan[T]) -> T:
        """Performs a plan."""
        raise NotImplementedError

    def _self(self) -> Client:
        return self  # type: ignore[return-value]

    def claim(self, key: str) -> Claim:
        """One key's claim, by hand."""
        return Claim(self._self(), key)

    def log(self, stream: str) -> Log:
        """A log, which exists once something was appended."""
        return Log(self._self(), stream)

    def document(self, key: str) -> Document:
        """A document."""
        return Document(self._self(), key)

    def tally(self, key: str) -> Tally:
        """A tally, whose kind is fixed by the first change."""
        return Tally(self._self(), key)

    @property
    def tokens(self) -> Tokens:
        """Who may come in."""
        return Tokens(self._self())

    def seen(
        self, ids: Sequence[str], *, ttl: Optional[Duration] = None, request: Optional[str] = None
    ) -> List[bool]:
        """Whether each id is here for the first time. A repeat with the same ``request`` is told the same."""
        return self._drive(plans.seen(self._core, ids, ttl, request))

    def seen_record(self, id: str) -> Optional[SeenRecord]:
        """When an id was first seen, if it was."""
        return self._drive(plans.show_seen(self._core, id))

    def forget_seen(self, id: str) -> bool:
        """It is first again. False if it was not seen."""
        return self._drive(plans.forget_seen(self._core, id))

    def commit(self, effects: Effects, *, id: Optional[str] = None) -> Committed:
        """Several effects at once. A repeat under the same id does nothing."""
        return self._drive(plans.commit(self._core, effects, id=id))

    def prepare(self, effects: Effects, *, id: Optional[str] = None) -> Optional[str]:
        """The effects as a token, for ``select once.apply(%s)`` in a transaction of your own.

        They happen if that transaction commits. A token can be applied for a minute. None: under
        this id they have happened. Only on a store on PostgreSQL.
        """
        token, _ = self._drive(plans.prepare(self._core, effects, id=id))
        return token

    def hot(self) -> List[HotKey]:
        """The keys with most conflicts of late."""
        return self._drive(plans.hot(self._core))

    def claims(
        self,
        *,
        state: Optional[str] = None,
        owner: Optional[str] = None,
        prefix: Optional[str] = None,
        older_than: Optional[Duration] = None,
        limit: Optional[int] = None,
    ) -> List[ClaimRecord]:
        """All claims of a kind. ``limit`` is how many a page has."""
        return self._drive(
            pages(lambda c: plans.list_claims(self._core, c, state, owner, prefix, older_than, limit))
        )

    def logs(self, *, prefix: Optional[str] = None, limit: Optional[int] = None) -> List[LogInfo]:
        """All logs."""
        return self._drive(pages(lambda c: plans.list_logs(self._core, c, prefix, limit)))

    def documents(self, *, prefix: Optional[str] = None, limit: Optional[int] = None) -> List[DocumentInfo]:
        """All documents, without their values."""
        return self._drive(pages(lambda c: plans.list_documents(self._core, c, prefix, limit)))

    def tallies(self, *, prefix: Optional[str] = None, limit: Optional[int] = None) -> List[TallyInfo]:
        """All tallies, without their values."""
        return self._drive(pages(lambda c: plans.list_tallies(self._core, c, prefix, limit)))

    def read_tallies(
        self,
        keys: Sequence[str],
        *,
        start: Optional[Time] = None,
        end: Optional[Time] = None,
        last: Optional[Duration] = None,
    ) -> List[Any]:
        """Many values in order, None for those that do not exist."""
        return self._drive(plans.read_tallies(self._core, keys, plans.tally_range(start, end, last)))

    def _bulk(self, what: str, action: str, counts: str, fields: Dict[str, Any]) -> int:
        given = {name: value for name, value in fields.items() if value is not None}
        if "older_than" in given:
            given["older_than"] = duration_text(given["older_than"])
        return self._drive(plans.bulk(self._core, what, action, counts, given))

    def forget_claims(
        self,
        *,
        prefix: Optional[str] = None,
        state: Optional[str] = None,
        owner: Optional[str] = None,
        older_than: Optional[Duration] = None,
        dry_run: bool = False,
    ) -> int:
        """Forgets many claims; how many."""
        fields = dict(prefix=prefix, state=state, owner=owner, older_than=older_than, dry_run=dry_run or None)
        return self._bulk("claims", "forget", "forgotten", fields)

    def retry_claims(
        self, *, prefix: Optional[str] = None, older_than: Optional[Duration] = None, dry_run: bool = False
    ) -> int:
        """Frees claims that failed for good; how many."""
        return self._bulk(
            "claims", "retry", "retried", dict(prefix=prefix, older_than=older_than, dry_run=dry_run or None)
        )

    def release_claims(
        self,
        *,
        prefix: Optional[str] = None,
        state: Optional[str] = None,
        owner: Optional[str] = None,
        older_than: Optional[Duration] = None,
        dry_run: bool = False,
    ) -> int:
        """Frees claims that are busy or abandoned, without their tickets; how many. Their holders are fenced."""
        fields = dict(prefix=prefix, state=state, owner=owner, older_than=older_than, dry_run=dry_run or None)
        return self._bulk("claims", "release", "released", fields)

    def delete_logs(self, prefix: str, *, dry_run: bool = False) -> int:
        """Deletes logs; how many."""
        return self._bulk("logs", "delete", "deleted", dict(prefix=prefix, dry_run=dry_run or None))

    def delete_documents(self, prefix: str, *, dry_run: bool = False) -> int:
        """Deletes documents; how many."""
        return self._bulk("docs", "delete", "deleted", dict(prefix=prefix, dry_run=dry_run or None))

    def delete_tallies(self, prefix: str, *, dry_run: bool = False) -> int:
        """Deletes tallies; how many."""
        return self._bulk("tallies", "delete", "deleted", dict(prefix=prefix, dry_run=dry_run or None))

    def send_event(self, event: Mapping[str, Any]) -> EventStatus:
        """A CloudEvent 1.0, processed once. Raises `Busy` while another delivery is processed."""
        return self._drive(plans.send_event(self._core, event))

    def send_events(self, events: Sequence[Mapping[str, Any]]) -> List[EventStatus]:
        """A batch of CloudEvents; one status each."""
        return self._drive(plans.send_events(self._core, events))

    def items(self, *, limit: Optional[int] = None) -> List[Dict[str, Any]]:
        """All items of the store as they are."""
        return self._drive(pages(lambda c: plans.list_items(self._core, c, limit)))

    def import_items(self, items: Sequence[Mapping[str, Any]], *, with_tokens: bool = False) -> Dict[str, int]:
        """Puts items where there is nothing yet."""
        return self._drive(plans.import_items(self._core, items, with_tokens))

    def checkpoint(self) -> Dict[str, Any]:
        """Copies an embedded store, on the server's machine."""
        return self._drive(plans.checkpoint(self._core))

    def whoami(self) -> Dict[str, Any]:
        """What the token, if there is one, allows: ``open``, ``access`` and others."""
        return self._drive(self._core.ask("GET", "/v1/whoami"))

    def health(self) -> Dict[str, Any]:
        """Whether the server runs."""
        return self._drive(self._core.ask("GET", "/healthz"))

    def ready(self) -> bool:
        """Whether the store answers and would take a write. One try."""
        return self._drive(plans.ready(self._core))

    def metrics(self) -> str:
        """For Prometheus."""
        return self._drive(plans.page(self._core, "/metrics"))

    def openapi(self) -> str:
        """The contract of the server."""
        return self._drive(plans.page(self._core, "/openapi.yaml"))

    def request(
        self,
        method: str,
        target: str,
        body: Any = None,
        *,
        headers: Optional[Mapping[str, str]] = None,
        repeat: bool = False,
    ) -> Answer:
        """Any other call. ``repeat`` says that it may be sent again after a lost answer."""
        return self._drive(plans.raw(self._core, method, target, body, headers or {}, repeat))
