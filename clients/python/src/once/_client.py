"""The blocking client."""
from __future__ import annotations

import asyncio
import functools
import heapq
import inspect
import itertools
import os
import threading
import time
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple, Type, TypeVar, Union

from ._core import Core, Invoke, Pause, Plan, Send
from ._errors import Fenced, Invalid, OnceError
from ._lease import CURRENT, BaseAttempt, GaveUp, Lease, Run, keep
from ._options import Options
from ._serializer import Serializer
from ._sync_nouns import Nouns
from ._telemetry import Notice
from ._transport import Cert, SyncTransport, Verify
from ._values import Duration, Outcome, Ticket

if TYPE_CHECKING:
    from ._async_client import AsyncClient

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def drive(plan: Plan[T], transport: SyncTransport, pause: Callable[[float], Any] = time.sleep) -> T:
    """Performs a plan on this thread."""
    try:
        step = next(plan)
        while True:
            if isinstance(step, Send):
                step = plan.send(transport.send(step.request, step.timeout))
            elif isinstance(step, Pause):
                pause(step.seconds)
                step = plan.send(None)
            else:
                try:
                    value = step.function(*step.arguments)
                except BaseException as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(value)
    except StopIteration as stop:
        result: T = stop.value
        return result


class _Alarms:
    """One thread of the process that calls functions at their times. They must not block.

    So a run that is over before its first renewal costs no thread of its own.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._heap: List[Tuple[float, int]] = []
        self._functions: Dict[int, Callable[[], None]] = {}
        self._numbers = itertools.count()
        self._thread: Optional[threading.Thread] = None

    def at(self, moment: float, function: Callable[[], None]) -> int:
        """Calls it then, unless the number that this returns is given to `cancel` before."""
        with self._condition:
            number = next(self._numbers)
            self._functions[number] = function
            heapq.heappush(self._heap, (moment, number))
            if self._thread is None:
                self._thread = threading.Thread(target=self._ring, name="once-alarms", daemon=True)
                self._thread.start()
            elif self._heap[0][1] == number:
                self._condition.notify()
            return number

    def cancel(self, number: int) -> None:
        """Forgets it. What was forgotten is cleared away once it is more than half."""
        with self._condition:
            self._functions.pop(number, None)
            if len(self._heap) > 2 * len(self._functions) + 64:
                self._heap = [entry for entry in self._heap if entry[1] in self._functions]
                heapq.heapify(self._heap)

    def _ring(self) -> None:
        while True:
            with self._condition:
                while not self._heap or self._heap[0][0] > time.monotonic():
                    left = self._heap[0][0] - time.monotonic() if self._heap else None
                    self._condition.wait(left)
                function = self._functions.pop(heapq.heappop(self._heap)[1], None)
            if function is not None:
                function()


_alarms = _Alarms()


def _forget_alarms() -> None:
    global _alarms
    _alarms = _Alarms()


os.register_at_fork(after_in_child=_forget_alarms)


class Attempt(BaseAttempt):
    """One attempt at a key, whose work runs on a thread."""

    def __init__(self, ticket: Ticket, lease: Lease, core: Core) -> None:
        super().__init__(ticket, lease, core)
        self._drive: Callable[[Plan[Optional[str]]], Optional[str]]
        self._length: Duration
        self.lost = threading.Event()
        """Set when the lease is lost: another attempt may hold the key. Stop then."""

    def check(self) -> None:
        """Raises `Fenced` if the lease is lost. To be called now and then by work that takes long."""
        if self.lost.is_set() or self._lease.is_over(self._core.clock()):
            raise Fenced("the lease was lost, and another attempt may hold the key")

    def prepare(self, result: Any = None) -> Optional[str]:
        """The result and the effects as a token, for ``select once.apply(%s)`` in a transaction of your own.

        They happen if that transaction commits, and only then: what the work returns is not
        recorded, and work that ends without it has failed. None: an earlier token of this attempt was
        applied. Apply it within seconds: the lease is not renewed any more, except by the next call.
        Only on a store on PostgreSQL.
        """
        token: Optional[str] = self._drive(self._prepare(result, self._length))
        return token


class _Keeper:
    """Renews the lease of one attempt, from the first third on, on a thread of its own."""

    def __init__(self, client: "Client", attempt: Attempt, length: Duration) -> None:
        self._client = client
        self._attempt = attempt
        self._length = length
        self._stopped = threading.Event()
        self._alarm: Optional[int] = None
        if attempt._ticket.guarded:
            self._alarm = _alarms.at(attempt._lease.due, self._start)

    def _start(self) -> None:
        if self._stopped.is_set():
            return
        # The end of the lease is told in time even if a renewal is under way and does not end.
        self._alarm = _alarms.at(self._attempt._lease.until, self._watch)
        threading.Thread(target=self._keep, name="once-lease", daemon=True).start()

    def _watch(self) -> None:
        if self._stopped.is_set() or self._attempt.lost.is_set():
            return
        lease = self._attempt._lease
        if lease.is_over(time.monotonic()):
            self._lose("it ended before it could be renewed")
        else:
            self._alarm = _alarms.at(lease.until, self._watch)

    def _lose(self, reason: str) -> None:
        if not self._stopped.is_set() and not self._attempt.lost.is_set():
            self._attempt.lost.set()
            self._client._core.tell("lease_lost", key=self._attempt.key, reason=reason)

    def _keep(self) -> None:
        plan = keep(self._client._core, self._attempt, self._length)
        try:
            self._lose(drive(plan, self._client._transport, self._pause))
        except _Stopped:
            pass
        except Exception as error:  # A bug of ours must not keep the lease believed in.
            self._lose(repr(error))

    def _pause(self, seconds: float) -> None:
        if self._stopped.wait(seconds):
            raise _Stopped

    def stop(self) -> None:
        """Renews no more."""
        self._stopped.set()
        if self._alarm is not None:
            _alarms.cancel(self._alarm)


class _Stopped(Exception):
    """Ends a keeper."""


class Client(Nouns):
    """A client of a server of Once. Safe to share between threads, and usable after a fork."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._core: Core = options.core
        self._transport: SyncTransport = options.transport(SyncTransport)
        self._companions: "weakref.WeakKeyDictionary[Any, Any]" = weakref.WeakKeyDictionary()
        if options.directory is not None:
            options.directory.find(max(self._core.timeout, 30.0))

    @property
    def url(self) -> str:
        """Of the server."""
        proof = self._transport.proof
        return proof.url if proof is not None else self._transport.url

    def _drive(self, plan: Plan[T]) -> T:
        return drive(plan, self._transport)

    def _pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def run(
        self,
        key: str,
        work: Callable[[Attempt], Any],
        *,
        lease: Duration = "30s",
        ttl: Duration = "24h",
        wait: Duration = "0s",
        payload: Any = None,
        owner: Optional[str] = None,
        returns: Any = None,
    ) -> Outcome[Any]:
        """Runs the work unless the key has an outcome, and records its result.

        The lease is renewed while the work runs. If the work raises, the key is free again and the
        error is raised here. Raises `Busy` if another attempt runs for longer than ``wait``,
        `Mismatch` if the key has another ``payload``, `Fenced` if the lease was lost, and
        `OnceError` with code ``failed`` if the key failed for good. ``returns`` is the type that
        results are made into again.
        """
        core = self._core
        with core.tracing.span("once.run", key=key):
            run = Run(core, key, lease=lease, ttl=ttl, wait=wait, payload=payload, owner=owner, returns=returns)
            try:
                begun = self._drive(run.begin(lambda ticket, lease: Attempt(ticket, lease, core)))
            except Exception:
                raise
            except BaseException:  # Interrupted: the claim may have been taken.
                self._drive(run.withdraw())
                raise
            if isinstance(begun, Outcome):
                return begun
            return self._attempt(run, begun, work)

    def _attempt(self, run: Run, attempt: Attempt, work: Callable[[Attempt], Any]) -> Outcome[Any]:
        keeper = _Keeper(self, attempt, run.lease)
        attempt._stop_renewing, attempt._drive, attempt._length = keeper.stop, self._drive, run.lease
        current = CURRENT.set(attempt)
        try:
            result = work(attempt)
            if inspect.iscoroutine(result):
                result.close()
                raise Invalid("the work is a coroutine function, which needs connect_async() or client.awaitable()")
        except GaveUp as gave_up:
            return self._drive(run.fail_for_good(attempt, gave_up))
        except BaseException as error:
            self._drive(run.fail(attempt, error, attempt.lost.is_set()))
            raise
        else:
            return self._drive(run.succeed(attempt, result))
        finally:
            CURRENT.reset(current)
            keeper.stop()

    def idempotent(
        self,
        key: Callable[..., str],
        *,
        lease: Duration = "30s",
        ttl: Duration = "24h",
        wait: Duration = "0s",
        payload: Optional[Callable[..., Any]] = None,
        owner: Optional[str] = None,
        returns: Any = None,
    ) -> Callable[[F], F]:
        """A decorator: the function runs once for each key, and repeats get its result.

        ``key`` and ``payload`` are called with the function's own arguments. `current_attempt()`
        is the attempt, inside. Works for coroutine functions, too.
        """
        options: Dict[str, Any] = dict(lease=lease, ttl=ttl, wait=wait, owner=owner, returns=returns)

        def decorate(function: F) -> F:
            if inspect.iscoroutinefunction(function):

                @functools.wraps(function)
                async def awaiting(*args: Any, **kwargs: Any) -> Any:
                    given = None if payload is None else payload(*args, **kwargs)
                    outcome = await self.awaitable().run(
                        key(*args, **kwargs), lambda attempt: function(*args, **kwargs), payload=given, **options
                    )
                    return outcome.result

                return awaiting  # type: ignore[return-value]

            @functools.wraps(function)
            def blocking(*args: Any, **kwargs: Any) -> Any:
                given = None if payload is None else payload(*args, **kwargs)
                outcome = self.run(
                    key(*args, **kwargs), lambda attempt: function(*args, **kwargs), payload=given, **options
                )
                return outcome.result

            return blocking  # type: ignore[return-value]

        return decorate

    def awaitable(self) -> "AsyncClient":
        """An asynchronous client with the same options, for the running event loop."""
        from ._async_client import AsyncClient

        loop = asyncio.get_running_loop()
        found: Optional[AsyncClient] = self._companions.get(loop)
        if found is None:
            found = self._companions[loop] = AsyncClient(self._options)
        return found

    def close(self) -> None:
        """Closes all connections. A server that was started for a directory ends by itself."""
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()


def blocking(client: Union[Client, "AsyncClient"]) -> Client:
    """A blocking client with the same options, for what calls without a loop."""
    return client if isinstance(client, Client) else Client(client._options)


def connect(
    url: Optional[str] = None,
    token: Optional[str] = None,
    namespace: Optional[str] = None,
    *,
    patience: Duration = "60s",
    timeout: Duration = "10s",
    owner: Optional[str] = None,
    serializer: Optional[Serializer] = None,
    on_notice: Optional[Callable[[Notice], None]] = None,
    verify: Verify = True,
    cert: Cert = None,
) -> Client:
    """A blocking client.

    ``url`` is a server, or a directory: then the server that owns it is found, or started with the
    binary ``once`` of PATH or of ``$ONCE_BINARY``. Without it ``$ONCE_STORE``, else the default
    store. ``patience`` is how long a call is tried, ``timeout`` how long one try may take.
    ``on_notice`` is told of each request, run and renewal. ``verify`` and ``cert`` are httpx's.
    """
    return Client(
        Options(url, token, namespace, patience, timeout, owner, serializer, on_notice, verify, cert)
    )


__all__ = ["Attempt", "Client", "OnceError", "connect", "drive", "Invoke"]
