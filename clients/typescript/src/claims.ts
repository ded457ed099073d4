/** Claims: the calls, and a claim by hand. */
import { CallOptions, Core, bodyOf, fieldOf, path, present } from "./core.js";
import { Busy, NotFound, Unknown } from "./errors.js";
import { clock } from "./platform.js";
import { ClaimRecord, Duration, Finished, Previous, Ticket, durationText, milliseconds, parseTime } from "./values.js";

// That a server is asked to wait in one call. Balancers often end what takes a minute.
const LONGEST_WAIT = 50_000;

export interface TakeOptions {
  /** How long the key is held without a renewal (30s). */
  lease?: Duration | undefined;
  /** How long the outcome is kept (24h). */
  ttl?: Duration | undefined;
  /** How long to wait for another attempt (0s). */
  wait?: Duration | undefined;
  /** Any JSON. The same key with another one is a `Mismatch`. */
  payload?: unknown;
  /** A label for people. */
  owner?: string | undefined;
  /** The id of this attempt to take it; a repeat under the same id gets the same ticket. */
  request?: string | undefined;
}

/** Takes a claim, or tells the outcome that it has. All tries have one request id. */
export async function take(core: Core, key: string, options: TakeOptions): Promise<Ticket | Finished> {
  const target = path("claims", key);
  let left = milliseconds(options.wait ?? 0);
  const body: Record<string, unknown> = {
    owner: options.owner ?? (await core.owner()),
    request: options.request ?? (await core.newId()),
    lease: durationText(options.lease ?? "30s"),
    ttl: durationText(options.ttl ?? "24h"),
    ...present({ payload: options.payload }),
  };
  for (const waitsUntil = clock() + left; ; left = Math.max(0, waitsUntil - clock())) {
    const step = Math.min(left, LONGEST_WAIT);
    const request = core.request("POST", target, step > 0 ? { ...body, wait: durationText(Math.ceil(step) / 1000) } : body);
    const asked = clock();
    try {
      return taken(key, bodyOf(await core.call(request, { wait: step })), asked);
    } catch (error) {
      if (!(error instanceof Busy) || left <= step) throw error;
    }
  }
}

function taken(key: string, body: Record<string, any>, asked: number): Ticket | Finished {
  const state = fieldOf(body, "state");
  if (state === "done" || state === "failed") {
    const result: unknown = (state === "failed" ? body["failure"] : body["result"]) ?? null;
    return { state, key, result, completedAt: parseTime(body["completed_at"]) };
  }
  if (state !== "claimed" && state !== "unguarded") throw new Unknown(`the answer has an unknown state: ${state}`);
  return {
    state: "claimed",
    key,
    ticket: state === "claimed" ? String(fieldOf(body, "ticket")) : "",
    fence: Number(body["fence"] ?? 0),
    attempt: Number(body["attempt"] ?? 0),
    leaseUntil: parseTime(body["lease_until"]),
    asked,
    guarded: state === "claimed",
    previous: previousOf(body["previous"]),
  };
}

function previousOf(raw: any): Previous | null {
  if (typeof raw !== "object" || raw === null) return null;
  return { failure: raw.failure ?? null, failedAt: parseTime(raw.failed_at), attempt: raw.attempt ?? null };
}

/** Holds a claim for longer. Tells when that was asked for: the lease counts from there. */
export async function renew(core: Core, ticket: Ticket, lease: Duration, options: CallOptions = {}): Promise<number> {
  const asked = clock();
  await renewBy(core, ticket.key, ticket.ticket, lease, options);
  return asked;
}

async function renewBy(core: Core, key: string, ticket: string, lease: Duration, options: CallOptions = {}): Promise<void> {
  await core.ask("POST", path("claims", key, "renew"), { ticket, lease: durationText(lease) }, options);
}

/** Records the result. True if it had been recorded before. */
export async function complete(core: Core, key: string, ticket: string, result: unknown): Promise<boolean> {
  const request = core.request("POST", path("claims", key, "complete"), { ticket, result });
  return (await core.call(request)).replayed;
}

/** Frees a claim, or records its failure for good. */
export async function release(
  core: Core,
  key: string,
  ticket: string,
  failure?: unknown,
  options: { final?: boolean | undefined; within?: number } = {},
): Promise<void> {
  const body = { ticket, ...present({ failure, final: options.final || undefined }) };
  await core.ask("POST", path("claims", key, "release"), body, options.within === undefined ? {} : { within: options.within });
}

export function claimRecord(raw: Record<string, any>, key = ""): ClaimRecord {
  return {
    key: String(raw["key"] ?? key),
    state: String(raw["state"] ?? ""),
    owner: raw["owner"] ?? null,
    fence: raw["fence"] ?? null,
    attempt: raw["attempt"] ?? null,
    claimedAt: parseTime(raw["claimed_at"]),
    leaseUntil: parseTime(raw["lease_until"]),
    completedAt: parseTime(raw["completed_at"]),
    failedAt: parseTime(raw["failed_at"]),
    keptUntil: parseTime(raw["kept_until"]),
    result: raw["result"] ?? null,
    failure: raw["failure"] ?? null,
    raw,
  };
}

/** False if there was none. */
export async function removed(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (error instanceof NotFound) return false;
    throw error;
  }
}

/** Null if the server answers 404. */
export async function orNull<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof NotFound) return null;
    throw error;
  }
}

function ticketText(ticket: Ticket | string): string {
  return typeof ticket === "string" ? ticket : ticket.ticket;
}

/** One key's claim, by hand. `run` does all of this by itself. */
export class Claim {
  /** @internal */
  constructor(private readonly core: Core, readonly key: string) {}

  /** Takes it, or tells its outcome. Throws `Busy` or `Mismatch`. */
  take(options: TakeOptions = {}): Promise<Ticket | Finished> {
    return take(this.core, this.key, options);
  }

  /** Holds it for longer. Throws `Fenced`. */
  renew(ticket: Ticket | string, lease: Duration = "30s"): Promise<void> {
    return renewBy(this.core, this.key, ticketText(ticket), lease);
  }

  /** Records the result. True if it had been recorded before. */
  complete(ticket: Ticket | string, result: unknown = null): Promise<boolean> {
    return complete(this.core, this.key, ticketText(ticket), result);
  }

  /** Frees it for the next attempt, or records the failure for good. */
  release(ticket: Ticket | string, failure?: unknown, options: { final?: boolean } = {}): Promise<void> {
    return release(this.core, this.key, ticketText(ticket), failure, { final: options.final });
  }

  /** Its record, or null. */
  async get(): Promise<ClaimRecord | null> {
    const body = await orNull(this.core.ask("GET", path("claims", this.key)));
    return body === null ? null : claimRecord(body, this.key);
  }

  /** May be claimed anew; its old ticket is fenced. Sent once: a repeat might forget what another has claimed since. */
  async forget(): Promise<void> {
    await this.core.call(this.core.request("DELETE", path("claims", this.key), undefined, { repeat: false, expect: "nothing" }));
  }
}
