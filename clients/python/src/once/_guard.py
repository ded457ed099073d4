"""The rules of `once proxy` for requests with an Idempotency-Key, without any I/O.

The first request goes through; its status, headers and body are stored and replayed byte for byte,
without Set-Cookie. Answers 401, 403, 429 and 503 free the key. If nobody knows what became of a
request, its key is refused until it is forgotten: the claim has a lease of 29 days and the time
that a request may take; once only the 29 days are left, its outcome is unknown. If such a request may
be done again (``after_unknown="retry"``), the claim has only the time that a request may take.
"""
from __future__ import annotations

import base64
import copy
import hashlib
import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from . import _plans as plans
from ._core import Core, Plan
from ._errors import Busy, Mismatch, OnceError, Unavailable, Unknown
from ._lease import failure_text
from ._values import Duration, Finished, Ticket, parse_time, seconds

Headers = List[Tuple[str, str]]

HOLD = timedelta(days=29)
_LONGEST_REQUEST = timedelta(days=1)  # Tells the two kinds of leases apart.
_MAX_KEY = 255
_STORE_CALL = 10.0  # Seconds; as in the proxy.
_WHEN_INTERRUPTED = 3.0
_FREES = frozenset((401, 403, 429, 503))


@dataclass(frozen=True)
class HttpAnswer:
    """An answer to the caller."""

    status: int
    headers: Headers
    body: bytes


def problem(status: int, code: str, detail: str, headers: Sequence[Tuple[str, str]] = (), **more: Any) -> HttpAnswer:
    """An answer of the guard itself."""
    titles = {400: "The request cannot be understood", 409: "Another holder has it", 413: "Too large"}
    title = titles.get(status, code)
    body = json.dumps({"status": status, "title": title, "detail": detail, "code": code, **more}).encode()
    sent = [("content-type", "application/problem+json"), ("content-length", str(len(body))), *headers]
    return HttpAnswer(status, sent, body)


@dataclass(frozen=True)
class Rules:
    """What a service wants. The names are those of the proxy's options."""

    require_key: bool = False
    identity_headers: Tuple[str, ...] = ()
    retry_5xx: bool = False
    after_unknown: str = "refuse"  # or retry
    if_store_down: str = "refuse"  # or proceed
    ttl: Duration = "24h"
    max_body: int = 1 << 20
    max_answer: int = 512 << 10
    lease: Duration = "60s"  # Renewed while the request is worked on.
    methods: Tuple[str, ...] = field(default=("POST", "PATCH"))

    def frees(self, status: int) -> bool:
        """Whether a request with such an answer may be tried again."""
        return status in _FREES or (self.retry_5xx and status >= 500)


class BadKey(Exception):
    """An Idempotency-Key that is none."""


def key_of(headers: Iterable[Tuple[str, str]]) -> Optional[str]:
    """The key, quoted as a string of RFC 8941 or not. None if no key was sent."""
    found = [value.strip() for name, value in headers if name.lower() == "idempotency-key"]
    if not found:
        return None
    if len(found) > 1:
        raise BadKey("Idempotency-Key is there twice")
    key = _unquoted(found[0]) if found[0].startswith('"') else found[0]
    if not key:
        raise BadKey("Idempotency-Key is empty")
    if len(key) > _MAX_KEY:
        raise BadKey("Idempotency-Key has more than 255 characters")
    if not all(" " <= c <= "~" for c in key):
        raise BadKey("Idempotency-Key has other than printable ASCII")
    return key


def _unquoted(text: str) -> str:
    if len(text) < 2 or not text.endswith('"'):
        raise BadKey("Idempotency-Key is not a string in quotes")
    out, rest = "", iter(text[1:-1])
    for c in rest:
        if c == '"':
            raise BadKey("Idempotency-Key is not a string in quotes")
        if c == "\\":
            c = next(rest, "")
            if c not in ('"', "\\"):
                raise BadKey("Idempotency-Key is not a string in quotes")
        out += c
    return out


def claim_name(method: str, target: str, headers: Iterable[Tuple[str, str]], key: str, rules: Rules) -> str:
    """`http/SCOPE/KEY`. The scope is a digest of the resource and of who asks; no secret is stored."""
    who = ("authorization", "cookie", "x-api-key", *(name.lower() for name in rules.identity_headers))
    scope = hashlib.sha256()
    parts = [method, target]
    for name, value in sorted((n.lower(), v) for n, v in headers if n.lower() in who):
        parts += [name, value]
    for part in parts:
        data = part.encode("utf-8", "surrogateescape")
        scope.update(len(data).to_bytes(8, "big") + data)
    return f"http/{scope.hexdigest()[:32]}/{key}"


class Guard:
    """One request with a key."""

    def __init__(self, core: Core, rules: Rules, name: str, body: bytes) -> None:
        # A caller waits: it is told 503 before it gives up by itself.
        self.core = copy.copy(core)
        self.core.patience = min(core.patience, _STORE_CALL)
        self.rules = rules
        self.name = name
        self._digest = hashlib.sha256(body).hexdigest()
        self._request = core.new_id()
        self._patience = seconds(rules.lease)
        self.hold = timedelta(seconds=self._patience) + (HOLD if rules.after_unknown == "refuse" else timedelta())

    @property
    def patience(self) -> float:
        """How long the request is taken to be in flight without a renewal."""
        return self._patience

    def enter(self) -> Plan[Union[Ticket, HttpAnswer, None]]:
        """A ticket: it goes through. An answer: it does not. None: it goes through unguarded."""
        owner = f"{self.core.owner}, body {self._digest}"
        try:
            found = yield from plans.take(
                self.core, self.name, lease=self.hold, ttl=self.rules.ttl, payload=self._digest, owner=owner,
                request=self._request,
            )  # fmt: skip
        except Mismatch:
            return self._other_body()
        except Busy as busy:
            return self._busy(busy)
        except (Unavailable, Unknown) as error:
            if self.rules.if_store_down == "proceed":
                return None
            return problem(503, "unavailable", f"nothing was done: {error}", [("retry-after", "1")])
        if isinstance(found, Finished):
            return self._replay(found)
        return found if found.guarded else None

    def withdraw(self) -> Plan[None]:
        """After an `enter` that was interrupted: frees the claim that it may have taken.

        It asks under the same id again, so the server gives it the same ticket.
        """
        self.core.patience = min(self.core.patience, _WHEN_INTERRUPTED)
        entered = yield from self.enter()
        if isinstance(entered, Ticket):
            yield from self.free(entered)

    def _other_body(self) -> HttpAnswer:
        return problem(422, "mismatch", "this Idempotency-Key was used with another body")

    def _busy(self, busy: Busy) -> HttpAnswer:
        if not (busy.owner or "").endswith(self._digest):
            return self._other_body()
        until = parse_time(busy.lease_until)
        left = HOLD * 2 if until is None else until - datetime.now(timezone.utc)
        if not _LONGEST_REQUEST < left <= HOLD:
            return problem(
                409, "busy", "a request with this Idempotency-Key is in flight", [("retry-after", "1")]
            )
        detail = "what became of the request with this key is unknown; it is not done again until its claim is forgotten"
        return problem(502, "unknown", detail, claim=self.name)

    def _replay(self, found: Finished) -> HttpAnswer:
        stored = found.result if isinstance(found.result, dict) else {}
        replayed = ("idempotent-replayed", "true")
        if "body" not in stored:
            detail = "the request was carried out, but its answer was too large to be stored"
            return problem(
                409, "too_large", detail, [replayed], upstream_status=stored.get("status"),
                upstream_bytes=stored.get("bytes"), claim=self.name,
            )  # fmt: skip
        headers = [(str(name), str(value)) for name, value in stored.get("headers", [])]
        return HttpAnswer(int(stored["status"]), [*headers, replayed], base64.b64decode(stored["body"]))

    def leave(self, ticket: Ticket, status: int, headers: Headers, body: Optional[bytes], size: int) -> Plan[None]:
        """Stores the answer, or frees the key. ``body`` is None if it was too large to be kept.

        If storing fails, the answer is sent all the same, and the key is refused from then on.
        """
        try:
            if self.rules.frees(status):
                yield from plans.release(self.core, self.name, ticket.ticket)
                return
            kept = [(n, v) for n, v in headers if n.lower() not in ("set-cookie", "set-cookie2")]
            whole = {"status": status, "headers": kept}
            if body is not None:
                whole["body"] = base64.b64encode(body).decode()
            without: Dict[str, Any] = {"status": status, "bytes": size}
            try:
                yield from plans.complete(self.core, self.name, ticket.ticket, without if body is None else whole)
            except OnceError as error:
                if error.code != "too_large" or body is None:
                    raise
                yield from plans.complete(self.core, self.name, ticket.ticket, without)
        except OnceError as error:
            self.core.tell("answer_not_stored", key=self.name, code=error.code)

    def fail(self, ticket: Ticket, error: BaseException) -> Plan[None]:
        """The service raised: as a server answers then, and that is an answer like any other."""
        self.core.tell("service_raised", key=self.name, error=failure_text(error))
        body = b"Internal Server Error"
        headers = [("content-type", "text/plain; charset=utf-8"), ("content-length", str(len(body)))]
        yield from self.leave(ticket, 500, headers, body, len(body))

    def abandon(self, ticket: Ticket) -> Plan[None]:
        """Nobody knows what became of it: refused from now on, or free if that was asked for."""
        if self.rules.after_unknown == "retry":
            return (yield from self.free(ticket))
        try:
            yield from plans.renew(self.core, self.name, ticket.ticket, HOLD - timedelta(seconds=1))
        except OnceError as error:
            self.core.tell("answer_not_stored", key=self.name, code=error.code)

    def free(self, ticket: Ticket) -> Plan[None]:
        """The next request with this key goes through."""
        try:
            yield from plans.release(self.core, self.name, ticket.ticket)
        except OnceError as error:
            self.core.tell("not_released", key=self.name, code=error.code)
