"""A decorator for handlers of AWS Lambda."""
from __future__ import annotations

import functools
import inspect
import json
from typing import Any, Callable, Dict, Mapping, Optional, TypeVar, Union

from ._async_client import AsyncClient
from ._client import Client, blocking
from ._errors import Busy, Invalid, Mismatch
from ._guard import Rules, problem
from ._values import Duration

Handler = Callable[[Any, Any], Any]
Key = Union[str, Callable[..., str]]
F = TypeVar("F", bound=Handler)


class _Unstored(Exception):
    """An answer that frees the key."""

    def __init__(self, result: Any) -> None:
        super().__init__(f"answered {result.get('statusCode')}")
        self.result = result


def lambda_handler(
    client: Union[Client, AsyncClient],
    key: Key,
    *,
    lease: Duration = "30s",
    ttl: Duration = "24h",
    wait: Duration = "0s",
    payload: Optional[Callable[..., Any]] = None,
    retry_5xx: bool = False,
) -> Callable[[F], F]:
    """The handler runs once for each key, and repeats get what it returned.

    ``key`` is called with the event (and the context, if it takes two), or is a JSON pointer into
    the event (``/detail/id``), or ``header:NAME`` of an HTTP event. If another invocation is under
    way, `Busy` is raised, so that Lambda retries. For an HTTP event (API Gateway, function URL) the
    proxy's rules hold: 409 and 422 are answers, a replay has ``Idempotent-Replayed: true``, and an
    answer 401, 403, 429 or 503 frees the key.
    """
    rules = Rules(retry_5xx=retry_5xx)
    runs = blocking(client)

    def decorate(handler: F) -> F:
        @functools.wraps(handler)
        def wrapped(event: Any, context: Any = None) -> Any:
            is_http = _is_http(event)

            def work(attempt: Any) -> Any:
                result = handler(event, context)
                if is_http and isinstance(result, dict) and rules.frees(int(result.get("statusCode", 200))):
                    raise _Unstored(result)
                return result

            given = None if payload is None else _called(payload, event, context)
            try:
                outcome = runs.run(
                    _key_of(key, event, context), work, lease=lease, ttl=ttl, wait=wait, payload=given
                )
            except _Unstored as unstored:
                return unstored.result
            except Busy as busy:
                if not is_http:
                    raise
                return _http_answer(409, "busy", str(busy), {"Retry-After": "1"})
            except Mismatch as mismatch:
                if not is_http:
                    raise
                return _http_answer(422, "mismatch", str(mismatch), {})
            return _marked(outcome.result) if is_http and outcome.replayed else outcome.result

        return wrapped  # type: ignore[return-value]

    return decorate


def _is_http(event: Any) -> bool:
    if not isinstance(event, Mapping):
        return False
    context = event.get("requestContext")
    return "httpMethod" in event or (isinstance(context, Mapping) and "http" in context)


def _called(function: Callable[..., Any], event: Any, context: Any) -> Any:
    try:
        count = len(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        count = 1
    return function(event, context) if count >= 2 else function(event)


def _key_of(key: Key, event: Any, context: Any) -> str:
    if callable(key):
        found = _called(key, event, context)
    elif key.startswith("header:"):
        wanted = key[len("header:") :].lower()
        headers: Mapping[str, str] = event.get("headers") or {}
        found = next((value for name, value in headers.items() if name.lower() == wanted), None)
    else:
        found = _pointed(key, event)
    if found is None or found == "":
        raise Invalid(f"the event has no key ({key})")
    return str(found)


def _pointed(pointer: str, value: Any) -> Any:
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping):
            value = value.get(name)
        elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


def _http_answer(status: int, code: str, detail: str, headers: Dict[str, str]) -> Dict[str, Any]:
    body = json.loads(problem(status, code, detail).body)
    return {
        "statusCode": status,
        "headers": {"Content-Type": "application/problem+json", **headers},
        "body": json.dumps(body),
    }


def _marked(result: Any) -> Any:
    if not isinstance(result, dict) or "statusCode" not in result:
        return result
    return {**result, "headers": {**(result.get("headers") or {}), "Idempotent-Replayed": "true"}}
