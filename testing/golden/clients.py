"""What our own clients send: the commands through a server, seen by a relay that writes down each request."""
import re
import socket
import subprocess
import threading

from wire import Connection, Names, PATIENCE, Program, plain_environment, written


class Relay:
    """Passes connections on to a server, one request after the other, and keeps the requests."""

    def __init__(self, address):
        self.address = address
        self.requests = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        incoming = Connection.__new__(Connection)
        incoming.socket, incoming.unread = client, b""
        client.settimeout(PATIENCE)
        server = Connection(self.address)
        try:
            while request := incoming.message():
                self.requests.append(request)
                server.send(request)
                self.answer(request, server, client)
        except OSError:
            pass
        client.close()
        server.close()

    @staticmethod
    def answer(request, server, client):
        head = server.until(b"\r\n\r\n")
        client.sendall(head)
        if b"text/event-stream" in head:
            while server.more():
                client.sendall(server.take(len(server.unread)))
            return
        length = re.search(rb"content-length: (\d+)", head.lower())
        if length and not request.startswith(b"HEAD"):
            client.sendall(server.exactly(int(length.group(1))))

    def close(self):
        self.listener.close()


# $1 is the last line that the command before printed, $TICKET the ticket that was printed last.
COMMANDS = [
    (["run", "job", "--owner", "me", "--", "sh", "-c", "echo out; echo err >&2"], ""),
    (["run", "job", "--", "false"], ""),
    (["run", "failing", "--owner", "me", "--", "sh", "-c", "echo no; exit 3"], ""),
    (["run", "kept", "--keep-failed", "--lease", "1m", "--ttl", "1h", "--wait", "1s", "--owner", "me", "--",
      "sh", "-c", "exit 4"], ""),
    (["run", "kept", "--keep-failed", "--owner", "me", "--", "true"], ""),
    (["run", "lock", "--ttl", "0s", "--owner", "me", "--", "true"], ""),
    (["claim", "take", "c/1", "--owner", "me", "--lease", "5m", "--ttl", "1h", "--payload", "p", "--request", "r",
      "--field", "ticket"], ""),
    (["claim", "take", "c/1", "--owner", "you"], ""),
    (["claim", "renew", "c/1", "--ticket", "$TICKET", "--lease", "1h"], ""),
    (["claim", "show", "c/1"], ""),
    (["claim", "show", "c/1", "--json"], ""),
    (["claim", "complete", "c/1", "--ticket", "$TICKET", "--result", '{"n":1}'], ""),
    (["claim", "take", "c2", "--field", "ticket"], ""),
    (["claim", "release", "c2", "--ticket", "$TICKET", "--failure", "no", "--final"], ""),
    (["claim", "list"], ""),
    (["claim", "list", "--state", "done", "--limit", "1", "--json"], ""),
    (["claim", "forget", "c2"], ""),
    (["claim", "show", "c2"], ""),
    (["seen", "a", "b", "a", "--ttl", "7d", "--request", "r"], ""),
    (["seen"], "b\nc\n"),
    (["log", "append", "s", "started", '{"n":1}', "--batch", "b", "--expect", "1", "--ttl", "7d"], ""),
    (["log", "append", "s", "--text"], "one\n2\n"),
    (["log", "read", "s", "--from", "2", "--limit", "2"], ""),
    (["log", "read", "s", "--order", "desc", "--json"], ""),
    (["log", "follow", "s", "--from", "3", "--limit", "2"], ""),
    (["log", "trim", "s", "--before", "2"], ""),
    (["doc", "put", "d", "--create", '{"limit":10}', "--id", "i1"], ""),
    (["doc", "get", "d"], ""),
    (["doc", "get", "d", "--json"], ""),
    (["doc", "patch", "d", '{"limit":20}', "--id", "i2"], ""),
    (["doc", "patch", "d", '[{"op":"add","path":"/a","value":1}]'], ""),
    (["doc", "get", "d", "--field", "etag"], ""),
    (["doc", "put", "d", "--if-match", "$1", "--content-type", "text/plain"], "from stdin"),
    (["doc", "get", "d", "--field", "etag"], ""),
    (["doc", "rm", "d", "--if-match", "$1"], ""),
    (["tally", "add", "sum", "5", "--id", "i"], ""),
    (["tally", "add", "real", "0.5"], ""),
    (["tally", "count", "count", "--window", "day", "--at", "2026-11-15T09:30:00Z", "--ttl", "3650d"], ""),
    (["tally", "max", "max", "42"], ""),
    (["tally", "min", "min", "42"], ""),
    (["tally", "distinct", "distinct", "a", "b", "--precision", "12"], ""),
    (["tally", "top", "top", "--count", "2", "--counters", "10"], "a\nb\n"),
    (["tally", "bloom", "bloom", "x", "--capacity", "100", "--rate", "0.05"], ""),
    (["tally", "read", "bloom", "--item", "x"], ""),
    (["tally", "read", "sum", "count", "none"], ""),
    (["tally", "read", "count", "--from", "2026-11-15T00:00:00Z", "--to", "2026-11-16T00:00:00Z"], ""),
    (["hot"], ""),
    (["seen", "x", "--namespace", "team"], ""),
    (["export", "--namespace", "team"], ""),
    (["token", "new", "--namespace", "team", "--read-only", "--label", "one"], ""),
    (["claim", "show", "c/1"], ""),
    (["claim", "list", "--namespace", "team", "--token", "$1"], ""),
]

VARYING = [
    (re.compile(r'(?<="owner":")[^"]*:\d+(?=")'), "OWNER"),
    (re.compile(r'(?<="request":")(?!r")[^"]+'), "REQUEST"),
    (re.compile(r'(?<="batch":")(?!b")[^"]+'), "BATCH"),
    (re.compile(r"(?<=[?&]batch=)(?!b\b)[^& ]+"), "BATCH"),
    (re.compile(r"(?<=^Idempotency-Key: )(?!i\d$).*$", re.MULTILINE), "ID"),
    (re.compile(r'(?<="version":")[0-9a-f]{16}'), "VERSION"),
    (re.compile(r'(?<="number":)\d+,"expiry":\d+,"check":\d+'), "NUMBERS"),
    (re.compile(r'(?<="bytes":)"[\w-]+","expiry":\d+,"check":\d+'), "RECORD"),
    (re.compile(r'(?<="items":1,"check":)\d+'), "CHECK"),
    (re.compile(r"(?<=etag )[0-9a-f]{16}"), "ETAG"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "HASH"),
    (re.compile(r"\b1[78]\d{11}\b"), "FENCE"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "TIME"),
]

IDS = [(re.compile(r'(?<="id":")(?!(?:i|e1)")[^"]+'), "ID")]


def run(binary, relay, arguments, text, environment):
    split = arguments.index("--") if "--" in arguments else len(arguments)
    command = [binary, *arguments[:split], "--store", relay.url, *arguments[split:]]
    ended = subprocess.run(command, input=text.encode(), capture_output=True, timeout=PATIENCE, env=environment,
                           check=False)
    return ended.returncode, ended.stdout.decode(), ended.stderr.decode()


def record(binary, work, _repo):
    environment = plain_environment(work)
    server = Program([binary, "serve", "--store", str(work / "clients"), "--listen", "127.0.0.1:0"], environment)
    relay = Relay(server.address)
    names, lines, last, ticket = Names([*VARYING, *IDS]), [], "", ""
    with server:
        for arguments, text in COMMANDS:
            filled = [one.replace("$TICKET", ticket).replace("$1", last) for one in arguments]
            relay.requests.clear()
            code, out, err = run(binary, relay, filled, text, environment)
            last = out.strip().split("\n")[-1]
            if "ticket" in arguments:
                ticket = last
                names.name(last, "TICKET")
            if arguments[0] == "token":
                names.name(last, "TOKEN")
            if arguments[-1] == "etag":
                names.name(last, "ETAG")
            lines += [f"$ once {' '.join(names(one) for one in filled)}"]
            for request in list(relay.requests):
                lines += written(">", request, names)
            lines += [f"| {line}" for line in names(out + err).splitlines()] + [f"exit {code}", ""]
    relay.close()
    return "\n".join(lines)


def record_remote(binary, program, work):
    """What the library sends: the requests of remote_calls.cc, each followed by what it printed."""
    environment = plain_environment(work)
    server = Program([binary, "serve", "--store", str(work / "remote"), "--listen", "127.0.0.1:0"], environment)
    relay = Relay(server.address)
    with server:
        ended = subprocess.run([program, relay.url], capture_output=True, timeout=PATIENCE, env=environment, check=False)
    relay.close()
    names = Names([*VARYING, *IDS])
    for request in relay.requests:  # What is sent back was given by an answer, which is not written down.
        for value in re.findall(rb'If-Match: "?([0-9a-f]{16})', request):
            names.name(value.decode(), "ETAG")
    lines = [line for request in relay.requests for line in written(">", request, names)]
    return "\n".join([*lines, *[f"| {line}" for line in (ended.stdout + ended.stderr).decode().splitlines()],
                      f"exit {ended.returncode}"])
