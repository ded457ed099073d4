"""What is asked, what the answer means, and what is asked again. Performs nothing itself.

Every call is a *plan*: a generator that yields steps (send this, pause so long) and returns a
value. A driver performs the steps: a blocking one for `Client`, an awaiting one for `AsyncClient`.
So both decide alike, because the decisions are here and nowhere else.
"""
from __future__ import annotations

import json
import logging
import os
import random
import secrets
import socket
import time
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Dict, Generator, List, Mapping, Optional, Tuple, TypeVar, Union
from urllib.parse import quote, urlencode

from ._errors import KINDS, Invalid, OnceError, Unavailable, Unknown, error_of
from ._serializer import Serializer
from ._telemetry import Notice, Tracing

T = TypeVar("T")

LOG = logging.getLogger("once")
MAX_ANSWER = 64 << 20  # Bytes of one answer.

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 2.0
_ON_THE_WAY = 1.0  # How much earlier a server gives up than the client that waits for it.
_OUTCOMES = frozenset(
    ("busy", "mismatch", "fenced", "precondition_failed", "not_found", "contended", "closed")
)
_LATER = frozenset(("unavailable", "overloaded", "contended"))


@dataclass(frozen=True)
class Request:
    """One HTTP request. ``repeat``: it has the same effect however often it arrives."""

    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Optional[bytes] = None
    repeat: bool = True
    expect: str = "json"  # Of a 2xx: json, document, text or nothing.
    asks: bool = False  # It changes nothing, although it is a POST.

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.asks or self.method in ("GET", "HEAD")


@dataclass(frozen=True)
class Answer:
    """A complete answer. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def media_type(self) -> str:
        """Without its parameters."""
        return self.headers.get("content-type", "").split(";")[0].strip().lower()

    @property
    def replayed(self) -> bool:
        """Whether it had happened before."""
        return self.headers.get("idempotent-replayed", "").lower() == "true"

    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


@dataclass(frozen=True)
class NotSent:
    """No byte of the request left: nothing was written."""

    reason: str


@dataclass(frozen=True)
class Lost:
    """It was sent, and there is no complete answer."""

    reason: str


Reply = Union[Answer, NotSent, Lost]


@dataclass(frozen=True)
class Send:
    """Send it, and answer with a `Reply` within ``timeout`` seconds."""

    request: Request
    timeout: float


@dataclass(frozen=True)
class Pause:
    """Go on after so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Invoke:
    """Call a function of the user's, and answer with what it returns."""

    function: Callable[..., Any]
    arguments: Tuple[Any, ...]


Step = Union[Send, Pause, Invoke]
Plan = Generator[Step, Any, T]


class Backoff:
    """Pauses with full jitter: anywhere between nothing and twice the bound before."""

    def __init__(self, chance: random.Random, first: float = _FIRST_PAUSE, longest: float = _LONGEST_PAUSE):
        self._chance = chance
        self._first = first
        self._longest = longest
        self._bound = first

    def next(self) -> float:
        """How long to pause now."""
        pause = self._chance.uniform(0, self._bound)
        self._bound = min(self._longest, self._bound * 2)
        return pause

    def reset(self) -> None:
        """Begin again."""
        self._bound = self._first


@dataclass(frozen=True)
class Judged:
    """What a reply means. ``error`` is None if it decides; ``lost``: it may have happened."""

    answer: Optional[Answer] = None
    error: Optional[OnceError] = None
    lost: bool = False
    final: bool = True  # Trying again would not help.


def _problem(answer: Answer) -> Optional[Mapping[str, Any]]:
    """The body, if it is a problem of ours."""
    if answer.status < 400 or answer.media_type != "application/problem+json":
        return None
    try:
        body = json.loads(answer.body)
    except ValueError:
        return None
    if not isinstance(body, dict) or body.get("code") not in KINDS:
        return None
    return body


def _is_ours(request: Request, answer: Answer) -> bool:
    """Whether a success can be our server's: a login page of a gateway is 200, too."""
    if answer.status == 304:
        return request.expect == "document" and "etag" in answer.headers
    if answer.status == 204 or request.expect == "nothing":
        return answer.status in (200, 201, 204) and answer.media_type != "text/html"
    if request.expect == "text":
        return True
    if request.expect == "document":
        # A change that was done before has no ETag if the document is gone by now.
        return "etag" in answer.headers or (answer.replayed and not request.reads)
    if answer.media_type != "application/json":
        return False
    try:
        json.loads(answer.body)
    except ValueError:
        return False
    return True


def judge(request: Request, reply: Reply) -> Judged:
    """Whether a reply decides. Only an answer of our own server does (docs/hazards.md#h39)."""
    if isinstance(reply, NotSent):
        return Judged(error=Unavailable(reply.reason), final=False)
    if isinstance(reply, Lost):
        return _lost(request, f"the answer was lost: {reply.reason}", None)
    if (200 <= reply.status < 300 or reply.status == 304) and _is_ours(request, reply):
        return Judged(answer=reply)
    problem = _problem(reply)
    if problem is None:
        return _lost(request, f"the answer {reply.status} did not come from a server of Once", reply.status)
    error = error_of(problem["code"], problem, reply.status)
    error.retry_after = _retry_after(reply)
    etag = reply.headers.get("etag")
    if etag is not None:
        error.problem.setdefault("current", unquoted(etag))
    if error.code == "unknown":
        return Judged(error=error, lost=not request.reads, final=False)
    return Judged(error=error, final=error.code not in _LATER)


def _lost(request: Request, reason: str, status: Optional[int]) -> Judged:
    kind = Unavailable if request.reads else Unknown
    return Judged(error=kind(reason, status=status), lost=not request.reads, final=False)


def _retry_after(answer: Answer) -> Optional[float]:
    try:
        return min(5.0, max(0.0, float(answer.headers.get("retry-after", ""))))
    except ValueError:
        return None


def _can_be_sent(header: str) -> bool:
    return header.isascii() and header.isprintable()


def unquoted(etag: str) -> str:
    """An ETag without its quotes."""
    return etag[1:-1] if len(etag) >= 2 and etag.startswith('"') and etag.endswith('"') else etag


def check_name(name: str) -> str:
    """1 to 512 bytes of UTF-8 without control characters."""
    if not isinstance(name, str):
        raise Invalid(f"a name is a str, not {type(name).__name__}")
    try:
        size = len(name.encode("utf-8"))
    except UnicodeEncodeError:
        raise Invalid("a name is UTF-8") from None
    if not 1 <= size <= 512:
        raise Invalid("a name has 1 to 512 bytes")
    if any(ord(c) < 0x20 or 0x7F <= ord(c) <= 0x9F for c in name):
        raise Invalid("a name has no control characters")
    return name


def path(noun: str, name: str, action: str = "") -> str:
    """`/v1/NOUN/NAME/ACTION`, with the name as one segment."""
    quoted = quote(check_name(name), safe="-._~")
    # A client would take these for steps in a path.
    if quoted in (".", ".."):
        quoted = quoted.replace(".", "%2E")
    return f"/v1/{noun}/{quoted}" + (f"/{action}" if action else "")


def query(target: str, **parameters: Any) -> str:
    """With those parameters that are not None."""
    given = {
        name.rstrip("_"): ("true" if value is True else "false" if value is False else str(value))
        for name, value in parameters.items()
        if value is not None
    }
    return f"{target}?{urlencode(given, quote_via=quote)}" if given else target


def present(**fields: Any) -> Dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


class Core:
    """The options of a client, and its way of asking. Has no connection and no thread."""

    def __init__(
        self,
        *,
        token: Optional[str] = None,
        namespace: Optional[str] = None,
        patience: float = 60.0,
        timeout: float = 10.0,
        owner: Optional[str] = None,
        serializer: Optional[Serializer] = None,
        on_notice: Optional[Callable[[Notice], None]] = None,
        clock: Callable[[], float] = time.monotonic,
        chance: Optional[random.Random] = None,
    ) -> None:
        self.patience = patience
        self.timeout = timeout
        self.serializer = serializer or Serializer()
        self.clock = clock
        # The system's, because processes that were forked would all draw alike from another.
        self.chance = chance or random.SystemRandom()
        self.tracing = Tracing()
        self._owner = owner
        self._on_notice = on_notice
        self.headers: Dict[str, str] = {"User-Agent": "once-client-python/0.1", "Accept": "application/json"}
        if token:
            self.headers["Authorization"] = f"Bearer {token}"
        if namespace:
            self.headers["Once-Namespace"] = namespace
        for name, value in self.headers.items():
            if not _can_be_sent(value):
                raise Invalid(f"what is given for {name} cannot be a header")

    @property
    def owner(self) -> str:
        """A label for people. Each process has another."""
        return self._owner or f"{socket.gethostname()}:{os.getpid()}"

    def new_id(self) -> str:
        """Another one every time, after a fork as well."""
        return "py-" + secrets.token_hex(16)

    def backoff(self, first: float = _FIRST_PAUSE, longest: float = _LONGEST_PAUSE) -> Backoff:
        """Pauses for one call."""
        return Backoff(self.chance, first, longest)

    def tell(self, name: str, **fields: Any) -> None:
        """To the hook and to the log. A hook that raises harms nothing."""
        LOG.debug("%s %s", name, fields)
        if self._on_notice is None:
            return
        try:
            self._on_notice(Notice(name, fields))
        except Exception:
            LOG.exception("the hook raised on %s", name)

    def request(
        self,
        method: str,
        target: str,
        body: Any = None,
        *,
        headers: Optional[Mapping[str, str]] = None,
        content: Optional[bytes] = None,
        content_type: str = "application/json",
        repeat: bool = True,
        expect: str = "json",
        asks: bool = False,
    ) -> Request:
        """One of this client's. ``body`` becomes JSON; ``content`` is sent as it is."""
        all_headers = dict(self.headers)
        data = content if content is not None else None if body is None else self.serializer.dumps(body)
        if data is not None:
            all_headers["Content-Type"] = content_type
        if headers:
            all_headers.update(headers)
        for name in ("Content-Type", *(headers or {})):
            if not _can_be_sent(all_headers.get(name, "")):
                raise Invalid(f"what is given for {name} cannot be a header")
        if expect != "json":
            all_headers["Accept"] = "*/*"
        return Request(method, target, all_headers, data, repeat, expect, asks)

    def call(
        self,
        request: Request,
        *,
        wait: float = 0.0,
        within: Optional[float] = None,
    ) -> Plan[Answer]:
        """Asks until there is an answer that decides, for at most ``within`` and ``wait`` seconds.

        What may be repeated is repeated with the same bytes, so under the same id. What was never
        sent is repeated in any case. Raises what the server refused with; `Unknown` if it may have
        happened; `Unavailable` if it did not.
        """
        patience = self.patience if within is None else within
        deadline = self.clock() + patience + wait
        backoff = self.backoff()
        lost: Optional[OnceError] = None
        tries = 0
        while True:
            # The last try has a fair chance, too: one that ends too early would make it unknown.
            left = max(deadline - self.clock(), min(1.0, patience))
            timeout = max(0.05, min(left, self.timeout + wait))
            tries += 1
            judged = yield from self._try(request, timeout, tries)
            if judged.error is None:
                assert judged.answer is not None
                return judged.answer
            error = judged.error
            if judged.final:
                # After a lost answer a refusal of a later try says nothing of the first.
                if lost is None or error.code in _OUTCOMES:
                    raise error
                raise lost from error
            if judged.lost:
                lost = error
                if not request.repeat:
                    raise lost
            pause = backoff.next()
            if error.retry_after is not None:
                pause = error.retry_after * (0.5 + pause / _LONGEST_PAUSE / 2)
            left = deadline - self.clock()
            if left <= 0:
                raise lost or error
            yield Pause(min(pause, left))

    def call_once(self, request: Request) -> Plan[Answer]:
        """One try, with the time of any other. Raises what it was refused with."""
        judged = yield from self._try(request, self.timeout, 1)
        if judged.error is not None:
            raise judged.error
        assert judged.answer is not None
        return judged.answer

    def _try(self, request: Request, timeout: float, tries: int) -> Plan[Judged]:
        began = self.clock()
        reply: Reply = yield Send(self._dressed(request, timeout), timeout)
        judged = judge(request, reply)
        self._tell_request(request, reply, judged, tries, self.clock() - began)
        return judged

    def _dressed(self, request: Request, timeout: float) -> Request:
        """With the trace, and with how long the server may try: its answer tells more than none."""
        headers = dict(request.headers)
        headers["Once-Timeout"] = f"{max(1, round((timeout - min(_ON_THE_WAY, timeout / 10)) * 1000))}ms"
        self.tracing.inject(headers)
        return replace(request, headers=headers)

    def _tell_request(
        self, request: Request, reply: Reply, judged: Judged, tries: int, took: float
    ) -> None:
        if self._on_notice is None and not LOG.isEnabledFor(logging.DEBUG):
            return
        self.tell(
            "request",
            method=request.method,
            path=request.target.split("?")[0],
            status=reply.status if isinstance(reply, Answer) else None,
            code=judged.error.code if judged.error else None,
            tries=tries,
            seconds=took,
        )

    def ask(self, method: str, target: str, body: Any = None, **options: Any) -> Plan[Any]:
        """The JSON of an answer."""
        answer = yield from self.call(self.request(method, target, body, **options))
        return answer.json()


def pages(fetch: Callable[[Optional[str]], Plan[Tuple[List[T], Optional[str]]]]) -> Plan[List[T]]:
    """All of a listing, page by page."""
    found: List[T] = []
    cursor: Optional[str] = None
    while True:
        page, cursor = yield from fetch(cursor)
        found.extend(page)
        if not cursor:
            return found
