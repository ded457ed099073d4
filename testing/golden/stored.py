"""A directory with every kind of record that a server, the proxy and `once run` write, and what is read from it."""
import json
import os
import re
import shutil
import signal
import subprocess
import tarfile
import time

import api
from proxy import Upstream, keyed
from wire import Connection, Names, PATIENCE, Program, plain_environment, request_bytes, written

START_OF_2100 = 4102444800

CREATE, MATCH, MERGE, EXACT, JSON = api.CREATE, api.MATCH, api.MERGE, api.EXACT, api.JSON

EFFECTS = ('{"id":"e1","claim":{"key":"with-receipt","ticket":"$ticket","result":1},"logs":[{"stream":"effects","events":[{"data":1}]}],'
           '"docs":[{"key":"of-effects","if_none_match":"*","body":{"a":1}}],"tallies":[{"key":"of-effects","kind":"sum","add":5}]}')
BY_ID = '{"id":"e2","logs":[{"stream":"effects","events":[{"data":2},{"data":3}]}],"tallies":[{"key":"of-effects","kind":"sum","add":1}]}'
BATCH = '{"events":[{"data":{"n":1},"time":"2026-11-15T09:30:00Z"},{"data":"ü"}],"batch":"b1"}'
WINDOW = '"window":"hour","at":"2100-01-01T00:30:00Z","ttl":"3650d"'
BUSY = '{"owner":"me","request":"r","payload":"p","lease":"1h","ttl":"24h"}'

# What is kept of an answer is named after the step.
WRITES = [
    ("busy", "POST", "/v1/claims/busy", [], BUSY),
    ("", "POST", "/v1/claims/done", [], "{}"),
    ("", "POST", "/v1/claims/done/complete", [], '{"ticket":"$ticket","result":{"n":1}}'),
    ("", "POST", "/v1/claims/bytes", EXACT, '{"payload":"AAEC_w"}'),
    ("", "POST", "/v1/claims/bytes/complete", EXACT, '{"ticket":"$ticket","result":"_wAB"}'),
    ("", "POST", "/v1/claims/failed", [], "{}"),
    ("", "POST", "/v1/claims/failed/release", [], '{"ticket":"$ticket","failure":"never","final":true}'),
    ("", "POST", "/v1/claims/free", [], "{}"),
    ("", "POST", "/v1/claims/free/release", [], '{"ticket":"$ticket","failure":"once more"}'),
    ("", "POST", "/v1/claims/second", [], "{}"),
    ("", "POST", "/v1/claims/second/release", [], '{"ticket":"$ticket"}'),
    ("second", "POST", "/v1/claims/second", [], '{"owner":"me","lease":"1h"}'),
    ("forgotten", "POST", "/v1/claims/forgotten", [], "{}"),
    ("", "DELETE", "/v1/claims/forgotten"),
    ("", "POST", "/v1/claims/a%2Fb", ["Once-Namespace: team"], '{"lease":"1h"}'),
    ("", "POST", "/v1/seen", [], '{"ids":["seen-1","seen-2"]}'),
    ("", "POST", "/v1/seen", [], '{"ids":["seen-3","seen-1"],"request":"r"}'),
    ("", "POST", "/v1/logs/log", [], BATCH),
    ("", "POST", "/v1/logs/log", ["Content-Type: text/plain"], "one\ntwo"),
    ("", "POST", "/v1/logs/log", EXACT, '{"events":[{"data":"_wAB"}],"ttl":"30d"}'),
    ("", "POST", "/v1/logs/trimmed", ["Content-Type: text/plain"], "one"),
    ("", "POST", "/v1/logs/trimmed", ["Content-Type: text/plain"], "two"),
    ("", "POST", "/v1/logs/trimmed", ["Content-Type: text/plain"], "three"),
    ("", "POST", "/v1/logs/trimmed/trim", [], '{"before":3}'),
    ("", "POST", "/v1/logs/long-trimmed/trim", [], '{"before":3}'),
    ("", "POST", "/v1/logs/all-trimmed", ["Content-Type: text/plain"], "one"),
    ("", "POST", "/v1/logs/all-trimmed/trim", [], '{"before":2}'),
    ("", "PUT", "/v1/docs/plain", CREATE + ["Content-Type: text/x-odd; a=b"], "one"),
    ("", "PUT", "/v1/docs/keyed", CREATE + JSON + api.key("k1"), '{"a":1}'),
    ("", "PATCH", "/v1/docs/keyed", MERGE + api.key("k2"), '{"b":2}'),
    ("", "PUT", "/v1/docs/removed", CREATE, "x"),
    ("removed", "DELETE", "/v1/docs/removed", MATCH + api.key("k3")),
    ("", "POST", "/v1/tallies/sum", [], '{"kind":"sum","add":-5}'),
    ("", "POST", "/v1/tallies/sum", [], '{"kind":"sum","add":7,"id":"i1"}'),
    ("", "POST", "/v1/tallies/real", [], '{"kind":"real","add":0.5}'),
    ("", "POST", "/v1/tallies/count", [], '{"kind":"count",' + WINDOW + "}"),
    ("", "POST", "/v1/tallies/count", [], '{"kind":"count","id":"i2",' + WINDOW + "}"),
    ("", "POST", "/v1/tallies/minutes", [], '{"kind":"max","value":3,"window":"minute"}'),
    ("", "POST", "/v1/tallies/days", [], '{"kind":"distinct","items":["a"],"window":"day","ttl":"30d"}'),
    ("", "POST", "/v1/tallies/max", [], '{"kind":"max","value":42}'),
    ("", "POST", "/v1/tallies/min", [], '{"kind":"min","value":-1}'),
    ("", "POST", "/v1/tallies/distinct", [], '{"kind":"distinct","items":["a","b","a"]}'),
    ("", "POST", "/v1/tallies/dense", [], '{"kind":"distinct","precision":8,"items":' + json.dumps([f"i{n}" for n in range(300)]) + "}"),
    ("", "POST", "/v1/tallies/top", [], '{"kind":"top","counters":10,"items":["a",{"item":"b","count":3}]}'),
    ("", "POST", "/v1/tallies/bloom", [], '{"kind":"bloom","capacity":100,"rate":0.05,"items":["x"],"id":"i3"}'),
    ("receipt", "POST", "/v1/claims/with-receipt", [], "{}"),
    ("", "POST", "/v1/commit", [], EFFECTS),
    ("", "POST", "/v1/commit", [], BY_ID),
    ("", "POST", "/v1/events", api.STRUCTURED, api.event("logged")),
    ("", "POST", "/v1/events", api.STRUCTURED, api.event("counted", "2")),
    ("", "POST", "/v1/events", api.STRUCTURED, api.event("plain", "n" * 600)),
]

# Read as they are: none of these changes what is stored.
READS = [
    ("GET", "/v1/claims"), ("GET", "/v1/claims?state=busy", ["Once-Namespace: team"]), ("GET", "/v1/claims", EXACT),
    ("GET", "/v1/claims/busy"), ("GET", "/v1/claims/done"), ("GET", "/v1/claims/failed"), ("GET", "/v1/claims/free"),
    ("GET", "/v1/claims/second"), ("GET", "/v1/claims/forgotten"), ("GET", "/v1/claims/bytes", EXACT),
    ("GET", "/v1/claims/seen-1"), ("GET", "/v1/claims/seen-3"), ("GET", "/v1/claims/with-receipt"), ("GET", "/v1/claims/job"),
    ("GET", "/v1/claims/a%2Fb", ["Once-Namespace: team"]),
    ("POST", "/v1/claims/done", [], "{}"), ("POST", "/v1/claims/failed", [], "{}"), ("POST", "/v1/claims/bytes", EXACT, '{"payload":"AAEC_w"}'),
    ("POST", "/v1/claims/bytes", EXACT, '{"payload":"AAEC_wA"}'), ("POST", "/v1/claims/busy", [], '{"payload":"q"}'),
    ("POST", "/v1/claims/busy", [], BUSY), ("POST", "/v1/claims/busy", [], '{"payload":"p"}'),
    ("POST", "/v1/claims/forgotten/complete", [], '{"ticket":"$forgotten"}'),
    ("POST", "/v1/seen", [], '{"ids":["seen-1","seen-2","seen-3"]}'), ("POST", "/v1/seen", [], '{"ids":["seen-3","seen-1"],"request":"r"}'),
    ("GET", "/v1/logs/log"), ("GET", "/v1/logs/log?from=5", EXACT), ("GET", "/v1/logs/log?order=desc&limit=1"),
    ("GET", "/v1/logs/trimmed"), ("GET", "/v1/logs/long-trimmed"), ("GET", "/v1/logs/all-trimmed"), ("GET", "/v1/logs/effects"), ("GET", "/v1/logs/events"),
    ("POST", "/v1/logs/log", [], BATCH), ("POST", "/v1/logs/log", [], '{"events":[{"data":1}],"batch":"b1"}'),
    ("GET", "/v1/docs/plain"), ("GET", "/v1/docs/keyed"), ("GET", "/v1/docs/removed"), ("GET", "/v1/docs/of-effects"),
    ("PUT", "/v1/docs/keyed", CREATE + JSON + api.key("k1"), '{"a":1}'), ("PATCH", "/v1/docs/keyed", MERGE + api.key("k2"), '{"b":2}'),
    ("PATCH", "/v1/docs/keyed", MERGE + api.key("k2"), '{"b":3}'),
    ("DELETE", "/v1/docs/removed", ["If-Match: $removed"] + api.key("k3")),
    *[("GET", f"/v1/tallies/{name}") for name in
      ("sum", "real", "count", "minutes", "days", "max", "min", "distinct", "dense", "top", "of-effects", "events")],
    *[("GET", f"/v1/tallies/{name}", EXACT) for name in ("distinct", "dense", "top", "bloom")],
    ("GET", "/v1/tallies/bloom?item=x"), ("GET", "/v1/tallies/bloom?item=y"),
    ("GET", "/v1/tallies/count?from=2100-01-01T01:00:00Z"),
    ("POST", "/v1/tallies/sum", [], '{"kind":"sum","add":7,"id":"i1"}'), ("POST", "/v1/tallies/sum", [], '{"kind":"sum","add":8,"id":"i1"}'),
    ("POST", "/v1/tallies/count", [], '{"kind":"count","id":"i2",' + WINDOW + "}"), ("POST", "/v1/tallies/sum", [], '{"kind":"count"}'),
    ("POST", "/v1/tallies/bloom", [], '{"kind":"bloom","capacity":100,"rate":0.05,"items":["x"],"id":"i3"}'),
    ("POST", "/v1/commit", [], EFFECTS.replace("$ticket", "$receipt")), ("POST", "/v1/commit", [], BY_ID),
    ("POST", "/v1/commit", [], BY_ID.replace('"add":1', '"add":2')),
    ("POST", "/v1/events", api.STRUCTURED, api.event("logged")), ("POST", "/v1/events", api.STRUCTURED, api.event("counted", "2")),
    ("POST", "/v1/events", api.STRUCTURED, api.event("plain", "n" * 600)),
    ("GET", "/v1/tokens"),
]

# Goes on where the directory ends; the answers have new times.
WRITES_AFTERWARDS = [
    ("POST", "/v1/claims/busy/renew", [], '{"ticket":"$busy","lease":"1h"}'), ("POST", "/v1/claims/busy/complete", [], '{"ticket":"$busy","result":1}'),
    ("POST", "/v1/claims/second/release", [], '{"ticket":"$second"}'), ("POST", "/v1/claims/second", [], "{}"),
    ("POST", "/v1/claims/free", [], "{}"), ("POST", "/v1/claims/forgotten", [], "{}"),
    ("POST", "/v1/logs/log", ["Content-Type: text/plain"], "next"), ("POST", "/v1/logs/trimmed", ["Content-Type: text/plain"], "next"),
    ("POST", "/v1/logs/all-trimmed", ["Content-Type: text/plain"], "next"), ("POST", "/v1/logs/long-trimmed", ["Content-Type: text/plain"], "next"),
    ("POST", "/v1/tallies/sum", [], '{"kind":"sum","add":1}'), ("POST", "/v1/tallies/top", [], '{"kind":"top","counters":10,"items":["b"]}'),
    ("POST", "/v1/tallies/dense", [], '{"kind":"distinct","precision":8,"items":["another"]}'),
    ("PATCH", "/v1/docs/keyed", MERGE, '{"c":3}'), ("PUT", "/v1/docs/removed", CREATE, "again"),
]

PROXIED = [("POST", "/pay?a=1", keyed("k1"), '{"a":1}'), ("POST", "/large", keyed("k2"), "x"), ("POST", "/lost", keyed("k3"), "x")]
RUN = ["run", "job", "--owner", "me", "--ttl", "24h", "--", "sh", "-c", "echo out; echo err >&2"]


def as_it_is(text):
    """Names nothing but what no stored byte decides."""
    for pattern, name in Names.PLAIN:
        if name in ("DATE", "SECONDS", "REQUEST"):
            text = pattern.sub(name, text)
    return text


def call(address, method, target, headers=(), body=None):
    connection = Connection(address)
    raw = request_bytes(method, target, headers, body)
    connection.send(raw)
    answer = connection.message()
    connection.close()
    return raw, answer


def once(binary, arguments, environment):
    ended = subprocess.run([binary, *arguments], capture_output=True, timeout=PATIENCE, env=environment, check=False)
    return ended.returncode, ended.stdout.decode(), ended.stderr.decode()


def run_arguments(store, token=""):
    at = RUN.index("--")
    return [*RUN[:at], "--store", str(store), *(["--token", token] if token else []), *RUN[at:]]


# Recording.

def shifted_environment(work):
    library = work / "clock.so"
    here = os.path.dirname(os.path.abspath(__file__))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), os.path.join(here, "clock.c"), "-ldl"], check=True)
    return {**plain_environment(work), "LD_PRELOAD": str(library),
            "ONCE_GOLDEN_SHIFT": str(START_OF_2100 - int(time.time()))}


def serve(binary, store, environment, *more):
    return Program([binary, "serve", "--store", str(store), "--listen", "127.0.0.1:0", *more],
                   {**environment, "ONCE_HOST": "once.test"})


def write_earlier(binary, work, environment):
    """Batches that are old enough for a trim to replace them."""
    earlier = {**environment, "ONCE_GOLDEN_SHIFT": str(int(environment["ONCE_GOLDEN_SHIFT"]) - 3 * 3600)}
    with serve(binary, work / "stored", earlier) as server:
        for text in ("one", "two", "three"):
            call(server.address, "POST", "/v1/logs/long-trimmed", ["Content-Type: text/plain"], text)


def make(binary, work, output):
    """Writes stored.tar.gz and stored.json into `output`."""
    environment = shifted_environment(work)
    write_earlier(binary, work, environment)
    config = work / "routes.toml"
    config.write_text(api.ROUTES)
    directory = work / "stored"
    upstream = Upstream()
    known = {"$ticket": "", "$etag": ""}

    def filled(text):
        for name, value in known.items():
            text = text.replace(name, value)
        return text

    with Program([binary, "proxy", "--listen", "127.0.0.1:0", "--upstream", upstream.url, "--store", str(directory),
                  "--max-answer", "1000"], environment) as proxy:
        for step in PROXIED:
            call(proxy.address, *step)
    server = serve(binary, directory, environment, "--config", str(config))
    for name, method, target, *rest in WRITES:
        headers = rest[0] if rest else []
        body = rest[1] if len(rest) > 1 else None
        _, answer = call(server.address, method, target, [filled(one) for one in headers], body and filled(body))
        text = answer.decode("utf-8", "replace")
        if text.split(" ")[1] not in ("200", "201", "204"):
            raise SystemExit(f"{method} {target}: {text}")
        if name == "removed":
            known["$removed"] = known["$etag"]
        known["$ticket"] = api.last(r'"ticket":"([^"]+)"', text, known["$ticket"])
        known["$etag"] = api.last(r'ETag: ("[0-9a-f]{16}")', text, known["$etag"])
        if name and name != "removed":
            known["$" + name] = known["$ticket"]
    code, _, said = once(binary, run_arguments(directory), environment)
    if code != 0:
        raise SystemExit(said)
    _, answer = call(server.address, "POST", "/v1/tokens", [], '{"label":"golden"}')
    known["$token"] = api.last(r'"token":"([^"]+)"', answer.decode(), "")
    server.end(signal.SIGKILL)
    killed = work / "killed"
    shutil.copytree(directory, killed)
    (output / "stored.json").write_text(json.dumps(known, indent=1) + "\n")
    code, made, said = once(binary, ["checkpoint", "--store", str(directory)], environment)
    if code != 0:
        raise SystemExit(said)
    pack({"checkpoint": made.strip(), "killed": killed}, output / "stored.tar.gz")


def make_library(program, work, output):
    """Writes library.tar.gz into `output`: what library_records.cc stores."""
    directory = work / "library"
    subprocess.run([program, "write", str(directory)], env=shifted_environment(work), timeout=PATIENCE, check=True)
    pack({"library": directory}, output / "library.tar.gz")


def pack(directories, archive):
    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        return None if os.path.basename(entry.name).startswith(("LOG", "server")) else entry

    with tarfile.open(archive, "w:gz", compresslevel=9) as tar:
        for name, directory in directories.items():
            tar.add(directory, name, filter=plain)


# Reading.

def with_any_ticket(text):
    """A ticket has a code that is made with a secret of the store, which the directory did not have yet."""
    return re.sub(r'(?<="ticket":")dA[I-L][^"]+', "TICKET", as_it_is(text))


class Reader:
    def __init__(self, binary, known, environment):
        self.binary, self.known, self.environment = binary, known, environment
        self.lines = []

    def filled(self, text):
        for name, value in sorted(self.known.items(), reverse=True):
            text = text.replace(name, value)
        return text

    def step(self, address, names, method, target, headers=(), body=None):
        bearer = ["Authorization: Bearer " + self.known["$token"]]
        raw, answer = call(address, method, target, bearer + [self.filled(one) for one in headers],
                           body and self.filled(body))
        self.lines += [line for line in written(">", raw, names) if "Authorization" not in line]
        self.lines += written("<", answer, names) + [""]

    def read(self, directory, config):
        with serve(self.binary, directory, self.environment, "--config", str(config)) as server:
            for step in READS:
                self.step(server.address, with_any_ticket, *step)
            names = Names()
            for step in WRITES_AFTERWARDS:
                self.step(server.address, names, *step)
        code, out, err = once(self.binary, run_arguments(directory), self.environment)
        self.lines += ["$ once " + " ".join(RUN), *[f"| {line}" for line in (out + err).splitlines()], f"exit {code}", ""]

    def read_proxy(self, directory):
        upstream = Upstream()
        with Program([self.binary, "proxy", "--listen", "127.0.0.1:0", "--upstream", upstream.url, "--store",
                      str(directory)], self.environment) as proxy:
            for step in PROXIED:
                raw, answer = call(proxy.address, *step)
                self.lines += written(">", raw, as_it_is) + written("<", answer, as_it_is) + [""]
        self.lines += [f"requests to the upstream: {len(upstream.requests)}", ""]


def unpack(work, archive):
    with tarfile.open(archive) as tar:
        tar.extractall(work)


def record(binary, work, _repo, here):
    """What `binary` reads from what was killed, and from a checkpoint of it; both hold the same."""
    unpack(work, here / "stored.tar.gz")
    known = json.loads((here / "stored.json").read_text())
    config = work / "routes.toml"
    config.write_text(api.ROUTES)
    environment = plain_environment(work)
    exported = {}
    for name in ("checkpoint", "killed"):
        _, text, said = once(binary, ["export", "--store", str(work / name)], environment)
        lines = text.splitlines()
        if len(lines) < 3:
            raise SystemExit(f"{name}: {said}")
        exported[name] = lines[:-1] + [lines[-1].partition('"time":')[0]]  # The time is that of the export.
    if exported["checkpoint"] != exported["killed"]:
        raise SystemExit("a checkpoint does not hold what was there")
    shutil.copytree(work / "checkpoint", work / "proxied")
    reader = Reader(binary, known, environment)
    reader.read(work / "killed", config)
    reader.read_proxy(work / "proxied")
    return "\n".join(["# what is exported", "", *exported["checkpoint"], "", "# what is read", "", *reader.lines])


def record_library(program, work, here):
    unpack(work, here / "library.tar.gz")
    ended = subprocess.run([program, "read", str(work / "library")], capture_output=True, timeout=PATIENCE,
                           env=plain_environment(work), check=False)
    return (ended.stdout + ended.stderr).decode() + f"exit {ended.returncode}\n"
