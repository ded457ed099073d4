// The client's own behaviour, against a real server.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once as event } from "node:events";
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { BINARY, DIST, PACKAGE, Relay, Server, once, waitUntil } from "./harness.mjs";

const { Busy, Effects, Fenced, Invalid, Mismatch, NotFound, OnceError, PreconditionFailed, Unavailable, Unknown } = once;

let server;
let spaces = 0;
before(async () => void (server = await Server.start()));
after(() => server?.end());

/** A client with a namespace of its own. */
const connected = (options = {}) => once.connect(server.url, { namespace: `t-${++spaces}`, ...options });
const code = (wanted) => (error) => error instanceof OnceError && error.code === wanted;
const later = (ms) => new Promise((done) => setTimeout(done, ms));
// Of what waits for a renewal, which is due after a third: long enough for a machine that stalls.
const LONG_LEASE = "9s";

/** Rejects with the signal's reason, also if it was aborted before. */
const aborted = (signal) => new Promise((_, reject) => {
  signal.addEventListener("abort", () => reject(signal.reason));
  if (signal.aborted) reject(signal.reason);
});

/** Passes requests on to the server, and holds the answers until `go()`. */
async function heldAnswers() {
  let go;
  const released = new Promise((done) => (go = done));
  const held = { answered: false, go };
  const listener = net.createServer((caller) => {
    const upstream = net.connect(server.port, "127.0.0.1");
    for (const socket of [caller, upstream]) socket.on("error", () => undefined);
    caller.pipe(upstream);
    upstream.on("data", (piece) => {
      held.answered = true;
      void released.then(() => caller.write(piece));
    });
    upstream.on("close", () => void released.then(() => caller.end()));
  }).listen(0, "127.0.0.1");
  await event(listener, "listening");
  return Object.assign(held, { url: `http://127.0.0.1:${listener.address().port}`, end: () => listener.close() });
}

async function temporary(use) {
  const home = await mkdtemp(join(tmpdir(), "once-ts-"));
  try {
    return await use(home);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

describe("runs", { concurrency: true }, () => {
  test("a run is done once and replayed", async () => {
    const client = connected();
    const first = await client.run("invoice-42", (attempt) => ({ fence: attempt.fence, attempt: attempt.attempt }));
    const again = await client.run("invoice-42", () => assert.fail("it ran again"));
    assert.deepEqual([first.replayed, again.replayed], [false, true]);
    assert.deepEqual(first.result, again.result);
    assert.equal(first.result.attempt, 1);
    assert.ok(first.result.fence > 0 && again.completedAt instanceof Date);
  });

  test("what the first run returns is what a replay returns", async () => {
    const client = connected();
    const first = await client.run("k", () => ({ at: new Date(0), nothing: undefined, list: [undefined] }));
    assert.deepEqual(first.result, { at: "1970-01-01T00:00:00.000Z", list: [null] });
    assert.deepEqual((await client.run("k", () => 0)).result, first.result);
    assert.equal((await client.run("none", () => undefined)).result, null);
  });

  test("a result that is no JSON frees the key", async () => {
    const client = connected();
    for (const result of [NaN, 1n, () => 1]) await assert.rejects(client.run("k", () => result), Invalid);
    assert.equal((await client.run("k", (attempt) => attempt.attempt)).result, 4);
  });

  test("work that throws frees the key, and the next attempt is told", async () => {
    const client = connected();
    const bug = new TypeError("no such card");
    await assert.rejects(client.run("k", () => Promise.reject(bug)), (error) => error === bug);
    const { result } = await client.run("k", (attempt) => [attempt.attempt, attempt.previous.failure]);
    assert.deepEqual(result, [2, "TypeError: no such card"]);
  });

  test("giving up is final even if the work catches it", async () => {
    const client = connected();
    const work = (attempt) => {
      try {
        attempt.giveUp({ why: "no funds" });
      } catch {
        return "went on";
      }
    };
    for (let n = 0; n < 2; ++n) {
      await assert.rejects(client.run("k", work), (error) => code("failed")(error) && error.failure.why === "no funds");
    }
  });

  test("busy tells who and until when", async () => {
    const client = connected({ owner: "me" });
    await client.run("k", async () => {
      await assert.rejects(client.run("k", () => 1), (error) => error instanceof Busy && error.owner === "me" && error.leaseUntil > "2");
    });
  });

  test("waiting ends when the other is done", async () => {
    const client = connected();
    let release;
    const first = client.run("k", () => new Promise((done) => (release = done)));
    await waitUntil(() => release !== undefined);
    const second = client.run("k", () => "second", { wait: "30s" });
    release("first");
    assert.deepEqual([(await first).result, (await second).result, (await second).replayed], ["first", "first", true]);
  });

  test("another payload is a mismatch, and the order of its members is none", async () => {
    const client = connected();
    await client.run("k", () => 1, { payload: { a: 1, b: [2] } });
    assert.ok((await client.run("k", () => 1, { payload: { b: [2], a: 1 } })).replayed);
    await assert.rejects(client.run("k", () => 1, { payload: { a: 2 } }), Mismatch);
  });

  test("a lease that is lost aborts the work's signal", async () => {
    const client = connected();
    const seen = [];
    const work = async (attempt) => {
      await client.claim("k").forget();
      await aborted(attempt.signal);
    };
    await assert.rejects(client.run("k", async (attempt) => {
      try {
        await work(attempt);
      } finally {
        seen.push(attempt.lost, attempt.signal.reason instanceof Fenced);
        assert.throws(() => attempt.check(), Fenced);
      }
    }, { lease: LONG_LEASE }), Fenced);
    assert.deepEqual(seen, [true, true]);
    assert.equal(await client.claim("k").get(), null); // Nothing was released or recorded.
  });

  test("a call that reports the lost lease as an AbortError is Fenced to the caller", async () => {
    const client = connected();
    const asking = net.createServer(() => undefined).listen(0, "127.0.0.1");
    await event(asking, "listening");
    const work = async ({ signal }) => {
      await client.claim("k").forget();
      await new Promise((_, reject) => http.get({ port: asking.address().port, signal }).on("error", reject));
    };
    await assert.rejects(client.run("k", work, { lease: LONG_LEASE }), Fenced);
    asking.close();
  });

  test("a long work keeps its lease", async () => {
    const notices = [];
    const client = connected({ onNotice: (notice) => notices.push(notice.name) });
    const { result } = await client.run("k", async (attempt) => {
      await waitUntil(() => notices.filter((name) => name === "renewed").length >= 2);
      attempt.check();
      return attempt.leaseLeft > 0;
    }, { lease: LONG_LEASE });
    assert.equal(result, true);
  });

  test("aborting the run aborts the work and frees the key", async () => {
    const client = connected();
    const controller = new AbortController();
    const stop = new Error("shutting down");
    const run = client.run("k", ({ signal }) => {
      const ended = aborted(signal);
      controller.abort(stop);
      return ended;
    }, { signal: controller.signal });
    await assert.rejects(run, (error) => error === stop);
    assert.equal((await client.claim("k").get()).state, "free");
    await assert.rejects(client.run("k", () => 1, { signal: controller.signal }), (error) => error === stop);
  });

  test("a grant that comes after the abort is given back", async () => {
    const client = connected();
    const controller = new AbortController();
    let release;
    const first = client.run("k", () => new Promise((_, reject) => (release = reject)));
    await waitUntil(() => release !== undefined);
    const second = client.run("k", () => assert.fail("it ran"), { wait: "30s", signal: controller.signal });
    controller.abort();
    await assert.rejects(second, { name: "AbortError" });
    release(new Error("failed"));
    await assert.rejects(first, /failed/);
    assert.equal((await client.run("k", (attempt) => attempt.attempt, { wait: "60s" })).replayed, false);
  });

  test("an abort before the work begins gives the key back", async () => {
    const controller = new AbortController();
    const asked = [];
    const scripted = http.createServer(async (request, response) => {
      asked.push(request.url);
      request.resume();
      if (request.url === "/v1/claims/k") await later(3100); // More than a third of the lease: it is renewed first.
      if (request.url.endsWith("/renew")) controller.abort(new Error("stop"));
      response.setHeader("Content-Type", "application/json");
      response.end('{"state":"claimed","ticket":"t","fence":1,"attempt":1}');
    }).listen(0, "127.0.0.1");
    await event(scripted, "listening");
    const client = once.connect(`http://127.0.0.1:${scripted.address().port}`);
    await assert.rejects(client.run("k", () => assert.fail("it ran"), { lease: LONG_LEASE, signal: controller.signal }), /stop/);
    assert.deepEqual(asked, ["/v1/claims/k", "/v1/claims/k/renew", "/v1/claims/k/release"]);
    client.close();
    scripted.close();
  });

  test("effects are all or nothing", async () => {
    const client = connected();
    await client.document("d").put(1, { create: true });
    const work = ({ effects }) => {
      effects.append("ledger", { n: 1 }, { n: 2 }).add("revenue", 1900).count("sales").put("other", { n: 1 }).put("d", 2, { create: true });
    };
    await assert.rejects(client.run("k", work), PreconditionFailed);
    assert.equal((await client.log("ledger").read()).length, 0);
    assert.equal(await client.tally("revenue").value(), null);
    await client.run("k", ({ effects }) => void effects.append("ledger", 1).add("revenue", 1900).put("d", 2).patch("e", { a: 1 }).delete("d2"))
      .then(() => assert.fail("there is no document to patch"), (error) => assert.ok(error instanceof NotFound));
    const { result } = await client.run("k", ({ effects, attempt }) => {
      effects.append("ledger", 1).add("revenue", 1900).put("d", 2).delete("nothing");
      return attempt;
    });
    assert.equal(result, 3);
    assert.deepEqual([(await client.document("d").get()).value, await client.tally("revenue").value()], [2, 1900]);
  });

  test("a function under idempotent runs once for each key", async () => {
    const client = connected();
    let worked = 0;
    const pay = client.idempotent(
      (invoice) => `invoice-${invoice.id}`,
      async (invoice) => {
        once.currentAttempt().effects.add("revenue", invoice.cents);
        await later(1);
        assert.equal(once.currentAttempt().key, `invoice-${invoice.id}`);
        return { paid: invoice.id, n: ++worked };
      },
      { wait: "20s", payload: (invoice) => invoice.cents },
    );
    const paid = await Promise.all([1, 2, 1, 2].map((id) => pay({ id, cents: 500 })));
    assert.deepEqual([worked, paid[0], paid[1]], [2, paid[2], paid[3]]);
    assert.equal(await client.tally("revenue").value(), 1000);
    await assert.rejects(pay({ id: 1, cents: 1 }), Mismatch);
    assert.throws(() => once.currentAttempt(), Invalid);
  });

  test("notices tell of requests and runs, and a hook that throws harms nothing", async () => {
    const notices = [];
    const client = connected({ onNotice: (notice) => notices.push(notice) });
    await client.run("k", () => 1);
    await client.run("k", () => 1);
    const of = (name) => notices.filter((notice) => notice.name === name).map(({ fields }) => fields);
    assert.deepEqual(of("run").map(({ outcome }) => outcome), ["executed", "replayed"]);
    assert.deepEqual(of("request").map(({ path, status }) => [path, status]),
      [["/v1/claims/k", 201], ["/v1/claims/k/complete", 200], ["/v1/claims/k", 200]]);
    const told = console.error;
    console.error = () => undefined;
    try {
      assert.equal((await connected({ onNotice: () => { throw new Error("a bug"); } }).run("k", () => 1)).result, 1);
    } finally {
      console.error = told;
    }
  });

  test("spans and the trace header if OpenTelemetry is there", () => temporary(async (home) => {
    const api = join(home, "node_modules/@opentelemetry/api");
    await mkdir(api, { recursive: true });
    await writeFile(join(api, "package.json"), '{"main": "index.js"}');
    await writeFile(join(api, "index.js"), `
      exports.spans = [];
      const span = { end: () => exports.spans.push("end"), recordException: () => exports.spans.push("exception"), setStatus() {} };
      exports.trace = { getTracer: (name) => ({ startActiveSpan: (title, { attributes }, work) => {
        exports.spans.push([name, title, attributes["once.key"]]);
        return work(span);
      } }) };
      exports.context = { active: () => ({}) };
      exports.propagation = { inject: (context, headers) => { headers.traceparent = "00-1-2-01"; } };`);
    await mkdir(join(home, "node_modules/once-client"));
    await copyFile(join(dirname(DIST), "package.json"), join(home, "node_modules/once-client/package.json"));
    const { cp } = await import("node:fs/promises");
    await cp(DIST, join(home, "node_modules/once-client/dist"), { recursive: true });
    const seen = [];
    const front = http.createServer((request, response) => {
      seen.push(request.headers.traceparent);
      request.resume();
      response.setHeader("Content-Type", "application/json");
      response.end('{"state":"done","result":1}');
    }).listen(0, "127.0.0.1");
    await event(front, "listening");
    await writeFile(join(home, "main.mjs"), `
      import { connect } from "once-client";
      import api from "@opentelemetry/api";
      await connect("http://127.0.0.1:${front.address().port}").run("k", () => 1);
      console.log(JSON.stringify(api.spans));`);
    const child = spawn(process.execPath, [join(home, "main.mjs")], { stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    for await (const piece of child.stdout) text += piece;
    front.close();
    assert.deepEqual(JSON.parse(text), [["once-client", "once.run", "k"], "end"]);
    assert.deepEqual(seen, ["00-1-2-01"]);
  }));
});

describe("nouns", () => {
  test("seen", async () => {
    const client = connected();
    assert.deepEqual(await client.seen(["a", "b", "a"]), [true, true, false]);
    assert.deepEqual(await client.seen(["b", "c"], { request: "r" }), [false, true]);
    assert.deepEqual(await client.seen(["b", "c"], { request: "r" }), [false, true]);
    assert.ok((await client.seenRecord("a")).at instanceof Date);
    assert.deepEqual([await client.forgetSeen("a"), await client.forgetSeen("a"), await client.seenRecord("a")], [true, false, null]);
    assert.deepEqual(await client.seen([]), []);
  });

  test("logs", async () => {
    const client = connected();
    const log = client.log("a/b ü");
    const first = await log.append([{ n: 1 }, null], { batch: "b-1" });
    assert.deepEqual([first.first, first.last, first.replayed], [1, 2, false]);
    assert.deepEqual(await log.append([{ n: 1 }, null], { batch: "b-1" }), { ...first, replayed: true });
    await assert.rejects(log.append([3], { expect: 1 }), (error) => error instanceof PreconditionFailed && error.next === 3);
    const known = await log.append([new once.LogEvent("x", { id: "e-1" }), new once.LogEvent("y", { id: "e-1" })]);
    assert.deepEqual(known.indexes, [3, 3]);
    const page = await log.read();
    assert.deepEqual(page.map(({ index, data }) => [index, data]), [[1, { n: 1 }], [2, null], [3, "x"]]);
    assert.ok(page[0].time instanceof Date && page.next === 4 && page.events.length === 3);
    assert.deepEqual((await log.read({ from: 2, limit: 1 })).map(({ index }) => index), [2]);
    assert.deepEqual((await log.read({ order: "desc", limit: 1 })).map(({ index }) => index), [3]);
    assert.equal((await log.trim(2)).oldest, 2);
    assert.equal((await log.read()).at(0).index, 2);
  });

  test("a follower gets what comes, ends with the log, and by its signal", async () => {
    const client = connected();
    const log = client.log("l");
    await log.append([1]);
    const controller = new AbortController();
    const seen = [];
    for await (const { data } of log.follow({ signal: controller.signal })) {
      seen.push(data);
      if (data === 1) await log.append([2]);
      else controller.abort();
    }
    assert.deepEqual(seen, [1, 2]);
    for await (const { index } of log.follow({ since: "2020-01-01T00:00:00Z", limit: 1 })) assert.equal(index, 1);
    const rest = (async () => {
      const found = [];
      for await (const { index } of log.follow(2)) found.push(index);
      return found;
    })();
    await log.append([3]);
    assert.equal((await log.close()).closed, true);
    assert.deepEqual(await rest, [2, 3]);
    await assert.rejects(log.append([4]), once.Closed);
    assert.deepEqual((await client.logs()).map(({ stream, closed }) => [stream, closed]), [["l", true]]);
    assert.deepEqual([await log.delete(), await log.delete()], [true, false]);
  });

  test("documents", async () => {
    const config = connected().document("config");
    assert.equal(await config.get(), null);
    const written = await config.put({ limit: 10 }, { create: true });
    await assert.rejects(config.put(1, { create: true }), (error) => error instanceof PreconditionFailed && error.current === written.etag);
    await assert.rejects(connected().document("").get(), Invalid);
    const next = await config.put({ limit: 20 }, { ifMatch: written });
    await assert.rejects(config.put({ limit: 30 }, { ifMatch: `"${written}"` }), PreconditionFailed);
    const { value, etag } = await config.get();
    assert.deepEqual([value, etag], [{ limit: 20 }, next.etag]);
    assert.equal(await config.getIfChanged(etag), null);
    assert.deepEqual((await config.getIfChanged(written)).value, { limit: 20 });
    assert.deepEqual((await config.update(async (v) => ({ ...v, n: 1 }))).value, { limit: 20, n: 1 });
    assert.deepEqual((await config.patch({ n: null })).value, { limit: 20 });
    assert.deepEqual((await config.patch([{ op: "add", path: "/m", value: 2 }])).value, { limit: 20, m: 2 });
    assert.deepEqual([await config.delete(), await config.delete()], [true, false]);
    await assert.rejects(config.put(1, {}), Invalid);
  });

  test("documents are bytes or text, too", async () => {
    const client = connected();
    await client.document("b").put(new Uint8Array([0, 255]), { create: true });
    assert.deepEqual([...(await client.document("b").get()).value], [0, 255]);
    await client.document("t").put("<p>ü", { create: true, contentType: "text/html" });
    assert.deepEqual({ ...(await client.document("t").get()), etag: "" }, { value: "<p>ü", etag: "", contentType: "text/html" });
    assert.equal((await client.document("t").update((text) => `${text}!`)).value, "<p>ü!");
    assert.deepEqual((await client.documents({ limit: 1 })).map(({ key, bytes }) => [key, bytes]), [["b", 2], ["t", 6]]);
    assert.equal(await client.deleteDocuments("b"), 1);
  });

  test("tallies", async () => {
    const client = connected();
    const revenue = client.tally("revenue");
    assert.equal(await revenue.value(), null);
    assert.equal((await revenue.add(1900, { id: "i-1" })).value, 1900);
    const again = await revenue.add(1900, { id: "i-1" });
    assert.deepEqual([again.replayed, await revenue.value()], [true, 1900]);
    assert.equal((await client.tally("r").add(0.5)).kind, "real");
    assert.equal((await client.tally("c").count()).value, 1);
    assert.deepEqual([(await client.tally("max").max(7)).value, (await client.tally("min").min(-7)).value], [7, -7]);
    assert.equal((await client.tally("d").distinct(["a", "b", "a"])).value, 2);
    await client.tally("p").hit(["/", "/about", "/", { item: "/x", count: 5 }]);
    assert.deepEqual((await client.tally("p").top(2)).map(({ item, count }) => [item, count]), [["/x", 5], ["/", 2]]);
    await client.tally("f").bloom("x");
    assert.deepEqual([await client.tally("f").contains("x"), await client.tally("f").contains("y")], [true, false]);
    await client.tally("w").count(2, { window: "hour", at: "2026-01-01T10:30:00Z" });
    await client.tally("w").count(3, { window: "hour", at: new Date("2026-01-01T11:30:00Z") });
    assert.deepEqual((await client.tally("w").series()).map(({ at, value }) => [at.getUTCHours(), value]), [[10, 2], [11, 3]]);
    assert.equal(await client.tally("w").value({ from: "2026-01-01T11:00:00Z" }), 3);
    assert.deepEqual(await client.readTallies(["revenue", "none", "c"]), [1900, null, 1]);
    assert.ok((await client.tallies()).some(({ key, window }) => key === "w" && window === "hour"));
    assert.deepEqual([await revenue.delete(), await revenue.delete()], [true, false]);
  });

  test("sums beyond 2^53 keep their digits", async () => {
    const client = connected();
    const big = 2n ** 53n + 1n;
    await client.tally("s").add(big);
    await client.commit(new Effects().add("s", 2n ** 60n).append("l", "once-digits:5"));
    assert.equal(await client.tally("s").exact(), big + 2n ** 60n);
    assert.equal((await client.log("l").read())[0].data, "once-digits:5");
    await assert.rejects(client.tally("s").add(2 ** 60), Invalid);
    assert.equal(await client.tally("none").exact(), null);
  });

  test("commits by themselves", async () => {
    const client = connected();
    const effects = () => new Effects().append("l", 1).add("t", 5).put("d", { n: 1 }, { create: true });
    const first = await client.commit(effects(), { id: "month-end" });
    assert.deepEqual([first.replayed, first.logs[0].first, first.documents[0].etag], [false, 1, (await client.document("d").get()).etag]);
    assert.equal((await client.commit(effects(), { id: "month-end" })).replayed, true);
    assert.equal(await client.tally("t").value(), 5);
    await client.commit(new Effects().put("d", { n: 2 }).delete("none"));
    assert.deepEqual((await client.document("d").get()).value, { n: 2 });
    await assert.rejects(client.commit(new Effects().patch("none", { n: 1 }).append("l", 2)), NotFound);
    assert.equal((await client.log("l").read()).length, 1);
  });

  test("claims by hand", async () => {
    const client = connected();
    const claim = client.claim("k");
    const ticket = await claim.take({ lease: "20s" });
    assert.equal(ticket.state, "claimed");
    assert.equal((await claim.get()).state, "busy");
    await claim.renew(ticket, 30);
    await claim.release(ticket, "later");
    const second = await claim.take();
    assert.deepEqual([second.attempt, second.previous.failure], [2, "later"]);
    await assert.rejects(claim.complete(ticket, 1), Fenced);
    assert.deepEqual([await claim.complete(second, { ok: 1 }), await claim.complete(second.ticket, { ok: 1 })], [false, true]);
    assert.deepEqual([(await claim.take()).state, (await claim.take()).result], ["done", { ok: 1 }]);
    await claim.forget();
    assert.equal(await claim.get(), null);
  });

  test("claims are listed page by page, retried and forgotten by prefix", async () => {
    const client = connected();
    for (let n = 0; n < 3; ++n) await client.run(`a-${n}`, () => n);
    await client.run("b-1", (attempt) => attempt.giveUp("no")).catch(() => undefined);
    const keys = [];
    for await (const { key } of client.claims({ prefix: "a-", limit: 1 })) keys.push(key);
    assert.deepEqual(keys, ["a-0", "a-1", "a-2"]);
    assert.deepEqual((await client.claims({ state: "failed" })).map(({ key, failure }) => [key, failure]), [["b-1", "no"]]);
    assert.equal(await client.retryClaims({ prefix: "b-" }), 1);
    assert.equal((await client.run("b-1", (attempt) => attempt.attempt)).result, 2);
    assert.equal(await client.forgetClaims({ prefix: "a-", dryRun: true }), 3);
    assert.equal(await client.forgetClaims({ prefix: "a-" }), 3);
    assert.equal((await client.claims()).length, 1);
    await assert.rejects(client.forgetClaims({}), Invalid);
  });

  test("claims are released by their owner", async () => {
    const client = connected();
    const first = await client.claim("a").take({ owner: "one" });
    await client.claim("b").take({ owner: "two" });
    assert.equal(await client.releaseClaims({ state: "busy", owner: "one" }), 1);
    await assert.rejects(client.claim("a").renew(first), Fenced);
    assert.equal((await client.claim("b").get()).state, "busy");
  });

  test("the rest of the API", async () => {
    const client = connected();
    const cloudEvent = { specversion: "1.0", id: "e-1", source: "/s", type: "t" };
    assert.equal((await client.sendEvent(cloudEvent)).status, "processed");
    assert.deepEqual((await client.sendEvents([cloudEvent, { ...cloudEvent, id: "e-2" }])).map(({ status }) => status), ["skipped", "processed"]);
    assert.equal(await client.ready(), true);
    assert.ok(await client.health());
    assert.equal((await client.whoami()).open, true);
    assert.match(await client.metrics(), /once_/);
    assert.match(await client.openapi(), /openapi/);
    assert.ok(Array.isArray(await client.hot()));
    const answer = await client.request("GET", "/v1/claims?limit=1");
    assert.ok(answer.status === 200 && Array.isArray(answer.json().claims));
    await assert.rejects(client.request("GET", "/v1/docs/none"), NotFound);
  });

  test("tokens, and what is denied", async () => {
    const own = await Server.start();
    try {
      const open = once.connect(own.url);
      const made = await open.tokens.new({ label: "ci", namespace: "n", readOnly: true, expires: "90d" });
      assert.ok(made.token && made.readOnly && made.expiresAt > new Date());
      const reader = once.connect(own.url, { token: made.token });
      assert.deepEqual((await reader.log("l").read()).length, 0);
      await assert.rejects(reader.seen(["a"]), (error) => error instanceof once.Denied && error.code === "forbidden");
      await assert.rejects(once.connect(own.url).seen(["a"]), code("unauthorized"));
    } finally {
      await own.end();
    }
  });

  test("what is wrong is told before anything is sent", async () => {
    const client = once.connect("http://127.0.0.1:9");
    await assert.rejects(client.run("", () => 1), Invalid);
    await assert.rejects(client.run("a\u0001", () => 1), Invalid);
    await assert.rejects(client.run("\ud800", () => 1), Invalid);
    await assert.rejects(client.run("k", () => 1, { lease: "soon" }), Invalid);
    await assert.rejects(client.run("k", () => 1, { lease: 0 }), Invalid);
    await assert.rejects(client.run("k", "work"), Invalid);
    await assert.rejects(client.seen("a"), Invalid);
    await assert.rejects(client.tally("t").add(null), Invalid);
    for (const url of ["dynamodb://table", "memory:", "localhost:7600", "http://u:p@host", "http://host/?a=1"]) {
      assert.throws(() => once.connect(url), Invalid);
    }
    assert.throws(() => once.connect("http://host", { token: "a\nb" }), Invalid);
    for (const kind of [Busy, Fenced, Mismatch, Unavailable, once.Unknown, Invalid]) assert.ok(new kind("x") instanceof OnceError);
  });

  test("without an address it is $ONCE_STORE", async () => {
    process.env.ONCE_STORE = server.url;
    try {
      assert.equal(once.connect().url, server.url);
      assert.ok(await once.connect().health());
    } finally {
      delete process.env.ONCE_STORE;
    }
  });

  test("nobody there is unavailable, by fetch as well", async () => {
    const url = "http://127.0.0.1:2"; // Not one that another program gets by chance, and one that fetch does not refuse.
    // A fetch that takes longer than that would be unknown.
    await Promise.all([{}, { fetch: globalThis.fetch }].map((options) =>
      assert.rejects(once.connect(url, { patience: "4s", ...options }).seen(["a"]), Unavailable)));
  });
});

describe("directories", () => {
  const endStarted = async () => {
    const { started } = await import(pathToFileURL(join(DIST, "node/directory.js")).href);
    await Promise.all([...started].map((child) => {
      const ended = event(child, "exit");
      child.kill("SIGTERM");
      return ended;
    }));
  };
  before(() => void (process.env.ONCE_BINARY = BINARY));

  test("a server is found or started, and started again", () => temporary(async (home) => {
    const { started } = await import(pathToFileURL(join(DIST, "node/directory.js")).href);
    const directory = join(home, "state");
    const notices = [];
    const client = once.connect(directory, { onNotice: ({ name }) => notices.push(name) });
    try {
      const first = await Promise.all(Array.from({ length: 20 }, (_, n) => client.run(`k-${n}`, () => 1)));
      assert.ok(first.every(({ replayed }) => !replayed));
      const again = once.connect(`rocksdb:${directory}`);
      assert.equal((await again.run("k-0", () => 1)).replayed, true);
      assert.deepEqual([again.url, notices.includes("server_started")], [client.url, true]);
      // On a slow machine the client may start a second one, which finds the first and ends.
      await waitUntil(() => started.size === 1);
      const [child] = started;
      const ended = event(child, "exit");
      child.kill("SIGKILL");
      await ended;
      assert.equal((await client.run("k-0", () => 1)).replayed, true);
      const follower = client.log("l").follow();
      const next = follower.next();
      await client.log("l").append(["x"]);
      assert.equal((await next).value.data, "x");
      await follower.return();
      await client.claim("k-0").forget();
    } finally {
      client.close();
      await endStarted();
    }
  }));

  test("the token is not sent to what cannot prove itself", () => temporary(async (home) => {
    const got = [];
    const impostor = net.createServer((socket) => {
      socket.on("error", () => undefined);
      socket.on("data", (piece) => {
        got.push(piece.toString());
        socket.end('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{"proof":"abcd"}');
      });
    }).listen(0, "127.0.0.1");
    await event(impostor, "listening");
    const directory = join(home, "state");
    await once.connect(directory).health();
    await endStarted();
    await writeFile(join(directory, "server"), `http://127.0.0.1:${impostor.address().port}\ninstance\nsecret-of-the-server\n\n`, { mode: 0o600 });
    const client = once.connect(directory, { token: "the-token" });
    try {
      assert.deepEqual(await client.seen(["a"]), [true]); // It has started the real one.
      assert.ok(got.length > 0);
      assert.doesNotMatch(got.join(""), /the-token|\/v1\/|secret-of-the-server/);
      assert.doesNotMatch(await readFile(join(directory, "server"), "utf8"), /secret-of-the-server/);
    } finally {
      impostor.close();
      client.close();
      await endStarted();
    }
  }));

  test("TLS: by an authority that is given, and by the certificate that a directory names", () => temporary(async (home) => {
    const [cert, key] = [join(home, "cert.pem"), join(home, "key.pem")];
    await promisify(execFile)("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
      "-keyout", key, "-out", cert, "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]);
    const own = await Server.start("--tls-cert", cert, "--tls-key", key);
    try {
      const client = once.connect(own.url, { tls: { ca: await readFile(cert) } });
      assert.equal((await client.run("k", () => 1)).replayed, false);
      await assert.rejects(once.connect(own.url, { patience: "2s" }).seen(["a"]), Unavailable);
      const directory = once.connect(join(own.directory, "store"));
      assert.equal((await directory.run("k", () => 1)).replayed, true);
      assert.equal(directory.url, own.url);
      const { provenLane } = await import(pathToFileURL(join(DIST, "node/transport.js")).href);
      const { readAddress } = await import(pathToFileURL(join(DIST, "node/directory.js")).href);
      const address = await readAddress(join(own.directory, "store"));
      (await provenLane(address, 30_000)).agent.destroy();
      await assert.rejects(provenLane({ ...address, certificates: new Set(["00".repeat(32)]) }, 30_000), /certificate is not that/);
      await assert.rejects(provenLane({ ...address, secret: "another" }, 30_000), /not the directory's server/);
      client.close();
      directory.close();
    } finally {
      await own.end();
    }
  }));

  test("why a server does not start is told", () => temporary(async (home) => {
    await writeFile(join(home, "file"), "");
    const client = once.connect(join(home, "file/state"), { patience: "200ms" });
    await assert.rejects(client.seen(["a"]), (error) => error instanceof Unavailable && /did not start/.test(error.message));
  }));
});

describe("answers that are lost or late", { concurrency: true }, () => {
  test("a repeat of a change is done although the document was deleted since", async () => {
    const document = connected({ patience: "20s" }).document("d");
    await document.put({ n: 1 }, { create: true, id: "put" });
    await document.patch({ m: 2 }, { id: "patch" });
    await document.delete();
    const written = await document.put({ n: 1 }, { create: true, id: "put" });
    assert.equal(written.replayed, true);
    assert.equal((await document.patch({ m: 2 }, { id: "patch" })).value, null);
    assert.equal(await document.get(), null);
    await assert.rejects(document.put({ n: 2 }, { ifMatch: written }), PreconditionFailed);
  });

  test("a read that is lost is unavailable although it is a POST", async () => {
    const relay = await Relay.start(server.port, 1);
    const client = once.connect(relay.url, { patience: "4s" });
    await Promise.all([
      assert.rejects(client.readTallies(["a"]), Unavailable),
      assert.rejects(client.tally("a").count(), Unknown),
    ]);
    client.close();
    await relay.end();
  });

  test("a server that is slow is ready, and one that refuses is asked once", async () => {
    const statuses = [200, 503];
    const listener = http.createServer(async (_, response) => {
      const status = statuses.shift();
      await later(300); // Slower than a server that is not busy.
      response.writeHead(status, { "Content-Type": status === 200 ? "application/json" : "application/problem+json" });
      response.end(JSON.stringify({ status: 503, code: "unavailable" }));
    }).listen(0, "127.0.0.1");
    await event(listener, "listening");
    const client = once.connect(`http://127.0.0.1:${listener.address().port}`);
    assert.deepEqual([await client.ready(), await client.ready(), statuses], [true, false, []]);
    client.close();
    listener.closeAllConnections();
    listener.close();
  });
});

describe("middleware", { concurrency: true }, () => {
  const post = (key, body = "b", headers = {}) => ({ method: "POST", body, headers: { "Idempotency-Key": key, ...headers } });
  /** One service in both forms: as a fetch handler that is called, and as a middleware of Node's server. */
  const forms = {
    fetch: async (client, service, rules) => {
      const handler = once.fetchHandler(client, service, rules);
      return { send: (init, path = "/pay?x=1") => handler(new Request(`http://service${path}`, init)), end: () => undefined };
    },
    node: async (client, service, rules) => {
      const guard = once.express(client, rules);
      const listener = http.createServer((request, response) => guard(request, response, async (error) => {
        try {
          if (error) throw error;
          let body = "";
          for await (const piece of request) body += piece;
          const answer = await service({ text: () => body, headers: new Headers(Object.entries(request.headers)) });
          const head = [...answer.headers].map(([name, value]) => [name, value]);
          response.writeHead(answer.status, Object.fromEntries(head));
          for await (const piece of answer.body ?? []) response.write(piece);
          response.end();
        } catch {
          response.statusCode = 500;
          response.end("Internal Server Error");
        }
      })).listen(0, "127.0.0.1");
      await event(listener, "listening");
      const url = `http://127.0.0.1:${listener.address().port}`;
      return { send: (init, path = "/pay?x=1") => fetch(url + path, init), end: () => listener.close() };
    },
  };

  for (const [form, make] of Object.entries(forms)) {
    const guarded = async (rules, use, status = () => 201) => {
      const client = connected();
      const bodies = [];
      const service = await make(client, async (request) => {
        const body = await request.text();
        bodies.push(body);
        if (body === "bug") throw new Error("a bug");
        if (body === "wait") await new Promise((done) => (service.release = done));
        return new Response(`did ${body}`, { status: status(body), headers: { "X-N": String(bodies.length), "Set-Cookie": "a=b" } });
      }, rules);
      try {
        await use(service, bodies, client);
      } finally {
        await service.end();
      }
    };

    test(`${form}: an answer is replayed byte for byte, without cookies`, () => guarded({}, async ({ send }, bodies) => {
      const first = await send(post("k"));
      const again = await send(post('"k"'));
      assert.deepEqual([first.status, await first.text(), first.headers.get("set-cookie")], [201, "did b", "a=b"]);
      assert.deepEqual([again.status, await again.text(), again.headers.get("x-n")], [201, "did b", "1"]);
      assert.deepEqual([again.headers.get("set-cookie"), again.headers.get("idempotent-replayed")], [null, "true"]);
      assert.equal(first.headers.get("idempotent-replayed"), null);
      assert.deepEqual(bodies, ["b"]);
    }));

    test(`${form}: another body is 422; another path, query or caller is another request`, () => guarded({ identityHeaders: ["X-Tenant"] }, async ({ send }, bodies) => {
      assert.equal((await send(post("k"))).status, 201);
      assert.equal((await send(post("k", "other"))).status, 422);
      assert.equal((await send(post("k"), "/pay?x=2")).status, 201);
      assert.equal((await send(post("k", "b", { Authorization: "Bearer x" }))).status, 201);
      assert.equal((await send(post("k", "b", { "X-Tenant": "t" }))).status, 201);
      assert.equal(bodies.length, 4);
    }));

    test(`${form}: what has no key passes, unless a key is wanted; a bad key is 400`, async () => {
      await guarded({}, async ({ send }, bodies) => {
        for (let n = 0; n < 2; ++n) assert.equal((await send({ method: "POST", body: "b" })).status, 201);
        assert.equal((await send({ method: "GET", headers: { "Idempotency-Key": "k" } })).status, 201);
        for (const key of ['"open', "x".repeat(256), '""']) assert.equal((await send(post(key))).status, 400);
        assert.equal(bodies.length, 3);
      });
      await guarded({ requireKey: true, maxBody: 10 }, async ({ send }, bodies) => {
        const refused = await send({ method: "POST", body: "b" });
        assert.deepEqual([refused.status, (await refused.json()).code], [400, "invalid"]);
        assert.equal((await send(post("k", "longer than that"))).status, 413);
        assert.equal(bodies.length, 0);
      });
    });

    test(`${form}: answers that say "not done" free the key`, () => guarded({}, async ({ send }, bodies) => {
      for (const status of ["401", "403", "429", "503"]) {
        assert.equal((await send(post(`k-${status}`, status))).status, Number(status));
        assert.equal((await send(post(`k-${status}`, status))).headers.get("x-n"), String(bodies.length));
      }
      assert.equal(bodies.length, 8);
    }, Number));

    test(`${form}: a service that throws is answered the same again`, () => guarded({}, async ({ send }, bodies) => {
      await send(post("k", "bug")).then((response) => assert.equal(response.status, 500), (error) => assert.equal(error.message, "a bug"));
      const again = await send(post("k", "bug"));
      assert.deepEqual([again.status, await again.text(), bodies.length], [500, "Internal Server Error", 1]);
    }));

    test(`${form}: an answer that is too large is sent, and not done again`, () => guarded({ maxAnswer: 3 }, async ({ send }, bodies) => {
      assert.equal(await (await send(post("k"))).text(), "did b");
      const again = await send(post("k"));
      assert.deepEqual([again.status, (await again.json()).upstream_bytes, bodies.length], [409, 5, 1]);
    }));

    test(`${form}: in flight is 409`, () => guarded({}, async (service, bodies) => {
      const first = service.send(post("k", "wait"));
      await waitUntil(() => service.release !== undefined);
      const second = await service.send(post("k", "wait"));
      assert.deepEqual([second.status, second.headers.get("retry-after"), (await second.json()).code], [409, "1", "busy"]);
      service.release();
      assert.equal((await first).status, 201);
      assert.equal(bodies.length, 1);
    }));
  }

  test("node: a body that another middleware has read is compared as that has made it", async () => {
    const guard = once.express(connected());
    let calls = 0;
    const listener = http.createServer(async (request, response) => {
      let text = "";
      for await (const piece of request) text += piece;
      request.body = JSON.parse(text);
      guard(request, response, () => response.end(`${++calls} ${request.body.n}`));
    }).listen(0, "127.0.0.1");
    await event(listener, "listening");
    const send = async (body) => {
      const response = await fetch(`http://127.0.0.1:${listener.address().port}/`, post("k", body));
      return [response.status, response.status === 200 ? await response.text() : ""];
    };
    assert.deepEqual([await send('{"n":1}'), await send('{ "n": 1 }'), await send('{"n":2}')], [[200, "1 1"], [200, "1 1"], [422, ""]]);
    listener.closeAllConnections();
    listener.close();
  });

  test("node: a caller that has gone leaves an unknown outcome, until it is forgotten", async () => {
    const client = connected();
    const guard = once.express(client, { lease: "1s" });
    let calls = 0;
    const listener = http.createServer((request, response) => guard(request, response, () => void (calls += 1))).listen(0, "127.0.0.1");
    await event(listener, "listening");
    const url = `http://127.0.0.1:${listener.address().port}/`;
    const controller = new AbortController();
    const first = fetch(url, { ...post("k"), signal: controller.signal });
    await waitUntil(() => calls === 1);
    controller.abort();
    await assert.rejects(first);
    let answer;
    await waitUntil(async () => (answer = await fetch(url, post("k"))).status === 502);
    const { claim, code: told } = await answer.json();
    assert.equal(told, "unknown");
    await client.claim(claim).forget();
    void fetch(url, post("k")).catch(() => undefined);
    await waitUntil(() => calls === 2);
    listener.closeAllConnections();
    listener.close();
  });

  test("node: a caller that has gone while its claim was taken leaves the key free", async () => {
    const held = await heldAnswers();
    const namespace = `t-${++spaces}`;
    const [through, direct] = [held, server].map(({ url }) => once.connect(url, { namespace }));
    let calls = 0;
    let gone = false;
    const guards = [once.express(through), once.express(direct)];
    const listener = http.createServer((request, response) => {
      response.on("close", () => (gone = true));
      guards.shift()(request, response, () => response.end(String(++calls)));
    }).listen(0, "127.0.0.1");
    await event(listener, "listening");
    const url = `http://127.0.0.1:${listener.address().port}/`;
    const controller = new AbortController();
    const first = fetch(url, { ...post("k"), signal: controller.signal });
    await waitUntil(() => held.answered);
    controller.abort();
    await assert.rejects(first);
    await waitUntil(() => gone);
    held.go();
    await waitUntil(async () => (await direct.claims({ prefix: "http/", state: "busy" })).length === 0);
    assert.equal(calls, 0);
    assert.equal(await (await fetch(url, post("k"))).text(), "1");
    held.end();
    through.close();
    listener.closeAllConnections();
    listener.close();
  });

  test("fetch: a caller that has gone while its claim was taken leaves the key free", async () => {
    const held = await heldAnswers();
    const namespace = `t-${++spaces}`;
    const [through, direct] = [held, server].map(({ url }) => once.connect(url, { namespace }));
    let calls = 0;
    const service = () => new Response(String(++calls));
    const controller = new AbortController();
    const first = once.fetchHandler(through, service)(new Request("http://s/", { ...post("k"), signal: controller.signal }));
    await waitUntil(() => held.answered);
    controller.abort();
    held.go();
    await assert.rejects(first, { name: "AbortError" });
    assert.equal(calls, 0);
    assert.equal(await (await once.fetchHandler(direct, service)(new Request("http://s/", post("k")))).text(), "1");
    held.end();
    through.close();
  });

  test("where unknown is retried the claim ends soon", async () => {
    const client = connected();
    const other = (afterUnknown) => once.fetchHandler(client, () => assert.fail("it ran"), { afterUnknown });
    const service = async () => {
      const [claim] = await client.claims({ prefix: "http/" });
      const others = [];
      for (const rule of ["refuse", "retry"]) others.push((await other(rule)(new Request("http://s/", post("k")))).status);
      return Response.json([claim.leaseUntil.getTime() - Date.now() < 120_000, others]);
    };
    const answer = await once.fetchHandler(client, service, { afterUnknown: "retry" })(new Request("http://s/", post("k")));
    assert.deepEqual(await answer.json(), [true, [409, 409]]);
  });

  test("without a store a request is refused, or proceeds if that was asked for", async () => {
    const client = once.connect("http://127.0.0.1:9", { patience: "100ms" });
    const service = () => new Response("done");
    assert.equal((await once.fetchHandler(client, service)(new Request("http://s/", post("k")))).status, 503);
    assert.equal((await once.fetchHandler(client, service, { ifStoreDown: "proceed" })(new Request("http://s/", post("k")))).status, 200);
  });

  test("lambda", async () => {
    const client = connected();
    let calls = 0;
    const handler = once.lambdaHandler(client, "/detail/id", async (given) => ({ built: given.detail.id, n: ++calls }));
    assert.deepEqual(await handler({ detail: { id: "b-7" } }), await handler({ detail: { id: "b-7" } }));
    assert.equal(calls, 1);
    await assert.rejects(handler({ detail: {} }), Invalid);
    const byContext = once.lambdaHandler(client, (_, context) => context.awsRequestId, async () => ++calls, { payload: (given) => given });
    await byContext({ a: 1 }, { awsRequestId: "r" });
    await assert.rejects(byContext({ a: 2 }, { awsRequestId: "r" }), Mismatch);
  });

  test("lambda: HTTP events follow the proxy's rules", async () => {
    const client = connected();
    let statusCode = 503;
    const handler = once.lambdaHandler(client, "header:idempotency-key", async () => ({ statusCode, body: "x" }), { payload: (given) => given.body });
    const given = { requestContext: { http: {} }, headers: { "Idempotency-Key": "k" }, body: "b" };
    assert.equal((await handler(given)).statusCode, 503);
    statusCode = 201;
    assert.deepEqual(await handler(given), { statusCode: 201, body: "x" });
    assert.equal((await handler(given)).headers["Idempotent-Replayed"], "true");
    assert.equal((await handler({ ...given, body: "other" })).statusCode, 422);
    await client.run("busy", async () => {
      const busy = await handler({ ...given, headers: { "idempotency-key": "busy" } });
      assert.deepEqual([busy.statusCode, busy.headers["Retry-After"]], [409, "1"]);
    }, { payload: "b" });
  });
});

describe("examples", () => {
  /** A program in a directory where once-client, and Express as Debian has it, are installed. */
  async function started(home, program, env) {
    await mkdir(join(home, "node_modules"));
    await symlink(dirname(DIST), join(home, "node_modules/once-client"));
    await symlink("/usr/share/nodejs/express", join(home, "node_modules/express"));
    await copyFile(program, join(home, "main.mjs"));
    const child = spawn(process.execPath, [join(home, "main.mjs")], {
      env: { ...process.env, NODE_PATH: "/usr/share/nodejs", ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    return child;
  }

  test("Express: duplicate and concurrent requests take effect once", () => temporary(async (home) => {
    const env = { ONCE_STORE: server.url, ONCE_NAMESPACE: "express", PORT: "0" };
    const service = await started(home, join(PACKAGE, "examples/express_payments.mjs"), env);
    try {
      const lines = createInterface({ input: service.stdout })[Symbol.asyncIterator]();
      const url = (await lines.next()).value;
      const pay = async (key, payment) => {
        const response = await fetch(`${url}/payments`, {
          method: "POST",
          headers: { "Content-Type": "application/json", "Idempotency-Key": key },
          body: JSON.stringify(payment),
        });
        return [response.status, await response.json(), response.headers.get("idempotent-replayed")];
      };
      const payment = { account: "a", cents: 500 };
      const answers = await Promise.all(Array.from({ length: 12 }, () => pay("k-1", payment)));
      assert.ok(answers.every(([status]) => status === 201 || status === 409), JSON.stringify(answers));
      assert.deepEqual(new Set(answers.filter(([status]) => status === 201).map(([, body]) => body.number)), new Set([1]));
      assert.deepEqual(await pay("k-1", payment), [201, { number: 1, cents: 500 }, "true"]);
      assert.equal((await pay("k-1", { ...payment, cents: 1 }))[0], 422);
      assert.equal((await pay("k-2", payment))[1].number, 2);
      const reminders = await Promise.all([1, 2].map(() => fetch(`${url}/reminders/7`, { method: "POST" })));
      assert.deepEqual(reminders.map(({ status }) => status), [200, 200]);
      assert.equal((await once.connect(server.url, { namespace: "express" }).log("reminders").read()).length, 1);
    } finally {
      const ended = event(service, "exit");
      service.kill("SIGTERM");
      await ended;
    }
  }));
});
