"""The asynchronous client, for asyncio."""
from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import threading
from types import TracebackType
from typing import Any, Awaitable, Callable, Coroutine, Dict, Generator, Optional, Set, Type, TypeVar

from . import _client as threads
from . import _plans as plans
from ._async_nouns import AsyncNouns
from ._core import Core, Pause, Plan, Send
from ._errors import Fenced, OnceError, Unavailable, Unknown
from ._lease import CURRENT, BaseAttempt, GaveUp, Lease, Run, keep
from ._options import Options
from ._serializer import Serializer
from ._telemetry import Notice
from ._transport import AsyncTransport, Cert, SyncTransport, Verify
from ._values import Duration, Outcome, Ticket

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


async def drive(plan: Plan[T], transport: AsyncTransport) -> T:
    """Performs a plan."""
    try:
        step = next(plan)
        while True:
            if isinstance(step, Send):
                step = plan.send(await transport.send(step.request, step.timeout))
            elif isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
                step = plan.send(None)
            else:
                try:
                    value = step.function(*step.arguments)
                    if inspect.isawaitable(value):
                        value = await value
                except BaseException as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(value)
    except StopIteration as stop:
        result: T = stop.value
        return result


_late: Set["asyncio.Task[Any]"] = set()  # A loop does not keep its tasks alive by itself.


async def afterwards(work: Coroutine[Any, Any, Any]) -> None:
    """Does what is left to do after the caller was cancelled, and waits for it, but not for long.

    In a task of its own: some frameworks cancel every further await of the caller's.
    """
    task = asyncio.ensure_future(work)
    _late.add(task)
    task.add_done_callback(_late.discard)
    await asyncio.wait({task}, timeout=5)


class AsyncAttempt(BaseAttempt):
    """One attempt at a key, whose work is a task. The task is cancelled when the lease is lost."""

    def __init__(self, ticket: Ticket, lease: Lease, core: Core) -> None:
        super().__init__(ticket, lease, core)
        self._drive: Callable[[Plan[Optional[str]]], Awaitable[Optional[str]]]
        self._length: Duration
        self.lost = asyncio.Event()
        """Set when the lease is lost, just before the work is cancelled."""

    def check(self) -> None:
        """Raises `Fenced` if the lease is lost."""
        if self.lost.is_set() or self._lease.is_over(self._core.clock()):
            raise Fenced("the lease was lost, and another attempt may hold the key")

    async def prepare(self, result: Any = None) -> Optional[str]:
        """The result and the effects as a token for ``once.apply``; as `Attempt.prepare`."""
        token: Optional[str] = await self._drive(self._prepare(result, self._length))
        return token


class _Standby:
    """Renews from a thread what the loop has not: work that blocks the loop keeps its lease."""

    def __init__(
        self, client: "AsyncClient", attempt: AsyncAttempt, length: Duration, lost: Callable[[str], None]
    ) -> None:
        self._client = client
        self._attempt = attempt
        self._length = length
        self._lost = lost
        self._stopped = False
        self._alarm = threads._alarms.at(attempt._lease.overdue, self._look)

    def _look(self) -> None:
        lease, now = self._attempt._lease, self._client._core.clock()
        if self._stopped or lease.is_over(now):
            return
        if now < lease.overdue:
            self._alarm = threads._alarms.at(lease.overdue, self._look)
        else:
            threading.Thread(target=self._renew, name="once-lease", daemon=True).start()

    def _renew(self) -> None:
        ticket, lease, core = self._attempt._ticket, self._attempt._lease, self._client._core
        plan = plans.renew(core, ticket.key, ticket.ticket, self._length, lease.try_for(core.clock()))
        try:
            lease.renewed(threads.drive(plan, self._client._beside()))
            core.tell("renewed", key=ticket.key)
        except (Unavailable, Unknown):
            lease.failed(core.clock(), 0.0)
        except OnceError as refused:
            lease.end(core.clock())
            self._lost(str(refused))
        if not self._stopped:
            self._alarm = threads._alarms.at(lease.overdue, self._look)

    def stop(self) -> None:
        """Looks no more."""
        self._stopped = True
        threads._alarms.cancel(self._alarm)


class _Keeper:
    """Renews the lease of one attempt from the first third on, and cancels the work if it is lost."""

    def __init__(
        self, client: "AsyncClient", attempt: AsyncAttempt, work: "asyncio.Future[Any]", length: Duration
    ) -> None:
        self._client = client
        self._attempt = attempt
        self._work = work
        self._length = length
        self._task: Optional["asyncio.Task[None]"] = None
        self._stopped = False
        self._loop = asyncio.get_running_loop()
        self._alarm: Optional[asyncio.TimerHandle] = None
        self._standby: Optional[_Standby] = None
        if attempt._ticket.guarded:
            self._standby = _Standby(client, attempt, length, self._lose_from_a_thread)
            self._alarm = self._loop.call_later(max(0.0, self._left(attempt._lease.due)), self._start)

    def _left(self, moment: float) -> float:
        return moment - self._client._core.clock()

    def _start(self) -> None:
        self._task = self._loop.create_task(self._keep())
        self._watch()

    def _watch(self) -> None:
        """The end of the lease is told in time even if a renewal is under way and does not end."""
        left = self._left(self._attempt._lease.until)
        if left <= 0:
            self._lose("it ended before it could be renewed")
        elif not self._stopped:
            self._alarm = self._loop.call_later(left, self._watch)

    async def _keep(self) -> None:
        plan = keep(self._client._core, self._attempt, self._length)
        try:
            self._lose(await drive(plan, self._client._transport))
        except asyncio.CancelledError:
            raise
        except Exception as error:  # A bug of ours must not keep the lease believed in.
            self._lose(repr(error))

    def _lose(self, reason: str) -> None:
        if self._stopped or self._attempt.lost.is_set():
            return
        self._attempt.lost.set()
        self._client._core.tell("lease_lost", key=self._attempt.key, reason=reason)
        self._work.cancel()

    def _lose_from_a_thread(self, reason: str) -> None:
        with contextlib.suppress(RuntimeError):  # The loop is closed.
            self._loop.call_soon_threadsafe(self._lose, reason)

    def stop(self) -> None:
        """Renews no more."""
        self._stopped = True
        if self._standby is not None:
            self._standby.stop()
        if self._alarm is not None:
            self._alarm.cancel()
        if self._task is not None:
            self._task.cancel()


class AsyncClient(AsyncNouns):
    """A client of a server of Once, for one event loop at a time. ``await`` on it gives itself."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._core: Core = options.core
        self._transport: AsyncTransport = options.transport(AsyncTransport)
        self._blocking: Optional[SyncTransport] = None

    def _beside(self) -> SyncTransport:
        """For threads. Made when it is needed, which is rare."""
        if self._blocking is None:
            self._blocking = self._options.transport(SyncTransport)
        return self._blocking

    @property
    def url(self) -> str:
        """Of the server."""
        proof = self._transport.proof
        return proof.url if proof is not None else self._transport.url

    async def _drive(self, plan: Plan[T]) -> T:
        return await drive(plan, self._transport)

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def run(
        self,
        key: str,
        work: Callable[[AsyncAttempt], Any],
        *,
        lease: Duration = "30s",
        ttl: Duration = "24h",
        wait: Duration = "0s",
        payload: Any = None,
        owner: Optional[str] = None,
        returns: Any = None,
    ) -> Outcome[Any]:
        """Runs the work unless the key has an outcome, and records its result; as `Client.run`.

        ``work`` returns an awaitable or a value. It runs as a task of its own, which is cancelled
        when the lease is lost; then `Fenced` is raised. Work that blocks the loop keeps its lease,
        but cannot be cancelled: ``attempt.check()`` tells it.
        """
        core = self._core
        with core.tracing.span("once.run", key=key):
            run = Run(core, key, lease=lease, ttl=ttl, wait=wait, payload=payload, owner=owner, returns=returns)
            try:
                begun = await self._drive(run.begin(lambda ticket, lease: AsyncAttempt(ticket, lease, core)))
            except asyncio.CancelledError:  # The claim may have been taken.
                await afterwards(self._drive(run.withdraw()))
                raise
            if isinstance(begun, Outcome):
                return begun
            return await self._attempt(run, begun, work)

    async def _attempt(self, run: Run, attempt: AsyncAttempt, work: Callable[[AsyncAttempt], Any]) -> Outcome[Any]:
        task = asyncio.get_running_loop().create_task(_performed(work, attempt))
        keeper = _Keeper(self, attempt, task, run.lease)
        attempt._stop_renewing, attempt._drive, attempt._length = keeper.stop, self._drive, run.lease
        try:
            try:
                await _ended(task)
            except asyncio.CancelledError:
                with contextlib.suppress(Exception):  # The caller is told that it was cancelled.
                    await self._recorded(run, attempt, task)
                raise
            return await self._recorded(run, attempt, task)
        finally:
            keeper.stop()

    async def _recorded(self, run: Run, attempt: AsyncAttempt, work: "asyncio.Task[Any]") -> Outcome[Any]:
        """Records how the work ended."""
        lost = attempt.lost.is_set()
        try:
            result = work.result()
        except GaveUp as gave_up:
            return await self._settled(run.fail_for_good(attempt, gave_up))
        except asyncio.CancelledError as cancelled:
            await self._settled(run.fail(attempt, cancelled, lost))
            if lost:
                raise Fenced("the lease was lost, and another attempt may hold the key") from None
            raise
        except BaseException as error:
            await self._settled(run.fail(attempt, error, lost))
            raise
        return await self._settled(run.succeed(attempt, result))

    async def _settled(self, plan: Plan[T]) -> T:
        """Is finished even if the caller is cancelled meanwhile: the work is done already."""
        task = asyncio.ensure_future(self._drive(plan))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                await asyncio.wait({task}, timeout=5)
            raise

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
    ) -> Callable[[F], Callable[..., Awaitable[Any]]]:
        """A decorator: the function runs once for each key, and repeats get its result.

        ``key`` and ``payload`` are called with the function's own arguments. A function that is no
        coroutine function runs on a thread, and is awaited.
        """
        options: Dict[str, Any] = dict(lease=lease, ttl=ttl, wait=wait, owner=owner, returns=returns)

        def decorate(function: F) -> Callable[..., Awaitable[Any]]:
            blocks = not inspect.iscoroutinefunction(function)

            @functools.wraps(function)
            async def awaiting(*args: Any, **kwargs: Any) -> Any:
                def work(attempt: AsyncAttempt) -> Any:
                    if blocks:
                        return asyncio.to_thread(function, *args, **kwargs)
                    return function(*args, **kwargs)

                given = None if payload is None else payload(*args, **kwargs)
                outcome = await self.run(key(*args, **kwargs), work, payload=given, **options)
                return outcome.result

            return awaiting

        return decorate

    async def aclose(self) -> None:
        """Closes all connections."""
        if self._blocking is not None:
            self._blocking.close()
        await self._transport.aclose()

    close = aclose

    def __await__(self) -> Generator[Any, None, "AsyncClient"]:
        return self._itself().__await__()

    async def _itself(self) -> "AsyncClient":
        return self

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.aclose()


async def _performed(work: Callable[[AsyncAttempt], Any], attempt: AsyncAttempt) -> Any:
    CURRENT.set(attempt)
    value = work(attempt)
    return await value if inspect.isawaitable(value) else value


async def _ended(work: "asyncio.Task[Any]") -> None:
    """Waits for the work. Cancelling the caller cancels the work, and waits for its end."""
    try:
        await asyncio.wait({work})
    except asyncio.CancelledError:
        work.cancel()
        await asyncio.wait({work})
        raise


def connect_async(
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
) -> AsyncClient:
    """An asynchronous client: the names of `connect`, awaitable. May itself be awaited, too."""
    return AsyncClient(
        Options(url, token, namespace, patience, timeout, owner, serializer, on_notice, verify, cert)
    )
