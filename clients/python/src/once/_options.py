"""What `connect` and `connect_async` are given, and what both kinds of client are made of."""
from __future__ import annotations

import os
import re
from typing import Any, Callable, Optional
from urllib.parse import urlsplit

from ._core import Core
from ._directory import Directory, default_store
from ._errors import Invalid
from ._serializer import Serializer
from ._telemetry import Notice
from ._transport import Cert, Verify
from ._values import Duration, seconds


_HOST_AND_PORT = re.compile(r"[A-Za-z0-9.\[\]:-]+:[0-9]+")


def _token_of_environment() -> Optional[str]:
    """$ONCE_TOKEN, or what is in the file $ONCE_TOKEN_FILE."""
    file = os.environ.get("ONCE_TOKEN_FILE")
    if os.environ.get("ONCE_TOKEN") or not file:
        return os.environ.get("ONCE_TOKEN")
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.read().strip()
    except (OSError, ValueError) as error:
        raise Invalid(f"cannot read the token: {error}") from error


class Options:
    """The options of a client, so that one of the other kind can be made alike."""

    def __init__(
        self,
        url: Optional[str],
        token: Optional[str],
        namespace: Optional[str],
        patience: Duration,
        timeout: Duration,
        owner: Optional[str],
        serializer: Optional[Serializer],
        on_notice: Optional[Callable[[Notice], None]],
        verify: Verify,
        cert: Cert,
    ) -> None:
        self.core = Core(
            token=token if token is not None else _token_of_environment(),
            namespace=namespace if namespace is not None else os.environ.get("ONCE_NAMESPACE"),
            patience=seconds(patience),
            timeout=seconds(timeout),
            owner=owner,
            serializer=serializer,
            on_notice=on_notice,
        )
        self.verify = verify
        self.cert = cert
        self.url = ""
        self.directory: Optional[Directory] = None
        self._resolve(os.fspath(url) if url else default_store())

    def _resolve(self, address: str) -> None:
        if address.startswith(("http://", "https://")):
            parts = urlsplit(address)
            if not parts.hostname or parts.username is not None or parts.query or parts.fragment:
                raise Invalid(f"not the URL of a server: {parts.scheme}://{parts.hostname or ''}")
            self.url = address.rstrip("/")
            return
        if address.startswith("rocksdb:"):
            address = address[len("rocksdb:") :]
        elif _HOST_AND_PORT.fullmatch(address):
            raise Invalid(f"the URL of a server begins with http:// or https://, unlike {address!r}")
        elif "://" in address or address.startswith("memory:"):
            scheme = address.split(":")[0]
            raise Invalid(f"a client talks to a server or a directory: run 'once serve' on that {scheme} store")
        self.directory = Directory(address, lambda path: self.core.tell("server_started", directory=path))

    def transport(self, kind: Callable[..., Any]) -> Any:
        """A new one, for threads or for a loop."""
        return kind(self.url, self.verify, self.cert, self.directory)
