#!/usr/bin/python3
"""Against a real server that is killed, behind a relay that loses every twentieth answer."""
import asyncio
import os
import random
import threading
import unittest

from harness import Relay, Server, wait_until

import once

KEYS = 200
WORKERS = 16
RACERS = 4  # Of each key.
KILLS = 10
UPDATERS = 30
LONG = 200  # Seconds that updaters of one document may take on a machine that stalls: each waits for all others.
LEASE = "30s"  # Longer than a server takes to come back on a machine that stalls: nobody dies here but the server.


class Held:
    """Who believes to hold which key."""

    def __init__(self):
        self.lock = threading.Lock()
        self.attempts = {}
        self.worked = {}
        self.twice = []

    def work(self, attempt):
        key = attempt.key
        with self.lock:
            before = self.attempts.get(key)
            if before is not None and not before.lost.is_set() and before.lease_left > 0:
                self.twice.append(key)
            self.attempts[key] = attempt
            self.worked[key] = self.worked.get(key, 0) + 1
        attempt.effects.append("effects", key).add("sum", 1)
        with self.lock:
            if self.attempts.get(key) is attempt and not attempt.lost.is_set():
                del self.attempts[key]
        return f"done {key}"


class Race(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.end)

    def test_each_effect_happens_once_although_the_server_dies_and_answers_are_lost(self):
        turns = [f"key-{n}" for n in range(KEYS)] * RACERS
        random.Random(4711).shuffle(turns)
        held, lock, outcomes, failures = Held(), threading.Lock(), [], []
        followed = []

        with Relay(self.server.port, 20) as relay:
            client = once.connect(relay.url, timeout="5s")

            def worker():
                while True:
                    with lock:
                        if not turns:
                            return
                        key = turns.pop()
                    try:
                        outcome = client.run(key, held.work, lease=LEASE, wait="60s")
                        with lock:
                            outcomes.append((key, outcome))
                    except Exception as error:
                        with lock:
                            failures.append((key, repr(error)))

            def follower():
                direct = once.connect(self.server.url)
                for event in direct.log("effects").follow(limit=KEYS):
                    followed.append((event.index, event.data))

            threads = [threading.Thread(target=worker) for _ in range(WORKERS)]
            following = threading.Thread(target=follower, daemon=True)
            for thread in [*threads, following]:
                thread.start()
            for kill in range(KILLS):
                wanted = (kill + 1) * KEYS * RACERS // (KILLS + 2)
                wait_until(lambda: len(outcomes) + len(failures) >= wanted)
                self.server.kill()
                self.server.start()
            for thread in threads:
                thread.join(120)
            following.join(60)

        self.assertEqual(failures, [])
        self.assertEqual(len(outcomes), KEYS * RACERS)
        self.assertTrue(all(outcome.result == f"done {key}" for key, outcome in outcomes))
        self.assertEqual(held.twice, [])
        self.assertEqual(set(held.worked), {f"key-{n}" for n in range(KEYS)})
        direct = once.connect(self.server.url)
        events = direct.log("effects").read(limit=1000)
        self.assertEqual(sorted(event.data for event in events), sorted(f"key-{n}" for n in range(KEYS)))
        self.assertEqual(direct.tally("sum").value(), KEYS)
        self.assertEqual(followed, [(event.index, event.data) for event in events])
        self.assertEqual([index for index, _ in followed], list(range(1, KEYS + 1)))

    def test_updaters_of_one_document_lose_nothing(self):
        with Relay(self.server.port, 20) as relay:
            client = once.connect(relay.url, timeout="5s", patience=LONG)

            def update(name):
                client.document("shared").update(lambda v: {**(v or {}), name: (v or {}).get(name, 0) + 1})

            threads = [threading.Thread(target=update, args=(f"u{n}",)) for n in range(UPDATERS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(LONG)
        self.assertEqual(once.connect(self.server.url).document("shared").get().value,
                         {f"u{n}": 1 for n in range(UPDATERS)})

    def test_the_same_under_asyncio(self):
        turns = [f"key-{n}" for n in range(KEYS)] * RACERS
        random.Random(4711).shuffle(turns)
        held, outcomes = Held(), []

        async def work(attempt):
            await asyncio.sleep(0)
            return held.work(attempt)

        async def worker(client):
            while turns:
                key = turns.pop()
                outcomes.append((key, await client.run(key, work, lease=LEASE, wait="60s")))

        async def update(client, name):
            await client.document("shared").update(lambda v: {**(v or {}), name: (v or {}).get(name, 0) + 1})

        async def follower():
            async with once.connect_async(self.server.url) as direct:
                return [(event.index, event.data) async for event in direct.log("effects").follow(limit=KEYS)]

        def restart():
            self.server.kill()
            self.server.start()

        async def killer():
            for kill in range(KILLS):
                while len(outcomes) < (kill + 1) * KEYS * RACERS // (KILLS + 2):
                    await asyncio.sleep(0.01)
                await asyncio.get_running_loop().run_in_executor(None, restart)

        async def main(url):
            async with once.connect_async(url, timeout="5s", patience=LONG) as client:
                followed, *_ = await asyncio.wait_for(
                    asyncio.gather(follower(), killer(), *(worker(client) for _ in range(WORKERS))), LONG)
                await asyncio.gather(*(update(client, f"u{n}") for n in range(UPDATERS)))
                return followed

        with Relay(self.server.port, 20) as relay:
            followed = asyncio.run(main(relay.url))
        direct = once.connect(self.server.url)
        self.assertEqual([outcome.result for _, outcome in outcomes], [f"done {key}" for key, _ in outcomes])
        self.assertEqual((len(outcomes), sum(not outcome.replayed for _, outcome in outcomes)), (KEYS * RACERS, KEYS))
        self.assertEqual((held.twice, len(held.worked)), ([], KEYS))
        self.assertEqual(sorted(data for _, data in followed), sorted(f"key-{n}" for n in range(KEYS)))
        self.assertEqual([index for index, _ in followed], list(range(1, KEYS + 1)))
        self.assertEqual(direct.tally("sum").value(), KEYS)
        self.assertEqual(direct.document("shared").get().value, {f"u{n}": 1 for n in range(UPDATERS)})

    def test_forked_processes_share_nothing_but_the_server(self):
        client = once.connect(self.server.url)
        client.run("before the fork", lambda attempt: 1)  # Leaves a connection and a pool behind.
        children = []
        for child in range(6):
            pid = os.fork()
            if pid == 0:
                os._exit(self.child(client, child))
            children.append(pid)
        for n in range(10):
            client.run(f"shared-{n}", self.append, wait="60s")
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
        self.assertEqual(codes, [0] * 6)
        data = [event.data for event in client.log("forks").read(limit=1000)]
        self.assertEqual(sorted(data), sorted([f"shared-{n}" for n in range(10)] +
                                              [f"own-{c}-{n}" for c in range(6) for n in range(5)]))

    @staticmethod
    def append(attempt):
        attempt.effects.append("forks", attempt.key)
        return os.getpid()

    def child(self, client, number):
        try:
            threads = [threading.Thread(target=client.run, args=(f"own-{number}-{n}", self.append)) for n in range(5)]
            for thread in threads:
                thread.start()
            for n in range(10):
                client.run(f"shared-{n}", self.append, wait="60s")
            for thread in threads:
                thread.join(120)
            return 0
        except BaseException:
            import traceback

            traceback.print_exc()
            return 1


if __name__ == "__main__":
    unittest.main(verbosity=2)
