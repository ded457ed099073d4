"""Bytes on a connection: a program that serves, requests to it, and how both are written down.

An exchange is written as lines that begin with "> " (sent) and "< " (received). What differs from run to run is
replaced by a name. ETags, tickets and ids are numbered by value, so that two that are equal stay equal: ETAG1, ETAG2.
"""
import contextlib
import os
import re
import select
import signal
import socket
import subprocess
import time

PATIENCE = 20.0  # Seconds until something that should come is missed.


class Names:
    """Replaces what varies, in one scenario."""

    NUMBERED = [
        (re.compile(r'(?<="ticket":")([^"]+)'), "TICKET"),
        (re.compile(r'(?<="token":")([^"]+)'), "TOKEN"),
        (re.compile(r'(?<=ETag: ")([0-9a-f]{16})(?=")'), "ETAG"),
        (re.compile(r'(?<="etag":")([0-9a-f]{16})(?=")'), "ETAG"),
        (re.compile(r'(?<="current":")([0-9a-f]{16})(?=")'), "ETAG"),
    ]
    PLAIN = [
        (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), "TIME"),
        (re.compile(r'(?<="fence":)\d{6,}'), "FENCE"),
        (re.compile(r'(?<="instance":")[0-9a-f]{16}'), "INSTANCE"),
        (re.compile(r'(?<="cursor":")[^"]+'), "CURSOR"),
        (re.compile(r"127\.0\.0\.1:\d+"), "HOST"),
        (re.compile(r"(?<=^Date: ).*$", re.MULTILINE), "DATE"),
        (re.compile(r"(?<=^Retry-After: )\d+$", re.MULTILINE), "SECONDS"),
        (re.compile(r"(?<=^X-Request-Id: )[0-9a-f]{8}-\d+$", re.MULTILINE), "REQUEST"),
    ]
    KEPT_TIME = re.compile(r"2026-11-1[0-5]T[^Z]*Z")  # Given by a request, so it does not vary.

    def __init__(self, more=()):
        self.values = {}
        self.more = list(more)

    def name(self, value, kind):
        if value not in self.values:
            number = 1 + sum(known.startswith(kind) for known in self.values.values())
            self.values[value] = f"{kind}{number}"
        return self.values[value]

    def __call__(self, text):
        for pattern, kind in self.NUMBERED:
            text = pattern.sub(lambda found, kind=kind: self.name(found.group(1), kind), text)
        for value, name in self.values.items():
            text = text.replace(value, name)
        kept = self.KEPT_TIME.findall(text)
        text = self.KEPT_TIME.sub("\0", text)
        for pattern, name in [*self.more, *self.PLAIN]:
            text = pattern.sub(name, text)
        for one in kept:
            text = text.replace("\0", one, 1)
        return text


def as_text(raw):
    text = raw.decode("utf-8", "backslashreplace")
    return re.sub(r"[\x00-\x08\x0b-\x0c\x0e-\x1f]", lambda found: f"\\x{ord(found.group()):02x}", text)


def written(mark, raw, names, shown=lambda body: body):
    """The lines for one message. A length is kept only where the body is written as it was."""
    head, _, body = raw.partition(b"\r\n\r\n")
    told = shown(as_text(body))
    plain = names(told).replace("\r", "\\r")
    text = names(as_text(head).replace("\r\n", "\n"))
    if plain != as_text(body):
        text = re.sub(r"(?<=^Content-Length: )\d+$", "LENGTH", text, flags=re.MULTILINE)
    lines = text.split("\n") + [""] + (plain.split("\n") if plain else [])
    return [f"{mark} {line}" if line else mark for line in lines]


class Connection:
    def __init__(self, address):
        self.socket = socket.create_connection(address, timeout=PATIENCE)
        self.unread = b""

    def send(self, raw):
        self.socket.sendall(raw)

    def more(self):
        try:
            some = self.socket.recv(65536)
        except ConnectionResetError:
            some = b""
        self.unread += some
        return bool(some)

    def take(self, size):
        taken, self.unread = self.unread[:size], self.unread[size:]
        return taken

    def until(self, mark):
        """Up to and with `mark`; what there is if the connection ends before."""
        while mark not in self.unread:
            if not self.more():
                return self.take(len(self.unread))
        return self.take(self.unread.index(mark) + len(mark))

    def exactly(self, size):
        while len(self.unread) < size and self.more():
            pass
        return self.take(size)

    def message(self, has_body=True):
        """One request or answer, as it came: its head and its body, chunks and all."""
        head = self.until(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
        if not has_body or not head:
            return head
        if fields.get(b"transfer-encoding") == b"chunked":
            body = b""
            while not body.endswith(b"0\r\n\r\n") and (line := self.until(b"\r\n")):
                body += line + self.exactly(int(line, 16) + 2)
            return head + body
        return head + self.exactly(int(fields.get(b"content-length", 0)))

    def close(self):
        self.socket.close()


def request_bytes(method, target, headers=(), body=None):
    head = [f"{method} {target} HTTP/1.1", "Host: once.test", *headers]
    if body is not None:
        head.append(f"Content-Length: {len(body.encode())}")
    return ("\r\n".join(head) + "\r\n\r\n" + (body or "")).encode()


class Program:
    """A program that serves; it is ready once it has printed its line. `output` is what it prints."""

    def __init__(self, command, environment=None):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment)
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        self.line = self.process.stdout.readline().decode() if ready else ""
        found = re.search(r"http://(127\.0\.0\.1):(\d+)", self.line)
        if not found:
            self.end()
            raise SystemExit(f"{command} did not start: {self.line}{self.process.stderr.read().decode()}")
        self.address = (found.group(1), int(found.group(2)))
        self.url = found.group(0)

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def free_port():
    with contextlib.closing(socket.socket()) as chosen:
        chosen.bind(("127.0.0.1", 0))
        return chosen.getsockname()[1]


def plain_environment(home):
    """None of the caller's settings of Once."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("ONCE_") and name not in ("XDG_STATE_HOME", "HOME")}
    return {**kept, "HOME": str(home), "TZ": "UTC", "LANG": "C.UTF-8"}


def wait_until(condition, what):
    give_up = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > give_up:
            raise SystemExit(f"gave up waiting for {what}")
        time.sleep(0.01)
