// The console's pure modules, in Node.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { addressOf, parseAddress } from "../../src/console/address.js";
import { encoded } from "../../src/console/api.js";
import { pathOf } from "../../src/console/chart.js";
import { bytes, cut, duration, hasUnseen, isDuration, latency, oneLine, relative, visible } from "../../src/console/format.js";
import { History, SeenPoints } from "../../src/console/history.js";
import { parseMetrics, total } from "../../src/console/metrics.js";
import { EventParser, Tail, visibleRows } from "../../src/console/stream.js";

const folder = new URL("../../src/console/", import.meta.url);

test("an address leads back to what it was made of", () => {
  for (const name of ["a", "a/b", "a?b#c", "100%", "é \u202e", "%2F", "..", ".", "a&b=c"]) {
    const address = parseAddress(addressOf("claims", name, { state: "failed", ns: "a b", empty: "" }));
    assert.deepEqual(address, { view: "claims", name, query: { state: "failed", ns: "a b" } });
  }
  assert.deepEqual(parseAddress(""), { view: "", name: null, query: {} });
  assert.deepEqual(parseAddress("#/"), { view: "", name: null, query: {} });
  assert.deepEqual(parseAddress("#/docs"), { view: "docs", name: null, query: {} });
  assert.equal(parseAddress("#/claims/a/b").name, "a/b", "a key that nobody encoded");
  assert.equal(parseAddress("#/claims/100%").name, "100%");
});

test("a name that a browser takes for a step of the path is never a part of one", () => {
  for (const name of ["a/..", "...", "a.b", "%2e", "é"]) {
    assert.equal(new URL(`/v1/claims/${encoded(name)}`, "http://h").pathname.split("/").length, 4, name);
  }
  for (const name of [".", ".."]) assert.throws(() => encoded(name), /cannot ask for/);
});

test("numbers are shown as people read them", () => {
  assert.equal(duration(0), "0s");
  assert.equal(duration(0.25), "250ms");
  assert.equal(duration(93), "1m 33s");
  assert.equal(duration(86_400 * 3 + 3_600), "3d 1h");
  assert.equal(duration(86_400 + 5), "1d", "not 1d and 5s");
  assert.equal(bytes(0), "0 B");
  assert.equal(bytes(1_536), "1.5 KiB");
  assert.equal(bytes(1 << 20), "1.0 MiB");
  assert.equal(latency(0.0004), "400 µs");
  assert.equal(latency(0.25), "250 ms");
  assert.equal(relative("2026-01-01T00:00:00Z", Date.parse("2026-01-01T00:01:00Z")), "1m ago");
  assert.equal(relative("2026-01-01T00:01:00Z", Date.parse("2026-01-01T00:00:00Z")), "in 1m");
  assert.ok(isDuration("90d") && !isDuration("soon") && !isDuration("5"));
});

test("what cannot be seen is named", () => {
  assert.equal(visible("a\u0000b\u202ec\ufeff"), "a⟨U+0000⟩b⟨U+202E⟩c⟨U+FEFF⟩");
  assert.equal(visible("plain é 漢 🎉\n\t"), "plain é 漢 🎉\n\t");
  assert.ok(hasUnseen("a\u200b") && hasUnseen("a\u200b") && !hasUnseen("a b"));
  assert.equal(oneLine({ a: "x\ny" }), '{"a":"x\\ny"}');
  assert.equal(oneLine("x\ny"), "x y");
  assert.equal(cut("abcdef", 3), "abc…");
});

test("a page of metrics is read", () => {
  const page = parseMetrics(`# HELP x y
once_outcomes_total{primitive="claims",outcome="executed"} 40
once_outcomes_total{primitive="log",outcome="a \\"b\\"\\\\"} 5
up 1
`);
  assert.equal(total(page, "once_outcomes_total"), 45);
  assert.equal(total(page, "once_outcomes_total", (labels) => labels.outcome === 'a "b"\\'), 5);
  assert.equal(total(page, "nothing"), undefined);
});

const kStart = Date.parse("2026-01-01T00:00:00Z");
const isoAt = (seconds) => new Date(kStart + seconds * 1000).toISOString();
const sampleAt = (seconds, outcomes = {}, more = {}) => ({ at: isoAt(seconds), seconds: 5, p50_seconds: null, p99_seconds: null, outcomes, ...more });

test("the history of the server becomes lines, of which it asks for the new end only", () => {
  const history = new History();
  assert.equal(history.after, undefined);
  const first = sampleAt(5, { claims: { executed: 10, busy: 5 }, log: { executed: 5 } }, { p50_seconds: 0.001, p99_seconds: 0.02 });
  history.take({ time: isoAt(12), every_seconds: 5, samples: [first, sampleAt(10)] }, kStart);
  assert.equal(history.after, isoAt(10));
  assert.deepEqual(history.rates({}).map((point) => point.value), [4, 0]);
  assert.deepEqual(history.rates({ outcome: "executed" }).map((point) => point.value), [3, 0]);
  assert.deepEqual(history.rates({ primitive: "claims", outcome: "busy" }).map((point) => point.value), [1, 0]);
  assert.deepEqual(history.latencies("p99_seconds").map((point) => point.value), [0.02, NaN]);
  assert.deepEqual(history.primitives(), ["claims", "log"]);
  assert.deepEqual(history.outcomesOf("claims", 1), ["executed"]);
  assert.deepEqual(history.outcomesOf("claims", 6), ["busy", "executed"]);
  assert.deepEqual(history.range(kStart + 1_000), { from: kStart - 107_000, to: kStart + 13_000 }, "by the server's clock");
  history.take({ time: isoAt(15), every_seconds: 5, samples: [sampleAt(10), sampleAt(15)] }, kStart);
  assert.deepEqual(history.samples.map((one) => one.at), [isoAt(5), isoAt(10), isoAt(15)], "none twice");
});

test("the history is a quarter of an hour, and a line is broken where the server was stopped", () => {
  const history = new History();
  for (let seconds = 5; seconds <= 2_000; seconds += 5) history.take({ time: isoAt(seconds), every_seconds: 5, samples: [sampleAt(seconds)] }, kStart);
  assert.equal(history.samples.length, 180);
  history.take({ time: isoAt(2_100), every_seconds: 5, samples: [sampleAt(2_100)] }, kStart);
  assert.deepEqual(history.rates({}).slice(-3).map((point) => point.value), [0, NaN, 0]);
  history.take({ time: isoAt(1_950), every_seconds: 5, samples: [sampleAt(1_950)] }, kStart);
  assert.equal(history.after, isoAt(1_950), "its clock was set back");
});

test("a line is broken where a value is missing, and a point alone is a dot", () => {
  const same = (value) => value;
  const points = [[0, 1], [1, 2], [2, NaN], [3, 4], [4, NaN]].map(([at, value]) => ({ at, value }));
  assert.equal(pathOf(points, same, same), "M0.0 1.0h0L1.0 2.0M3.0 4.0h0");
  assert.equal(pathOf([], same, same), "M0 0");
});

test("points that were seen are kept for a quarter of an hour and no longer", () => {
  const seen = new SeenPoints(1_000);
  for (let at = 0; at <= 5_000; at += 100) seen.add(at, { n: at });
  assert.equal(seen.points.length, 11);
  assert.deepEqual(seen.series("n").at(-1), { at: 5_000, value: 5_000 });
});

test("server-sent events come in any pieces", () => {
  const text = 'id: 1\ndata: {"index":1}\n\n: note\n\nid: 2\r\ndata: a\r\ndata: b\r\n\r\nevent: end\ndata:\n\n';
  for (const size of [1, 2, 7, text.length]) {
    const parser = new EventParser();
    const found = [];
    for (let at = 0; at < text.length; at += size) found.push(...parser.push(text.slice(at, at + size)));
    assert.deepEqual(found.map((one) => [one.event, one.id, one.data]), [["message", "1", '{"index":1}'], ["message", "2", "a\nb"], ["end", "", ""]]);
  }
});

test("a tail keeps the last events, within its bounds, in order", () => {
  const tail = new Tail(100, 1_000);
  for (let index = 1; index <= 1_000; index += 1) tail.push({ index, time: "", data: index }, 1);
  assert.deepEqual([tail.length, tail.first, tail.last], [100, 901, 1_000]);
  assert.equal(tail.push({ index: 1_000, time: "", data: 0 }, 1), 0, "one that it has");
  tail.push({ index: 1_001, time: "", data: "long" }, 990);
  assert.equal(tail.length, 11, "bounded in characters");
  tail.push({ index: 1_002, time: "", data: "longer" }, 5_000);
  assert.deepEqual([tail.length, tail.at(0)?.index], [1, 1_002], "one that is too long is shown all the same");
});

test("only the rows on the screen are drawn", () => {
  const { first, last } = visibleRows(20_000, 26, 26 * 10_000, 700);
  assert.ok(first <= 10_000 && last >= 10_027 && last - first < 60);
  assert.deepEqual(visibleRows(0, 26, 0, 700), { first: 0, last: 0 });
});

test("the page asks for all modules at once, so that none waits for another", async () => {
  const page = await readFile(new URL("index.html", folder), "utf8");
  for (const name of (await readdir(folder)).filter((one) => one.endsWith(".js"))) assert.ok(page.includes(`"/console/${name}"`), name);
});

test("all of it is under 120 KB compressed, and has nothing inline or from elsewhere", async () => {
  let size = 0;
  for (const name of (await readdir(folder)).filter((one) => /\.(html|css|js|svg)$/.test(one))) {
    const content = await readFile(new URL(name, folder), "utf8");
    size += gzipSync(content, { level: 9 }).length;
    assert.doesNotMatch(content, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/, name);
    assert.doesNotMatch(content.replace("http://www.w3.org/2000/svg", ""), /https?:\/\//, name);
    if (name.endsWith(".html")) assert.doesNotMatch(content, /<style|<script(?![^>]*src=)|style=|\son\w+=/i);
  }
  assert.ok(size < 120_000, `${size} bytes`);
});
