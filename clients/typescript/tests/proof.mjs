// Against a real server that is killed, behind a relay that loses every twentieth answer.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Relay, Server, once, waitUntil } from "./harness.mjs";

const KEYS = 200;
const WORKERS = 16;
const RACERS = 4; // Of each key.
const KILLS = 10;
const UPDATERS = 30;
const MANY = 500;
const LEASE = "30s"; // Longer than a server takes to come back on a machine that stalls: nobody dies here but the server.

let server;
let relay;
before(async () => {
  server = await Server.start();
  relay = await Relay.start(server.port, 20);
});
after(async () => {
  await relay?.end();
  await server?.end();
});

const keysOf = (count) => Array.from({ length: count }, (_, n) => `key-${n}`);
const sorted = (list) => [...list].sort();

/** The same order each time. */
function shuffled(list) {
  let seed = 4711;
  const next = () => (seed = (seed * 48271) % 2147483647);
  return list.map((one) => [next(), one]).sort(([a], [b]) => a - b).map(([, one]) => one);
}

test("each effect happens once although the server dies and answers are lost, and a follower misses nothing", async () => {
  const keys = keysOf(KEYS);
  const turns = shuffled(Array.from({ length: RACERS }, () => keys).flat());
  const client = once.connect(relay.url, { timeout: "5s", namespace: "race" });
  const direct = once.connect(server.url, { namespace: "race" });
  const holders = new Map(); // Who believes to hold which key.
  const twice = [];
  const worked = new Map();
  const outcomes = [];
  const failures = [];

  const work = async (attempt) => {
    const before = holders.get(attempt.key);
    if (before !== undefined && !before.lost) twice.push(attempt.key);
    holders.set(attempt.key, attempt);
    worked.set(attempt.key, (worked.get(attempt.key) ?? 0) + 1);
    await new Promise((done) => setTimeout(done, 1));
    attempt.effects.append("effects", attempt.key).add("sum", 1);
    if (holders.get(attempt.key) === attempt && !attempt.lost) holders.delete(attempt.key);
    return `done ${attempt.key}`;
  };
  const worker = async () => {
    for (let key = turns.pop(); key !== undefined; key = turns.pop()) {
      try {
        outcomes.push([key, await client.run(key, work, { lease: LEASE, wait: "60s" })]);
      } catch (error) {
        failures.push([key, error]);
      }
    }
  };
  const follower = async () => {
    const followed = [];
    for await (const { index, data } of direct.log("effects").follow({ limit: KEYS })) followed.push([index, data]);
    return followed;
  };

  const working = Promise.all(Array.from({ length: WORKERS }, worker));
  const following = follower();
  for (let kill = 1; kill <= KILLS; ++kill) {
    const wanted = Math.floor((kill * KEYS * RACERS) / (KILLS + 2));
    await waitUntil(() => outcomes.length + failures.length >= wanted);
    await server.kill();
    await server.start();
  }
  await working;

  assert.deepEqual(failures, []);
  assert.equal(outcomes.length, KEYS * RACERS);
  for (const [key, { result }] of outcomes) assert.equal(result, `done ${key}`);
  assert.deepEqual(twice, []);
  assert.deepEqual(sorted(worked.keys()), sorted(keys));
  const events = await direct.log("effects").read({ limit: 1000 });
  assert.deepEqual(sorted(events.map(({ data }) => data)), sorted(keys));
  assert.equal(await direct.tally("sum").value(), KEYS);
  const followed = await following;
  assert.deepEqual(followed, events.map(({ index, data }) => [index, data]));
  assert.deepEqual(followed.map(([index]) => index), keys.map((_, n) => n + 1));
  client.close();
  direct.close();
});

test("updaters of one document lose nothing", async () => {
  const client = once.connect(relay.url, { timeout: "5s", patience: "200s", namespace: "updates" }); // Each waits for all others.
  const update = (name) => client.document("shared").update((value = {}) => ({ ...value, [name]: (value[name] ?? 0) + 1 }));
  const names = Array.from({ length: UPDATERS }, (_, n) => `u${n}`);
  await Promise.all(names.map(update));
  const { value } = await once.connect(server.url, { namespace: "updates" }).document("shared").get();
  assert.deepEqual(value, Object.fromEntries(names.map((name) => [name, 1])));
  client.close();
});

test("500 concurrent runs, by Node's own HTTP and by fetch", async () => {
  for (const [kind, options] of [["node", {}], ["fetch", { fetch: globalThis.fetch }]]) {
    const client = once.connect(relay.url, { namespace: `many-${kind}`, timeout: "20s", ...options });
    const running = new Set();
    const work = async (attempt) => {
      assert.ok(!running.has(attempt.key), "two run one key");
      running.add(attempt.key);
      await new Promise((done) => setTimeout(done, 1));
      running.delete(attempt.key);
      attempt.effects.append("effects", attempt.key);
      return attempt.key;
    };
    const keys = Array.from({ length: MANY }, (_, n) => `key-${n % (MANY / 2)}`);
    const outcomes = await Promise.all(keys.map((key) => client.run(key, work, { wait: "60s" })));
    assert.deepEqual(outcomes.map(({ result }) => result), keys);
    assert.equal(outcomes.filter(({ replayed }) => !replayed).length, MANY / 2);
    const direct = once.connect(server.url, { namespace: `many-${kind}` });
    assert.equal((await direct.log("effects").read({ limit: 1000 })).length, MANY / 2);
    client.close();
  }
});
