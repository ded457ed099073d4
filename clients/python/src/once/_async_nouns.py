"""Claims, logs, documents, tallies and the rest of the API, awaitable.

`_sync_nouns.py` is made from this file by `tools/unasync.py`; change this one.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Dict, List, Mapping, Optional, Sequence, TypeVar, Union

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
    from ._async_client import AsyncClient

T = TypeVar("T")


class AsyncClaim:
    """One key's claim, by hand. `run` does all of this by itself."""

    def __init__(self, client: AsyncClient, key: str) -> None:
        self._client = client
        self.key = key

    async def take(
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
        return await self._client._drive(
            plans.take(
                self._client._core, self.key, lease=lease, ttl=ttl, wait=wait, payload=payload, owner=owner, request=request
            )
        )

    async def renew(self, ticket: Union[Ticket, str], lease: Duration = "30s") -> None:
        """Holds it for longer. Raises `Fenced`."""
        await self._client._drive(plans.renew(self._client._core, self.key, _text_of(ticket), lease))

    async def complete(self, ticket: Union[Ticket, str], result: Any = None) -> bool:
        """Records the result. True if it had been recorded before."""
        return await self._client._drive(plans.complete(self._client._core, self.key, _text_of(ticket), result))

    async def release(self, ticket: Union[Ticket, str], failure: Any = None, *, final: bool = False) -> None:
        """Frees it for the next attempt, or records the failure for good."""
        await self._client._drive(plans.release(self._client._core, self.key, _text_of(ticket), failure, final))

    async def get(self) -> Optional[ClaimRecord]:
        """Its record, if there is one."""
        return await self._client._drive(plans.show_claim(self._client._core, self.key))

    async def forget(self) -> None:
        """May be claimed anew; its old ticket is fenced."""
        await self._client._drive(plans.forget_claim(self._client._core, self.key))


def _text_of(ticket: Union[Ticket, str]) -> str:
    return ticket if isinstance(ticket, str) else ticket.ticket


class AsyncLog:
    """Events with consecutive indexes from 1."""

    def __init__(self, client: AsyncClient, stream: str) -> None:
        self._client = client
        self.stream = stream

    async def append(
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
        return await self._client._drive(
            plans.append(self._client._core, self.stream, events, batch, expect, ttl, id_ttl)
        )

    async def read(
        self,
        start: Optional[int] = None,
        *,
        limit: Optional[int] = None,
        order: Optional[str] = None,
        since: Optional[Time] = None,
    ) -> Page:
        """Up to ``limit`` events (100) from ``start`` (1) on; ``.next`` is where to read on."""
        return await self._client._drive(
            plans.read(self._client._core, self.stream, start, limit, order, since)
        )

    async def follow(
        self, start: int = 1, *, limit: Optional[int] = None, since: Optional[Time] = None
    ) -> AsyncIterator[Event]:
        """Events as they come, without end. Resumes by itself, with no gap and no repeat.

        With ``since``, in place of ``start``, from the first event that was appended then or later.
        Ends when the log is closed. Raises `Unavailable` if no server is there for too long.
        """
        state = plans.FollowState(self._client._core, self.stream, start, limit, since)
        while not state.ended:
            try:
                async with self._client._transport.lines(state.request(), self._client._core.timeout) as lines:
                    async for line in lines:
                        event = state.feed(line)
                        if event is not None:
                            yield event
                        if state.ended:
                            break
            except Broken as broken:
                await self._client._pause(state.pause(broken.reason))

    async def trim(self, before: int) -> LogInfo:
        """Makes the events below an index unreadable."""
        return await self._client._drive(plans.trim(self._client._core, self.stream, before))

    async def close(self, ttl: Optional[Duration] = None) -> LogInfo:
        """No event is appended from now on; after ``ttl`` the log is gone."""
        return await self._client._drive(plans.close_log(self._client._core, self.stream, ttl))

    async def delete(self) -> bool:
        """Removes a closed log. False if there was none."""
        return await self._client._drive(plans.delete_log(self._client._core, self.stream))


class AsyncDocument:
    """A value with an ETag. Nothing is overwritten unseen."""

    def __init__(self, client: AsyncClient, key: str) -> None:
        self._client = client
        self.key = key

    async def get(self) -> Optional[Snapshot]:
        """Value and ETag, or None."""
        return await self._client._drive(plans.get_document(self._client._core, self.key))

    async def get_if_changed(self, etag: str) -> Optional[Snapshot]:
        """Value and ETag if it is another one by now, else None."""
        return await self._client._drive(plans.get_if_changed(self._client._core, self.key, etag))

    async def put(
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
        return await self._client._drive(
            plans.put_document(self._client._core, self.key, value, create, if_match, content_type, id, ttl)
        )

    async def update(
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
        return await self._client._drive(
            plans.update_document(self._client._core, self.key, change, default, content_type, ttl)
        )

    async def patch(
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
        return await self._client._drive(
            plans.patch_document(self._client._core, self.key, patch, if_match, id, ttl)
        )

    async def delete(self, *, if_match: Optional[str] = None, id: Optional[str] = None) -> bool:
        """Removes the one with that ETag; without one, whatever is there. False: there was none."""
        return await self._client._drive(plans.delete_document(self._client._core, self.key, if_match, id))


class AsyncTally:
    """A number or a sketch that many merge into."""

    def __init__(self, client: AsyncClient, key: str) -> None:
        self._client = client
        self.key = key

    async def add(
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
        return await self._client._drive(plans.add_to_tally(self._client._core, self.key, body))

    async def count(self, add: int = 1, **options: Any) -> Tallied:
        """Adds to a count; options as for `add`."""
        return await self.add(add, kind="count", **options)

    async def max(self, value: int, **options: Any) -> Tallied:
        """Keeps the larger."""
        return await self.add(value, kind="max", **options)

    async def min(self, value: int, **options: Any) -> Tallied:
        """Keeps the smaller."""
        return await self.add(value, kind="min", **options)

    async def distinct(self, items: Items, **options: Any) -> Tallied:
        """Counts different texts, as an estimate."""
        return await self.add(items, kind="distinct", **options)

    async def bloom(self, items: Items, **options: Any) -> Tallied:
        """Adds texts to a filter; ask with `contains`."""
        return await self.add(items, kind="bloom", **options)

    async def hit(self, items: Items, **options: Any) -> Tallied:
        """Counts the most frequent texts; read with `top`."""
        return await self.add(items, kind="top", **options)

    async def value(
        self, *, start: Optional[Time] = None, end: Optional[Time] = None, last: Optional[Duration] = None
    ) -> Any:
        """The value of all buckets, or of those in a range; None if it does not exist."""
        return await self._client._drive(
            plans.tally_value(self._client._core, self.key, plans.tally_range(start, end, last))
        )

    async def top(
        self,
        limit: int = 10,
        *,
        start: Optional[Time] = None,
        end: Optional[Time] = None,
        last: Optional[Duration] = None,
    ) -> List[TopItem]:
        """The most frequent items, with how much each may be overcounted."""
        return await self._client._drive(
            plans.tally_top(self._client._core, self.key, limit, plans.tally_range(start, end, last))
        )

    async def contains(self, item: str) -> bool:
        """Whether a filter has the text. False is certain, True is likely."""
        return bool(await self._client._drive(plans.tally_value(self._client._core, self.key, {"item": item})))

    async def series(
        self, *, start: Optional[Time] = None, end: Optional[Time] = None, last: Optional[Duration] = None
    ) -> List[Bucket]:
        """A row for each bucket that holds something, in order."""
        return await self._client._drive(
            plans.tally_series(self._client._core, self.key, plans.tally_range(start, end, last))
        )

    async def delete(self) -> bool:
        """Removes buckets, ids and kind. False if there was none."""
        return await self._client._drive(plans.delete_tally(self._client._core, self.key))


class AsyncTokens:
    """Who may come in."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def list(self) -> List[Token]:
        """All of them, without their secrets."""
        return await self._client._drive(plans.list_tokens(self._client._core))

    async def new(
        self,
        *,
        namespace: Optional[str] = None,
        read_only: bool = False,
        expires: Optional[Duration] = None,
        label: Optional[str] = None,
    ) -> Token:
        """Makes one; its secret is in ``.token``, this once."""
        return await self._client._drive(plans.new_token(self._client._core, namespace, read_only, expires, label))

    async def revoke(self, id: str) -> bool:
        """It opens nothing any more. False if there was none."""
        return await self._client._drive(plans.revoke_token(self._client._core, id))


class AsyncNouns:
    """All calls of a client but `run` and `idempotent`."""

    _core: Core

    async def _drive(self, plan: Plan[T]) -> T:
        """Performs a plan."""
        raise NotImplementedError

    def _self(self) -> AsyncClient:
        return self  # type: ignore[return-value]

    def claim(self, key: str) -> AsyncClaim:
        """One key's claim, by hand."""
        return AsyncClaim(self._self(), key)

    def log(self, stream: str) -> AsyncLog:
        """A log, which exists once something was appended."""
        return AsyncLog(self._self(), stream)

    def document(self, key: str) -> AsyncDocument:
        """A document."""
        return AsyncDocument(self._self(), key)

    def tally(self, key: str) -> AsyncTally:
        """A tally, whose kind is fixed by the first change."""
        return AsyncTally(self._self(), key)

    @property
    def tokens(self) -> AsyncTokens:
        """Who may come in."""
        return AsyncTokens(self._self())

    async def seen(
        self, ids: Sequence[str], *, ttl: Optional[Duration] = None, request: Optional[str] = None
    ) -> List[bool]:
        """Whether each id is here for the first time. A repeat with the same ``request`` is told the same."""
        return await self._drive(plans.seen(self._core, ids, ttl, request))

    async def seen_record(self, id: str) -> Optional[SeenRecord]:
        """When an id was first seen, if it was."""
        return await self._drive(plans.show_seen(self._core, id))

    async def forget_seen(self, id: str) -> bool:
        """It is first again. False if it was not seen."""
        return await self._drive(plans.forget_seen(self._core, id))

    async def commit(self, effects: Effects, *, id: Optional[str] = None) -> Committed:
        """Several effects at once. A repeat under the same id does nothing."""
        return await self._drive(plans.commit(self._core, effects, id=id))

    async def prepare(self, effects: Effects, *, id: Optional[str] = None) -> Optional[str]:
        """The effects as a token, for ``select once.apply(%s)`` in a transaction of your own.

        They happen if that transaction commits. A token can be applied for a minute. None: under
        this id they have happened. Only on a store on PostgreSQL.
        """
        token, _ = await self._drive(plans.prepare(self._core, effects, id=id))
        return token

    async def hot(self) -> List[HotKey]:
        """The keys with most conflicts of late."""
        return await self._drive(plans.hot(self._core))

    async def claims(
        self,
        *,
        state: Optional[str] = None,
        owner: Optional[str] = None,
        prefix: Optional[str] = None,
        older_than: Optional[Duration] = None,
        limit: Optional[int] = None,
    ) -> List[ClaimRecord]:
        """All claims of a kind. ``limit`` is how many a page has."""
        return await self._drive(
            pages(lambda c: plans.list_claims(self._core, c, state, owner, prefix, older_than, limit))
        )

    async def logs(self, *, prefix: Optional[str] = None, limit: Optional[int] = None) -> List[LogInfo]:
        """All logs."""
        return await self._drive(pages(lambda c: plans.list_logs(self._core, c, prefix, limit)))

    async def documents(self, *, prefix: Optional[str] = None, limit: Optional[int] = None) -> List[DocumentInfo]:
        """All documents, without their values."""
        return await self._drive(pages(lambda c: plans.list_documents(self._core, c, prefix, limit)))

    async def tallies(self, *, prefix: Optional[str] = None, limit: Optional[int] = None) -> List[TallyInfo]:
        """All tallies, without their values."""
        return await self._drive(pages(lambda c: plans.list_tallies(self._core, c, prefix, limit)))

    async def read_tallies(
        self,
        keys: Sequence[str],
        *,
        start: Optional[Time] = None,
        end: Optional[Time] = None,
        last: Optional[Duration] = None,
    ) -> List[Any]:
        """Many values in order, None for those that do not exist."""
        return await self._drive(plans.read_tallies(self._core, keys, plans.tally_range(start, end, last)))

    async def _bulk(self, what: str, action: str, counts: str, fields: Dict[str, Any]) -> int:
        given = {name: value for name, value in fields.items() if value is not None}
        if "older_than" in given:
            given["older_than"] = duration_text(given["older_than"])
        return await self._drive(plans.bulk(self._core, what, action, counts, given))

    async def forget_claims(
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
        return await self._bulk("claims", "forget", "forgotten", fields)

    async def retry_claims(
        self, *, prefix: Optional[str] = None, older_than: Optional[Duration] = None, dry_run: bool = False
    ) -> int:
        """Frees claims that failed for good; how many."""
        return await self._bulk(
            "claims", "retry", "retried", dict(prefix=prefix, older_than=older_than, dry_run=dry_run or None)
        )

    async def release_claims(
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
        return await self._bulk("claims", "release", "released", fields)

    async def delete_logs(self, prefix: str, *, dry_run: bool = False) -> int:
        """Deletes logs; how many."""
        return await self._bulk("logs", "delete", "deleted", dict(prefix=prefix, dry_run=dry_run or None))

    async def delete_documents(self, prefix: str, *, dry_run: bool = False) -> int:
        """Deletes documents; how many."""
        return await self._bulk("docs", "delete", "deleted", dict(prefix=prefix, dry_run=dry_run or None))

    async def delete_tallies(self, prefix: str, *, dry_run: bool = False) -> int:
        """Deletes tallies; how many."""
        return await self._bulk("tallies", "delete", "deleted", dict(prefix=prefix, dry_run=dry_run or None))

    async def send_event(self, event: Mapping[str, Any]) -> EventStatus:
        """A CloudEvent 1.0, processed once. Raises `Busy` while another delivery is processed."""
        return await self._drive(plans.send_event(self._core, event))

    async def send_events(self, events: Sequence[Mapping[str, Any]]) -> List[EventStatus]:
        """A batch of CloudEvents; one status each."""
        return await self._drive(plans.send_events(self._core, events))

    async def items(self, *, limit: Optional[int] = None) -> List[Dict[str, Any]]:
        """All items of the store as they are."""
        return await self._drive(pages(lambda c: plans.list_items(self._core, c, limit)))

    async def import_items(self, items: Sequence[Mapping[str, Any]], *, with_tokens: bool = False) -> Dict[str, int]:
        """Puts items where there is nothing yet."""
        return await self._drive(plans.import_items(self._core, items, with_tokens))

    async def checkpoint(self) -> Dict[str, Any]:
        """Copies an embedded store, on the server's machine."""
        return await self._drive(plans.checkpoint(self._core))

    async def whoami(self) -> Dict[str, Any]:
        """What the token, if there is one, allows: ``open``, ``access`` and others."""
        return await self._drive(self._core.ask("GET", "/v1/whoami"))

    async def health(self) -> Dict[str, Any]:
        """Whether the server runs."""
        return await self._drive(self._core.ask("GET", "/healthz"))

    async def ready(self) -> bool:
        """Whether the store answers and would take a write. One try."""
        return await self._drive(plans.ready(self._core))

    async def metrics(self) -> str:
        """For Prometheus."""
        return await self._drive(plans.page(self._core, "/metrics"))

    async def openapi(self) -> str:
        """The contract of the server."""
        return await self._drive(plans.page(self._core, "/openapi.yaml"))

    async def request(
        self,
        method: str,
        target: str,
        body: Any = None,
        *,
        headers: Optional[Mapping[str, str]] = None,
        repeat: bool = False,
    ) -> Answer:
        """Any other call. ``repeat`` says that it may be sent again after a lost answer."""
        return await self._drive(plans.raw(self._core, method, target, body, headers or {}, repeat))
