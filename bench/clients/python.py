#!/usr/bin/python3
"""python.py ONCE [--seconds N]: the Python client beside `once bench` and bare httpx calls, on one thread and on 50.

A bare call is the same claim, posted with httpx and nothing around it, but without Nagle's
delay, which some versions of httpx leave on (40 ms a call). `claim` is one call of the client, `run` is a claim
and its completion, two calls. They are measured in turns. Exits with 1 if the median of a call is more than
twice that of a bare one.
"""
import argparse
import itertools
import json
import math
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients/python/src"))
import httpx  # noqa: E402
import once  # noqa: E402


TARGET = 2.0
ROUNDS = 3


def measure(make_call, threads, seconds):
    """The times of calls, how long all of it took, and the processor time."""
    until = time.monotonic() + seconds
    times = []
    lock = threading.Lock()

    def worker():
        call, mine = make_call(), []
        while time.monotonic() < until:
            began = time.perf_counter()
            call()
            mine.append(time.perf_counter() - began)
        with lock:
            times.extend(mine)

    workers = [threading.Thread(target=worker) for _ in range(threads)]
    began, used = time.monotonic(), time.process_time()
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    return times, time.monotonic() - began, time.process_time() - used


def in_turns(calls, threads, seconds):
    """For each: calls a second; the median, the 99th percentile and the processor time in milliseconds."""
    rounds = [{name: measure(call, threads, seconds / ROUNDS) for name, call in calls.items()} for _ in range(ROUNDS)]
    found = {}
    for name in calls:
        times = sorted(itertools.chain.from_iterable(one[name][0] for one in rounds))
        took, used = (sum(one[name][part] for one in rounds) for part in (1, 2))
        p99 = times[int(len(times) * 0.99)]
        found[name] = len(times) / took, statistics.median(times) * 1000, p99 * 1000, used / len(times) * 1000
    return found


def own_bench(binary, url, clients, seconds):
    """The server's own load generator, in C++."""
    command = [binary, "bench", "claims", "--store", url, "--clients", str(clients), "--seconds", str(math.ceil(seconds)), "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("once")
    arguments.add_argument("--seconds", type=float, default=3)
    given = arguments.parse_args()
    numbers = itertools.count()
    missed = False
    with tempfile.TemporaryDirectory() as directory:
        server = subprocess.Popen([given.once, "serve", "--store", f"rocksdb:{directory}/store?durability=relaxed",
                                   "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
        try:
            url = server.stdout.readline().split()[2]
            client = once.connect(url)
            bare = httpx.Client(limits=httpx.Limits(max_connections=None), trust_env=False)

            def no_delay(event, info):
                if event.endswith("connect_tcp.complete"):
                    info["return_value"].get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

            def bare_call(extensions):
                def call():
                    body = json.dumps({"request": f"r-{next(numbers)}", "lease": "30s", "ttl": "24h", "owner": "bench"})
                    bare.post(f"{url}/v1/claims/bare-{next(numbers)}", content=body,
                              headers={"Content-Type": "application/json"}, extensions=extensions).json()
                return call

            calls = {
                "bare httpx": lambda: bare_call({"trace": no_delay}),
                "claim": lambda: lambda: client.claim(f"claim-{next(numbers)}").take(),
                "run": lambda: lambda: client.run(f"run-{next(numbers)}", lambda attempt: 1),
            }
            for make_call in calls.values():
                measure(make_call, 50, 0.2)  # Connections are there.
            print(f"{'':12} {'threads':>7} {'a second':>9} {'p50 ms':>8} {'p99 ms':>8} {'CPU ms':>7} {'a call / bare':>13} target")
            for threads in (1, 50):
                bare_p50 = None
                own = own_bench(given.once, url, threads, given.seconds)
                print(f"{'once bench':12} {threads:7} {own['per_second']:9.0f} {own['p50_ms']:8.2f} {own['p99_ms']:8.2f}")
                for name, (rate, p50, p99, cpu) in in_turns(calls, threads, given.seconds).items():
                    row = f"{name:12} {threads:7} {rate:9.0f} {p50:8.2f} {p99:8.2f} {cpu:7.2f}"
                    if bare_p50 is None:
                        bare_p50 = p50
                        print(row)
                        continue
                    ratio = p50 / bare_p50 / (2 if name == "run" else 1)
                    missed |= ratio > TARGET
                    print(f"{row} {ratio:13.2f} {TARGET:6.2f} {'MISSED' if ratio > TARGET else 'met'}", flush=True)
        finally:
            server.terminate()
            server.wait(30)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
