#!/usr/bin/env python3
"""check.py BINARY REPO: a real Prometheus scrapes a real server, a proxy before it, and a worker.

Starts all on free loopback ports and in a directory of their own, gives them something to count,
and waits until Prometheus has it. Then: the alerts are checked and tested by promtool and evaluated
by Prometheus; every metric that the alerts, the dashboard and the operations manual name is one that
the server, the proxy or the worker has, and every one that they have is in the manual; and the server's log is
one JSON object a line. All processes are stopped by their id.
"""
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

PATIENCE = 60.0  # Seconds for anything that is waited for.
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
WORDS = {"by", "without", "on", "ignoring", "group_left", "group_right", "and", "or", "unless",
         "offset", "bool", "inf", "nan"}
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print("FAILED:", what)


def until(what, condition):
    """Polls until the condition gives something, and gives that."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise SystemExit(f"FAILED: waited {PATIENCE:.0f} s for {what}")


def tool(name):
    found = shutil.which(name)
    if not found:
        raise SystemExit(f"FAILED: there is no {name}; scripts/install-deps test installs it")
    return found


def run(*command, stdin=None):
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=PATIENCE)
    check(done.returncode == 0, f"{' '.join(command[:3])}: {done.stdout}{done.stderr}")


def call(url, method="GET", body=None, headers=None):
    """Status, headers and body; a status of 400 and more is an answer too."""
    request = urllib.request.Request(url, method=method, headers=headers or {},
                                     data=body.encode() if body is not None else None)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def metrics_in(expression):
    """The names of metrics in an expression of PromQL."""
    text = re.sub(r'"(\\.|[^"\\])*"', '""', expression)
    text = re.sub(r"\{[^}]*\}|\[[^\]]*\]", "", text)
    text = re.sub(r"\b\d[\d.]*(e[+-]?\d+)?", "", text)  # Prometheus writes 1073741824 as 1.073741824e+09.
    text = re.sub(r"\b(by|without|on|ignoring)\s*\([^)]*\)", "", text)
    names = re.findall(r"[A-Za-z_:][A-Za-z0-9_:]*(?!\s*\(|[A-Za-z0-9_:])", text)
    return {name for name in names if name not in WORDS}


def known_names(exposition):
    """What can be asked for: families, and the parts of histograms."""
    names = {"up"}
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", exposition, re.MULTILINE):
        parts = ["_bucket", "_sum", "_count"] if kind == "histogram" else [""]
        names.update(name + part for part in parts)
    return names


def unknown_metrics(expressions, names):
    return {name for text in expressions for name in metrics_in(text)} - names


def expressions_in(node):
    """Every expr of a dashboard, however deep."""
    if isinstance(node, dict):
        return [value for key, value in node.items() if key == "expr"] + [
            found for value in node.values() for found in expressions_in(value)]
    if isinstance(node, list):
        return [found for value in node for found in expressions_in(value)]
    return []


def free_port():
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return chosen.getsockname()[1]


class Process:
    def __init__(self, command, output, errors, environment=None):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                        stderr=errors, env=environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start_server(binary, directory):
    server = Process([binary, "serve", "--store", str(directory / "state"), "--listen",
                      "127.0.0.1:0", "--log", "json"],
                     (directory / "server.out").open("w"), (directory / "server.log").open("w"))

    def url():
        found = re.search(r"serving (http://\S+) on", (directory / "server.out").read_text())
        return found and found.group(1)
    return server, until("the server", url)


def start_proxy(binary, directory, upstream):
    """The proxy, and where it proxies and tells of itself."""
    page = f"127.0.0.1:{free_port()}"
    proxy = Process([binary, "proxy", "--store", str(directory / "keys"), "--listen", "127.0.0.1:0",
                     "--upstream", upstream, "--metrics-listen", page],
                    (directory / "proxy.out").open("w"), (directory / "proxy.log").open("w"))

    def url():
        found = re.search(r"(http://\S+)", (directory / "proxy.out").read_text())
        return found and found.group(1)
    return proxy, until("the proxy", url), "http://" + page


class Queue(http.server.BaseHTTPRequestHandler):
    """As Amazon SQS answers for a queue with seven messages, of which it delivers one, sent 90 s ago."""
    protocol_version = "HTTP/1.1"
    delivered = threading.Event()
    MESSAGE = ("<Message><MessageId>m</MessageId><ReceiptHandle>h</ReceiptHandle><Body>x</Body><Attribute><Name>"
               "SentTimestamp</Name><Value>%d</Value></Attribute></Message>")

    def result(self, action):
        if action == "GetQueueUrl":
            return "<QueueUrl>http://sqs/queue/jobs</QueueUrl>"
        if action == "GetQueueAttributes":
            return "<Attribute><Name>ApproximateNumberOfMessages</Name><Value>7</Value></Attribute>"
        if action == "ReceiveMessage" and not Queue.delivered.is_set():
            Queue.delivered.set()
            return Queue.MESSAGE % ((time.time() - 90) * 1000)
        if action == "ReceiveMessage":
            time.sleep(0.2)
        return ""

    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        action = form["Action"][0]
        body = f"<{action}Response><{action}Result>{self.result(action)}</{action}Result></{action}Response>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def start_worker(binary, directory, store):
    """A worker whose one message is under way until the file `end` is there, and where it tells of itself."""
    queue = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Queue)
    threading.Thread(target=queue.serve_forever, daemon=True).start()
    page = f"127.0.0.1:{free_port()}"
    address = f"sqs://jobs?region=eu-west-1&wait=0&endpoint=http://127.0.0.1:{queue.server_address[1]}"
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    worker = Process([binary, "work", address, "--store", store, "--metrics-listen", page, "--", "sh", "-c",
                      f"until [ -e '{directory / 'end'}' ]; do sleep 0.1; done"],
                     (directory / "work.out").open("w"), (directory / "work.log").open("w"), {**os.environ, **keys})
    until("the worker", lambda: "working on" in (directory / "work.out").read_text())
    return worker, "http://" + page


def start_prometheus(directory, server_url, proxy_page, work_page, alerts):
    target = server_url.removeprefix("http://")
    page = proxy_page.removeprefix("http://")
    work = work_page.removeprefix("http://")
    (directory / "prometheus.yml").write_text(f"""
global: {{scrape_interval: 200ms, evaluation_interval: 200ms}}
rule_files: [{alerts}]
scrape_configs:
  - job_name: once
    static_configs: [{{targets: ["{target}"]}}]
  - job_name: once-proxy
    static_configs: [{{targets: ["{page}"]}}]
  - job_name: once-work
    static_configs: [{{targets: ["{work}"]}}]
""")
    url = f"http://127.0.0.1:{free_port()}"
    log = (directory / "prometheus.log").open("w")
    prometheus = Process([tool("prometheus"), f"--config.file={directory / 'prometheus.yml'}",
                          f"--storage.tsdb.path={directory / 'tsdb'}",
                          f"--web.listen-address={url.removeprefix('http://')}"], log, log)

    def ready():
        if prometheus.process.poll() is not None:
            raise SystemExit("FAILED: " + (directory / "prometheus.log").read_text())
        try:
            return call(url + "/-/ready")[0] == 200
        except OSError:
            return False
    until("Prometheus", ready)
    return prometheus, url


def give_it_something_to_count(url):
    traced = {"traceparent": PARENT, "X-Request-Id": "traced-1"}
    status, headers, body = call(url + "/v1/claims/a", "POST", "{}", traced)
    check(status == 201 and headers["X-Request-Id"] == "traced-1", "a claim keeps its request id")
    check(call(url + "/v1/claims/a", "POST", "{}")[0] == 409, "a second claim is busy")
    ticket = json.dumps({"ticket": json.loads(body)["ticket"], "result": "hidden"})
    check(call(url + "/v1/claims/a/complete", "POST", ticket)[0] == 200, "it completes")
    check(call(url + "/v1/claims/a", "POST", "{}")[0] == 200, "a third is told the result")
    call(url + "/v1/seen", "POST", json.dumps({"ids": ["x", "y", "x"]}))
    call(url + "/v1/docs/d", "PUT", "{}", {"If-None-Match": "*"})
    call(url + "/v1/docs/d", "PUT", "{}", {"If-None-Match": "*"})
    call(url + "/v1/claims/a", "POST", "{")


def give_the_proxy_something(url):
    key = {"Idempotency-Key": "order-1"}
    for _ in range(2):
        status, _, _ = call(url + "/v1/logs/through", "POST", '{"events":[{"data":1}]}', key)
        check(status == 201, "both get the first one's answer")
    check(call(url + "/healthz")[0] == 200, "what has no key is carried, too")


EXPECTED_OF_PROXY = {
    'once_outcomes_total{primitive="proxy",outcome="executed"}': 1,
    'once_outcomes_total{primitive="proxy",outcome="replayed"}': 1,
    'once_outcomes_total{primitive="proxy",outcome="passed"}': 1,
    "once_proxy_upstream_seconds_count": 2,
    'once_proxy_upstream_errors_total{reason="unknown"}': 0,
    'up{job="once-proxy"}': 1,
}

EXPECTED_OF_WORK = {
    "once_work_queue_depth": 7,
    "once_work_under_way": 1,
    "once_work_lag_seconds > bool 80": 1,
    'up{job="once-work"}': 1,
}

EXPECTED = {
    'once_outcomes_total{primitive="claims",outcome="executed"}': 2,
    'once_outcomes_total{primitive="claims",outcome="busy"}': 1,
    'once_outcomes_total{primitive="claims",outcome="replayed"}': 1,
    'duplicate_events_skipped_total{event_type="claims"}': 1,
    'duplicate_events_skipped_total{event_type="seen"}': 1,
    'idempotency_cache_operations_total{operation="check"}': 6,
    'idempotency_cache_operations_total{operation="mark"}': 3,
    "idempotency_check_duration_seconds_count": 4,
    'validation_errors_total{event_type="claims"}': 1,
    'idempotency_errors_total{reason="unavailable"}': 0,
    "once_doc_conflicts_total": 1,
    "once_doc_update_seconds_count": 2,
    'up{job="once"}': 1,
}


def query(url, expression):
    status, _, body = call(url + "/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
    return status, json.loads(body)


def value_of(url, expression):
    """The one value of an expression; nothing if it has no value."""
    _, answer = query(url, expression)
    found = answer.get("data", {}).get("result", [])
    return float(found[0]["value"][1]) if len(found) == 1 else None


def check_series(prometheus):
    for job, expected in (("once", EXPECTED), ("once-proxy", EXPECTED_OF_PROXY), ("once-work", EXPECTED_OF_WORK)):
        for expression, wanted in expected.items():
            of_job = f'{expression} and on(job) up{{job="{job}"}}'
            until(f"{expression} to be {wanted}", lambda: value_of(prometheus, of_job) == wanted)
    for status in ("total", "expired"):
        until("the first sweep",
              lambda: value_of(prometheus, f'idempotency_cache_size{{job="once",status="{status}"}}')
              is not None)
    count = value_of(prometheus, 'sum(once_store_commit_seconds_count{job="once"})')
    check(count is not None and count > 0, "commits are timed")
    bounds = query(prometheus, 'idempotency_check_duration_seconds_bucket{job="once"}')[1]["data"]["result"]
    check(sorted(float(one["metric"]["le"]) for one in bounds) ==
          [0.0001, 0.0005, 0.001, 0.01, 0.1, 1, 10, float("inf")], "the documents' buckets")


def check_rules(prometheus):
    def evaluated():
        groups = json.loads(call(prometheus + "/api/v1/rules")[2])["data"]["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        return rules if rules and all(rule["health"] != "unknown" for rule in rules) else None
    rules = until("every rule to be evaluated", evaluated)
    for rule in rules:
        check(rule["health"] == "ok", f"{rule['name']}: {rule.get('lastError')}")
    return [rule["query"] for rule in rules]


def families_in(exposition):
    return set(re.findall(r"^# TYPE (\S+)", exposition, re.MULTILINE))


def documented_in(text):
    return set(re.findall(r"^\| `([a-z_]+)`", text, re.MULTILINE))


# This server has no TLS, and its store is a directory.
NOT_HERE = {"once_tls_certificate_expiry_seconds", "once_store_evicted_total",
            "once_store_units_total"}


def check_names(prometheus, server, proxy, work, expressions, repo):
    names = known_names(server + proxy + work) | NOT_HERE
    check(not unknown_metrics(expressions, names),
          f"no such metrics: {unknown_metrics(expressions, names)}")
    check(unknown_metrics(["rate(once_nonsense_total[5m])"], names) == {"once_nonsense_total"},
          "a metric that does not exist is noticed")
    for expression in expressions:
        status, answer = query(prometheus, expression.replace("$__rate_interval", "1m"))
        check(status == 200, f"{expression}: {answer}")
    manual = (repo / "docs/operations.md").read_text()
    of_server = documented_in(manual.partition("\n## Logs")[0]) - NOT_HERE
    of_proxy = documented_in(manual.partition("\n## The proxy")[2].partition("\n## ")[0])
    check(families_in(server) == of_server,
          f"docs/operations.md has not just what there is: {sorted(families_in(server) ^ of_server)}")
    check(families_in(proxy) - of_server == of_proxy,
          f"nor of the proxy: {sorted((families_in(proxy) - of_server) ^ of_proxy)}")
    of_work = documented_in(manual.partition("\n## Workers")[2].partition("\n## ")[0])
    check(families_in(work) == of_work, f"nor of workers: {sorted(families_in(work) ^ of_work)}")


def check_log(text):
    lines = [json.loads(line) for line in text.splitlines()]
    events = [line["event"] for line in lines]
    check("start" in events and events[-1] == "stop", f"the log starts and stops: {events}")
    reasons = [line["reason"] for line in lines if line["event"] == "duplicate"]
    check("already_processing" in reasons and "already_done" in reasons, f"reasons: {reasons}")
    done = [line for line in lines if line.get("reason") == "already_done"][0]
    check("original" in done, "a duplicate is noted with the original's time")
    spans = [line for line in lines if line["event"] == "span"]
    check([(one["span"], one["trace_id"], one["request_id"]) for one in spans] ==
          [("idempotency_check", PARENT[3:35], "traced-1")], f"one traced request: {spans}")
    check("hidden" not in text and "ticket" not in text, "no secrets in the log")


def main(binary, repo):
    alerts = repo / "docs/alerts.yml"
    run(tool("promtool"), "check", "rules", str(alerts))
    with tempfile.TemporaryDirectory(prefix="once-prometheus.") as name:
        directory = pathlib.Path(name)
        rules_test = (repo / "testing/prometheus/alerts_test.yml").read_text()
        (directory / "alerts_test.yml").write_text(rules_test.replace("ALERTS", str(alerts)))
        run(tool("promtool"), "test", "rules", str(directory / "alerts_test.yml"))
        server, url = start_server(binary, directory)
        proxy, proxy_url, page = start_proxy(binary, directory, url)
        worker, work_page = start_worker(binary, directory, "memory:")
        with server, proxy, worker:
            give_it_something_to_count(url)
            give_the_proxy_something(proxy_url)
            prometheus, prometheus_url = start_prometheus(directory, url, page, work_page, alerts)
            with prometheus:
                check_series(prometheus_url)
                expressions = check_rules(prometheus_url)
                dashboard = json.loads((repo / "docs/grafana.json").read_text())
                panels = expressions_in(dashboard)
                check(len(panels) > 5, "the dashboard has panels")
                expositions = [call(each + "/metrics")[2] for each in (url, page, work_page)]
                for exposition in expositions:
                    run(tool("promtool"), "check", "metrics", stdin=exposition)
                check_names(prometheus_url, *expositions, expressions + panels, repo)
            (directory / "end").touch()
        check_log((directory / "server.log").read_text())
    if failures:
        raise SystemExit(f"{len(failures)} failed")


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]).resolve())
