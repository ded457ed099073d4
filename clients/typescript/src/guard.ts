/**
 * The rules of `once proxy` for requests with an Idempotency-Key.
 *
 * The first request goes through; its status, headers and body are stored and replayed byte for byte, without Set-Cookie.
 * Answers 401, 403, 429 and 503 free the key. If nobody knows what became of a request, its key is refused until it is
 * forgotten: the claim has a lease of 29 days and the time that a request may take; once only the 29 days are left, its
 * outcome is unknown. If such a request may be done again (`afterUnknown: "retry"`), the claim has only the time that a
 * request may take.
 */
import { complete, release, renew, take } from "./claims.js";
import { Core, isObject } from "./core.js";
import { Busy, Mismatch, OnceError, Unavailable, Unknown } from "./errors.js";
import { Keeper, Lease } from "./lease.js";
import { sha256 } from "./platform.js";
import { failureText } from "./run.js";
import { Duration, Finished, Ticket, milliseconds, parseTime } from "./values.js";

const HOLD = 29 * 86_400_000;
const LONGEST_REQUEST = 86_400_000; // Tells the two kinds of leases apart.
const MAX_KEY = 255;
const STORE_CALL = 10_000; // As in the proxy.
const FREES = new Set([401, 403, 429, 503]);
const WHO = ["authorization", "cookie", "x-api-key"];
const OF_ONE_CONNECTION = new Set(["connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"]);

/** What a service wants. The names are those of the proxy's options. */
export interface Rules {
  /** A POST or PATCH without a key is 400. */
  requireKey?: boolean | undefined;
  /** Headers that tell callers apart, besides Authorization, Cookie and X-Api-Key. */
  identityHeaders?: readonly string[] | undefined;
  /** Every 5xx frees the key. */
  retry5xx?: boolean | undefined;
  afterUnknown?: "refuse" | "retry" | undefined;
  ifStoreDown?: "refuse" | "proceed" | undefined;
  /** How long an answer is kept (24h). */
  ttl?: Duration | undefined;
  /** Bytes (1 MiB and 512 KiB). */
  maxBody?: number | undefined;
  maxAnswer?: number | undefined;
  /** How long a request is taken to be in flight without a renewal (60s). */
  lease?: Duration | undefined;
  methods?: readonly string[] | undefined;
}

export type Headers = [name: string, value: string][];

/** An answer to the caller. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** An answer of the guard itself. */
export function problem(status: number, code: string, detail: string, headers: Headers = [], more: object = {}): HttpAnswer {
  const titles: Record<number, string> = { 400: "The request cannot be understood", 409: "Another holder has it", 413: "Too large" };
  const text = JSON.stringify({ status, title: titles[status] ?? code, detail, code, ...more });
  const body = new TextEncoder().encode(text);
  return {
    status,
    headers: [["content-type", "application/problem+json"], ["content-length", String(body.length)], ...headers],
    body,
  };
}

/** Whether a request with such an answer may be tried again. */
export function frees(rules: Rules, status: number): boolean {
  return FREES.has(status) || (rules.retry5xx === true && status >= 500);
}

/** The key, quoted as a string of RFC 8941 or not; null if no key was sent, or the answer to one that is none. */
export function keyOf(headers: Headers): string | null | HttpAnswer {
  const found = headers.filter(([name]) => name.toLowerCase() === "idempotency-key").map(([, value]) => value.trim());
  if (found.length === 0) return null;
  const bad = (detail: string): HttpAnswer => problem(400, "invalid", `Idempotency-Key ${detail}`);
  if (found.length > 1) return bad("is there twice");
  const given = found[0] as string;
  const key = given.startsWith('"') ? unquotedKey(given) : given;
  if (key === null) return bad("is not a string in quotes");
  if (key === "") return bad("is empty");
  if (key.length > MAX_KEY) return bad("has more than 255 characters");
  return /^[ -~]+$/.test(key) ? key : bad("has other than printable ASCII");
}

function unquotedKey(text: string): string | null {
  return /^"(?:[^"\\]|\\["\\])*"$/.test(text) ? text.slice(1, -1).replaceAll(/\\(["\\])/g, "$1") : null;
}

/** `http/SCOPE/KEY`. The scope is a digest of the resource and of who asks; no secret is stored. */
export async function claimName(method: string, target: string, headers: Headers, key: string, rules: Rules): Promise<string> {
  const who = new Set([...WHO, ...(rules.identityHeaders ?? []).map((name) => name.toLowerCase())]);
  const asking = headers
    .map(([name, value]): [string, string] => [name.toLowerCase(), value])
    .filter(([name]) => who.has(name))
    .sort(([a, x], [b, y]) => (a < b || (a === b && x < y) ? -1 : a === b && x === y ? 0 : 1));
  const parts = [method, target, ...asking.flat()].map((part) => new TextEncoder().encode(part));
  const all = new Uint8Array(parts.reduce((size, part) => size + 8 + part.length, 0));
  let at = 0;
  for (const part of parts) {
    new DataView(all.buffer).setBigUint64(at, BigInt(part.length));
    all.set(part, at + 8);
    at += 8 + part.length;
  }
  return `http/${(await sha256(all)).slice(0, 32)}/${key}`;
}

/** What is to be done with a request: answer it, let it through unguarded (null), or let it through and tell what came of it. */
export type Entered = HttpAnswer | Passage | null;

/** Judges one request. Null: it is none that the rules are about, or the store is down and it is to proceed. */
export async function enter(
  core: Core,
  rules: Rules,
  given: { method: string; target: string; headers: Headers; body: () => Promise<Uint8Array | null> },
): Promise<Entered> {
  if (!(rules.methods ?? ["POST", "PATCH"]).includes(given.method)) return null;
  const key = keyOf(given.headers);
  if (key === null) {
    return rules.requireKey ? problem(400, "invalid", "POST and PATCH need an Idempotency-Key here") : null;
  }
  if (typeof key !== "string") return key;
  const body = await given.body();
  if (body === null) {
    return problem(413, "too_large", `the body of a request with a key has at most ${maxBody(rules)} bytes`);
  }
  const name = await claimName(given.method, given.target, given.headers, key, rules);
  return new Guard(core.impatient(STORE_CALL), rules, name, await sha256(body)).enter();
}

export function maxBody(rules: Rules): number {
  return rules.maxBody ?? 1 << 20;
}

class Guard {
  readonly #length: number;

  constructor(
    private readonly core: Core,
    private readonly rules: Rules,
    private readonly name: string,
    private readonly digest: string,
  ) {
    this.#length = milliseconds(rules.lease ?? "60s");
  }

  async enter(): Promise<Entered> {
    const hold = ((this.rules.afterUnknown === "retry" ? 0 : HOLD) + this.#length) / 1000;
    try {
      const found = await take(this.core, this.name, {
        lease: hold,
        ttl: this.rules.ttl,
        payload: this.digest,
        owner: `${await this.core.owner()}, body ${this.digest}`,
      });
      if (found.state !== "claimed") return this.#replay(found);
      if (!found.guarded) return null;
      return new Passage(this.core, this.rules, found, new Lease(found.asked, this.#length), hold);
    } catch (error) {
      if (error instanceof Mismatch) return this.#otherBody();
      if (error instanceof Busy) return this.#busy(error);
      if (!(error instanceof Unavailable || error instanceof Unknown)) throw error;
      if (this.rules.ifStoreDown === "proceed") return null;
      return problem(503, "unavailable", `nothing was done: ${error.message}`, [["retry-after", "1"]]);
    }
  }

  #otherBody(): HttpAnswer {
    return problem(422, "mismatch", "this Idempotency-Key was used with another body");
  }

  #busy(busy: Busy): HttpAnswer {
    if (!(busy.owner ?? "").endsWith(this.digest)) return this.#otherBody();
    const until = parseTime(busy.leaseUntil);
    const left = until === null ? Infinity : until.getTime() - Date.now();
    if (left <= LONGEST_REQUEST || left > HOLD) {
      return problem(409, "busy", "a request with this Idempotency-Key is in flight", [["retry-after", "1"]]);
    }
    const detail = "what became of the request with this key is unknown; it is not done again until its claim is forgotten";
    return problem(502, "unknown", detail, [], { claim: this.name });
  }

  #replay(found: Finished): HttpAnswer {
    const stored: Record<string, any> = isObject(found.result) ? found.result : {};
    const replayed: Headers = [["idempotent-replayed", "true"]];
    if (typeof stored["body"] !== "string") {
      const detail = "the request was carried out, but its answer was too large to be stored";
      const more = { upstream_status: stored["status"] ?? null, upstream_bytes: stored["bytes"] ?? null, claim: this.name };
      return problem(409, "too_large", detail, replayed, more);
    }
    const headers = (stored["headers"] ?? []).map(([name, value]: unknown[]) => [String(name), String(value)]) as Headers;
    return { status: Number(stored["status"]), headers: [...headers, ...replayed], body: fromBase64(stored["body"]) };
  }
}

/** A request that goes through. Exactly one of `leave`, `fail`, `abandon` and `free` takes effect. */
export class Passage {
  readonly #keeper: Keeper;
  #settled = false;

  constructor(private readonly core: Core, readonly rules: Rules, private readonly ticket: Ticket, lease: Lease, hold: number) {
    // Losing the lease does not stop the service: what it does is done all the same.
    this.#keeper = new Keeper(core, ticket, lease, hold, () => undefined);
  }

  get settled(): boolean {
    return this.#settled;
  }

  /** Bytes of an answer that are kept at most. */
  get maxAnswer(): number {
    return this.rules.maxAnswer ?? 512 << 10;
  }

  /** Renews no more: the request is taken to be in flight until its lease ends. */
  stop(): void {
    this.#keeper.stop();
  }

  async #settle(work: () => Promise<unknown>): Promise<void> {
    if (this.#settled) return;
    this.#settled = true;
    try {
      await work();
    } catch (error) {
      this.core.tell("answer_not_stored", { key: this.ticket.key, code: error instanceof OnceError ? error.code : String(error) });
    } finally {
      this.#keeper.stop();
    }
  }

  /**
   * Stores the answer, or frees the key. `body` is null if it was too large to be kept.
   *
   * If storing fails, the answer is sent all the same, and the key is refused from then on.
   */
  leave(status: number, headers: Headers, body: Uint8Array | null, size: number): Promise<void> {
    const { key, ticket } = this.ticket;
    return this.#settle(async () => {
      if (frees(this.rules, status)) return release(this.core, key, ticket);
      const without = { status, bytes: size };
      if (body === null) return complete(this.core, key, ticket, without);
      const kept = headers.filter(([name]) => !/^set-cookie2?$/i.test(name) && !OF_ONE_CONNECTION.has(name.toLowerCase()));
      try {
        return await complete(this.core, key, ticket, { status, headers: kept, body: toBase64(body) });
      } catch (error) {
        if (!(error instanceof OnceError) || error.code !== "too_large") throw error;
        return complete(this.core, key, ticket, without);
      }
    });
  }

  /** The service threw: as a server answers then, and that is an answer like any other. */
  fail(error: unknown): Promise<void> {
    this.core.tell("service_threw", { key: this.ticket.key, error: failureText(error) });
    const body = new TextEncoder().encode("Internal Server Error");
    return this.leave(500, [["content-type", "text/plain; charset=utf-8"], ["content-length", String(body.length)]], body, body.length);
  }

  /** Nobody knows what became of it: refused from now on, or free if that was asked for. */
  abandon(): Promise<void> {
    if (this.rules.afterUnknown === "retry") return this.free();
    return this.#settle(() => renew(this.core, this.ticket, HOLD / 1000 - 1));
  }

  /** The next request with this key goes through. */
  free(): Promise<void> {
    return this.#settle(() => release(this.core, this.ticket.key, this.ticket.ticket));
  }
}

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
