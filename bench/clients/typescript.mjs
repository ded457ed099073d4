#!/usr/bin/env node
// typescript.mjs ONCE [--seconds N]: the TypeScript client beside `once bench` and bare HTTP calls of Node, one at a time and 50 at once.
//
// A bare call is the same claim, posted by node:http with a connection that is kept, or by fetch, and nothing around it. `claim` is one
// call of the client, `run` is a claim and its completion, two calls. They are measured in turns. Exits with 1 if the median of a call is
// more than twice that of a bare one by node:http. The client is the one in $ONCE_CLIENT, else that in dist/.
import { execFile, spawn } from "node:child_process";
import { once as event } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs, promisify } from "node:util";

const { values, positionals } = parseArgs({ options: { seconds: { type: "string", default: "3" } }, allowPositionals: true });
if (positionals.length !== 1) {
  console.error("usage: typescript.mjs ONCE [--seconds N]");
  process.exit(64);
}
const here = dirname(fileURLToPath(import.meta.url));
const dist = process.env.ONCE_CLIENT ?? join(here, "../../clients/typescript/dist");
const { connect } = await import(pathToFileURL(join(dist, "index.js")).href);
const seconds = Number(values.seconds);
const TARGET = 2;
const ROUNDS = 3;
let number = 0;

/** The times of calls, how long all of it took, and the processor time, in milliseconds. */
async function measure(call, workers, time) {
  const until = performance.now() + time * 1000;
  const times = [];
  const worker = async () => {
    while (performance.now() < until) {
      const began = performance.now();
      await call();
      times.push(performance.now() - began);
    }
  };
  const began = performance.now();
  const used = process.cpuUsage();
  await Promise.all(Array.from({ length: workers }, worker));
  const took = performance.now() - began;
  const { user, system } = process.cpuUsage(used);
  return { times, took, used: (user + system) / 1000 };
}

/** For each: calls a second; the median, the 99th percentile and the processor time of a call in milliseconds. */
async function inTurns(calls, workers, time) {
  const sums = new Map(Object.keys(calls).map((name) => [name, { times: [], took: 0, used: 0 }]));
  for (let round = 0; round < ROUNDS; ++round) {
    for (const [name, call] of Object.entries(calls)) {
      const sum = sums.get(name);
      const { times, took, used } = await measure(call, workers, time / ROUNDS);
      sum.times = sum.times.concat(times);
      sum.took += took;
      sum.used += used;
    }
  }
  return [...sums].map(([name, { times, took, used }]) => {
    times.sort((a, b) => a - b);
    const at = (share) => times[Math.floor((times.length - 1) * share)];
    return [name, (times.length / took) * 1000, at(0.5), at(0.99), used / times.length];
  });
}

const directory = await mkdtemp(join(tmpdir(), "once-bench-"));
const store = `rocksdb:${directory}/store?durability=relaxed`;
const server = spawn(positionals[0], ["serve", "--store", store, "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
const ended = event(server, "exit");
try {
  const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  const url = (await lines.next()).value.split(" ")[2];
  const client = connect(url);
  const agent = new http.Agent({ keepAlive: true });
  const claim = () => JSON.stringify({ request: `r-${number++}`, lease: "30s", ttl: "24h", owner: "bench" });
  const target = () => `${url}/v1/claims/bare-${number++}`;
  const headers = { "Content-Type": "application/json" };
  const bareHttp = () => new Promise((resolve, reject) => {
    const body = claim();
    const options = { method: "POST", agent, headers: { ...headers, "Content-Length": Buffer.byteLength(body) } };
    http.request(target(), options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece) => (text += piece)).on("end", () => resolve(JSON.parse(text)));
    }).on("error", reject).end(body);
  });
  const calls = {
    "bare http": bareHttp,
    "bare fetch": async () => (await fetch(target(), { method: "POST", headers, body: claim() })).json(),
    claim: () => client.claim(`claim-${number++}`).take(),
    run: () => client.run(`run-${number++}`, () => 1),
  };
  for (const call of Object.values(calls)) await measure(call, 50, Math.min(1, seconds)); // So that all is compiled.
  const row = (cells) => console.log(cells.map((cell, n) => (n === 0 ? cell.padEnd(12) : cell.padStart([0, 7, 9, 8, 8, 7, 13, 6, 0][n]))).join(" "));
  row(["", "at once", "a second", "p50 ms", "p99 ms", "CPU ms", "a call / bare", "target"]);
  for (const workers of [1, 50]) {
    let bare;
    const args = ["bench", "claims", "--store", url, "--clients", `${workers}`, "--seconds", `${Math.ceil(seconds)}`, "--json"];
    const ours = JSON.parse((await promisify(execFile)(positionals[0], args)).stdout);
    row(["once bench", `${workers}`, ours.per_second.toFixed(0), ours.p50_ms.toFixed(2), ours.p99_ms.toFixed(2)]);
    for (const [name, rate, p50, p99, cpu] of await inTurns(calls, workers, seconds)) {
      bare ??= p50;
      const ratio = p50 / bare / (name === "run" ? 2 : 1);
      const isOurs = !name.startsWith("bare");
      if (isOurs && ratio > TARGET) process.exitCode = 1;
      const verdict = isOurs ? [ratio.toFixed(2), TARGET.toFixed(2), ratio > TARGET ? "MISSED" : "met"] : [];
      row([name, `${workers}`, rate.toFixed(0), p50.toFixed(2), p99.toFixed(2), cpu.toFixed(2), ...verdict]);
    }
  }
  client.close();
  agent.destroy();
} finally {
  server.kill("SIGTERM");
  await ended;
  await rm(directory, { recursive: true, force: true });
}
