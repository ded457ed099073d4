"""Values as JSON and back."""
from __future__ import annotations

import dataclasses
import json
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Callable, Optional
from uuid import UUID

from ._errors import Invalid


def _plain(value: Any) -> Any:
    """What json does not know by itself: dataclasses, pydantic models, sets, times."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    dump = getattr(value, "model_dump", None)  # pydantic 2
    if callable(dump):
        return dump(mode="json")
    text = getattr(value, "json", None)  # pydantic 1
    if callable(text) and hasattr(value, "__fields__"):
        return json.loads(text())
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, (Decimal, UUID)):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} is not JSON; give a serializer")


class Serializer:
    """How values become JSON, and how results become values again.

    ``encode(value)`` makes something that json can write of anything that it cannot.
    ``decode(data, kind)`` makes a ``kind`` of a result, where ``returns=kind`` was asked for.
    Without them dataclasses and pydantic models work as they are.
    """

    def __init__(
        self,
        encode: Optional[Callable[[Any], Any]] = None,
        decode: Optional[Callable[[Any, Any], Any]] = None,
    ) -> None:
        self._encode = encode or _plain
        self._decode = decode

    def dumps(self, value: Any) -> bytes:
        """Compact JSON. What is no JSON (NaN, unknown types) is Invalid, before anything is sent."""
        try:
            text = json.dumps(
                value, default=self._encode, separators=(",", ":"), ensure_ascii=False, allow_nan=False
            )
            return text.encode("utf-8")
        except (TypeError, ValueError) as error:
            raise Invalid(f"not JSON: {error}") from error

    def plain(self, value: Any) -> Any:
        """The value as a replay will have it: as it comes back from JSON."""
        return json.loads(self.dumps(value))

    def revive(self, data: Any, kind: Any) -> Any:
        """A result as ``kind``; as plain JSON if that is None."""
        if kind is None:
            return data
        if self._decode is not None:
            return self._decode(data, kind)
        if data is None:
            return None
        validate = getattr(kind, "model_validate", None) or getattr(kind, "parse_obj", None)
        if callable(validate):
            return validate(data)
        if dataclasses.is_dataclass(kind) and isinstance(data, dict):
            return kind(**data)
        return kind(data)
