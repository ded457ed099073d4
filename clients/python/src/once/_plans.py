"""The calls of the HTTP API, one plan each."""
from __future__ import annotations

import copy
import json
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._core import Answer, Core, Invoke, Pause, Plan, check_name, path, present, query, unquoted
from ._effects import Effects, event_body, tally_body
from ._errors import Busy, Contended, Invalid, NotFound, OnceError, PreconditionFailed, Unavailable, Unknown
from ._values import (
    MISSING,
    Appended,
    Bucket,
    ClaimRecord,
    Committed,
    Document,
    DocumentInfo,
    Duration,
    ETag,
    Event,
    EventStatus,
    Finished,
    HotKey,
    LogInfo,
    Page,
    Previous,
    SeenRecord,
    Tallied,
    TallyInfo,
    Ticket,
    Time,
    Token,
    TopItem,
    duration_text,
    parse_time,
    seconds,
    time_text,
)

# That a server is asked to wait in one call. Balancers often end what takes a minute.
_LONGEST_WAIT = 50.0
_JSON = "application/json"
_MATCHES_NOTHING = "0" * 16  # No document has this ETag.


def _text(duration: Optional[Duration]) -> Optional[str]:
    return None if duration is None else duration_text(duration)


def _time(time: Optional[Time]) -> Optional[str]:
    return None if time is None else time_text(time)


def _body(answer: Answer) -> Dict[str, Any]:
    """The object in an answer. Anything else is not an answer of Once."""
    body = answer.json()
    if not isinstance(body, dict):
        raise Unknown("the answer is no JSON object", status=answer.status)
    return body


def _field(body: Mapping[str, Any], name: str) -> Any:
    if name not in body:
        raise Unknown(f"the answer has no {name!r}")
    return body[name]


# Claims


def take(
    core: Core,
    key: str,
    *,
    lease: Duration = "30s",
    ttl: Duration = "24h",
    wait: Duration = "0s",
    payload: Any = None,
    owner: Optional[str] = None,
    request: Optional[str] = None,
) -> Plan[Union[Ticket, Finished]]:
    """Takes a claim, or tells the outcome that it has. All tries have one request id."""
    target = path("claims", key)
    body = present(
        owner=owner or core.owner,
        request=request or core.new_id(),
        lease=duration_text(lease),
        ttl=duration_text(ttl),
        payload=payload,
    )
    waits_until = core.clock() + seconds(wait)
    while True:
        left = max(0.0, waits_until - core.clock())
        step = min(left, _LONGEST_WAIT)
        if step > 0:
            body["wait"] = duration_text(round(step, 3))
        else:
            body.pop("wait", None)
        asked = core.clock()
        try:
            answer = yield from core.call(core.request("POST", target, body), wait=step)
        except Busy:
            if left > step:
                continue
            raise
        return _taken(key, _body(answer), asked)


def _taken(key: str, body: Mapping[str, Any], asked: float) -> Union[Ticket, Finished]:
    state = _field(body, "state")
    if state in ("done", "failed"):
        failed = state == "failed"
        outcome = body.get("failure" if failed else "result")
        return Finished(key, outcome, failed, parse_time(body.get("completed_at")))
    if state not in ("claimed", "unguarded"):
        raise Unknown(f"the answer has an unknown state: {state!r}")
    left_behind = body.get("previous")
    previous = None
    if isinstance(left_behind, dict):
        previous = Previous(
            left_behind.get("failure"), parse_time(left_behind.get("failed_at")), left_behind.get("attempt")
        )
    guarded = state == "claimed"
    return Ticket(
        key=key,
        ticket=str(_field(body, "ticket")) if guarded else "",
        fence=int(body.get("fence") or 0),
        attempt=int(body.get("attempt") or 0),
        lease_until=parse_time(body.get("lease_until")),
        asked=asked,
        guarded=guarded,
        previous=previous,
    )


def renew(
    core: Core, key: str, ticket: str, lease: Duration, within: Optional[float] = None
) -> Plan[float]:
    """Holds a claim for longer. Tells when that was asked for: the lease counts from there."""
    asked = core.clock()
    body = {"ticket": ticket, "lease": duration_text(lease)}
    yield from core.call(core.request("POST", path("claims", key, "renew"), body), within=within)
    return asked


def complete(core: Core, key: str, ticket: str, result: Any) -> Plan[bool]:
    """Records the result. True if it had been recorded before."""
    body = {"ticket": ticket, "result": result}
    answer = yield from core.call(core.request("POST", path("claims", key, "complete"), body))
    return answer.replayed


def release(
    core: Core,
    key: str,
    ticket: str,
    failure: Any = None,
    final: bool = False,
    within: Optional[float] = None,
) -> Plan[None]:
    """Frees a claim, or records its failure for good."""
    body = {"ticket": ticket, **present(failure=failure, final=final or None)}
    yield from core.call(core.request("POST", path("claims", key, "release"), body), within=within)


def show_claim(core: Core, key: str) -> Plan[Optional[ClaimRecord]]:
    """The record, if there is one."""
    try:
        body = yield from core.ask("GET", path("claims", key))
    except NotFound:
        return None
    return ClaimRecord.of(body, key)


def forget_claim(core: Core, key: str) -> Plan[None]:
    """Sent once: a repeat might forget what another has claimed since."""
    yield from core.call(core.request("DELETE", path("claims", key), repeat=False, expect="nothing"))


def list_claims(
    core: Core,
    cursor: Optional[str],
    state: Optional[str],
    owner: Optional[str],
    prefix: Optional[str],
    older_than: Optional[Duration],
    limit: Optional[int],
) -> Plan[Tuple[List[ClaimRecord], Optional[str]]]:
    """A page of claims."""
    target = query(
        "/v1/claims",
        state=state,
        owner=owner,
        prefix=prefix,
        older_than=_text(older_than),
        limit=limit,
        cursor=cursor,
    )
    body = yield from core.ask("GET", target)
    return [ClaimRecord.of(one) for one in body.get("claims", [])], body.get("cursor")


def bulk(core: Core, what: str, action: str, counts: str, fields: Dict[str, Any]) -> Plan[int]:
    """In bounded steps until there is no cursor. A repeat of a step finds nothing left to do, except
    that a repeated release might free what others have claimed since: each of its steps is sent once."""
    done, repeat = 0, action != "release"
    cursor: Optional[str] = None
    while True:
        step = {**fields, **present(cursor=cursor)}
        body = yield from core.ask("POST", f"/v1/bulk/{what}/{action}", step, repeat=repeat)
        done += int(body.get(counts, 0))
        cursor = body.get("cursor")
        if not cursor:
            return done


def seen(
    core: Core, ids: Sequence[str], ttl: Optional[Duration], request: Optional[str]
) -> Plan[List[bool]]:
    """Whether each id is here for the first time."""
    if isinstance(ids, str):
        raise Invalid("ids is a list of texts, not one text")
    names = [check_name(one) for one in ids]
    if not names:
        return []
    body = {"ids": names, "request": request or core.new_id(), **present(ttl=_text(ttl))}
    answer = yield from core.call(core.request("POST", "/v1/seen", body))
    first = _field(_body(answer), "first")
    if not isinstance(first, list) or len(first) != len(names):
        raise Unknown("the answer is not about these ids")
    return [bool(one) for one in first]


def show_seen(core: Core, id: str) -> Plan[Optional[SeenRecord]]:
    """When an id was seen, if it was."""
    try:
        body = yield from core.ask("GET", path("seen", id))
    except NotFound:
        return None
    return SeenRecord(str(body.get("id", id)), parse_time(body.get("at")), parse_time(body.get("until")))


def forget_seen(core: Core, id: str) -> Plan[bool]:
    """Sent once: a repeat might forget what was seen since."""
    return (yield from _removed(core, core.request("DELETE", path("seen", id), repeat=False, expect="nothing")))


def _removed(core: Core, request: Any) -> Plan[bool]:
    try:
        yield from core.call(request)
    except NotFound:
        return False
    return True


def hot(core: Core) -> Plan[List[HotKey]]:
    """The keys with most conflicts of late."""
    body = yield from core.ask("GET", "/v1/hot")
    return [HotKey(str(one["key"]), int(one["conflicts"])) for one in body.get("keys", [])]


# Logs


def append(
    core: Core,
    stream: str,
    events: Sequence[Any],
    batch: Optional[str],
    expect: Optional[int],
    ttl: Optional[Duration],
    id_ttl: Optional[Duration],
) -> Plan[Appended]:
    """Appends a batch. Without a batch id of the caller it has one of its own."""
    if isinstance(events, (str, bytes, dict)):
        raise Invalid("events is a list")
    own = batch is None
    body = {
        "events": [event_body(one) for one in events],
        "batch": batch or core.new_id(),
        **present(expect=expect, ttl=_text(ttl), id_ttl=_text(id_ttl)),
    }
    answer = yield from core.call(core.request("POST", path("logs", stream), body))
    return appended(_body(answer), answer.replayed and not own)


def appended(body: Mapping[str, Any], replayed: bool) -> Appended:
    """Where the events of an append are."""
    return Appended(body.get("first"), body.get("last"), replayed, body.get("indexes"))


def event_of(raw: Mapping[str, Any]) -> Event:
    """An event as it was read."""
    return Event(int(raw["index"]), parse_time(raw.get("time")), raw.get("data"))


def read(
    core: Core,
    stream: str,
    start: Optional[int],
    limit: Optional[int],
    order: Optional[str],
    since: Optional[Time],
) -> Plan[Page]:
    """A page of events."""
    target = query(path("logs", stream), from_=start, since=_time(since), limit=limit, order=order)
    body = yield from core.ask("GET", target)
    events = [event_of(one) for one in body.get("events", [])]
    return Page(events, int(body.get("next", 1)), bool(body.get("closed", False)))


def trim(core: Core, stream: str, before: int) -> Plan[LogInfo]:
    """Makes what is below an index unreadable."""
    body = yield from core.ask("POST", path("logs", stream, "trim"), {"before": before})
    return LogInfo(stream, body.get("oldest"), body.get("next"))


def close_log(core: Core, stream: str, ttl: Optional[Duration]) -> Plan[LogInfo]:
    """No event is appended from now on."""
    body = yield from core.ask("POST", path("logs", stream, "close"), present(ttl=_text(ttl)))
    return LogInfo(stream, body.get("oldest"), body.get("next"), bool(body.get("closed", True)))


def delete_log(core: Core, stream: str) -> Plan[bool]:
    """Sent once: a repeat might delete another log of that name."""
    request = core.request("DELETE", path("logs", stream), repeat=False, expect="nothing")
    return (yield from _removed(core, request))


def list_logs(
    core: Core, cursor: Optional[str], prefix: Optional[str], limit: Optional[int]
) -> Plan[Tuple[List[LogInfo], Optional[str]]]:
    """A page of logs."""
    body = yield from core.ask("GET", query("/v1/logs", prefix=prefix, limit=limit, cursor=cursor))
    found = [
        LogInfo(str(one["stream"]), one.get("oldest"), one.get("next"), bool(one.get("closed")))
        for one in body.get("logs", [])
    ]
    return found, body.get("cursor")


class FollowState:
    """A follower of a log: what to ask next, and what the lines of the answer mean."""

    def __init__(
        self, core: Core, stream: str, start: int, limit: Optional[int], since: Optional[Time] = None
    ) -> None:
        self.core = core
        self.next = start
        self._since = _time(since)  # Until the first event came: in place of ``next``.
        self.left = limit
        self.ended = limit == 0
        self._target = path("logs", stream)
        self._backoff = core.backoff()
        self._data: List[str] = []
        self._id = ""
        self._event = ""
        self._alive = core.clock()

    def request(self) -> Any:
        """Everything from the next index on."""
        self._data, self._id, self._event = [], "", ""
        start = self.next if self._since is None else None
        target = query(self._target, from_=start, since=self._since, follow=True)
        request = self.core.request("GET", target, headers={"Accept": "text/event-stream"})
        self.core.tracing.inject(dict(request.headers))
        return request

    def feed(self, line: str) -> Optional[Event]:
        """One line of the stream, without its end. An event once it is whole."""
        self._alive = self.core.clock()
        self._backoff.reset()
        if line:
            name, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if name == "data":
                self._data.append(value)
            elif name == "id":
                self._id = value
            elif name == "event":
                self._event = value
            return None
        data, event = self._data, self._event
        self._data, self._event = [], ""
        if event == "end":
            self.ended = True
        if event or not data or not self._id.isdigit():
            return None
        return self._take(int(self._id), "\n".join(data))

    def _take(self, index: int, text: str) -> Optional[Event]:
        if index < self.next:  # It was delivered before the connection broke.
            return None
        raw = json.loads(text)
        self.next, self._since = index + 1, None
        if self.left is not None:
            self.left -= 1
            self.ended = self.left <= 0
        if isinstance(raw, dict) and raw.get("index") == index and "data" in raw:
            return event_of(raw)
        return Event(index, None, raw)

    def pause(self, reason: OnceError) -> float:
        """After a break: how long until the next try. Raises if nothing came for too long."""
        if self.core.clock() - self._alive > self.core.patience:
            raise reason
        return self._backoff.next()


# Documents


def _is_json(content_type: str) -> bool:
    kind = content_type.split(";")[0].strip().lower()
    return kind == _JSON or kind.endswith("+json")


def _document(answer: Answer) -> Document:
    kind = answer.headers.get("content-type", "application/octet-stream")
    value: Any = answer.body
    if _is_json(kind):
        value = answer.json()
    elif kind.lower().startswith("text/"):
        value = answer.body.decode("utf-8", "replace")
    return Document(value, unquoted(answer.headers.get("etag", "")), kind)


def _content(core: Core, value: Any, content_type: Optional[str]) -> Tuple[bytes, str]:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value), content_type or "application/octet-stream"
    if content_type is not None and not _is_json(content_type):
        if not isinstance(value, str):
            raise Invalid(f"{content_type} takes bytes or text")
        return value.encode("utf-8"), content_type
    return core.serializer.dumps(value), content_type or _JSON


def get_document(core: Core, key: str) -> Plan[Optional[Document]]:
    """The document, if there is one."""
    try:
        answer = yield from core.call(core.request("GET", path("docs", key), expect="document"))
    except NotFound:
        return None
    return _document(answer)


def get_if_changed(core: Core, key: str, etag: str) -> Plan[Optional[Document]]:
    """The document if it has another ETag, else None."""
    headers = {"If-None-Match": f'"{unquoted(etag)}"'}
    request = core.request("GET", path("docs", key), expect="document", headers=headers)
    answer = yield from core.call(request)
    return None if answer.status == 304 else _document(answer)


def _condition(create: bool, if_match: Optional[str]) -> Dict[str, str]:
    if create == (if_match is not None):
        raise Invalid("a put needs a condition: create=True or if_match=ETAG")
    return {"If-None-Match": "*"} if create else {"If-Match": f'"{unquoted(str(if_match))}"'}


def put_document(
    core: Core,
    key: str,
    value: Any,
    create: bool,
    if_match: Optional[str],
    content_type: Optional[str],
    id: Optional[str],
    ttl: Optional[Duration],
) -> Plan[ETag]:
    """Creates or replaces a document under a condition."""
    content, kind = _content(core, value, content_type)
    headers = {**_condition(create, if_match), "Idempotency-Key": id or core.new_id()}
    if ttl is not None:
        headers["Once-TTL"] = duration_text(ttl)
    request = core.request(
        "PUT", path("docs", key), headers=headers, content=content, content_type=kind, expect="document"
    )
    answer = yield from core.call(request)
    if not answer.replayed:
        return ETag(unquoted(answer.headers["etag"]))
    etag = ETag((yield from _etag_of(core, key, content)) if "etag" in answer.headers else _MATCHES_NOTHING)
    etag.replayed = id is not None
    return etag


def _etag_of(core: Core, key: str, content: bytes) -> Plan[str]:
    """The ETag of the document if it has this content; otherwise one that matches nothing.

    A replayed put has the ETag of the document as it is now, which may be another's. The put is
    done, so a read that fails is no failure of it.
    """
    try:
        current = yield from core.call(core.request("GET", path("docs", key), expect="document"))
    except OnceError:
        return _MATCHES_NOTHING
    return unquoted(current.headers["etag"]) if current.body == content else _MATCHES_NOTHING


def update_document(
    core: Core,
    key: str,
    change: Callable[[Any], Any],
    default: Any,
    content_type: Optional[str],
    ttl: Optional[Duration],
) -> Plan[Document]:
    """Reads, changes and puts, until nobody was faster. No update of another is lost."""
    deadline = core.clock() + core.patience
    backoff = core.backoff(0.02, 1.0)
    while True:
        current = yield from get_document(core, key)
        # Each try has a new one, which the change may keep and alter.
        value = current.value if current is not None else {} if default is MISSING else copy.deepcopy(default)
        value = yield Invoke(change, (value,))
        kind = content_type or (current.content_type if current is not None else None)
        try:
            etag = yield from put_document(
                core, key, value, current is None, current.etag if current else None, kind, None, ttl
            )
        except PreconditionFailed as conflict:
            left = deadline - core.clock()
            if left <= 0:
                raise Contended(
                    f"others always changed {key!r} first", status=conflict.status, problem=conflict.problem
                ) from conflict
            yield Pause(min(backoff.next(), left))
            continue
        return Document(core.serializer.plain(value) if _is_json(kind or _JSON) else value, etag, kind or _JSON)


def patch_document(
    core: Core,
    key: str,
    patch: Any,
    if_match: Optional[str],
    id: Optional[str],
    ttl: Optional[Duration],
) -> Plan[Document]:
    """A merge patch (an object) or a JSON patch (a list of operations)."""
    kind = "application/json-patch+json" if isinstance(patch, list) else "application/merge-patch+json"
    headers = {"Idempotency-Key": id or core.new_id()}
    if if_match is not None:
        headers["If-Match"] = f'"{unquoted(if_match)}"'
    if ttl is not None:
        headers["Once-TTL"] = duration_text(ttl)
    request = core.request(
        "PATCH", path("docs", key), patch, headers=headers, content_type=kind, expect="document"
    )
    answer = yield from core.call(request)
    # A patch that was done before has no document to show if that is gone by now.
    return _document(answer) if "etag" in answer.headers else Document(None, _MATCHES_NOTHING, "")


def delete_document(
    core: Core, key: str, if_match: Optional[str], id: Optional[str]
) -> Plan[bool]:
    """Removes the document with that ETag; without one, whatever is there. False: there was none."""
    if if_match is not None:
        yield from _delete_matching(core, key, if_match, id)
        return True
    deadline = core.clock() + core.patience
    backoff = core.backoff(0.02, 1.0)
    while True:
        current = yield from get_document(core, key)
        if current is None:
            return False
        try:
            yield from _delete_matching(core, key, current.etag, id)
            return True
        except PreconditionFailed:
            if core.clock() >= deadline:
                raise
            yield Pause(backoff.next())


def _delete_matching(core: Core, key: str, etag: str, id: Optional[str]) -> Plan[None]:
    headers = {"If-Match": f'"{unquoted(etag)}"', "Idempotency-Key": id or core.new_id()}
    yield from core.call(core.request("DELETE", path("docs", key), headers=headers, expect="nothing"))


def list_documents(
    core: Core, cursor: Optional[str], prefix: Optional[str], limit: Optional[int]
) -> Plan[Tuple[List[DocumentInfo], Optional[str]]]:
    """A page of documents."""
    body = yield from core.ask("GET", query("/v1/docs", prefix=prefix, limit=limit, cursor=cursor))
    found = [
        DocumentInfo(
            str(one["key"]), unquoted(str(one.get("etag", ""))), int(one.get("bytes", 0)), str(one.get("content_type", ""))
        )
        for one in body.get("docs", [])
    ]
    return found, body.get("cursor")


# Tallies


def add_to_tally(core: Core, key: str, body: Dict[str, Any]) -> Plan[Tallied]:
    """Merges. Without an id of the caller it has one of its own, so that a repeat adds nothing."""
    own = "id" not in body
    if own:
        body = {**body, "id": core.new_id()}
    answer = yield from core.call(core.request("POST", path("tallies", key), body))
    found = _body(answer)
    return Tallied(str(found.get("kind", body["kind"])), _value(found.get("value")), answer.replayed and not own)


def _value(value: Any) -> Any:
    """The most frequent items as such, anything else as it is."""
    if not isinstance(value, list):
        return value
    return [TopItem(str(one["item"]), int(one["count"]), int(one.get("error", 0))) for one in value]


def read_tally(core: Core, key: str, **parameters: Any) -> Plan[Optional[Dict[str, Any]]]:
    """What is stored, or None."""
    try:
        body = yield from core.ask("GET", query(path("tallies", key), **parameters))
    except NotFound:
        return None
    return dict(body)


def tally_range(
    start: Optional[Time], end: Optional[Time], last: Optional[Duration]
) -> Dict[str, Optional[str]]:
    """A range of buckets as parameters."""
    return {"from_": _time(start), "to": _time(end), "last": _text(last)}


def tally_value(core: Core, key: str, parameters: Mapping[str, Any]) -> Plan[Any]:
    """The value, or None."""
    body = yield from read_tally(core, key, **parameters)
    return None if body is None else _value(body.get("value"))


def tally_top(core: Core, key: str, limit: int, parameters: Mapping[str, Any]) -> Plan[List[TopItem]]:
    """The most frequent items. A server that knows no limit gives all of them."""
    try:
        found = yield from tally_value(core, key, {**parameters, "limit": limit})
    except Invalid as refused:
        if "limit" not in refused.detail:
            raise
        found = yield from tally_value(core, key, parameters)
    return list(found or [])[:limit]


def tally_series(core: Core, key: str, parameters: Mapping[str, Any]) -> Plan[List[Bucket]]:
    """A row for each bucket that holds something."""
    body = yield from read_tally(core, key, series=True, **parameters)
    rows = [] if body is None else body.get("series", [])
    return [Bucket(parse_time(row.get("at")), _value(row.get("value"))) for row in rows]


def read_tallies(core: Core, keys: Sequence[str], parameters: Mapping[str, Any]) -> Plan[List[Any]]:
    """Many values in order, None for those that do not exist."""
    given = {name.rstrip("_"): value for name, value in parameters.items() if value is not None}
    asked = {"keys": [check_name(k) for k in keys], **given}
    body = yield from core.ask("POST", "/v1/tallies/read", asked, asks=True)
    return [None if one is None else _value(one.get("value")) for one in body.get("values", [])]


def delete_tally(core: Core, key: str) -> Plan[bool]:
    """Sent once: a repeat might delete what was added since."""
    request = core.request("DELETE", path("tallies", key), repeat=False, expect="nothing")
    return (yield from _removed(core, request))


def list_tallies(
    core: Core, cursor: Optional[str], prefix: Optional[str], limit: Optional[int]
) -> Plan[Tuple[List[TallyInfo], Optional[str]]]:
    """A page of tallies."""
    body = yield from core.ask("GET", query("/v1/tallies", prefix=prefix, limit=limit, cursor=cursor))
    found = [
        TallyInfo(str(one["key"]), str(one.get("kind", "")), one.get("window"))
        for one in body.get("tallies", [])
    ]
    return found, body.get("cursor")


# Effects


def commit(
    core: Core,
    effects: Effects,
    *,
    id: Optional[str] = None,
    claim: Optional[Dict[str, Any]] = None,
) -> Plan[Committed]:
    """One commit."""
    own = id is None
    identity = present(claim=claim) if claim is not None else {"id": id or core.new_id()}
    answer, _ = yield from _send_effects(core, effects, identity)
    return _committed(_body(answer), answer.replayed and not (own and claim is None))


def prepare(
    core: Core,
    effects: Effects,
    *,
    id: Optional[str] = None,
    claim: Optional[Dict[str, Any]] = None,
) -> Plan[Tuple[Optional[str], Dict[str, Any]]]:
    """A token for ``once.apply``, or None if the commit was made before; and the body that was sent."""
    identity = {"prepare": True, **present(claim=claim, id=id)}
    answer, body = yield from _send_effects(core, effects, identity)
    return _token(answer), body


def was_applied(core: Core, body: Dict[str, Any]) -> Plan[bool]:
    """Whether a token that was made for this body has been applied."""
    answer = yield from core.call(core.request("POST", "/v1/commit", body))
    return _token(answer) is None


def _token(answer: Answer) -> Optional[str]:
    return None if answer.replayed else str(_body(answer)["apply"])


def _send_effects(
    core: Core, effects: Effects, identity: Dict[str, Any]
) -> Plan[Tuple[Answer, Dict[str, Any]]]:
    body = {
        **identity,
        **({"logs": effects.logs} if effects.logs else {}),
        **({"docs": [part.body() for part in effects.documents]} if effects.documents else {}),
        **({"tallies": effects.tallies} if effects.tallies else {}),
    }
    try:
        return (yield from core.call(core.request("POST", "/v1/commit", body))), body
    except PreconditionFailed as refused:
        _check_patched(effects, refused)
        raise


def _check_patched(effects: Effects, refused: PreconditionFailed) -> None:
    """A patch without a condition is refused only if there is nothing to patch."""
    for index, part in enumerate(effects.documents):
        free_patch = "patch" in part.change and part.if_match is None
        if free_patch and refused.problem.get("part") == f"docs[{index}]":
            raise NotFound(f"there is no document {part.key!r} to patch", status=refused.status) from refused


def _committed(body: Mapping[str, Any], replayed: bool) -> Committed:
    return Committed(
        replayed=replayed,
        logs=[appended(one, replayed) for one in body.get("logs", [])],
        documents=[ETag(one.get("etag") or "") for one in body.get("docs", [])],
        tallies=[
            Tallied(str(one.get("kind", "")), _value(one.get("value")), replayed)
            for one in body.get("tallies", [])
        ],
    )


# Events, tokens, items and pages


def send_event(core: Core, event: Mapping[str, Any]) -> Plan[EventStatus]:
    """A CloudEvent in structured mode."""
    kind = "application/cloudevents+json"
    answer = yield from core.call(core.request("POST", "/v1/events", event, content_type=kind))
    return EventStatus.of(_body(answer))


def send_events(core: Core, events: Sequence[Mapping[str, Any]]) -> Plan[List[EventStatus]]:
    """A batch of CloudEvents."""
    kind = "application/cloudevents-batch+json"
    answer = yield from core.call(core.request("POST", "/v1/events", list(events), content_type=kind))
    return [EventStatus.of(one) for one in answer.json()]


def list_tokens(core: Core) -> Plan[List[Token]]:
    """The tokens, without their secrets."""
    body = yield from core.ask("GET", "/v1/tokens")
    return [Token.of(one) for one in body.get("tokens", [])]


def new_token(
    core: Core,
    namespace: Optional[str],
    read_only: bool,
    expires: Optional[Duration],
    label: Optional[str],
) -> Plan[Token]:
    """Sent once: a token whose answer was lost is known to no caller."""
    body = present(namespace=namespace, expires=_text(expires), label=label)
    if read_only:
        body["read_only"] = True
    return Token.of((yield from core.ask("POST", "/v1/tokens", body, repeat=False)))


def revoke_token(core: Core, id: str) -> Plan[bool]:
    """True if there was such a token. A repeat revokes the same one."""
    return (yield from _removed(core, core.request("DELETE", path("tokens", id), expect="nothing")))


def list_items(
    core: Core, cursor: Optional[str], limit: Optional[int]
) -> Plan[Tuple[List[Dict[str, Any]], Optional[str]]]:
    """A page of the store's items as they are."""
    body = yield from core.ask("GET", query("/v1/items", limit=limit, cursor=cursor))
    return list(body.get("items", [])), body.get("cursor")


def import_items(
    core: Core, items: Sequence[Mapping[str, Any]], with_tokens: bool
) -> Plan[Dict[str, int]]:
    """Puts items where there is nothing yet. The same again changes nothing."""
    body = {"items": list(items), **present(with_tokens=with_tokens or None)}
    return dict((yield from core.ask("POST", "/v1/items", body)))


def checkpoint(core: Core) -> Plan[Dict[str, Any]]:
    """A copy of an embedded store, on the server's machine."""
    return dict((yield from core.ask("POST", "/v1/checkpoints", repeat=False)))


def ready(core: Core) -> Plan[bool]:
    """Whether the server would take a write. One try."""
    try:
        yield from core.call_once(core.request("GET", "/readyz"))
    except Unavailable:
        return False
    return True


def page(core: Core, target: str) -> Plan[str]:
    """A page that is text."""
    answer = yield from core.call(core.request("GET", target, expect="text"))
    return answer.body.decode("utf-8", "replace")


def raw(core: Core, method: str, target: str, body: Any, headers: Mapping[str, str], repeat: bool) -> Plan[Answer]:
    """Any other call of the API."""
    return (yield from core.call(core.request(method, target, body, headers=headers, repeat=repeat, expect="text")))


__all__ = ["tally_body"]
