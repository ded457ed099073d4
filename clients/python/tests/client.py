#!/usr/bin/python3
"""The client's own behaviour, against a real server."""
import asyncio
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
import urllib.error
import urllib.request
from datetime import timedelta

from harness import BINARY, PATIENCE, ROOT, Relay, Server, wait_until

import once

HERE = pathlib.Path(__file__).resolve().parent


LONG_LEASE = "9s"  # Of what waits for a renewal, which is due after a third: long enough for a machine that stalls.


def setUpModule():
    global server
    server = Server()
    # How long an outcome is still recorded after an interruption: a machine that runs tests may stall for longer than users
    # are made to wait.
    once._lease._WHEN_INTERRUPTED = once._guard._WHEN_INTERRUPTED = PATIENCE


def tearDownModule():
    server.end()


@dataclasses.dataclass
class Receipt:
    number: int
    note: str = ""


class Runs(unittest.TestCase):
    def setUp(self):
        self.client = once.connect(server.url, namespace=f"t-{os.urandom(6).hex()}")
        self.addCleanup(self.client.close)

    def test_a_run_is_done_once_and_replayed(self):
        first = self.client.run("invoice-42", lambda attempt: {"fence": attempt.fence, "attempt": attempt.attempt})
        again = self.client.run("invoice-42", lambda attempt: self.fail("it ran again"))
        self.assertFalse(first.replayed)
        self.assertTrue(again.replayed)
        self.assertEqual(first.result, again.result)
        self.assertEqual(first.result["attempt"], 1)

    def test_what_the_first_run_returns_is_what_a_replay_returns(self):
        first = self.client.run("k", lambda attempt: (1, Receipt(2)))
        self.assertEqual(first.result, [1, {"number": 2, "note": ""}])
        self.assertEqual(self.client.run("k", lambda attempt: 0).result, first.result)

    def test_results_become_their_type_again(self):
        for replayed in (False, True):
            outcome = self.client.run("k", lambda attempt: Receipt(7, "x"), returns=Receipt)
            self.assertEqual((outcome.result, outcome.replayed), (Receipt(7, "x"), replayed))

    def test_a_result_that_is_no_json_frees_the_key(self):
        with self.assertRaises(once.Invalid):
            self.client.run("k", lambda attempt: object())
        self.assertEqual(self.client.run("k", lambda attempt: 1).result, 1)

    def test_work_that_raises_frees_the_key(self):
        with self.assertRaises(ZeroDivisionError):
            self.client.run("k", lambda attempt: 1 / 0)
        self.assertFalse(self.client.run("k", lambda attempt: 1).replayed)

    def test_giving_up_is_final_even_if_the_work_swallows_it(self):
        def work(attempt):
            try:
                attempt.give_up({"why": "no funds"})
            except Exception:
                return "went on"

        for _ in range(2):
            with self.assertRaises(once.OnceError) as caught:
                self.client.run("k", work)
            self.assertEqual((caught.exception.code, caught.exception.failure), ("failed", {"why": "no funds"}))

    def test_busy_tells_who_and_until_when(self):
        def outer(attempt):
            with self.assertRaises(once.Busy) as caught:
                self.client.run("k", lambda inner: 1)
            return [caught.exception.code, bool(caught.exception.owner), bool(caught.exception.lease_until)]

        self.assertEqual(self.client.run("k", outer).result, ["busy", True, True])

    def test_waiting_ends_when_the_other_is_done(self):
        started, go_on = threading.Event(), threading.Event()

        def slow(attempt):
            started.set()
            go_on.wait(PATIENCE)
            return "first"

        thread = threading.Thread(target=self.client.run, args=("k", slow))
        thread.start()
        started.wait(PATIENCE)
        results = []
        waiter = threading.Thread(target=lambda: results.append(self.client.run("k", slow, wait="60s")))
        waiter.start()
        go_on.set()
        thread.join(PATIENCE)
        waiter.join(PATIENCE)
        self.assertEqual([(one.result, one.replayed) for one in results], [("first", True)])

    def test_another_payload_is_a_mismatch(self):
        self.client.run("k", lambda attempt: 1, payload="a")
        with self.assertRaises(once.Mismatch):
            self.client.run("k", lambda attempt: 1, payload="b")

    def test_a_lease_that_is_lost_is_told_to_the_work(self):
        def work(attempt):
            self.client.claim("k").forget()
            self.assertTrue(attempt.lost.wait(PATIENCE))
            attempt.check()

        with self.assertRaises(once.Fenced):
            self.client.run("k", work, lease="3s")

    def test_a_long_work_keeps_its_lease(self):
        def work(attempt):
            claim = self.client.claim("k")
            first_end = claim.get().lease_until
            while claim.get().lease_until < first_end + timedelta(seconds=5):  # Until it was renewed twice.
                attempt.check()
                time.sleep(0.02)
            return claim.get().state

        self.assertEqual(self.client.run("k", work, lease=LONG_LEASE).result, "busy")

    def test_effects_are_all_or_nothing(self):
        etag = self.client.document("doc").put({"n": 1}, create=True)
        self.client.document("doc").put({"n": 2}, if_match=etag)

        def work(attempt):
            attempt.effects.append("ledger", {"n": 1}).add("revenue", 1900).put("doc", {"n": 3}, if_match=etag)

        with self.assertRaises(once.PreconditionFailed):
            self.client.run("k", work)
        self.assertEqual(len(self.client.log("ledger").read()), 0)
        self.assertIsNone(self.client.tally("revenue").value())

        def better(attempt):
            attempt.effects.append("ledger", {"n": 1}).add("revenue", 1900).put("doc", {"n": 3})
            return "ok"

        self.assertFalse(self.client.run("k", better).replayed)  # The key was free at once.
        self.assertEqual(self.client.document("doc").get().value, {"n": 3})
        self.assertEqual(self.client.tally("revenue").value(), 1900)

    def test_the_decorator_runs_once_for_each_key(self):
        calls = []

        @self.client.idempotent(key=lambda invoice: f"invoice-{invoice['id']}")
        def pay(invoice):
            calls.append(invoice)
            once.current_attempt().effects.add("paid", invoice["cents"])
            return {"paid": invoice["id"]}

        self.assertEqual([pay({"id": 1, "cents": 5}), pay({"id": 1, "cents": 5}), pay({"id": 2, "cents": 6})],
                         [{"paid": 1}, {"paid": 1}, {"paid": 2}])
        self.assertEqual(len(calls), 2)
        self.assertEqual(pay.__name__, "pay")
        self.assertEqual(self.client.tally("paid").value(), 11)

    def test_the_decorator_of_a_blocking_client_takes_coroutines(self):
        calls = []

        @self.client.idempotent(key=lambda n: f"n-{n}")
        async def work(n):
            calls.append(n)
            return once.current_attempt().key

        async def main():
            return [await work(1), await work(1)]

        self.assertEqual(asyncio.run(main()), ["n-1", "n-1"])
        self.assertEqual(asyncio.run(main()), ["n-1", "n-1"])  # Another loop.
        self.assertEqual(calls, [1])

    def test_notices_tell_of_requests_and_runs_and_a_hook_that_raises_harms_nothing(self):
        notices = []

        def hook(notice):
            notices.append(notice)
            raise RuntimeError("a bad hook")

        client = once.connect(server.url, namespace="notices", on_notice=hook)
        with self.assertLogs("once", "ERROR"):
            client.run("k", lambda attempt: 1)
        self.assertEqual([notice.name for notice in notices], ["request", "request", "run"])
        self.assertEqual(notices[0].fields["status"], 201)
        self.assertEqual(notices[2].fields["outcome"], "executed")

    def test_spans_and_the_trace_header_if_opentelemetry_is_there(self):
        spans, seen = [], []

        class Span:
            def __init__(self, name):
                self.name = name

            def __enter__(self):
                spans.append(self.name)

            def __exit__(self, *_):
                pass

        trace = types.ModuleType("opentelemetry.trace")
        trace.get_tracer = lambda name: types.SimpleNamespace(
            start_as_current_span=lambda name, attributes: Span((name, attributes["once.key"])))
        propagate = types.ModuleType("opentelemetry.propagate")
        propagate.inject = lambda headers: (headers.update(traceparent="00-1-2-01"), seen.append(1))
        package = types.ModuleType("opentelemetry")
        modules = {"opentelemetry": package, "opentelemetry.trace": trace, "opentelemetry.propagate": propagate}
        with unittest.mock.patch.dict(sys.modules, modules):
            client = once.connect(server.url, namespace="spans")
        client.run("k", lambda attempt: 1)
        self.assertEqual(spans, [("once.run", "k")])
        self.assertEqual(len(seen), 2)


class Awaited(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.client = await once.connect_async(server.url, namespace=f"a-{os.urandom(6).hex()}")

    async def asyncTearDown(self):
        await self.client.aclose()

    async def test_work_is_cancelled_when_the_lease_is_lost(self):
        ended = []

        async def work(attempt):
            await self.client.claim("k").forget()
            try:
                await asyncio.sleep(PATIENCE)
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

        with self.assertRaises(once.Fenced):
            await self.client.run("k", work, lease="3s")
        self.assertEqual(ended, ["cancelled"])

    async def test_cancelling_the_run_cancels_the_work_and_frees_the_key(self):
        started = asyncio.Event()

        async def work(attempt):
            started.set()
            await asyncio.sleep(30)

        run = asyncio.create_task(self.client.run("k", work))
        await started.wait()
        run.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await run
        self.assertFalse((await self.client.run("k", lambda attempt: 1)).replayed)

    async def test_cancelling_a_run_while_its_claim_is_taken_leaves_the_key_free(self):
        async with HeldAnswers() as held:
            through = once.connect_async(held.url, namespace=self.client._core.headers["Once-Namespace"])
            run = asyncio.create_task(through.run("k", lambda attempt: self.fail("it ran")))
            await held.answered.wait()
            run.cancel()
            held.go.set()
            with self.assertRaises(asyncio.CancelledError):
                await run
            self.assertIsNone(await self.client.claim("k").get())
            await through.aclose()

    async def test_all_nouns_are_awaitable(self):
        self.assertEqual(await self.client.seen(["a", "b", "a"]), [True, True, False])
        self.assertEqual((await self.client.log("l").append([1, 2])).first, 1)
        self.assertEqual([event.data async for event in self.client.log("l").follow(limit=2)], [1, 2])
        await self.client.document("d").put({"n": 1}, create=True)
        self.assertEqual((await self.client.document("d").update(lambda v: {**v, "m": 2})).value, {"n": 1, "m": 2})
        await self.client.tally("t").count()
        self.assertEqual(await self.client.tally("t").value(), 1)

    async def test_work_that_blocks_the_loop_keeps_its_lease(self):
        async def work(attempt):
            before, until = len(renewals), time.monotonic() + PATIENCE
            while len(renewals) == before:  # Nothing else of this loop runs meanwhile.
                attempt.check()
                self.assertLess(time.monotonic(), until, "it was not renewed")
                time.sleep(0.01)
            return attempt.attempt

        renewals = []
        client = once.connect_async(server.url, namespace=f"a-{os.urandom(6).hex()}",
                                    on_notice=lambda notice: notice.name == "renewed" and renewals.append(notice))
        self.assertEqual((await client.run("k", work, lease=LONG_LEASE)).result, 1)
        await client.aclose()

    async def test_a_plain_function_runs_on_a_thread(self):
        @self.client.idempotent(key=lambda n: f"n-{n}")
        def work(n):
            return threading.current_thread() is threading.main_thread()

        self.assertIs(await work(1), False)


class HeldAnswers:
    """Passes requests on to the server, and holds the answers until `go` is set."""

    async def __aenter__(self):
        self.answered, self.go, self._tasks = asyncio.Event(), asyncio.Event(), []
        self._listener = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self.url = "http://127.0.0.1:%d" % self._listener.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._listener.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _pass_on(self, reader, writer):
        answers, requests = await asyncio.open_connection("127.0.0.1", server.port)
        self._tasks += [asyncio.create_task(self._copy(reader, requests)),
                        asyncio.create_task(self._copy(answers, writer, self.go))]

    async def _copy(self, reader, writer, go=None):
        while piece := await reader.read(65536):
            if go is not None:
                self.answered.set()
                await go.wait()
            writer.write(piece)
        writer.close()


class Asgi(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.client = once.connect_async(server.url, namespace=f"g-{os.urandom(6).hex()}")
        self.calls = 0
        self.sends = [(b"did it", False)]
        self.during = None

    async def asyncTearDown(self):
        await self.client.aclose()

    async def app(self, scope, receive, send):
        self.calls += 1
        body = (await receive())["body"]
        if self.during:
            await self.during()
        headers = [(b"content-type", b"text/plain"), (b"set-cookie", b"a=b")]
        await send({"type": "http.response.start", "status": 201, "headers": headers})
        for piece, more in self.sends:
            await send({"type": "http.response.body", "body": body + piece, "more_body": more})

    async def ask(self, key=b"k", body=b"", **rules):
        sent = []
        scope = {"type": "http", "method": "POST", "path": "/pay", "raw_path": b"/pay", "query_string": b"a=1",
                 "headers": [(b"idempotency-key", key)] if key else []}

        async def receive():
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message):
            sent.append(message)

        await once.asgi(self.app, self.client, **rules)(scope, receive, send)
        headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], headers, b"".join(message.get("body", b"") for message in sent[1:])

    async def test_an_answer_is_replayed_without_cookies(self):
        status, headers, body = await self.ask(body=b"x")
        self.assertEqual((status, body, headers["set-cookie"]), (201, b"xdid it", "a=b"))
        status, headers, body = await self.ask(body=b"x")
        self.assertEqual((status, body, headers.get("set-cookie")), (201, b"xdid it", None))
        self.assertEqual((headers["idempotent-replayed"], self.calls), ("true", 1))
        self.assertEqual((await self.ask(body=b"y"))[0], 422)
        self.assertEqual((await self.ask(key=None, require_key=True))[0], 400)
        self.assertEqual((await self.ask(key=None))[0], 201)

    async def test_a_long_answer_is_sent_as_it_comes_and_not_done_again(self):
        self.sends = [(b"a" * 100, True), (b"b" * 100, True), (b"c", False)]
        self.assertEqual((await self.ask(max_answer=50))[2], b"a" * 100 + b"b" * 100 + b"c")
        status, _, body = await self.ask(max_answer=50)
        self.assertEqual((status, json.loads(body)["upstream_bytes"], self.calls), (409, 201, 1))

    async def test_a_request_that_was_cancelled_is_unknown_until_it_is_forgotten(self):
        started = asyncio.Event()

        async def hang():
            started.set()
            await asyncio.sleep(60)

        self.during = hang
        first = asyncio.create_task(self.ask())
        await started.wait()
        self.assertEqual((await self.ask())[0], 409)
        first.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await first
        self.during = None
        status, _, body = await self.ask()
        self.assertEqual((status, json.loads(body)["code"]), (502, "unknown"))
        await self.client.claim(json.loads(body)["claim"]).forget()
        self.assertEqual((await self.ask())[0], 201)

    async def test_a_caller_that_hangs_up_while_its_claim_is_taken_leaves_the_key_free(self):
        # Some frameworks cancel once, others whenever the request awaits something.
        for key, cancels in ((b"once", 1), (b"again", 3)):
            async with HeldAnswers() as held:
                direct, namespace = self.client, self.client._core.headers["Once-Namespace"]
                self.client = once.connect_async(held.url, namespace=namespace)
                first = asyncio.create_task(self.ask(key))
                await held.answered.wait()
                for _ in range(cancels):
                    first.cancel()
                    await asyncio.sleep(0)
                held.go.set()
                with self.assertRaises(asyncio.CancelledError):
                    await first
                self.assertEqual(self.calls, 0)
                async with asyncio.timeout(PATIENCE):
                    while await direct.claims(prefix="http/"):
                        await asyncio.sleep(0.01)
                await self.client.aclose()
                self.client = direct
            self.assertEqual((await self.ask(key))[0], 201)
            await self.client.forget_claims(prefix="http/")
            self.calls = 0


class Nouns(unittest.TestCase):
    def setUp(self):
        self.client = once.connect(server.url, namespace=f"n-{os.urandom(6).hex()}")
        self.addCleanup(self.client.close)

    def test_seen(self):
        self.assertEqual(self.client.seen(["a", "b"]), [True, True])
        self.assertEqual(self.client.seen(["b", "c"]), [False, True])
        self.assertEqual(self.client.seen([]), [])
        self.assertEqual(self.client.seen(["d"], request="r"), self.client.seen(["d"], request="r"))

    def test_logs(self):
        log = self.client.log("builds/ü")
        self.assertEqual(log.append([{"n": 1}], batch="b-1").first, 1)
        self.assertTrue(log.append([{"n": 1}], batch="b-1").replayed)
        log.append(["x", once.LogEvent("y", time="2030-01-01T00:00:00Z")])
        page = log.read()
        self.assertEqual([(event.index, event.data) for event in page], [(1, {"n": 1}), (2, "x"), (3, "y")])
        self.assertEqual(page.next, 4)
        self.assertEqual([event.index for event in log.read(order="desc", limit=1)], [3])
        with self.assertRaises(once.PreconditionFailed) as caught:
            log.append([1], expect=2)
        self.assertEqual(caught.exception.next, 4)
        self.assertEqual(log.trim(2).oldest, 2)
        self.assertEqual([event.index for event in log.follow(2, limit=2)], [2, 3])
        self.assertEqual([event.index for event in log.follow(since="2020-01-01T00:00:00Z", limit=2)], [2, 3])

    def test_documents(self):
        document = self.client.document("config")
        self.assertIsNone(document.get())
        etag = document.put({"n": 1}, create=True)
        value, got = document.get()
        self.assertEqual((value, got), ({"n": 1}, etag))
        with self.assertRaises(once.PreconditionFailed) as caught:
            document.put({}, create=True)
        self.assertEqual(caught.exception.current, etag)
        with self.assertRaises(once.Invalid):
            document.put({})
        self.assertIsNone(document.get_if_changed(etag))
        document.patch({"m": None, "k": 2})
        self.assertEqual(document.get_if_changed(etag).value, {"n": 1, "k": 2})
        with self.assertRaises(once.PreconditionFailed):
            document.delete(if_match=etag)
        self.assertTrue(document.delete())
        self.assertFalse(document.delete())
        self.client.document("raw").put(b"\x00\xff", create=True)
        self.assertEqual(self.client.document("raw").get().value, b"\x00\xff")

    def test_tallies(self):
        revenue = self.client.tally("revenue")
        self.assertIsNone(revenue.value())
        self.assertEqual(revenue.add(1900, id="invoice-42").value, 1900)
        self.assertTrue(revenue.add(1900, id="invoice-42").replayed)
        self.assertEqual(revenue.value(), 1900)
        with self.assertRaises(once.Mismatch):
            revenue.count()
        self.assertEqual(self.client.tally("high").max(5).value, 5)
        self.assertEqual(self.client.tally("low").min(-5).value, -5)
        self.client.tally("people").distinct(["a", "b", "a"])
        self.assertEqual(self.client.tally("people").value(), 2)
        self.client.tally("filter").bloom(["a"])
        self.assertTrue(self.client.tally("filter").contains("a"))
        self.assertFalse(self.client.tally("filter").contains("b"))
        self.client.tally("pages").hit(["a", "b", "a"])
        self.assertEqual(self.client.tally("pages").value()[0], once.TopItem("a", 2, 0))
        self.assertEqual(self.client.read_tallies(["revenue", "none"]), [1900, None])

    def test_a_repeat_of_a_change_is_done_although_the_document_was_deleted_since(self):
        document = once.connect(server.url, namespace=self.client._core.headers["Once-Namespace"],
                                patience="20s").document("d")
        document.put({"n": 1}, create=True, id="put")
        document.patch({"m": 2}, id="patch")
        document.delete()
        etag = document.put({"n": 1}, create=True, id="put")
        self.assertTrue(etag.replayed)
        self.assertIsNone(document.patch({"m": 2}, id="patch").value)
        self.assertIsNone(document.get())
        with self.assertRaises(once.PreconditionFailed):
            document.put({"n": 2}, if_match=etag)

    def test_a_read_that_is_lost_is_unavailable_although_it_is_a_post(self):
        with Relay(server.port, 1) as relay, once.connect(relay.url, patience="1s") as client:
            with self.assertRaises(once.Unavailable):
                client.read_tallies(["a"])
            with self.assertRaises(once.Unknown):
                client.tally("a").count()

    def test_a_server_that_is_slow_is_ready_and_one_that_refuses_is_asked_once(self):
        import http.server

        class Slow(http.server.BaseHTTPRequestHandler):
            statuses = [200, 503]

            def do_GET(self):
                status = self.statuses.pop(0)
                time.sleep(0.3)  # Slower than a server that is not busy.
                body = b'{"status": 503, "code": "unavailable"}'
                self.send_response(status)
                self.send_header("Content-Type", "application/json" if status == 200 else "application/problem+json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Slow) as slow:
            threading.Thread(target=slow.serve_forever, daemon=True).start()
            with once.connect(f"http://127.0.0.1:{slow.server_port}") as client:
                self.assertEqual([client.ready(), client.ready()], [True, False])
            self.assertEqual(Slow.statuses, [])
            slow.shutdown()

    def test_commits_by_themselves(self):
        effects = once.Effects().append("l", 1, 2).count("c").put("d", [1], create=True)
        done = self.client.commit(effects, id="c-1")
        self.assertEqual((done.replayed, done.logs[0].last), (False, 2))
        self.assertTrue(self.client.commit(effects, id="c-1").replayed)
        self.assertEqual(self.client.tally("c").value(), 1)

    def test_a_commit_under_an_id_is_known_also_after_its_documents_changed(self):
        effects = once.Effects().put("d", {"n": 1}).delete("none")
        self.assertEqual(self.client.commit(effects, id="c-1").documents[1], "")
        self.client.document("d").update(lambda value: {**value, "n": 2})
        self.assertTrue(self.client.commit(effects, id="c-1").replayed)
        self.assertEqual(self.client.document("d").get().value, {"n": 2})

    def test_an_update_of_what_does_not_exist_begins_with_an_empty_dict_or_the_default(self):
        self.assertEqual(self.client.document("a").update(lambda value: {**value, "n": 1}).value, {"n": 1})
        self.assertEqual(self.client.document("b").update(lambda value: value + [1], default=[0]).value, [0, 1])

    def test_an_interrupt_while_the_claim_is_taken_leaves_the_key_free(self):
        send = self.client._transport.send

        def interrupted(request, timeout):
            self.client._transport.send = send
            send(request, timeout)
            raise KeyboardInterrupt

        self.client._transport.send = interrupted
        with self.assertRaises(KeyboardInterrupt):
            self.client.run("k", lambda attempt: self.fail("it ran"))
        self.assertIsNone(self.client.claim("k").get())

    def test_a_coroutine_function_is_no_work_of_a_blocking_client(self):
        async def work(attempt):
            return 1

        with self.assertRaises(once.Invalid):
            self.client.run("k", work)
        self.assertEqual(self.client.run("k", lambda attempt: 2).result, 2)

    def test_a_commit_removes_what_is_there_and_patches_only_that(self):
        self.client.commit(once.Effects().delete("none").append("l", 1))
        self.assertEqual(len(self.client.log("l").read()), 1)
        with self.assertRaises(once.NotFound):
            self.client.commit(once.Effects().patch("none", {"n": 1}).append("l", 2))
        self.assertEqual(len(self.client.log("l").read()), 1)

    def has(self, path):
        """Whether the server has it already; its contract says so."""
        return f"\n  {path}:" in self.client.openapi()

    def test_claims_are_listed_retried_and_forgotten_by_prefix(self):
        if not self.has("/v1/bulk/claims/forget"):
            return
        with self.assertRaises(ValueError):
            self.client.run("a/1", lambda attempt: int("x"))
        self.assertEqual((self.client.claim("a/1").get().state, self.client.claim("a/1").get().attempt), ("free", 1))
        self.assertIn("ValueError", self.client.run("a/1", lambda attempt: attempt.previous.failure).result)
        with self.assertRaises(once.OnceError):
            self.client.run("a/2", lambda attempt: attempt.give_up("x"))
        self.assertEqual([one.key for one in self.client.claims(prefix="a/", state="failed")], ["a/2"])
        self.assertEqual(self.client.retry_claims(prefix="a/"), 1)
        self.assertEqual(self.client.run("a/2", lambda attempt: attempt.attempt).result, 2)
        self.assertEqual(self.client.forget_claims(prefix="a/", dry_run=True), 2)
        self.assertEqual(self.client.forget_claims(prefix="a/"), 2)
        self.assertEqual(self.client.claims(prefix="a/"), [])
        self.client.seen(["s"])
        self.assertEqual(self.client.seen_record("s").id, "s")
        self.assertEqual([self.client.forget_seen("s"), self.client.forget_seen("s")], [True, False])
        self.client.run("p", lambda attempt: 1, payload={"a": 1, "b": [2]})
        self.assertTrue(self.client.run("p", lambda attempt: 1, payload={"b": [2], "a": 1}).replayed)

    def test_documents_are_listed_and_deleted_by_prefix(self):
        if not self.has("/v1/docs"):
            return
        etag = self.client.document("d/1").put({"n": 1}, create=True, ttl="1h")
        self.assertEqual(self.client.documents(prefix="d/"), [once.DocumentInfo("d/1", etag, 7, "application/json")])
        self.assertEqual(self.client.delete_documents("d/"), 1)
        self.assertIsNone(self.client.document("d/1").get())

    def test_logs_are_closed_listed_and_deleted(self):
        if not self.has("/v1/logs/{stream}/close"):
            return
        log = self.client.log("l/1")
        log.append([1, once.LogEvent(2, id="i")])
        self.assertEqual(log.append([once.LogEvent(2, id="i"), 3]).indexes, [2, 3])
        self.assertEqual([(one.stream, one.next) for one in self.client.logs(prefix="l/")], [("l/1", 4)])
        self.assertEqual(log.close().next, 4)
        with self.assertRaises(once.Closed):
            log.append([4])
        self.assertTrue(log.read().closed)
        self.assertEqual([event.data for event in log.follow()], [1, 2, 3])
        self.assertEqual([log.delete(), log.delete()], [True, False])

    def test_tallies_are_listed_charted_and_deleted(self):
        if not self.has("/v1/tallies"):
            return
        self.client.tally("t/1").count(window="15m")
        self.assertEqual([(one.key, one.kind) for one in self.client.tallies(prefix="t/")], [("t/1", "count")])
        self.assertEqual([row.value for row in self.client.tally("t/1").series()], [1])
        self.assertEqual(self.client.tally("t/1").value(last="1h"), 1)
        self.client.tally("t/2").hit(["a", "b", "a"])
        self.assertEqual([one.item for one in self.client.tally("t/2").top(1)], ["a"])
        self.assertEqual([self.client.tally("t/1").delete(), self.client.tally("t/1").delete()], [True, False])

    def test_claims_by_hand(self):
        claim = self.client.claim("k")
        ticket = claim.take(owner="me", lease="1m")
        self.assertEqual(claim.get().owner, "me")
        claim.renew(ticket, "2m")
        self.assertFalse(claim.complete(ticket, {"n": 1}))
        self.assertTrue(claim.complete(ticket, {"n": 1}))
        self.assertEqual(claim.take().result, {"n": 1})
        self.assertEqual([one.key for one in self.client.claims(state="done")], ["k"])
        claim.forget()
        with self.assertRaises(once.Fenced):
            claim.renew(ticket)

    def test_claims_are_released_by_their_owner(self):
        first = self.client.claim("a").take(owner="one")
        self.client.claim("b").take(owner="two")
        self.assertEqual(self.client.release_claims(state="busy", owner="one"), 1)
        with self.assertRaises(once.Fenced):
            self.client.claim("a").renew(first)
        self.assertEqual(self.client.claim("b").get().state, "busy")

    def test_events_are_processed_once(self):
        event = {"specversion": "1.0", "id": os.urandom(4).hex(), "source": "/test", "type": "x", "data": 1}
        self.assertEqual(self.client.send_event(event).status, "processed")
        self.assertEqual(self.client.send_event(event).status, "skipped")
        self.assertEqual([one.status for one in self.client.send_events([event])], ["skipped"])

    def test_the_rest_of_the_api(self):
        self.assertEqual(self.client.tokens.list(), [])
        self.assertEqual(self.client.hot(), [])
        self.assertTrue(self.client.ready())
        self.assertIn("instance", self.client.health())
        self.assertTrue(self.client.whoami()["open"])
        self.assertIn("once_", self.client.metrics())
        self.assertIn("openapi: 3.1.0", self.client.openapi())
        self.client.seen(["a"])
        self.assertEqual(self.client.import_items(self.client.items())["imported"], 0)
        self.assertEqual(self.client.request("GET", "/healthz").status, 200)

    def test_what_is_wrong_is_told_before_anything_is_sent(self):
        client = once.connect("http://127.0.0.1:1", patience="0s")
        for wrong in (lambda: client.run("", lambda a: 1), lambda: client.run("a\n", lambda a: 1),
                      lambda: client.run("k", lambda a: 1, lease="soon"), lambda: client.seen("abc"),
                      lambda: client.document("d").put(1, create=True, id="ü"),
                      lambda: client.document("d").put(float("nan"), create=True)):
            with self.assertRaises(once.Invalid):
                wrong()
        for address in ("dynamodb://table", "localhost:7600"):
            with self.assertRaises(once.Invalid):
                once.connect(address)
        with self.assertRaises(once.Invalid):
            once.connect(server.url, token="a\nb")

    def test_a_token_can_be_in_a_file(self):
        with tempfile.NamedTemporaryFile("w") as file, unittest.mock.patch.dict(os.environ, ONCE_TOKEN_FILE=file.name):
            file.write("secret\n")
            file.flush()
            self.assertEqual(once.connect(server.url)._core.headers["Authorization"], "Bearer secret")
            file.close()
            with self.assertRaises(once.Invalid):
                once.connect(server.url)

    def test_without_an_address_it_is_the_default_store(self):
        from once._directory import default_store

        self.assertEqual(default_store({"ONCE_STORE": "http://h", "XDG_STATE_HOME": "/x"}), "http://h")
        self.assertEqual(default_store({"XDG_STATE_HOME": "/x", "HOME": "/h"}), "/x/once")
        fallback = "/var/lib/once" if os.geteuid() == 0 else "/h/.local/state/once"
        self.assertEqual(default_store({"XDG_STATE_HOME": "relative", "HOME": "/h"}), fallback)

    def test_nobody_there_is_unavailable(self):
        with self.assertRaises(once.Unavailable):
            once.connect("http://127.0.0.1:1", patience="100ms").seen(["a"])


class Directories(unittest.TestCase):
    def setUp(self):
        import tempfile

        self.home = tempfile.TemporaryDirectory(prefix="once-py-")
        self.addCleanup(self.home.cleanup)
        self.directory = f"{self.home.name}/state"
        os.environ["ONCE_BINARY"] = BINARY

    def end(self, client):
        import once._directory as started

        client.close()
        for process in started._started:
            process.terminate()
            process.wait(PATIENCE)

    def running(self):
        """The servers that this process has started. On a slow machine it may start a second one, which finds the first and ends."""
        import once._directory as started

        wait_until(lambda: sum(process.poll() is None for process in started._started) == 1)
        return [process for process in started._started if process.poll() is None]

    def test_a_server_is_found_or_started_and_started_again(self):
        client = once.connect(self.directory)
        try:
            self.assertFalse(client.run("k", lambda attempt: 1).replayed)
            again = once.connect(self.directory)
            self.assertTrue(again.run("k", lambda attempt: 1).replayed)
            self.assertEqual(again.url, client.url)
            [process] = self.running()
            process.kill()
            process.wait()
            self.assertTrue(client.run("k", lambda attempt: 1).replayed)
            self.assertEqual(asyncio.run(self.awaited()), [True])
        finally:
            self.end(client)

    def test_one_awaitable_client_works_in_several_loops(self):
        client = once.connect_async(server.url, namespace="loops")
        self.assertEqual([asyncio.run(client.seen([f"a-{n}"])) for n in range(2)], [[True], [True]])

    async def awaited(self):
        async with once.connect_async(self.directory) as client:
            return [(await client.run("k", lambda attempt: 1)).replayed]

    def test_the_token_is_not_sent_to_what_cannot_prove_itself(self):
        import socket

        client = once.connect(self.directory, token="secret")
        try:
            client.seen(["a"])
            got = []
            impostor = socket.create_server(("127.0.0.1", 0))

            def listen():
                while True:
                    try:
                        connection, _ = impostor.accept()
                    except OSError:
                        return
                    with connection:
                        got.append(connection.recv(65536))
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n"
                                           b'{"proof":"abcd"}')

            threading.Thread(target=listen, daemon=True).start()
            file = pathlib.Path(self.directory) / "server"
            lines = file.read_text().split("\n")
            client._transport.close()
            client._transport.proof = dataclasses.replace(
                client._transport.proof, url=f"http://127.0.0.1:{impostor.getsockname()[1]}")
            self.assertEqual(client.seen(["a"]), [False])  # It found the real one again.
            impostor.close()
            self.assertTrue(got)
            self.assertNotIn(b"secret", b"".join(got))
            self.assertNotIn(b"/v1/", b"".join(got))
            self.assertEqual(len(lines), 4)
        finally:
            self.end(client)

    def test_twenty_servers_at_once_are_one(self):
        command = [BINARY, "serve", "--store", self.directory, "--listen", "127.0.0.1:0", "--exit-when-idle", "10m"]
        servers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                   for _ in range(20)]
        try:
            urls = {process.stdout.readline().split(" ")[2] for process in servers}
            wait_until(lambda: sum(process.poll() is None for process in servers) == 1)
        finally:
            for process in servers:
                process.terminate()
        codes = [process.wait(PATIENCE) for process in servers]
        errors = [process.communicate()[1] for process in servers]
        self.assertEqual((len(urls), codes), (1, [0] * 20), errors)

    def test_an_idle_server_ends_and_a_busy_one_does_not(self):
        command = [BINARY, "serve", "--store", self.directory, "--listen", "127.0.0.1:0", "--exit-when-idle", "1s"]
        followed = False
        while not followed:  # On a machine that stalls a server may end before the follower is there.
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            url = process.stdout.readline().split()[2]
            with once.connect(url, patience="1s") as client:
                try:
                    first = client.log("l").append([1]).last
                    events = client.log("l").follow(first)
                    self.assertEqual(next(events).data, 1)
                    followed = True
                except (once.Unavailable, once.Unknown):
                    self.assertEqual(process.wait(PATIENCE), 0)
                    process.stdout.close()
                    continue
                time.sleep(2.5)  # Longer than it may be idle; the follower is what keeps it.
                self.assertIsNone(process.poll())
                with once.connect(url) as patient:
                    patient.log("l").append([2])
                self.assertEqual(next(events).data, 2)
                events.close()
        self.assertEqual(process.wait(PATIENCE), 0)
        process.stdout.close()
        self.assertFalse((pathlib.Path(self.directory) / "server").exists())


class Middleware(unittest.TestCase):
    def setUp(self):
        self.client = once.connect(server.url, namespace=f"m-{os.urandom(6).hex()}")
        self.addCleanup(self.client.close)
        self.calls = []

    def app(self, environ, start_response):
        body = environ["wsgi.input"].read()
        self.calls.append(body)
        status = environ.get("HTTP_X_STATUS", "201 Created")
        if status == "raise":
            raise RuntimeError("a bug")
        start_response(status, [("Content-Type", "text/plain"), ("Set-Cookie", "a=b"), ("X-N", str(len(self.calls)))])
        return [b"did ", body]

    def ask(self, app, key="k", body=b"x", path="/pay", method="POST", **headers):
        import io

        got = []
        environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": "", "wsgi.input": io.BytesIO(body),
                   "CONTENT_LENGTH": str(len(body)), **{f"HTTP_{n}": v for n, v in headers.items()}}
        if key is not None:
            environ["HTTP_IDEMPOTENCY_KEY"] = key
        answer = b"".join(app(environ, lambda status, headers, exc=None: got.append((int(status[:3]), dict(headers)))))
        return got[0][0], got[0][1], answer

    def test_wsgi_replays_byte_for_byte_without_cookies(self):
        app = once.wsgi(self.app, self.client)
        status, headers, body = self.ask(app)
        self.assertEqual((status, body, headers["Set-Cookie"]), (201, b"did x", "a=b"))
        status, headers, body = self.ask(app, key='"k"')
        self.assertEqual((status, body, headers["X-N"]), (201, b"did x", "1"))
        self.assertEqual(headers["idempotent-replayed"], "true")
        self.assertNotIn("Set-Cookie", headers)
        self.assertEqual(len(self.calls), 1)

    def test_wsgi_without_a_store_refuses_or_proceeds(self):
        nobody = once.connect("http://127.0.0.1:1", patience="100ms")
        self.assertEqual(self.ask(once.wsgi(self.app, nobody))[0], 503)
        self.assertEqual(self.calls, [])
        self.assertEqual(self.ask(once.wsgi(self.app, nobody, if_store_down="proceed"))[0], 201)

    def test_wsgi_scope_and_refusals(self):
        app = once.wsgi(self.app, self.client, require_key=True)
        self.ask(app)
        self.assertEqual(self.ask(app, body=b"y")[0], 422)
        self.assertEqual(self.ask(app, key=None)[0], 400)
        self.assertEqual(self.ask(app, key='"k')[0], 400)
        self.assertEqual(self.ask(app, method="GET", key=None)[0], 201)
        for headers in ({"AUTHORIZATION": "Bearer b"}, {"COOKIE": "s=1"}, {"X_API_KEY": "k"}):
            self.assertEqual(self.ask(app, body=b"y", **headers)[0], 201)
        self.assertEqual(self.ask(app, body=b"y", path="/other")[0], 201)

    def test_wsgi_answers_that_free_the_key(self):
        app = once.wsgi(self.app, self.client)
        for status in ("401 U", "403 F", "429 T", "503 S"):
            self.ask(app, X_STATUS=status)
        self.assertEqual(self.ask(app, X_STATUS="500 E")[0], 500)
        self.assertEqual(self.ask(app)[0], 500)
        self.assertEqual(len(self.calls), 5)

    def test_wsgi_a_service_that_raises_is_answered_the_same_again(self):
        app = once.wsgi(self.app, self.client)
        with self.assertRaises(RuntimeError):
            self.ask(app, X_STATUS="raise")
        self.assertEqual(self.ask(app)[0], 500)
        app = once.wsgi(self.app, self.client, retry_5xx=True)
        with self.assertRaises(RuntimeError):
            self.ask(app, key="again", X_STATUS="raise")
        self.assertEqual(self.ask(app, key="again")[0], 201)

    def test_wsgi_an_answer_that_is_too_large_is_not_done_again(self):
        app = once.wsgi(self.app, self.client, max_answer=3)
        self.assertEqual(self.ask(app)[2], b"did x")
        status, headers, body = self.ask(app)
        self.assertEqual((status, json.loads(body)["code"], json.loads(body)["upstream_status"]), (409, "too_large", 201))

    def test_wsgi_in_flight_is_409_and_unknown_is_502_until_forgotten(self):
        def dies(environ, start_response):
            self.assertEqual(self.ask(app)[0], 409)
            raise KeyboardInterrupt

        app = once.wsgi(dies, self.client)
        with self.assertRaises(KeyboardInterrupt):
            self.ask(app)
        app = once.wsgi(self.app, self.client)
        status, _, body = self.ask(app)
        self.assertEqual((status, json.loads(body)["code"]), (502, "unknown"))
        self.client.claim(json.loads(body)["claim"]).forget()
        self.assertEqual(self.ask(app)[0], 201)

    def test_wsgi_a_signal_while_the_claim_is_taken_leaves_the_key_free(self):
        def interrupt(notice):
            if notice.fields.get("status") == 201 and not interrupted:
                interrupted.append(notice)
                raise KeyboardInterrupt

        interrupted = []
        client = once.connect(server.url, namespace=self.client._core.headers["Once-Namespace"], on_notice=interrupt)
        with self.assertRaises(KeyboardInterrupt):
            self.ask(once.wsgi(self.app, client))
        self.assertEqual((len(interrupted), self.calls), (1, []))
        self.assertEqual(self.ask(once.wsgi(self.app, self.client))[0], 201)

    def test_wsgi_where_unknown_is_retried_the_claim_ends_soon(self):
        def service(environ, start_response):
            left = self.client.claims(prefix="http/")[0].lease_until.timestamp() - time.time()
            others = [self.ask(once.wsgi(self.app, self.client, after_unknown=rule))[0] for rule in ("refuse", "retry")]
            start_response("200 OK", [])
            return [json.dumps([left < 120, others]).encode()]

        _, _, body = self.ask(once.wsgi(service, self.client, after_unknown="retry"))
        self.assertEqual(json.loads(body), [True, [409, 409]])

    def test_lambda(self):
        @once.lambda_handler(self.client, key="/detail/id")
        def handler(event, context):
            self.calls.append(event)
            return {"ok": len(self.calls)}

        event = {"detail": {"id": "e-1"}}
        self.assertEqual([handler(event, None), handler(event, None)], [{"ok": 1}, {"ok": 1}])
        with self.assertRaises(once.Invalid):
            handler({}, None)

    def test_lambda_http(self):
        @once.lambda_handler(self.client, key="header:Idempotency-Key", payload=lambda event: event["body"])
        def handler(event, context):
            self.calls.append(event)
            return {"statusCode": event.get("status", 201), "body": "paid"}

        event = {"httpMethod": "POST", "headers": {"idempotency-key": "k"}, "body": "b"}
        self.assertEqual(handler({**event, "status": 503}, None)["statusCode"], 503)
        self.assertEqual(handler(event, None), {"statusCode": 201, "body": "paid"})
        again = handler(event, None)
        self.assertEqual((again["statusCode"], again["headers"]["Idempotent-Replayed"]), (201, "true"))
        self.assertEqual(handler({**event, "body": "c"}, None)["statusCode"], 422)
        self.assertEqual(len(self.calls), 2)


class FastApi(unittest.TestCase):
    def test_duplicate_and_concurrent_requests_take_effect_once(self):
        environment = {**os.environ, "ONCE_STORE": server.url, "ONCE_NAMESPACE": "fastapi",
                       "PYTHONPATH": f"{ROOT}/clients/python/src:{ROOT}/clients/python/examples"}
        service = subprocess.Popen(
            ["/usr/bin/python3", "-m", "uvicorn", "--port", "0", "--log-level", "info", "fastapi_payments:guarded"],
            env=environment, stderr=subprocess.PIPE, text=True)
        try:
            for line in service.stderr:
                if "running on" in line:
                    break
            url = line.split("running on ")[1].split()[0]
            answers = []

            def post(path, key, body):
                headers = {"Content-Type": "application/json", **({"Idempotency-Key": key} if key else {})}
                request = urllib.request.Request(url + path, json.dumps(body).encode(), headers, method="POST")
                try:
                    with urllib.request.urlopen(request, timeout=60) as response:
                        return response.status, json.load(response), response.headers.get("Idempotent-Replayed")
                except urllib.error.HTTPError as error:
                    return error.code, json.load(error), None

            payment = {"account": "a", "cents": 500}
            threads = [threading.Thread(target=lambda: answers.append(post("/payments", "k-1", payment)))
                       for _ in range(12)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            self.assertEqual({status for status, _, _ in answers} - {201, 409}, set())
            self.assertEqual({body["number"] for status, body, _ in answers if status == 201}, {1})
            self.assertEqual(post("/payments", "k-1", payment), (201, {"number": 1, "cents": 500}, "true"))
            self.assertEqual(post("/payments", "k-1", {**payment, "cents": 1})[0], 422)
            self.assertEqual(post("/payments", "k-2", payment)[1]["number"], 2)
            self.assertEqual([post("/reminders/7", None, {})[0] for _ in range(2)], [200, 200])
            self.assertEqual(len(once.connect(server.url, namespace="fastapi").log("reminders").read()), 1)
        finally:
            service.terminate()
            service.wait(PATIENCE)
            service.stderr.close()


class EventBuilder(unittest.TestCase):
    def test_each_event_is_built_once_and_a_failed_build_again(self):
        sys.path.insert(0, f"{ROOT}/examples/event_builder")
        import builder

        client = once.connect(server.url, namespace=f"b-{os.urandom(6).hex()}")
        event = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "data": {"name": "fn"}}
        self.assertEqual(builder.handle(client, {**event, "data": {"broken": 1}})[0], 502)
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(builder.handle(client, event))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual({status for status, _ in answers} - {200, 409}, set())
        self.assertEqual(sum(answer["status"] == "processed" for _, answer in answers), 1)
        self.assertEqual(builder.handle(client, event)[1]["status"], "skipped")
        self.assertEqual(builder.handle(client, {**event, "data": {"name": "other"}})[0], 422)
        self.assertEqual(builder.handle(client, {"id": "1"})[0], 400)
        self.assertEqual(len(client.log("builds").read()), 1)
        self.assertEqual(client.tally("built-t").value(), 1)


if __name__ == "__main__":
    import unittest.mock

    wait_until(lambda: True)
    unittest.main(verbosity=1)
