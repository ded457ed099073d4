"""Middleware for ASGI and WSGI services: the rules of `once proxy` inside the service itself."""
from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Awaitable, Callable, Dict, Iterable, List, MutableMapping, Optional, Tuple, Union
from urllib.parse import quote

from ._async_client import AsyncAttempt, AsyncClient, afterwards
from ._async_client import _Keeper as _AsyncKeeper
from ._client import Attempt, Client, _Keeper, blocking
from ._errors import OnceError
from ._guard import BadKey, Guard, Headers, HttpAnswer, Rules, claim_name, key_of, problem
from ._lease import Lease
from ._values import Ticket

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]
WsgiApp = Callable[[Dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def _rules(options: Dict[str, Any]) -> Rules:
    for name in ("identity_headers", "methods"):
        if name in options:
            options[name] = tuple(options[name])
    return Rules(**options)


def asgi(app: AsgiApp, client: Union[Client, AsyncClient], **rules: Any) -> AsgiApp:
    """Guards an ASGI service such as FastAPI: requests with an Idempotency-Key take effect once.

    ``rules``: require_key, identity_headers, retry_5xx, after_unknown, if_store_down, ttl,
    max_body, max_answer, lease, methods.
    """
    return _Asgi(app, client, _rules(rules))


class _Asgi:
    def __init__(self, app: AsgiApp, client: Union[Client, AsyncClient], rules: Rules) -> None:
        self._app = app
        self._client = client
        self._rules = rules

    def _async_client(self) -> AsyncClient:
        if isinstance(self._client, AsyncClient):
            return self._client
        client: AsyncClient = self._client.awaitable()
        return client

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in self._rules.methods:
            return await self._app(scope, receive, send)
        headers = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in scope["headers"]]
        try:
            key = key_of(headers)
        except BadKey as error:
            return await _answer(send, problem(400, "invalid", str(error)))
        if key is None:
            if self._rules.require_key:
                return await _answer(send, problem(400, "invalid", "POST and PATCH need an Idempotency-Key here"))
            return await self._app(scope, receive, send)
        body = await _body(receive, self._rules.max_body)
        if body is None:
            return
        if len(body) > self._rules.max_body:
            detail = f"the body of a request with a key has at most {self._rules.max_body} bytes"
            return await _answer(send, problem(413, "too_large", detail))
        client = self._async_client()
        name = claim_name(scope["method"], _target(scope), headers, key, self._rules)
        guard = Guard(client._core, self._rules, name, body)
        entered = await _entered(client, guard)
        if isinstance(entered, HttpAnswer):
            return await _answer(send, entered)
        again = _receive_again(body, receive)
        if entered is None:
            return await self._app(scope, again, send)
        await self._guarded(client, guard, entered, scope, again, send)

    async def _guarded(
        self, client: AsyncClient, guard: Guard, ticket: Ticket, scope: Scope, receive: Receive, send: Send
    ) -> None:
        attempt = AsyncAttempt(ticket, Lease(ticket.asked, guard.patience), client._core)
        # Losing the lease does not stop the service: what it does is done all the same.
        keeper = _AsyncKeeper(client, attempt, asyncio.get_running_loop().create_future(), guard.hold)
        answer = _Collected(client, guard, ticket, send)
        try:
            await self._app(scope, receive, answer.take)
            if not answer.settled:
                await client._settled(guard.abandon(ticket))
        except asyncio.CancelledError:
            if not answer.settled:
                await client._settled(guard.abandon(ticket))
            raise
        except Exception as error:
            if not answer.settled:
                plan = guard.abandon(ticket) if answer.begun else guard.fail(ticket, error)
                await client._settled(plan)
            raise
        finally:
            keeper.stop()


_Entered = Union[Ticket, HttpAnswer, None]


async def _entered(client: AsyncClient, guard: Guard) -> _Entered:
    """Enters to the end even if the caller hangs up meanwhile; then a claim that it took is freed.

    A claim that is left half taken would be refused as unknown, although nothing was done.
    """
    entering = asyncio.ensure_future(client._drive(guard.enter()))
    try:
        return await asyncio.shield(entering)
    except asyncio.CancelledError:
        await afterwards(_withdrawn(client, guard, entering))
        raise


async def _withdrawn(client: AsyncClient, guard: Guard, entering: "asyncio.Task[_Entered]") -> None:
    with contextlib.suppress(OnceError):
        entered = await entering
        if isinstance(entered, Ticket):
            await client._drive(guard.free(entered))


class _Collected:
    """An answer that is held until it is stored. One that is too large is sent as it comes."""

    def __init__(self, client: AsyncClient, guard: Guard, ticket: Ticket, send: Send) -> None:
        self._client = client
        self._guard = guard
        self._ticket = ticket
        self._send = send
        self._start: Optional[Message] = None
        self._body = b""
        self._size = 0
        self.begun = False  # Something was sent to the caller.
        self.settled = False

    async def take(self, message: Message) -> None:
        """What the service sends."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        if message["type"] != "http.response.body" or self._start is None or self.settled:
            return await self._send(message)
        piece = message.get("body", b"")
        ends = not message.get("more_body", False)
        self._size += len(piece)
        if not self.begun:
            self._body += piece
            if len(self._body) > self._guard.rules.max_answer:
                self.begun = True
                await self._send(self._start)
                piece, self._body = self._body, b""
        if ends:
            await self._settle()
        if self.begun:
            await self._send({"type": "http.response.body", "body": piece, "more_body": not ends})
        elif ends:
            await self._send(self._start)
            await self._send({"type": "http.response.body", "body": self._body, "more_body": False})

    async def _settle(self) -> None:
        assert self._start is not None
        headers = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in self._start.get("headers", [])]
        body = None if self.begun else self._body
        plan = self._guard.leave(self._ticket, self._start["status"], headers, body, self._size)
        self.settled = True
        await self._client._settled(plan)


def _target(scope: Scope) -> str:
    raw: bytes = scope.get("raw_path") or quote(scope.get("path", "/")).encode()
    query: bytes = scope.get("query_string", b"")
    return (raw.split(b"?")[0] + (b"?" + query if query else b"")).decode("latin-1")


async def _body(receive: Receive, most: int) -> Optional[bytes]:
    """The whole body, or the first bytes of one that is too large. None if the caller has gone."""
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False) or len(body) > most:
            return body


def _receive_again(body: bytes, receive: Receive) -> Receive:
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _answer(send: Send, answer: HttpAnswer) -> None:
    headers = [(n.lower().encode("latin-1"), v.encode("latin-1")) for n, v in answer.headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})


def wsgi(app: WsgiApp, client: Union[Client, AsyncClient], **rules: Any) -> WsgiApp:
    """Guards a WSGI service such as Flask or Django; rules as for `asgi`."""
    return _Wsgi(app, blocking(client), _rules(rules))


class _Wsgi:
    def __init__(self, app: WsgiApp, client: Client, rules: Rules) -> None:
        self._app = app
        self._client = client
        self._rules = rules

    def __call__(self, environ: Dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ.get("REQUEST_METHOD") not in self._rules.methods:
            return self._app(environ, start_response)
        headers = _environ_headers(environ)
        try:
            key = key_of(headers)
        except BadKey as error:
            return _wsgi_answer(start_response, problem(400, "invalid", str(error)))
        if key is None:
            if self._rules.require_key:
                return _wsgi_answer(
                    start_response, problem(400, "invalid", "POST and PATCH need an Idempotency-Key here")
                )
            return self._app(environ, start_response)
        return self._keyed(environ, start_response, headers, key)

    def _keyed(
        self, environ: Dict[str, Any], start_response: Callable[..., Any], headers: Headers, key: str
    ) -> Iterable[bytes]:
        body = _wsgi_body(environ, self._rules.max_body)
        if len(body) > self._rules.max_body:
            detail = f"the body of a request with a key has at most {self._rules.max_body} bytes"
            return _wsgi_answer(start_response, problem(413, "too_large", detail))
        name = claim_name(environ["REQUEST_METHOD"], _wsgi_target(environ), headers, key, self._rules)
        guard = Guard(self._client._core, self._rules, name, body)
        entered = self._entered(guard)
        if isinstance(entered, HttpAnswer):
            return _wsgi_answer(start_response, entered)
        import io

        environ = {**environ, "wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
        if entered is None:
            return self._app(environ, start_response)
        return self._guarded(guard, entered, environ, start_response)

    def _entered(self, guard: Guard) -> Union[Ticket, HttpAnswer, None]:
        """A claim that may be half taken when a signal ends the request is freed: nothing was done under it."""
        try:
            return self._client._drive(guard.enter())
        except Exception:
            raise
        except BaseException:
            with contextlib.suppress(OnceError):
                self._client._drive(guard.withdraw())
            raise

    def _guarded(
        self, guard: Guard, ticket: Ticket, environ: Dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        attempt = Attempt(ticket, Lease(ticket.asked, guard.patience), self._client._core)
        keeper = _Keeper(self._client, attempt, guard.hold)
        begun: List[Tuple[str, Headers]] = []
        written: List[bytes] = []

        def collect(status: str, headers: Headers, exc_info: Any = None) -> Callable[[bytes], Any]:
            begun[:] = [(status, list(headers))]
            return written.append

        try:
            answer = self._app(environ, collect)
            try:
                for piece in answer:
                    written.append(piece)
            finally:
                close = getattr(answer, "close", None)
                if close is not None:
                    close()
            if not begun:
                raise RuntimeError("the service did not call start_response")
        except Exception as error:
            self._client._drive(guard.fail(ticket, error))
            raise
        except BaseException:
            self._client._drive(guard.abandon(ticket))
            raise
        else:
            status, headers = begun[0]
            body = b"".join(written)
            kept = body if len(body) <= self._rules.max_answer else None
            self._client._drive(guard.leave(ticket, int(status.split()[0]), headers, kept, len(body)))
        finally:
            keeper.stop()
        start_response(status, headers)
        return [body]


def _environ_headers(environ: Dict[str, Any]) -> Headers:
    return [
        (name[len("HTTP_") :].replace("_", "-").lower(), str(value))
        for name, value in environ.items()
        if name.startswith("HTTP_")
    ]


def _wsgi_target(environ: Dict[str, Any]) -> str:
    path = quote((environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")).encode("latin-1"))
    query = environ.get("QUERY_STRING", "")
    return f"{path}?{query}" if query else path


def _wsgi_body(environ: Dict[str, Any], most: int) -> bytes:
    length = environ.get("CONTENT_LENGTH") or ""
    wanted = int(length) if length.isdigit() else (most + 1 if environ.get("wsgi.input_terminated") else 0)
    body: bytes = environ["wsgi.input"].read(min(wanted, most + 1)) if wanted else b""
    return body


def _wsgi_answer(start_response: Callable[..., Any], answer: HttpAnswer) -> List[bytes]:
    from http.client import responses

    start_response(f"{answer.status} {responses.get(answer.status, 'Answer')}", answer.headers)
    return [answer.body]
