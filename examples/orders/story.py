#!/usr/bin/python3
"""story.py [--messages N] [--workers N] ONCE: a shop whose messages come twice and whose processes are killed, in two ways.

Starts a PostgreSQL of its own, and `ONCE serve` on it. Kills workers at every point, the server and backends of the database
with SIGKILL while N orders are worked on. Ends with 0 if every order was placed once by the transaction that has it all, and if
the usual two steps were found to fail.
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import pwd
import queue
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import psycopg2

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "clients" / "python" / "src"))
import once  # noqa: E402

ITEMS = 10
IN_STOCK = 100_000
POINTS = {
    "prepared": ["begun", "prepared", "placed", "applied", "committed", "recorded"],
    "two-step": ["begun", "placed", "between", "committed", "recorded"],
}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def until(done, what, seconds=60):
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise SystemExit(f"{what} took more than {seconds} s")
        time.sleep(0.05)


class Database:
    """A PostgreSQL of this program's own. It is not run by root, which it refuses."""

    def __init__(self, directory):
        self.port = free_port()
        self.address = f"host=127.0.0.1 port={self.port} user=shop dbname=postgres"
        self.url = f"postgres://shop@127.0.0.1:{self.port}/postgres?schema=once"
        data = directory / "database"
        data.mkdir()
        user = []
        if os.getuid() == 0:
            found = pwd.getpwnam("postgres")
            for path in (directory, data):
                os.chown(path, found.pw_uid, found.pw_gid)
            user = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
        programs = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        quiet = dict(cwd=data, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run([*user, programs / "initdb", "-A", "trust", "-U", "shop", "-D", data], check=True, **quiet)
        self.process = subprocess.Popen(
            [*user, programs / "postgres", "-D", data, "-p", str(self.port), "-c", "listen_addresses=127.0.0.1",
             "-c", "unix_socket_directories=", "-c", "restart_after_crash=on"], **quiet)
        until(self.answers, "starting PostgreSQL")

    def answers(self):
        with contextlib.suppress(psycopg2.OperationalError):
            psycopg2.connect(self.address).close()
            return True
        return False

    def rows(self, sql, *values):
        connection = psycopg2.connect(self.address)
        try:
            with connection, connection.cursor() as cursor:
                cursor.execute(sql, values)
                return cursor.fetchall() if cursor.description else []
        finally:
            connection.close()

    def kill_backend(self):
        """All others end with it: the server starts again, as after a crash."""
        with contextlib.suppress(psycopg2.OperationalError):
            found = self.rows("select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()")
            if found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(random.choice(found)[0], signal.SIGKILL)

    def stop(self):
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()


class Server:
    """`once serve`, which is started again when it was killed."""

    def __init__(self, binary, store):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.command = [binary, "serve", "--store", store, "--listen", f"127.0.0.1:{self.port}"]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(self.is_ready, "starting once serve")

    def is_ready(self):
        if self.process.poll() is not None:  # The database was not there when it started.
            self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with contextlib.suppress(OSError):
            return urllib.request.urlopen(self.url + "/healthz", timeout=1).status == 200
        return False

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.start()

    def stop(self):
        self.process.kill()
        self.process.wait()


class Shop:
    """Messages that are delivered at least once, and workers that are replaced when they die."""

    def __init__(self, way, count, workers, database, server):
        self.command = [sys.executable, str(HERE / "worker.py"), way, database.address, server.url]
        self.messages = queue.Queue()
        self.left = collections.Counter()
        self.workers = {}
        self.lock = threading.Lock()
        points = POINTS[way]
        for number in range(count):
            order = {"id": f"{way}-{number}", "item": f"item-{number % ITEMS}", "quantity": 1 + number % 3}
            for copy in range(2 if number % 5 == 0 else 1):
                dies = copy == 0 and number % 4 == 0
                self.put({**order, "die": points[number // 4 % len(points)]} if dies else order)
        self.threads = [threading.Thread(target=self.work, args=(number,)) for number in range(workers)]

    def put(self, order):
        with self.lock:
            self.left[order["id"]] += 1
        self.messages.put(order)

    def work(self, number):
        worker = None
        while self.left:
            try:
                order = self.messages.get(timeout=0.2)
            except queue.Empty:
                continue
            if worker is None:
                worker = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                self.workers[number] = worker
            with contextlib.suppress(BrokenPipeError):
                worker.stdin.write(json.dumps(order) + "\n")
                worker.stdin.flush()
            if worker.stdout.readline():
                with self.lock:
                    self.left[order["id"]] -= 1
                    self.left += collections.Counter()  # Without those that are done.
            else:  # It died before it acknowledged: the message comes again.
                worker.wait()
                worker = None
                self.messages.put({**order, "die": None})
        if worker is not None:
            worker.stdin.close()
            worker.wait()

    def run(self, disasters):
        for thread in self.threads:
            thread.start()
        total, done = sum(self.left.values()), 0
        while any(thread.is_alive() for thread in self.threads):
            time.sleep(0.05)
            if disasters and total - sum(self.left.values()) >= done + total // 8:
                done += total // 8
                disasters.pop(0)(self)

    def kill_worker(self):
        worker = random.choice(list(self.workers.values()))
        worker.kill()


def play(way, arguments, database, server):
    """The same disasters for both ways. What is wrong afterwards."""
    database.rows("create table orders (number serial, message text, item text, quantity integer)")
    database.rows("create table stock (item text primary key, quantity integer)")
    database.rows(f"insert into stock select 'item-' || n, {IN_STOCK} from generate_series(0, {ITEMS - 1}) n")
    disasters = [lambda _: server.kill(), lambda _: database.kill_backend(), Shop.kill_worker] * 2
    began = time.monotonic()
    Shop(way, arguments.messages, arguments.workers, database, server).run(disasters)
    until(database.answers, "starting PostgreSQL again")
    until(server.is_ready, "starting once serve again")
    wrong = audit(way, arguments.messages, database, once.connect(server.url))
    print(f"{way}: {arguments.messages} orders in {time.monotonic() - began:.0f} s; {wrong or 'all right'}", flush=True)
    database.rows("drop table orders, stock")
    return wrong


def audit(way, count, database, client):
    wrong = []
    wanted = sum(1 + number % 3 for number in range(count))
    (placed, different), = database.rows("select count(*), count(distinct message) from orders")
    (left,), = database.rows("select sum(quantity) from stock")
    if different != count:
        wrong.append(f"{count - different} orders are missing")
    if placed != different:
        wrong.append(f"{placed - different} orders were placed twice")
    if left != ITEMS * IN_STOCK - wanted:
        wrong.append(f"{ITEMS * IN_STOCK - wanted - left} too many taken from stock")
    sold = [event.data for item in range(ITEMS) for event in client.log(f"sold-item-{item}").read(limit=10_000)]
    sold = [number for number in sold if number.startswith(way)]
    if sorted(sold) != sorted(f"{way}-{number}" for number in range(count)):
        wrong.append(f"{len(sold)} in the logs")
    for item in range(ITEMS):
        client.log(f"sold-item-{item}").close()
        client.log(f"sold-item-{item}").delete()
    revenue = client.tally("revenue").value()
    client.tally("revenue").delete()
    if revenue != wanted:
        wrong.append(f"a revenue of {revenue}, not {wanted}")
    return ", ".join(wrong)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("once")
    parser.add_argument("--messages", type=int, default=1000 if os.environ.get("ONCE_LONG") else 200)
    parser.add_argument("--workers", type=int, default=4)
    arguments = parser.parse_args()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="orders-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        database = Database(directory)
        stack.callback(database.stop)
        subprocess.run([arguments.once, "table", "create", "--store", database.url], check=True)
        server = Server(arguments.once, database.url)
        stack.callback(server.stop)
        one_transaction = play("prepared", arguments, database, server)
        arguments.messages = min(arguments.messages, 100)  # Enough to see it.
        two_steps = play("two-step", arguments, database, server)
    if one_transaction:
        raise SystemExit("one transaction was not enough")
    if not two_steps:
        raise SystemExit("two steps went well, so that the story shows nothing")


if __name__ == "__main__":
    main()
