"""What can go wrong. Each error has the stable ``code`` of the server's problem+json."""
from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Type


class OnceError(Exception):
    """The base of all errors of this package.

    ``code`` is the server's stable code, or ``failed`` for a key that failed for good; then
    ``failure`` is what was stored. ``status`` is the HTTP status if there was an answer, and
    ``problem`` the whole body of the refusal. Nothing was written unless the code is ``unknown``.
    """

    code: str = "unknown"

    def __init__(
        self,
        detail: str = "",
        *,
        code: Optional[str] = None,
        status: Optional[int] = None,
        problem: Optional[Mapping[str, Any]] = None,
        failure: Any = None,
    ) -> None:
        super().__init__(detail or code or self.code)
        self.detail = detail
        if code is not None:
            self.code = code
        self.status = status
        self.problem: Dict[str, Any] = dict(problem or {})
        self.failure = failure
        self.retry_after: Optional[float] = None

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.detail, self.code, self.status, self.problem, self.failure)


def _rebuild(
    kind: Type[OnceError],
    detail: str,
    code: str,
    status: Optional[int],
    problem: Mapping[str, Any],
    failure: Any,
) -> OnceError:
    return kind(detail, code=code, status=status, problem=problem, failure=failure)


class Busy(OnceError):
    """Another attempt holds the key. Come back later, or give ``wait``."""

    code = "busy"

    @property
    def owner(self) -> Optional[str]:
        """The label of the holder."""
        return self.problem.get("owner")

    @property
    def lease_until(self) -> Optional[str]:
        """When the holder's lease ends, as the server wrote it."""
        return self.problem.get("lease_until")


class Fenced(OnceError):
    """The lease was lost, and another attempt may hold the key. Stop."""

    code = "fenced"


class Mismatch(OnceError):
    """The same key or id with another content."""

    code = "mismatch"


class Unavailable(OnceError):
    """Nothing was written: the server or its store could not be reached for long enough."""

    code = "unavailable"


class Unknown(OnceError):
    """It may have happened, or may not: the answer was lost, and no repeat was answered."""

    code = "unknown"


class Invalid(OnceError):
    """The request cannot be understood, and nothing was written."""

    code = "invalid"


class PreconditionFailed(OnceError):
    """A condition did not hold. Nothing was written."""

    code = "precondition_failed"

    @property
    def current(self) -> Optional[str]:
        """The ETag of the document as it is now, if there is one."""
        return self.problem.get("current")

    @property
    def next(self) -> Optional[int]:
        """The next index of the log, if it was an append that was refused."""
        return self.problem.get("next")


class NotFound(OnceError):
    """There is nothing of this name."""

    code = "not_found"


class Contended(OnceError):
    """Others always changed it first."""

    code = "contended"


class Closed(OnceError):
    """The log is closed."""

    code = "closed"


class Denied(OnceError):
    """The token is missing, wrong, or does not allow it."""

    code = "forbidden"


class TooLarge(OnceError):
    """More than the server or its store takes. Nothing was written."""

    code = "too_large"


class Unsupported(OnceError):
    """The store cannot do this."""

    code = "unsupported"


class Corrupt(OnceError):
    """What is stored is damaged."""

    code = "corrupt"


KINDS: Dict[str, Type[OnceError]] = {
    "busy": Busy,
    "fenced": Fenced,
    "mismatch": Mismatch,
    "unavailable": Unavailable,
    "overloaded": Unavailable,
    "unknown": Unknown,
    "invalid": Invalid,
    "precondition_required": Invalid,
    "precondition_failed": PreconditionFailed,
    "not_found": NotFound,
    "contended": Contended,
    "closed": Closed,
    "unauthorized": Denied,
    "forbidden": Denied,
    "too_large": TooLarge,
    "unsupported": Unsupported,
    "corrupt": Corrupt,
}


def error_of(code: str, problem: Mapping[str, Any], status: int) -> OnceError:
    """The error for a problem that a server of Once answered with."""
    detail = str(problem.get("detail") or problem.get("title") or code)
    return KINDS[code](detail, code=code, status=status, problem=problem)
