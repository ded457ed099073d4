"""Scenarios: what a client must send, what it is answered, and what its caller must see.

The placeholder "$name" stands for any value, the same one wherever the name is used in a scenario.
"""
import json
import pathlib
import re
import socket
import threading
import time
import urllib.parse
import uuid

HERE = pathlib.Path(__file__).resolve().parent
PLACEHOLDER = re.compile(r'("?)\$(\w+)("?)')
DEFAULTS = {
    "fence": 1900000000000,
    "seconds": "1",
    "time": "2030-01-01T00:00:00.000Z",
    "time2": "2030-01-01T00:00:00.000Z",
    "ticket": "a-ticket",
}
PATIENCE = 60  # Seconds; nothing takes longer.
ASKED = "/_asked/"  # Not of the API: answered once a request of that exchange was.


def load(only=""):
    """All scenarios, or those with a text in their name."""
    found = []
    for file in sorted((HERE / "scenarios").glob("*.json")):
        for scenario in json.loads(file.read_text()):
            if only in scenario["name"]:
                found.append(scenario)
    return found


def placeholder(value):
    found = PLACEHOLDER.fullmatch(value) if isinstance(value, str) else None
    return found.group(2) if found else None


class Bindings(dict):
    """The values of placeholders, as far as they are known."""

    def fill(self, pattern):
        """The pattern with its placeholders replaced; what is unknown is made up."""
        if isinstance(pattern, dict):
            return {name: self.fill(value) for name, value in pattern.items()}
        if isinstance(pattern, list):
            return [self.fill(value) for value in pattern]
        name = placeholder(pattern)
        if name is None:
            return pattern
        if name not in self:
            self[name] = DEFAULTS.get(name, f"{name}-{uuid.uuid4().hex[:16]}")
        quoted = pattern.startswith('"')
        return f'"{self[name]}"' if quoted else self[name]

    def match(self, pattern, value, where=""):
        """What is wrong with the value; None if it fits. Objects may have more than the pattern."""
        name = placeholder(pattern)
        if name is not None:
            if isinstance(value, str) and pattern.startswith('"'):
                value = value.strip('"')
            if name not in self:
                self[name] = value
            if self[name] != value and not name.startswith("time"):
                return f"{where} is {value!r}, and was {self[name]!r} before (${name})"
            return None
        if isinstance(pattern, dict):
            if not isinstance(value, dict):
                return f"{where} is no object: {value!r}"
            for key, inner in pattern.items():
                if key not in value:
                    return f"{where}.{key} is missing"
                wrong = self.match(inner, value[key], f"{where}.{key}")
                if wrong:
                    return wrong
            return None
        if isinstance(pattern, list):
            if not isinstance(value, list) or len(value) != len(pattern):
                return f"{where} is {value!r}, not {pattern!r}"
            for index, inner in enumerate(pattern):
                wrong = self.match(inner, value[index], f"{where}[{index}]")
                if wrong:
                    return wrong
            return None
        if value != pattern or isinstance(value, bool) != isinstance(pattern, bool):
            return f"{where} is {value!r}, not {pattern!r}"
        return None


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)(ms|s)", text).groups()
    return int(number) * (0.001 if unit == "ms" else 1)


class Request:
    """One that came."""

    def __init__(self, method, target, headers, body):
        self.method = method
        self.path, _, query = target.partition("?")
        self.query = dict(urllib.parse.parse_qsl(query))
        self.headers = headers
        self.body = body

    def __str__(self):
        return f"{self.method} {self.path} {self.query or ''} {self.body[:300].decode(errors='replace')}"

    def wrong(self, pattern, bindings):
        """Why it is not the one that must be sent."""
        trial = Bindings(bindings)
        found = self._wrong(pattern, trial)
        if found is None:
            bindings.update(trial)
        return found

    def _wrong(self, pattern, bindings):
        if (self.method, self.path) != (pattern["method"], pattern["path"]):
            return f"it is {self.method} {self.path}, not {pattern['method']} {pattern['path']}"
        wrong = bindings.match(pattern.get("query", {}), self.query, "query")
        if wrong:
            return wrong
        lower = {name.lower(): value for name, value in pattern.get("headers", {}).items()}
        wrong = bindings.match(lower, self.headers, "header")
        if wrong:
            return wrong
        if "body" not in pattern:
            return None
        try:
            body = json.loads(self.body)
        except ValueError:
            return f"the body is no JSON: {self.body!r}"
        for name in pattern.get("without", []):
            if name in body:
                return f"the body has {name!r}"
        return bindings.match(pattern["body"], body, "body")


class Script:
    """A server that plays the exchanges of one scenario, in order."""

    def __init__(self, scenario):
        self.exchanges = scenario["exchanges"]
        self.bindings = Bindings(scenario.get("values", {}))
        self.counts = [0] * len(self.exchanges)
        self.answered = [0] * len(self.exchanges)
        self.at = 0
        self.problems = []
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        connection.settimeout(PATIENCE)
        with connection:
            file = connection.makefile("rb")
            try:
                while True:
                    request = read_request(file)
                    if request is None or not self._answer(request, connection):
                        return
            except OSError:
                return

    def _choose(self, request):
        """The exchange that the request belongs to: this one again if it repeats, or the next."""
        why = "nothing more was expected"
        at = self.at
        while at < len(self.exchanges):
            repeats = self.exchanges[at].get("repeats")
            if self.counts[at] == 0 or repeats in ("1+", "0+"):
                why = request.wrong(self.exchanges[at]["request"], self.bindings)
                if why is None:
                    self.at = at
                    self.counts[at] += 1
                    return self.exchanges[at]["answer"]
            if self.counts[at] == 0 and repeats != "0+":
                break
            at += 1
        self.problems.append(f"unexpected request {request}: {why}")
        return None

    def asked(self, number):
        """Where the work of a run waits for that exchange, counted from 1."""
        return f"{self.url}{ASKED}{number}"

    def _answer(self, request, connection):
        """Whether the connection goes on."""
        if request.path.startswith(ASKED):
            number = int(request.path[len(ASKED):])
            if wait_until(lambda: self.answered[number - 1] > 0 or self.ended.is_set()):
                connection.sendall(http(200, {"Content-Type": "text/plain"}, b""))
            return True
        with self.lock:
            answer = self._choose(request)
            text = None if answer is None else self._text(answer)
            at = self.at
        if answer is None:
            # So that the client ends at once: it has failed.
            body = json.dumps({"status": 400, "title": "t", "detail": "not in the scenario", "code": "invalid"})
            connection.sendall(http(400, {"Content-Type": "application/problem+json"}, body.encode()))
            return True
        if "slow" in answer:
            self.ended.wait(seconds(answer["slow"]))
        if text is None or self.ended.is_set():
            return False
        connection.sendall(text)
        self.answered[at] += 1
        return "broken_off" not in answer and not answer.get("breaks") and b"event-stream" not in text

    def _text(self, answer):
        """The bytes of an answer; None if no answer is given."""
        if "lost" in answer or ("slow" in answer and "status" not in answer):
            return None
        if "broken_off" in answer:
            return answer["broken_off"].encode()
        if "foreign" in answer:
            foreign = answer["foreign"]
            return http(foreign["status"], {"Content-Type": foreign["type"]}, foreign["text"].encode())
        headers = self.bindings.fill(answer.get("headers", {}))
        if "text" in answer:
            return head(answer["status"], headers) + answer["text"].encode()
        if "problem" in answer:
            body = {"status": answer["status"], "title": "t", "detail": "d", **self.bindings.fill(answer["problem"])}
            return http(answer["status"], {"Content-Type": "application/problem+json", **headers}, json.dumps(body).encode())
        if "body" not in answer:
            return http(answer["status"], headers, b"")
        body = json.dumps(self.bindings.fill(answer["body"])).encode()
        return http(answer["status"], {"Content-Type": "application/json", **headers}, body)

    def finish(self):
        """What was wrong."""
        with self.lock:
            self.ended.set()
            self.listener.close()
            for exchange, count in zip(self.exchanges, self.counts):
                if count == 0 and exchange.get("repeats") != "0+":
                    self.problems.append(f"never sent: {exchange['request']['method']} {exchange['request']['path']}")
            return list(self.problems)


def head(status, headers):
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode()


def http(status, headers, body):
    length = {} if status == 204 else {"Content-Length": str(len(body))}
    return head(status, {**headers, **length}) + body


def read_request(file):
    line = file.readline().decode("latin-1").strip()
    if not line:
        return None
    method, target, _ = line.split(" ")
    headers = {}
    while True:
        text = file.readline().decode("latin-1").rstrip("\r\n")
        if not text:
            break
        name, _, value = text.partition(":")
        headers[name.lower()] = value.strip()
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while True:
            size = int(file.readline().split(b";")[0], 16)
            body += file.read(size)
            file.readline()
            if size == 0:
                break
    else:
        body = file.read(int(headers.get("content-length", "0")))
    return Request(method, target, headers, body)


def compare(expected, seen, bindings):
    """What the caller saw that it must not, or did not see."""
    wanted = {name: value for name, value in expected.items() if name != "worked"}
    if "worked" in expected and seen.get("worked") != expected["worked"]:
        return f"the work ran {seen.get('worked')} times, not {expected['worked']}"
    for name in ("value", "error", "raised"):
        if name in wanted:
            if name not in seen:
                return f"the caller saw {seen}, not {wanted}"
            return bindings.match(wanted[name], seen[name], name)
    return None


def wait_until(condition, within=PATIENCE):
    until = time.monotonic() + within
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True
