"""A run of one key: its lease, and how it ends. Decides, and performs nothing itself."""
from __future__ import annotations

import copy
import os
from contextvars import ContextVar
from typing import Any, Callable, Dict, NoReturn, Optional, Union

from . import _plans as plans
from ._core import Core, Pause, Plan
from ._effects import Effects
from ._errors import Fenced, Invalid, OnceError, Unavailable, Unknown
from ._values import Committed, Duration, Finished, Outcome, Previous, Ticket, seconds

_LONGEST_RENEWAL = 30.0  # Of one try: one whose answer never comes is not the only one.
_WHEN_INTERRUPTED = 3.0
_MAX_FAILURE = 4096  # Bytes of a failure's text that are kept.
_NEVER_STORED = frozenset(("too_large", "unsupported", "corrupt"))

CURRENT: ContextVar[Optional["BaseAttempt"]] = ContextVar("once_attempt", default=None)


class Lease:
    """Counts down by a local clock from the moment at which the lease was asked for.

    The server began to count no earlier, so the lease is never believed in for longer than the
    server does, however long the answer took (docs/hazards.md#h38).
    """

    def __init__(self, asked: float, length: float) -> None:
        self._length = length
        self.until = asked + length
        self.due = asked + length / 3  # The next renewal; two of them may fail.

    def left(self, now: float) -> float:
        """Seconds until it ends."""
        return self.until - now

    def is_over(self, now: float) -> bool:
        """Whether another attempt may have the key."""
        return now >= self.until

    def renewed(self, asked: float) -> None:
        """It counts anew from then."""
        self.until = asked + self._length
        self.due = asked + self._length / 3

    @property
    def overdue(self) -> float:
        """When a renewal that was due has not even been tried, or takes very long."""
        return self.due + self._length / 6

    def end(self, now: float) -> None:
        """It is another's."""
        self.until = min(self.until, now)

    def failed(self, now: float, pause: float) -> None:
        """Tries again after a pause, but no later than its end."""
        self.due = min(self.until, now + pause)

    def try_for(self, now: float) -> float:
        """How long one try to renew may take."""
        return max(0.05, min(self.left(now), max(1.0, self._length / 4), _LONGEST_RENEWAL))


class GaveUp(Exception):
    """Raised by `give_up`, so that the work ends there."""

    def __init__(self, failure: Any) -> None:
        super().__init__(f"gave up: {failure}")
        self.failure = failure


class _Prepared:
    """What is recorded by a transaction of the work's own, or not at all."""

    def __init__(self, result: Any) -> None:
        self.result = result
        self.body: Optional[Dict[str, Any]] = None  # Of the last token.


class BaseAttempt:
    """One attempt at a key: what the work may know of it."""

    def __init__(self, ticket: Ticket, lease: Lease, core: Core) -> None:
        self._ticket = ticket
        self._lease = lease
        self._core = core
        self._process = os.getpid()
        self._gave_up: Optional[GaveUp] = None
        self._stop_renewing: Callable[[], None] = lambda: None
        self._prepared: Optional[_Prepared] = None
        self.effects = Effects()
        """Committed with the result, or not at all."""

    @property
    def key(self) -> str:
        """The key of this run."""
        return self._ticket.key

    @property
    def fence(self) -> int:
        """A number that only rises for a key. Give it to what you call outside, to refuse a stale one."""
        return self._ticket.fence

    @property
    def attempt(self) -> int:
        """Counts from 1."""
        return self._ticket.attempt

    @property
    def previous(self) -> Optional[Previous]:
        """What the attempt before left behind, if it failed."""
        return self._ticket.previous

    @property
    def lease_left(self) -> float:
        """Seconds until the lease ends, as far as is known here."""
        return self._lease.left(self._core.clock())

    def _prepare(self, result: Any, length: Duration) -> Plan[Optional[str]]:
        """A renewal would make the token fail, so that from now on there is none but before the next token."""
        if not self._ticket.guarded:
            raise Unavailable("the store was down when the work began, so nothing can be prepared")
        self._stop_renewing()
        self._prepared = _Prepared(self._core.serializer.plain(result))
        yield from freshen(self._core, self._ticket, self._lease, length)
        claim = {"key": self.key, "ticket": self._ticket.ticket, "result": self._prepared.result}
        token, self._prepared.body = yield from plans.prepare(self._core, self.effects, claim=claim)
        return token

    def give_up(self, failure: Any = "gave up") -> NoReturn:
        """Stores the failure as the outcome: nobody tries this key again. Ends the work."""
        self._gave_up = GaveUp(failure)
        raise self._gave_up


def freshen(core: Core, ticket: Ticket, lease: Lease, length: Duration) -> Plan[None]:
    """Nothing begins after the lease's end: one whose grant took long is renewed first."""
    now = core.clock()
    if now < lease.due or not ticket.guarded:
        return
    within = lease.try_for(now) if not lease.is_over(now) else min(seconds(length), _LONGEST_RENEWAL)
    try:
        lease.renewed((yield from plans.renew(core, ticket.key, ticket.ticket, length, within)))
    except (Unavailable, Unknown):
        if not lease.is_over(core.clock()):
            return
        raise Fenced("the lease ended before the work could begin") from None
    if lease.is_over(core.clock()):
        raise Fenced("the lease ended before the work could begin")


def keep(core: Core, attempt: BaseAttempt, length: Duration) -> Plan[str]:
    """Renews until it cannot any more; tells why. Closed when the work is recorded."""
    ticket, lease = attempt._ticket, attempt._lease
    backoff = core.backoff(0.05, 0.5)
    while True:
        now = core.clock()
        if now < lease.due:
            yield Pause(lease.due - now)
            continue
        if lease.is_over(now):
            return "it ended before it could be renewed"
        try:
            renewal = plans.renew(core, ticket.key, ticket.ticket, length, lease.try_for(now))
            lease.renewed((yield from renewal))
            backoff.reset()
            core.tell("renewed", key=ticket.key)
        except (Unavailable, Unknown):
            lease.failed(core.clock(), backoff.next())
        except OnceError as refused:
            return str(refused)


def failure_text(error: BaseException) -> str:
    """What a failed attempt leaves behind."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return text.encode("utf-8", "replace")[:_MAX_FAILURE].decode("utf-8", "ignore")


class Run:
    """One run of a key: the plans of its beginning and of each of its ends."""

    def __init__(
        self,
        core: Core,
        key: str,
        *,
        lease: Duration,
        ttl: Duration,
        wait: Duration,
        payload: Any,
        owner: Optional[str],
        returns: Any,
    ) -> None:
        self.core = core
        self.key = key
        self.lease = lease
        self._returns = returns
        self._began = core.clock()
        self._length = seconds(lease)
        if self._length <= 0:
            raise Invalid("a lease is longer than nothing")
        self._taking: Dict[str, Any] = dict(
            lease=lease, ttl=ttl, wait=wait, payload=payload, owner=owner, request=core.new_id()
        )

    def begin(self, make: Callable[[Ticket, Lease], Any]) -> Plan[Union[Outcome[Any], Any]]:
        """An outcome that the key has, or an attempt, whose work is to run now."""
        found = yield from plans.take(self.core, self.key, **self._taking)
        if isinstance(found, Finished):
            return self._replayed(found)
        lease = Lease(found.asked, self._length)
        yield from freshen(self.core, found, lease, self.lease)
        return make(found, lease)

    def withdraw(self) -> Plan[None]:
        """After a `begin` that was interrupted: frees the claim that it may have taken.

        It asks under the same id again, so the server gives it the same ticket.
        """
        core = copy.copy(self.core)
        core.patience = min(core.patience, _WHEN_INTERRUPTED)
        try:
            taking: Dict[str, Any] = {**self._taking, "wait": 0}
            found = yield from plans.take(core, self.key, **taking)
            if isinstance(found, Ticket) and found.guarded:
                yield from plans.release(core, self.key, found.ticket)
        except OnceError as error:
            core.tell("not_released", key=self.key, code=error.code)

    def _replayed(self, found: Finished) -> Outcome[Any]:
        self._tell("failed" if found.failed else "replayed")
        if found.failed:
            raise OnceError(
                f"{self.key!r} failed for good: {found.result}", code="failed", failure=found.result
            )
        result = self.core.serializer.revive(found.result, self._returns)
        return Outcome(result, True, found.completed_at)

    def _tell(self, outcome: str) -> None:
        self.core.tell("run", key=self.key, outcome=outcome, seconds=self.core.clock() - self._began)

    def succeed(self, attempt: BaseAttempt, result: Any) -> Plan[Outcome[Any]]:
        """Records the result with the effects. The work is done: it is tried for long.

        A commit that is refused because the claim is another's is not followed by a release: there
        is nothing to release. One that is refused by a condition of its own effects frees the key,
        as work that raises does.
        """
        if attempt._gave_up is not None:
            return (yield from self.fail_for_good(attempt, attempt._gave_up))
        self._check_process(attempt)
        try:
            if attempt._prepared is not None:
                plain = attempt._prepared.result
                yield from self._check_applied(attempt._prepared)
            else:
                plain = self.core.serializer.plain(result)
                yield from self._record(attempt, plain)
        except OnceError as error:
            if error.code in _NEVER_STORED:
                yield from self._release(attempt, f"the outcome could not be stored: {error}", final=True)
            elif error.code not in ("fenced", "unknown", "unavailable") and not self._is_of_claim(error):
                yield from self._release(attempt, failure_text(error), final=False)
            self._tell(error.code)
            raise
        self._tell("executed")
        return Outcome(
            self.core.serializer.revive(plain, self._returns), False, None, attempt.attempt, attempt.fence
        )

    @staticmethod
    def _is_of_claim(error: OnceError) -> bool:
        """Another result was recorded by this ticket: nothing is left to release."""
        return error.code == "mismatch" and error.problem.get("part", "claim") == "claim"

    def _check_applied(self, prepared: _Prepared) -> Plan[None]:
        """To commit it here would leave out what else was in the transaction of the work."""
        if prepared.body is None or not (yield from plans.was_applied(self.core, prepared.body)):
            raise Invalid("what was prepared was not applied")

    def _record(self, attempt: BaseAttempt, result: Any) -> Plan[Optional[Committed]]:
        ticket = attempt._ticket
        if not ticket.guarded:
            # The store was down when it began. Effects are tried once more; a result has no key.
            if attempt.effects.is_empty:
                return None
            return (yield from plans.commit(self.core, attempt.effects))
        if attempt.effects.is_empty:
            yield from plans.complete(self.core, ticket.key, ticket.ticket, result)
            return None
        claim = {"key": ticket.key, "ticket": ticket.ticket, "result": result}
        return (yield from plans.commit(self.core, attempt.effects, claim=claim))

    def fail(self, attempt: BaseAttempt, error: BaseException, lost: bool) -> Plan[None]:
        """The work raised: frees the key with its failure. A lost claim has nothing to free."""
        self._tell("failed" if not lost else "fenced")
        if not lost and os.getpid() == attempt._process:
            # Who interrupts a program does not wait for a server that is down.
            most = self.core.patience if isinstance(error, Exception) else _WHEN_INTERRUPTED
            yield from self._release(attempt, failure_text(error), final=False, most=most)

    def fail_for_good(self, attempt: BaseAttempt, gave_up: GaveUp) -> Plan[Outcome[Any]]:
        """Stores the failure as the outcome, and raises it."""
        self._check_process(attempt)
        failure = self.core.serializer.plain(gave_up.failure)
        if attempt._ticket.guarded:
            ticket = attempt._ticket
            yield from plans.release(self.core, ticket.key, ticket.ticket, failure, final=True)
        self._tell("gave_up")
        raise OnceError(f"{self.key!r} failed for good: {failure}", code="failed", failure=failure)

    def _release(
        self, attempt: BaseAttempt, failure: str, final: bool, most: Optional[float] = None
    ) -> Plan[None]:
        """What it cannot free becomes free by itself when the lease ends."""
        ticket = attempt._ticket
        left = attempt._lease.left(self.core.clock())
        if not ticket.guarded or (left <= 0 and not final):
            return
        within = None if final else min(left, self.core.patience if most is None else most)
        try:
            yield from plans.release(self.core, ticket.key, ticket.ticket, failure, final, within)
        except OnceError as error:
            self.core.tell("not_released", key=ticket.key, code=error.code)

    @staticmethod
    def _check_process(attempt: BaseAttempt) -> None:
        if os.getpid() != attempt._process:
            raise Fenced("the work was left by a fork of the process that claimed the key")
