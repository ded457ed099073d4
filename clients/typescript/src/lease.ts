/** The lease of an attempt: how long it is believed in, and how it is kept. */
import { renew } from "./claims.js";
import { Backoff, Core, plain } from "./core.js";
import { Effects } from "./effects.js";
import { Fenced, Unavailable, Unknown } from "./errors.js";
import { clock, pause } from "./platform.js";
import { Duration, Previous, Ticket, milliseconds } from "./values.js";

const LONGEST_RENEWAL = 30_000; // Of one try: one whose answer never comes is not the only one.
const LOST = "the lease was lost, and another attempt may hold the key";

/**
 * Counts down by the monotonic clock from the moment at which the lease was asked for, in milliseconds.
 *
 * The server began to count no earlier, so the lease is never believed in for longer than the server does, however long
 * the answer took (docs/hazards.md#h38).
 */
export class Lease {
  until!: number;
  /** The next renewal; two of them may fail. */
  due!: number;

  constructor(asked: number, private readonly length: number) {
    this.renewed(asked);
  }

  left(): number {
    return this.until - clock();
  }

  /** Whether another attempt may have the key. */
  get isOver(): boolean {
    return clock() >= this.until;
  }

  /** It counts anew from then. */
  renewed(asked: number): void {
    this.until = asked + this.length;
    this.due = asked + this.length / 3;
  }

  /** Tries again after a pause, but no later than its end. */
  failed(pauseFor: number): void {
    this.due = Math.min(this.until, clock() + pauseFor);
  }

  /** How long one try to renew may take. */
  tryFor(): number {
    return Math.max(50, Math.min(this.left(), Math.max(1000, this.length / 4), LONGEST_RENEWAL));
  }
}

/** Thrown by `giveUp`, so that the work ends there. */
export class GaveUp extends Error {
  constructor(readonly failure: unknown) {
    super("gave up");
  }
}

/** One attempt at a key: what the work may know of it. */
export class Attempt {
  /** Committed with the result, or not at all. */
  readonly effects = new Effects();
  #controller: AbortController | undefined; // Made when somebody asks for the signal: most work is over before.
  #aborted: { readonly reason: unknown } | undefined;
  readonly #lease: Lease;
  #lost = false;
  #gaveUp: GaveUp | undefined;
  #prepared: { result: unknown; content?: string } | undefined;
  #preparing: ((result: unknown) => Promise<{ token: string | null; content: string }>) | undefined;

  /** @internal */
  constructor(private readonly ticket: Ticket, lease: Lease) {
    this.#lease = lease;
  }

  /** Aborted with `Fenced` when the lease is lost, or when the caller of `run` aborts. Pass it on to what you call. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  /** The key of this run. */
  get key(): string {
    return this.ticket.key;
  }

  /** A number that only rises for a key. Give it to what you call outside, to refuse a stale one. */
  get fence(): number {
    return this.ticket.fence;
  }

  /** Counts from 1. */
  get attempt(): number {
    return this.ticket.attempt;
  }

  /** What the attempt before left behind, if it failed. */
  get previous(): Previous | null {
    return this.ticket.previous;
  }

  /** Seconds until the lease ends, as far as is known here. */
  get leaseLeft(): number {
    return this.#lease.left() / 1000;
  }

  /** Whether the lease was lost. */
  get lost(): boolean {
    return this.#lost || (this.ticket.guarded && this.#lease.isOver);
  }

  /** Throws `Fenced` if the lease is lost, and the reason of an abort. */
  check(): void {
    if (this.#aborted !== undefined) throw this.#aborted.reason;
    if (this.lost) throw new Fenced(LOST);
  }

  /** Stores the failure as the outcome: nobody tries this key again. Ends the work. */
  giveUp(failure: unknown = "gave up"): never {
    this.#gaveUp = new GaveUp(failure);
    throw this.#gaveUp;
  }

  /**
   * The result and the effects as a token, for `select once.apply($1)` in a transaction of your own.
   *
   * They happen if that transaction commits, and only then: what the work returns is not recorded, and work that ends without
   * it has failed. Null: an earlier token of this attempt was applied. Apply it within seconds: the lease is not renewed any
   * more, except by the next call. Only on a store on PostgreSQL.
   */
  async prepare(result: unknown = null): Promise<string | null> {
    if (this.#preparing === undefined) throw new Unavailable("the store was down when the work began, so nothing can be prepared");
    const stored = plain(result);
    this.#prepared = { result: stored };
    const { token, content } = await this.#preparing(stored);
    this.#prepared = { result: stored, content };
    return token;
  }

  /** @internal What is recorded by a transaction of the work's own, or not at all. */
  get prepared(): { result: unknown; content?: string } | undefined {
    return this.#prepared;
  }

  /** @internal How it is prepared. */
  set preparing(make: (result: unknown) => Promise<{ token: string | null; content: string }>) {
    this.#preparing = make;
  }

  /** @internal What the work gave up with, even if it has caught that since. */
  get gaveUp(): GaveUp | undefined {
    return this.#gaveUp;
  }

  /** @internal */
  lose(): void {
    this.#lost = true;
    this.abort(new Fenced(LOST));
  }

  /** @internal */
  abort(reason: unknown): void {
    this.#aborted ??= { reason };
    this.#controller?.abort(reason);
  }
}

/** Renews a lease from its first third on, until it is stopped or the lease is lost. */
export class Keeper {
  #renewing: AbortController | undefined;
  #stopped = false;
  #begin: ReturnType<typeof setTimeout> | undefined;
  #end: ReturnType<typeof setTimeout> | undefined;
  #lost = false;

  /** `length` is what is asked for; `lease` may count on less. */
  constructor(
    private readonly core: Core,
    private readonly ticket: Ticket,
    private readonly lease: Lease,
    private readonly length: Duration,
    private readonly onLost: () => void,
  ) {
    if (ticket.guarded) this.#wait();
  }

  #wait(): void {
    const left = Math.max(0, this.lease.due - clock());
    this.#begin = setTimeout(() => (clock() < this.lease.due ? this.#wait() : this.#start()), Math.min(left, 86_400_000));
  }

  #start(): void {
    this.#watch();
    this.#renewing = new AbortController();
    this.#keep(this.#renewing.signal).then(
      (reason) => reason !== null && this.#lose(reason),
      (error: unknown) => this.#lose(String(error)), // A bug of ours must not keep the lease believed in.
    );
  }

  /** The end of the lease is told in time even if a renewal is under way and does not end. */
  #watch(): void {
    const left = this.lease.left();
    if (left <= 0) this.#lose("it ended before it could be renewed");
    else this.#end = setTimeout(() => this.#watch(), Math.min(left, 86_400_000));
  }

  /** Renews until it cannot any more, and tells why; null if it was stopped. */
  async #keep(signal: AbortSignal): Promise<string | null> {
    const backoff = new Backoff(50, 500);
    while (!signal.aborted) {
      const early = this.lease.due - clock();
      if (early > 0) {
        await pause(early, signal);
        continue;
      }
      if (this.lease.isOver) return "it ended before it could be renewed";
      try {
        this.lease.renewed(await renew(this.core, this.ticket, this.length, { within: this.lease.tryFor(), signal }));
        backoff.reset();
        this.core.tell("renewed", { key: this.ticket.key });
      } catch (error) {
        if (signal.aborted) return null;
        if (!(error instanceof Unavailable || error instanceof Unknown)) return String(error);
        this.lease.failed(backoff.next());
      }
    }
    return null;
  }

  #lose(reason: string): void {
    if (this.#lost || this.#stopped) return;
    this.#lost = true;
    this.stop();
    this.core.tell("lease_lost", { key: this.ticket.key, reason });
    this.onLost();
  }

  /** Renews no more. */
  stop(): void {
    clearTimeout(this.#begin);
    clearTimeout(this.#end);
    this.#stopped = true;
    this.#renewing?.abort();
  }
}

/** Nothing begins after the lease's end: one whose grant took long is renewed first. */
export async function freshen(core: Core, ticket: Ticket, lease: Lease, length: Duration): Promise<void> {
  if (clock() < lease.due || !ticket.guarded) return;
  const within = lease.isOver ? Math.min(milliseconds(length), LONGEST_RENEWAL) : lease.tryFor();
  try {
    lease.renewed(await renew(core, ticket, length, { within }));
  } catch (error) {
    if (!(error instanceof Unavailable || error instanceof Unknown)) throw error;
  }
  if (lease.isOver) throw new Fenced("the lease ended before the work could begin");
}
