"""What a client tells of itself: notices for logs and metrics, and spans if OpenTelemetry is there."""
from __future__ import annotations

import importlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Dict, Iterator, Mapping


@dataclass(frozen=True)
class Notice:
    """One thing that happened, for the hook ``on_notice``.

    ``request`` (method, path, status, code, tries, seconds), ``run`` (key, outcome, seconds),
    ``renewed``, ``lease_lost`` (key), ``server_started`` (directory).
    """

    name: str
    fields: Mapping[str, Any]


class Tracing:
    """Spans, and the W3C header on requests, by OpenTelemetry if it is installed."""

    def __init__(self) -> None:
        self._tracer: Any = None
        self._inject: Any = None
        try:
            propagate = importlib.import_module("opentelemetry.propagate")
            trace = importlib.import_module("opentelemetry.trace")
        except ImportError:
            return
        self._tracer = trace.get_tracer("once-client")
        self._inject = propagate.inject

    @contextmanager
    def span(self, name: str, **attributes: Any) -> Iterator[None]:
        """A span around what runs inside."""
        if self._tracer is None:
            yield
            return
        with self._tracer.start_as_current_span(
            name, attributes={f"once.{key}": value for key, value in attributes.items() if value is not None}
        ):
            yield

    def inject(self, headers: Dict[str, str]) -> None:
        """Adds traceparent and tracestate of the current span."""
        if self._inject is not None:
            self._inject(headers)
