"""What the proxy answers, what it sends to its upstream, and what it stores."""
import base64
import json
import re
import socket
import subprocess
import threading

from wire import Connection, Names, PATIENCE, Program, plain_environment, request_bytes, wait_until, written

ANSWERS = {
    b"/pay": b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nSet-Cookie: a=b\r\nX-Odd:  two  words \r\n"
             b"Content-Length: 13\r\n\r\n{\"paid\":\"\xc3\xbc\"}\n",
    b"/empty": b"HTTP/1.1 204 No Content\r\n\r\n",
    b"/failing": b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\noops",
    b"/later": b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n",
    b"/large": b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + b"x" * 2000,
    b"/chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
    b"/slow": b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone",
    b"/lost": b"",
}


class Upstream:
    """Answers by path, in bytes that are written above, and keeps what it is sent."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.requests = []
        self.go_on = threading.Event()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        connection = Connection.__new__(Connection)
        connection.socket, connection.unread = client, b""
        client.settimeout(PATIENCE)
        try:
            while request := connection.message():
                self.requests.append(request)
                path = request.split(b" ")[1].partition(b"?")[0]
                if path == b"/slow":
                    self.go_on.wait(PATIENCE)
                if not ANSWERS[path]:
                    break
                client.sendall(ANSWERS[path])
        except OSError:
            pass
        client.close()


def keyed(key):
    return [f"Idempotency-Key: {key}", "Content-Type: application/json"]


STEPS = [
    ("POST", "/pay?a=1", keyed("k1"), '{"a":1}'), ("POST", "/pay?a=1", keyed('"k1"'), '{"a":1}'),
    ("POST", "/pay?a=1", keyed("k1"), '{"a":2}'), ("POST", "/pay?a=2", keyed("k1"), '{"a":1}'),
    ("POST", "/pay?a=1", keyed("k1") + ["Authorization: Bearer x"], '{"a":1}'),
    ("PATCH", "/empty", keyed("k2"), ""), ("PATCH", "/empty", keyed("k2"), ""),
    ("POST", "/failing", keyed("k3"), "x"), ("POST", "/failing", keyed("k3"), "x"),
    ("POST", "/later", keyed("k4"), "x"), ("POST", "/later", keyed("k4"), "x"),
    ("POST", "/large", keyed("k5"), "x"), ("POST", "/large", keyed("k5"), "x"),
    ("POST", "/chunked", keyed("k6"), "x"), ("POST", "/chunked", keyed("k6"), "x"),
    ("POST", "/lost", keyed("k7"), "x"), ("POST", "/lost", keyed("k7"), "x"),
    ("POST", "/pay", keyed("k" * 256), "x"), ("POST", "/pay", keyed(""), "x"),
    ("POST", "/pay", ["Connection: keep-alive, X-Hop", "X-Hop: 1", "X-Kept: 2"], "no key"), ("GET", "/pay", keyed("k8")),
]

VARYING = [(re.compile(r"(?<=once proxy )\w+"), "INSTANCE"),
           (re.compile(r"(?<=^Once-Fence: )\d+$", re.MULTILINE), "FENCE")]
LONG = (re.compile("x{2000}"), "(2000 times x)")


class Exchanges:
    def __init__(self, upstream):
        self.upstream = upstream
        self.lines = []

    def step(self, address, method, target, headers=(), body=None):
        self.upstream.requests.clear()
        connection = Connection(address)
        raw = request_bytes(method, target, headers, body)
        connection.send(raw)
        answer = connection.message(has_body=b" 204 " not in raw)
        connection.close()
        names = Names([*VARYING, LONG])
        self.lines += written(">", raw, names)
        for request in list(self.upstream.requests):
            self.lines += written("  >", request, names)
        self.lines += written("<", answer, names) + [""]


class Fields:
    """The fields of a record, by docs/formats.md."""

    def __init__(self, raw):
        self.left = raw

    def take(self, size):
        taken, self.left = self.left[:size], self.left[size:]
        return taken

    def number(self):
        value, shift = 0, 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def bytes(self):
        return self.take(self.number())


def claim_lines(item, names):
    """A claim of the proxy as it is stored, without its times, its fence and its nonce."""
    fields = Fields(base64.urlsafe_b64decode(item["bytes"] + "=="))
    kind, form, state = fields.take(1), fields.take(1)[0], fields.number()
    fields.number()  # Fence.
    attempt = fields.number()
    fields.number()  # Nonce.
    owner, request, payload = fields.bytes(), fields.bytes(), fields.bytes()
    ttl = fields.number()
    fields.take(4 * 8)
    result = fields.bytes()
    return [item["home"], f"  kind {kind.decode()}, format {form}, state {state}, attempt {attempt}, ttl {ttl}",
            f"  owner {names(owner.decode())}", f"  request {'REQUEST' if request else 'none'}, payload {payload.hex()}",
            f"  result {result.decode()}"]


def stored(binary, directory, environment):
    exported = subprocess.run([binary, "export", "--store", str(directory)], capture_output=True, env=environment,
                              timeout=PATIENCE, check=True).stdout.decode()
    items = [json.loads(line) for line in exported.splitlines()[1:-1]]
    names = Names(VARYING)
    return [line for item in items for line in claim_lines(item, names)]


def record(binary, work, _repo):
    environment = plain_environment(work)
    upstream = Upstream()
    exchanges = Exchanges(upstream)

    def proxy(*more, to=upstream.url, store=work / "proxy"):
        return Program([binary, "proxy", "--listen", "127.0.0.1:0", "--upstream", to, "--store", str(store), *more],
                       environment)

    with proxy("--max-answer", "1000") as first:
        for step in STEPS:
            exchanges.step(first.address, *step)
        exchanges.lines += ["# while another is in flight", ""]
        early = Connection(first.address)
        early.send(request_bytes("POST", "/slow", keyed("k9"), "x"))
        wait_until(lambda: any(b"/slow" in one for one in upstream.requests), "the slow request")
        exchanges.step(first.address, "POST", "/slow", keyed("k9"), "x")
        upstream.go_on.set()
        early.message()
        early.close()
        exchanges.step(first.address, "POST", "/slow", keyed("k9"), "x")
    lines = exchanges.lines + ["# what is stored", "", *stored(binary, work / "proxy", environment), ""]
    exchanges.lines = []
    with proxy("--require-key", to="http://127.0.0.1:9", store=work / "other") as second:
        exchanges.lines += ["# a key is required; the upstream is down", ""]
        exchanges.step(second.address, "POST", "/pay", [], "x")
        exchanges.step(second.address, "POST", "/pay", keyed("k1"), "x")
        exchanges.step(second.address, "GET", "/pay")
    upstream.listener.close()
    return "\n".join(lines + exchanges.lines)
