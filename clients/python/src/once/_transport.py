"""Sends requests with httpx, and says what became of each: answered, lost or never sent.

A server that was found by its directory proves on every new connection, before anything else is
sent on it, that it can read the directory's secret (docs/threats.md).
"""
from __future__ import annotations

import asyncio
import os
import socket
import ssl
import threading
import time
import weakref
from contextlib import asynccontextmanager, contextmanager
from typing import Any, AsyncIterator, Dict, Iterator, List, Optional, Tuple, Union

import httpx

from ._core import MAX_ANSWER, Answer, Lost, NotSent, Reply, Request, judge
from ._directory import Directory, Proof, Unproven, pinned_tls
from ._errors import Invalid, OnceError, Unavailable

_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_FOLLOW_TIMEOUT = 45.0  # A server sends a heartbeat every 15 s.
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=30.0)
_ONE = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=30.0)

Verify = Union[bool, str, ssl.SSLContext]
Cert = Union[None, str, Tuple[str, str]]


class Broken(Exception):
    """A stream of events broke off."""

    def __init__(self, reason: OnceError) -> None:
        super().__init__(str(reason))
        self.reason = reason


def _answer(response: httpx.Response, body: bytes) -> Answer:
    return Answer(response.status_code, {k.lower(): v for k, v in response.headers.items()}, body)


def _failed(error: Exception) -> Reply:
    if isinstance(error, _NOT_SENT) or isinstance(error, Unproven):
        return NotSent(f"cannot reach the server: {error or type(error).__name__}")
    if isinstance(error, (httpx.UnsupportedProtocol, httpx.InvalidURL, httpx.LocalProtocolError)):
        raise Invalid(str(error)) from error
    return Lost(str(error) or type(error).__name__)


def _timeout(seconds: float) -> httpx.Timeout:
    return httpx.Timeout(seconds, connect=min(seconds, 5.0), pool=seconds)


def _no_delay(event: str, info: Any) -> None:
    """A trace hook: httpx writes head and body apart, and some versions leave Nagle's algorithm on,
    which then holds each body back for 40 ms."""
    if event.endswith("connect_tcp.complete"):
        found = info["return_value"].get_extra_info("socket")
        if found is not None:
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _no_connection(event: str, info: Any) -> None:
    """A trace hook: stops a request that would open a new connection."""
    if event.endswith("connect_tcp.started"):
        raise Unproven("a new connection has not proved its server yet")


_QUICK: Dict[str, Any] = {"trace": _no_delay}


async def _no_connection_async(event: str, info: Any) -> None:
    _no_connection(event, info)


# Those that are to begin anew in a forked process.
_transports: "weakref.WeakSet[SyncTransport]" = weakref.WeakSet()


def _after_fork() -> None:
    for transport in list(_transports):
        transport._reset()


os.register_at_fork(after_in_child=_after_fork)


class _Clients:
    """What both kinds of transport know."""

    def __init__(self, url: str, verify: Verify, cert: Cert, directory: Optional[Directory]) -> None:
        self.url = url.rstrip("/")
        # One context for all connections: to make one reads the certificates of the system.
        self._tls: Any = httpx.create_ssl_context(verify=verify, cert=cert) if url.startswith("https:") else False
        self.directory = directory
        self.proof: Optional[Proof] = None

    def options(self, limits: httpx.Limits) -> Dict[str, Any]:
        """Of an httpx client. The environment's proxies and netrc are not for this."""
        return dict(verify=self._tls, limits=limits, trust_env=False, follow_redirects=False)


class SyncTransport(_Clients):
    """For threads. After a fork each process has connections of its own."""

    def __init__(self, url: str, verify: Verify, cert: Cert, directory: Optional[Directory]) -> None:
        super().__init__(url, verify, cert, directory)
        self._reset()
        _transports.add(self)

    def _reset(self) -> None:
        # The parent's sockets are not closed here: they are the parent's.
        self._left_behind = getattr(self, "_client", None), getattr(self, "_lanes", None)
        self._lock = threading.Lock()
        self._client: Optional[httpx.Client] = None
        self._lanes: List[httpx.Client] = []

    def _pooled(self) -> httpx.Client:
        client = self._client
        if client is None:
            with self._lock:
                client = self._client
                if client is None:
                    client = self._client = httpx.Client(**self.options(_LIMITS))
        return client

    def send(self, request: Request, timeout: float) -> Reply:
        """One try."""
        try:
            if self.directory is not None:
                return self._send_proven(request, timeout)
            if not request.repeat:
                # What may not be sent twice goes on a fresh connection (docs/hazards.md#h40).
                with httpx.Client(**self.options(_ONE)) as fresh:
                    return self._exchange(fresh, self.url, request, timeout)
            return self._exchange(self._pooled(), self.url, request, timeout)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, Unproven, OSError) as error:
            return _failed(error)

    @staticmethod
    def _exchange(
        client: httpx.Client, url: str, request: Request, timeout: float, extensions: Optional[Dict[str, Any]] = None
    ) -> Answer:
        until = time.monotonic() + timeout
        built = client.build_request(
            request.method,
            url + request.target,
            headers=request.headers,
            content=request.body,
            timeout=_timeout(timeout),
            extensions=extensions or _QUICK,
        )
        response = client.send(built, stream=True)
        try:
            body = b""
            for piece in response.iter_bytes():
                body += piece
                if len(body) > MAX_ANSWER or time.monotonic() > until:
                    raise httpx.ReadTimeout("the answer was too slow or too long")
            return _answer(response, body)
        finally:
            response.close()

    def _send_proven(self, request: Request, timeout: float) -> Reply:
        assert self.directory is not None
        with self._lock:
            proof = self.proof
            lane = self._lanes.pop() if self._lanes and request.repeat else None
        if proof is None:
            try:
                proof = self.directory.find(timeout)
            except Unavailable as error:
                return NotSent(str(error))
            with self._lock:
                self.proof = proof
        try:
            if lane is None:
                lane = self._proven_lane(proof, timeout)
            answer = self._exchange(lane, proof.url, request, timeout, {"trace": _no_connection})
        except Unproven:
            # Nothing was sent: the connection had been closed. Another proves itself.
            if lane is not None:
                lane.close()
            lane = self._renewed_lane(proof, timeout)
            answer = self._exchange(lane, proof.url, request, timeout, {"trace": _no_connection})
        except (httpx.HTTPError, OSError):
            if lane is not None:
                lane.close()
            with self._lock:
                self.proof = None  # It may be gone: who has the directory is asked anew.
            raise
        with self._lock:
            self._lanes.append(lane)
        return answer

    def _renewed_lane(self, proof: Proof, timeout: float) -> httpx.Client:
        try:
            return self._proven_lane(proof, timeout)
        except (httpx.HTTPError, OSError, Unproven) as error:
            with self._lock:
                self.proof = None
            raise Unproven(str(error)) from error

    def _proven_lane(self, proof: Proof, timeout: float) -> httpx.Client:
        lane = httpx.Client(**{**self.options(_ONE), "verify": pinned_tls(proof.url)})

        def trace(event: str, info: Any) -> None:
            _no_delay(event, info)
            proof.trace(event, info)

        try:
            challenge = proof.challenge()
            answer = self._exchange(lane, proof.url, challenge.request, min(timeout, 2.0), {"trace": trace})
            if not challenge.is_answered_by(answer):
                raise Unproven("what listens there is not the directory's server")
            return lane
        except httpx.HTTPError as error:
            lane.close()
            with self._lock:
                self.proof = None
            raise Unproven(str(error)) from error
        except BaseException:
            lane.close()
            with self._lock:
                self.proof = None
            raise

    @contextmanager
    def lines(self, request: Request, timeout: float) -> Iterator[Iterator[str]]:
        """The lines of a stream of events. Raises `Broken` if it breaks, or what it is refused with."""
        client: Optional[httpx.Client] = None
        try:
            url, extensions = self.url, None
            if self.directory is not None:
                proof = self.proof or self.directory.find(timeout)
                client, url, extensions = self._proven_lane(proof, timeout), proof.url, {"trace": _no_connection}
            else:
                client = httpx.Client(**self.options(_ONE))
            limits = httpx.Timeout(_FOLLOW_TIMEOUT, connect=min(timeout, 5.0))
            built = client.build_request(
                request.method, url + request.target, headers=request.headers, timeout=limits, extensions=extensions
            )
            response = client.send(built, stream=True)
            if response.status_code != 200 or "text/event-stream" not in response.headers.get("content-type", ""):
                _refuse(request, _answer(response, response.read()))
            yield _lines(response)
        except (httpx.HTTPError, httpx.StreamError, OSError, Unproven, Unavailable) as error:
            with self._lock:
                self.proof = None
            raise Broken(error if isinstance(error, OnceError) else Unavailable(str(error))) from error
        finally:
            if client is not None:
                client.close()

    def close(self) -> None:
        """Closes all connections."""
        with self._lock:
            clients = [*self._lanes, *([self._client] if self._client is not None else [])]
            self._lanes, self._client = [], None
        for client in clients:
            client.close()


_MAX_LINE = 64 << 20


def _whole_lines(unread: bytes) -> Tuple[List[str], bytes]:
    """The lines that are complete, and what is left of the next one."""
    *lines, rest = unread.split(b"\n")
    if len(rest) > _MAX_LINE:
        raise httpx.ReadError("a line of the stream is too long")
    return [line.rstrip(b"\r").decode("utf-8", "replace") for line in lines], rest


def _lines(response: httpx.Response) -> Iterator[str]:
    rest = b""
    for piece in response.iter_bytes():
        lines, rest = _whole_lines(rest + piece)
        yield from lines
    raise httpx.ReadError("the stream ended")


async def _async_lines(response: httpx.Response) -> AsyncIterator[str]:
    rest = b""
    async for piece in response.aiter_bytes():
        lines, rest = _whole_lines(rest + piece)
        for line in lines:
            yield line
    raise httpx.ReadError("the stream ended")


def _refuse(request: Request, answer: Answer) -> None:
    judged = judge(request, answer)
    if judged.error is None or not judged.final:
        raise Broken(judged.error or Unavailable("the answer is no stream of events"))
    raise judged.error


class AsyncTransport(_Clients):
    """For one event loop at a time. In another loop, or after a fork, it begins anew."""

    def __init__(self, url: str, verify: Verify, cert: Cert, directory: Optional[Directory]) -> None:
        super().__init__(url, verify, cert, directory)
        self._client: Optional[httpx.AsyncClient] = None
        self._lanes: List[httpx.AsyncClient] = []
        self._place: Tuple[int, Any] = (0, None)

    def _pooled(self) -> httpx.AsyncClient:
        place = (os.getpid(), asyncio.get_running_loop())
        if self._place != place:
            self._client, self._lanes, self._place = None, [], place
        if self._client is None:
            self._client = httpx.AsyncClient(**self.options(_LIMITS))
        return self._client

    async def send(self, request: Request, timeout: float) -> Reply:
        """One try."""
        try:
            if self.directory is not None:
                return await self._send_proven(request, timeout)
            if not request.repeat:
                async with httpx.AsyncClient(**self.options(_ONE)) as fresh:
                    return await self._exchange(fresh, self.url, request, timeout)
            return await self._exchange(self._pooled(), self.url, request, timeout)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, Unproven, OSError) as error:
            return _failed(error)

    @staticmethod
    async def _exchange(
        client: httpx.AsyncClient,
        url: str,
        request: Request,
        timeout: float,
        extensions: Optional[Dict[str, Any]] = None,
    ) -> Answer:
        until = time.monotonic() + timeout
        built = client.build_request(
            request.method,
            url + request.target,
            headers=request.headers,
            content=request.body,
            timeout=_timeout(timeout),
            extensions=extensions,
        )
        response = await client.send(built, stream=True)
        try:
            body = b""
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > MAX_ANSWER or time.monotonic() > until:
                    raise httpx.ReadTimeout("the answer was too slow or too long")
            return _answer(response, body)
        finally:
            await response.aclose()

    async def _send_proven(self, request: Request, timeout: float) -> Reply:
        assert self.directory is not None
        self._pooled()
        proof = self.proof
        lane = self._lanes.pop() if self._lanes and request.repeat else None
        if proof is None:
            try:
                proof = self.proof = await self._find(timeout)
            except Unavailable as error:
                return NotSent(str(error))
        trace = {"trace": _no_connection_async}
        try:
            if lane is None:
                lane = await self._proven_lane(proof, timeout)
            answer = await self._exchange(lane, proof.url, request, timeout, trace)
        except Unproven:
            if lane is not None:
                await lane.aclose()
            lane = await self._proven_lane(proof, timeout)
            answer = await self._exchange(lane, proof.url, request, timeout, trace)
        except (httpx.HTTPError, OSError):
            if lane is not None:
                await lane.aclose()
            self.proof = None
            raise
        self._lanes.append(lane)
        return answer

    async def _find(self, timeout: float) -> Proof:
        assert self.directory is not None
        return await asyncio.get_running_loop().run_in_executor(None, self.directory.find, timeout)

    async def _proven_lane(self, proof: Proof, timeout: float) -> httpx.AsyncClient:
        lane = httpx.AsyncClient(**{**self.options(_ONE), "verify": pinned_tls(proof.url)})

        async def trace(event: str, info: Any) -> None:
            proof.trace(event, info)

        try:
            challenge = proof.challenge()
            answer = await self._exchange(lane, proof.url, challenge.request, min(timeout, 2.0), {"trace": trace})
            if not challenge.is_answered_by(answer):
                raise Unproven("what listens there is not the directory's server")
            return lane
        except httpx.HTTPError as error:
            await lane.aclose()
            self.proof = None
            raise Unproven(str(error)) from error
        except BaseException:
            await lane.aclose()
            self.proof = None
            raise

    @asynccontextmanager
    async def lines(self, request: Request, timeout: float) -> AsyncIterator[AsyncIterator[str]]:
        """The lines of a stream of events. Raises `Broken` if it breaks, or what it is refused with."""
        client: Optional[httpx.AsyncClient] = None
        try:
            url, extensions = self.url, None
            if self.directory is not None:
                proof = self.proof or await self._find(timeout)
                client, url = await self._proven_lane(proof, timeout), proof.url
                extensions = {"trace": _no_connection_async}
            else:
                client = httpx.AsyncClient(**self.options(_ONE))
            limits = httpx.Timeout(_FOLLOW_TIMEOUT, connect=min(timeout, 5.0))
            built = client.build_request(
                request.method, url + request.target, headers=request.headers, timeout=limits, extensions=extensions
            )
            response = await client.send(built, stream=True)
            if response.status_code != 200 or "text/event-stream" not in response.headers.get("content-type", ""):
                _refuse(request, _answer(response, await response.aread()))
            yield _async_lines(response)
        except (httpx.HTTPError, httpx.StreamError, OSError, Unproven, Unavailable) as error:
            self.proof = None
            raise Broken(error if isinstance(error, OnceError) else Unavailable(str(error))) from error
        finally:
            if client is not None:
                await client.aclose()

    async def aclose(self) -> None:
        """Closes all connections."""
        clients = [*self._lanes, *([self._client] if self._client is not None else [])]
        self._lanes, self._client = [], None
        for client in clients:
            await client.aclose()
