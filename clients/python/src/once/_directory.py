"""Finds the server that owns the directory of an embedded store, or starts one.

A server leaves its URL, its instance and a secret in DIR/server, one a line, which only the
directory's owner can read. What listens at that URL may be another program by now. So the server
proves first that it knows the secret: it answers a new number with an HMAC over it and its URL.
"""
from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import select
import shutil
import ssl
import stat
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, FrozenSet, List, Mapping, Optional

import httpx

from ._core import Answer, Request
from ._errors import Unavailable

_MOST_BYTES = 4096  # Of the file with the address.
_START_WITHIN = 30.0
_IDLE = "60s"

# Servers that this process has started, so that they are reaped when they end.
_started: List["subprocess.Popen[bytes]"] = []
_starting = threading.Lock()


def _reset() -> None:
    global _started, _starting
    _started, _starting = [], threading.Lock()


os.register_at_fork(after_in_child=_reset)


class Unproven(Exception):
    """What is connected has not proved that it is the directory's server."""


@dataclass(frozen=True)
class Challenge:
    """A request that only the server that left the secret can answer."""

    request: Request
    proof: str

    def is_answered_by(self, answer: Answer) -> bool:
        """Whether the answer has the proof."""
        try:
            told = json.loads(answer.body).get("proof", "")
        except (ValueError, AttributeError):
            return False
        return answer.status == 200 and isinstance(told, str) and hmac.compare_digest(told, self.proof)


@dataclass(frozen=True)
class Proof:
    """The address of a directory's server, and what it must know."""

    url: str
    instance: str
    secret: str
    certificates: FrozenSet[str] = frozenset()  # SHA-256 as hex; empty without TLS.

    def trace(self, event: str, info: Any) -> None:
        """A trace hook of httpx: ends a connection whose certificate is not the server's."""
        if not event.endswith("start_tls.complete"):
            return
        shown = info["return_value"].get_extra_info("ssl_object").getpeercert(True)
        if hashlib.sha256(shown or b"").hexdigest() not in self.certificates:
            raise Unproven("the certificate is not that of the directory's server")

    def challenge(self) -> Challenge:
        """A new one each time."""
        number = secrets.token_hex(16)
        text = f"once-prove\n{number}\n{self.url}".encode()
        proof = hmac.new(self.secret.encode(), text, hashlib.sha256).hexdigest()
        return Challenge(Request("GET", "/healthz", {"Once-Prove": number}), proof)


def read_address(directory: Path) -> Optional[Proof]:
    """What a server left in its directory. None if there is nothing that can be trusted."""
    try:
        file = os.open(directory / "server", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        found, home = os.fstat(file), os.stat(directory)
        if not stat.S_ISREG(found.st_mode) or found.st_uid not in (home.st_uid, 0):
            return None
        lines = os.read(file, _MOST_BYTES).decode("utf-8", "replace").split("\n")
    except OSError:
        return None
    finally:
        os.close(file)
    if len(lines) < 4 or not lines[2]:
        return None
    return Proof(lines[0], lines[1], lines[2], frozenset(lines[3].lower().replace(":", "").split()))


def pinned_tls(url: str) -> Any:
    """For connections to a directory's server, whose certificate `Proof.trace` compares: it may have
    any name and any authority."""
    if not url.startswith("https:"):
        return False
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _proves(address: Proof) -> bool:
    challenge = address.challenge()
    try:
        with httpx.Client(trust_env=False, verify=pinned_tls(address.url)) as client:
            response = client.get(
                address.url + challenge.request.target,
                headers=dict(challenge.request.headers),
                timeout=1.0,
                extensions={"trace": address.trace},
            )
    except (httpx.HTTPError, httpx.InvalidURL, OSError, Unproven):
        return False
    return challenge.is_answered_by(Answer(response.status_code, {}, response.content))


def default_store(environment: Optional[Mapping[str, str]] = None) -> str:
    """$ONCE_STORE, else the directory that every command uses."""
    given = os.environ if environment is None else environment
    if given.get("ONCE_STORE"):
        return given["ONCE_STORE"]
    state = given.get("XDG_STATE_HOME", "")
    if os.path.isabs(state):
        return os.path.join(state, "once")
    if os.geteuid() == 0:
        return "/var/lib/once"
    home = given.get("HOME", "")
    if os.path.isabs(home):
        return os.path.join(home, ".local/state/once")
    raise Unavailable("no store: neither an address nor ONCE_STORE nor HOME is set")


class Directory:
    """The directory of an embedded store, and who has it."""

    def __init__(self, path: str, on_start: Optional[Callable[[str], None]] = None) -> None:
        self.path = Path(os.path.abspath(path))
        self._on_start = on_start

    def find(self, within: float) -> Proof:
        """The server that owns the directory and has proved it. Starts one if none is running."""
        until = time.monotonic() + max(within, 1.0)
        while True:
            address = read_address(self.path)
            if address is not None and _proves(address):
                return address
            # One thread of this process starts a server; of several processes, the servers
            # themselves agree on one.
            with _starting:
                self._reap()
                address = read_address(self.path)
                if address is None or not _proves(address):
                    self._start(max(until - time.monotonic(), 1.0))
                    address = read_address(self.path)
            if address is not None and _proves(address):
                return address
            if time.monotonic() > until:
                raise Unavailable(f"no server of {self.path} answers")
            time.sleep(0.05)

    @staticmethod
    def _reap() -> None:
        _started[:] = [one for one in _started if one.poll() is None]

    def _binary(self) -> str:
        given = os.environ.get("ONCE_BINARY")
        binary = shutil.which(given or "once") or given
        if not binary:
            raise Unavailable("there is no 'once' on PATH, and ONCE_BINARY is not set: no server can be started")
        return os.path.abspath(binary)  # The server runs in another directory.

    def _start(self, within: float) -> None:
        """Starts a server that ends by itself, and waits for its line. A directory that another
        server has by then is that one's, and the line is about it."""
        command = [
            self._binary(), "serve", "--store", str(self.path), "--listen", "127.0.0.1:0", "--exit-when-idle", _IDLE,
        ]  # fmt: skip
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ONCE_")}
        try:
            server = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=environment,
                cwd="/",
            )
        except OSError as error:
            raise Unavailable(f"cannot start {command[0]}: {error}") from error
        _started.append(server)
        if not _first_line(server, min(within, _START_WITHIN)):
            raise Unavailable(f"{command[0]} did not start: {_why(server)}")
        assert server.stdout is not None and server.stderr is not None
        server.stdout.close()
        server.stderr.close()
        if self._on_start is not None:
            self._on_start(str(self.path))


def _first_line(server: "subprocess.Popen[bytes]", within: float) -> bool:
    assert server.stdout is not None
    until = time.monotonic() + within
    file = server.stdout.fileno()
    text = b""
    while b"\n" not in text:
        ready, _, _ = select.select([file], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return False
        piece = os.read(file, 4096)
        if not piece:
            return False
        text += piece
    return True


def _why(server: "subprocess.Popen[bytes]") -> str:
    """What a server that did not start wrote. One that still tries is ended."""
    if server.poll() is None:
        server.terminate()
    try:
        _, errors = server.communicate(timeout=6)
    except subprocess.TimeoutExpired:
        server.kill()
        return "it did not answer"
    return errors.decode("utf-8", "replace").strip()[:1000] or f"it ended with {server.returncode}"
