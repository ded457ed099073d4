#!/usr/bin/python3
"""worker.py prepared|two-step DATABASE SERVER: takes orders, a line of JSON each, and prints the id of each that is done.

An order is a row of `orders` and takes from `stock`, both in the shop's own tables. Of each item there is a log of what was
sold, and of everything the revenue, both in Once.
"""
import contextlib
import json
import os
import pathlib
import signal
import sys
import time

import psycopg2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients" / "python" / "src"))
import once  # noqa: E402

AGAIN = ("ON410", "ON412", "40001", "40P01", "55P03")  # Too old, no longer so; a race, a deadlock, a lock held for long.


class Shop:
    """The shop's own database."""

    def __init__(self, address):
        self.address = address
        self.connection = None

    @contextlib.contextmanager
    def transaction(self):
        while self.connection is None or self.connection.closed:
            with contextlib.suppress(psycopg2.OperationalError):  # It may be starting again.
                self.connection = psycopg2.connect(self.address)
                break
            time.sleep(0.1)
        with self.connection, self.connection.cursor() as cursor:
            yield cursor


def place(cursor, order):
    """What the shop did before it knew of Once. Nothing in it notices that an order comes twice."""
    cursor.execute("insert into orders (message, item, quantity) values (%(id)s, %(item)s, %(quantity)s)", order)
    cursor.execute("update stock set quantity = quantity - %(quantity)s where item = %(item)s", order)


def may_try_again(error):
    return error.pgcode in AGAIN or isinstance(error, (psycopg2.OperationalError, psycopg2.InterfaceError))


def prepared(attempt, order, shop):
    """The order and "this order is done" are one transaction."""
    attempt.effects.append(f"sold-{order['item']}", order["id"]).add("revenue", order["quantity"])
    while True:
        token = attempt.prepare(order["id"])
        die_at("prepared", order)
        if token is None:
            return  # The transaction that seemed lost has committed.
        try:
            with shop.transaction() as cursor:
                place(cursor, order)
                die_at("placed", order)
                cursor.execute("select once.apply(%s)", [token])
                die_at("applied", order)
            return
        except psycopg2.Error as error:
            if not may_try_again(error):
                raise


def two_step(attempt, order, shop):
    """The usual way: first the one, then the other."""
    while True:
        try:
            with shop.transaction() as cursor:
                place(cursor, order)
                die_at("placed", order)
            break
        except psycopg2.Error as error:
            if not may_try_again(error):
                raise
    die_at("between", order)
    attempt.effects.append(f"sold-{order['item']}", order["id"]).add("revenue", order["quantity"])
    return order["id"]


def die_at(point, order):
    """For the story: as kill -9 at this point."""
    if order.get("die") == point:
        os.kill(os.getpid(), signal.SIGKILL)


def main():
    way, address, server = sys.argv[1:]
    work = prepared if way == "prepared" else two_step
    shop, client = Shop(address), once.connect(server)

    def begin(attempt, order):
        die_at("begun", order)
        result = work(attempt, order, shop)
        die_at("committed", order)
        return result

    for line in sys.stdin:
        order = json.loads(line)
        while True:
            try:
                client.run(f"order-{order['id']}", lambda attempt: begin(attempt, order), lease="3s", wait="60s")
                break
            except (once.Fenced, once.Busy, once.Unavailable, once.Unknown):
                pass  # Whatever became of it, the next try finds out.
        die_at("recorded", order)
        print(order["id"], flush=True)


if __name__ == "__main__":
    main()
