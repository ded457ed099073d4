// Plays the scenarios of clients/contract with this client: contract_driver.mjs node|fetch.
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { once } from "./harness.mjs";

class Raised extends Error {}

const kind = process.argv[2] ?? "node";
const condition = (given) => ({ create: given?.create, ifMatch: given?.if_match });
const shownEvent = ({ index, data }) => ({ index, data });

function addEffects(effects, wanted = []) {
  for (const [name, target, value, options] of wanted) {
    if (name === "put") effects.put(target, value, condition(options));
    else effects[name](target, value);
  }
  return effects;
}

/** Ends as calls do that were given the signal. */
function untilAborted(signal) {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    if (signal.aborted) reject(signal.reason);
  });
}

class Player {
  worked = 0;

  constructor({ url, client }) {
    this.client = once.connect(url, { ...client, ...(kind === "fetch" ? { fetch: globalThis.fetch } : {}) });
  }

  async run({ key, work, lease, ttl, wait, payload }) {
    const { result, replayed } = await this.client.run(key, async (attempt) => {
      this.worked += 1;
      addEffects(attempt.effects, work.effects);
      if (work.until === "lost") await untilAborted(attempt.signal);
      if (work.waits_at) await fetch(work.waits_at);
      if ("raises" in work) throw new Raised(work.raises);
      if ("gives_up" in work) attempt.giveUp(work.gives_up);
      if ("prepares" in work) {
        const token = await attempt.prepare(work.prepares);
        if (work.applies_at) await fetch(work.applies_at, { method: "POST", body: token });
        return undefined;
      }
      return work.returns;
    }, { lease, ttl, wait, payload });
    return { result, replayed };
  }

  seen({ ids }) {
    return this.client.seen(ids);
  }

  async append({ stream, events, batch, expect }) {
    const { first, last, replayed } = await this.client.log(stream).append(events, { batch, expect });
    return { first, last, replayed };
  }

  async read({ stream }) {
    const page = await this.client.log(stream).read();
    return { events: page.map(shownEvent), next: page.next };
  }

  async follow({ stream, take, since }) {
    const events = [];
    for await (const event of this.client.log(stream).follow({ limit: take, since })) events.push(shownEvent(event));
    return events;
  }

  async get({ key }) {
    const found = await this.client.document(key).get();
    return found && { value: found.value, etag: found.etag };
  }

  async put(call) {
    return (await this.client.document(call.key).put(call.value, condition(call))).etag;
  }

  async update({ key, set }) {
    const { value, etag } = await this.client.document(key).update((current) => ({ ...current, ...set }));
    return { value, etag };
  }

  delete(call) {
    return this.client.document(call.key).delete({ ifMatch: call.if_match });
  }

  async add({ key, amount, id }) {
    const { value, replayed } = await this.client.tally(key).add(amount, { id });
    return { value, replayed };
  }

  value({ key }) {
    return this.client.tally(key).value();
  }

  async commit({ effects, id }) {
    return { replayed: (await this.client.commit(addEffects(new once.Effects(), effects), { id })).replayed };
  }

  prepare({ effects }) {
    return this.client.prepare(addEffects(new once.Effects(), effects));
  }

  async forget({ key }) {
    await this.client.claim(key).forget();
    return null;
  }
}

async function played(player, call) {
  try {
    return { value: await player[call.do](call) };
  } catch (error) {
    if (error instanceof Raised) return { raised: error.message };
    if (!(error instanceof once.OnceError)) throw error;
    return { error: { code: error.code, class: error.name, failure: error.failure ?? null } };
  }
}

// What is loaded and compiled at the first use is so now: scenarios have short times.
const nothing = createServer((request, response) => response.writeHead(200, { "Content-Type": "application/json" }).end("{}"));
await new Promise((done) => nothing.listen(0, "127.0.0.1", done));
const first = new Player({ url: `http://127.0.0.1:${nothing.address().port}` });
for (let n = 0; n < 5; ++n) await played(first, { do: "seen", ids: ["a"] });
first.client.close();
nothing.closeAllConnections?.();
nothing.close();

for await (const line of createInterface({ input: process.stdin })) {
  const given = JSON.parse(line);
  const player = new Player(given);
  const seen = await played(player, given.call);
  player.client.close();
  process.stdout.write(`${JSON.stringify({ ...seen, worked: player.worked })}\n`);
}
process.exit(0);
