/** A run of one key: how it begins, and each of its ends. */
import { TakeOptions, complete, release, take } from "./claims.js";
import { commit, prepare, wasApplied } from "./commit.js";
import { Core, plain } from "./core.js";
import { Fenced, Invalid, OnceError } from "./errors.js";
import { Attempt, GaveUp, Keeper, Lease, freshen } from "./lease.js";
import { clock, nodePart } from "./platform.js";
import { Finished, Outcome, Ticket, milliseconds } from "./values.js";

const MAX_FAILURE = 4096; // Bytes of a failure's text that are kept.
const NEVER_STORED = new Set(["too_large", "unsupported", "corrupt"]);
const NOT_KNOWN = new Set(["fenced", "unknown", "unavailable"]);

export interface RunOptions extends Omit<TakeOptions, "request"> {
  /** Aborts the work's own signal. Before the work has begun, the run ends at once with its reason. */
  signal?: AbortSignal | undefined;
}

export type Work<T> = (attempt: Attempt) => T | Promise<T>;

interface Storage {
  run<T>(store: Attempt, work: () => T): T;
  getStore(): Attempt | undefined;
}

let current: Storage | undefined;

/** The attempt whose work this is called from, such as a function under `idempotent`. Needs Node's `async_hooks`. */
export function currentAttempt(): Attempt {
  const attempt = current?.getStore();
  if (attempt === undefined) throw new Invalid("no attempt is under way here");
  return attempt;
}

async function performed<T>(work: Work<T>, attempt: Attempt): Promise<T> {
  const Storage = current === undefined ? (await nodePart())?.AsyncLocalStorage : undefined;
  if (Storage !== undefined) current ??= new Storage() as Storage;
  return current === undefined ? work(attempt) : current.run(attempt, () => work(attempt));
}

/** What a failed attempt leaves behind. */
export function failureText(error: unknown): string {
  const text = error instanceof Error ? (error.message ? `${error.name}: ${error.message}` : error.name) : String(error);
  const bytes = new TextEncoder().encode(text);
  return bytes.length <= MAX_FAILURE ? text : new TextDecoder().decode(bytes.subarray(0, MAX_FAILURE)).replace(/\ufffd$/, "");
}

/** Runs the work unless the key has an outcome. */
export async function run<T>(core: Core, key: string, work: Work<T>, options: RunOptions): Promise<Outcome<T>> {
  if (typeof work !== "function") throw new Invalid("the work of a run is a function");
  const length = milliseconds(options.lease ?? "30s");
  if (length <= 0) throw new Invalid("a lease is longer than nothing");
  return core.tracing.span("once.run", { "once.key": key }, () => new Run<T>(core, key, options, length).perform(work));
}

class Run<T> {
  readonly #began = clock();

  constructor(
    private readonly core: Core,
    private readonly key: string,
    private readonly options: RunOptions,
    private readonly length: number,
  ) {}

  async perform(work: Work<T>): Promise<Outcome<T>> {
    const found = await this.#taken();
    if (found.state !== "claimed") return this.#replayed(found);
    const lease = new Lease(found.asked, this.length);
    await freshen(this.core, found, lease, this.options.lease ?? "30s");
    const { signal } = this.options;
    if (signal?.aborted) {
      await this.#release(found, lease);
      throw signal.reason;
    }
    const attempt = new Attempt(found, lease);
    const keeper = new Keeper(this.core, found, lease, this.options.lease ?? "30s", () => attempt.lose());
    if (found.guarded) {
      attempt.preparing = async (result) => {
        // A renewal would make the token fail.
        keeper.stop();
        await freshen(this.core, found, lease, this.options.lease ?? "30s");
        return prepare(this.core, attempt.effects, { claim: { key: found.key, ticket: found.ticket, result } });
      };
    }
    const abort = (): void => attempt.abort(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return await this.#ended(found, attempt, lease, work);
    } finally {
      signal?.removeEventListener("abort", abort);
      keeper.stop();
    }
  }

  /** Takes the claim. If the caller aborts meanwhile, a grant that comes later is given back. */
  async #taken(): Promise<Ticket | Finished> {
    const { signal, ...options } = this.options;
    signal?.throwIfAborted();
    const taking = take(this.core, this.key, options);
    if (signal === undefined) return taking;
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        reject(signal.reason);
        taking.then(
          (late) => (late.state === "claimed" ? this.#release(late, new Lease(late.asked, this.length)) : undefined),
          () => undefined,
        );
      };
      signal.addEventListener("abort", abort, { once: true });
      taking.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    });
  }

  async #ended(ticket: Ticket, attempt: Attempt, lease: Lease, work: Work<T>): Promise<Outcome<T>> {
    let result: T;
    try {
      result = await performed(work, attempt);
    } catch (error) {
      if (error instanceof GaveUp && error === attempt.gaveUp) return this.#failForGood(ticket, error);
      throw await this.#fail(ticket, attempt, lease, error);
    }
    // A work that has caught what giveUp throws has given up all the same.
    if (attempt.gaveUp !== undefined) return this.#failForGood(ticket, attempt.gaveUp);
    return this.#succeed(ticket, attempt, lease, result);
  }

  #replayed(found: Finished): Outcome<T> {
    this.#tell(found.state === "failed" ? "failed" : "replayed");
    if (found.state === "failed") throw failed(this.key, found.result);
    return { result: found.result as T, replayed: true, completedAt: found.completedAt, attempt: null, fence: null };
  }

  #tell(outcome: string): void {
    this.core.tell("run", { key: this.key, outcome, seconds: (clock() - this.#began) / 1000 });
  }

  /**
   * Records the result with the effects. The work is done: it is tried for long, also after the lease ended.
   *
   * A commit that is refused because the claim is another's is not followed by a release: there is nothing to release. One
   * that is refused by a condition of its own effects frees the key, as work that throws does.
   */
  async #succeed(ticket: Ticket, attempt: Attempt, lease: Lease, result: T): Promise<Outcome<T>> {
    try {
      const { prepared } = attempt;
      const stored = prepared === undefined ? plain(result) : (prepared.result as T);
      if (prepared === undefined) await this.#record(ticket, attempt, stored);
      else await this.#checkApplied(prepared.content);
      this.#tell("executed");
      return { result: stored, replayed: false, completedAt: null, attempt: attempt.attempt, fence: attempt.fence };
    } catch (error) {
      if (!(error instanceof OnceError)) throw error;
      if (NEVER_STORED.has(error.code)) {
        await this.#release(ticket, lease, `the outcome could not be stored: ${error.message}`, true);
      } else if (!NOT_KNOWN.has(error.code) && !isOfClaim(error)) {
        await this.#release(ticket, lease, failureText(error));
      }
      this.#tell(error.code);
      throw error;
    }
  }

  /** To commit it here would leave out what else was in the transaction of the work. */
  async #checkApplied(content: string | undefined): Promise<void> {
    if (content === undefined || !(await wasApplied(this.core, content))) {
      throw new Invalid("what was prepared was not applied");
    }
  }

  async #record(ticket: Ticket, attempt: Attempt, result: unknown): Promise<void> {
    const { effects } = attempt;
    if (!ticket.guarded) {
      // The store was down when it began. Effects are tried once more; a result has no key.
      if (!effects.isEmpty) await commit(this.core, effects, {});
    } else if (effects.isEmpty) {
      await complete(this.core, ticket.key, ticket.ticket, result);
    } else {
      await commit(this.core, effects, { claim: { key: ticket.key, ticket: ticket.ticket, result } });
    }
  }

  /** The work threw: frees the key with its failure. A lost claim has nothing to free. What the caller is to see. */
  async #fail(ticket: Ticket, attempt: Attempt, lease: Lease, error: unknown): Promise<unknown> {
    const lost = attempt.lost;
    this.#tell(lost ? "fenced" : "failed");
    if (!lost) {
      await this.#release(ticket, lease, failureText(error));
      return error;
    }
    const reason: unknown = attempt.signal.reason;
    const isAbort = error === reason || (error as { name?: unknown } | null)?.name === "AbortError";
    return isAbort ? (reason instanceof Fenced ? reason : new Fenced("the lease was lost", { cause: error })) : error;
  }

  async #failForGood(ticket: Ticket, gaveUp: GaveUp): Promise<never> {
    const failure: unknown = plain(gaveUp.failure);
    if (ticket.guarded) await release(this.core, ticket.key, ticket.ticket, failure, { final: true });
    this.#tell("gave_up");
    throw failed(this.key, failure);
  }

  /** What it cannot free becomes free by itself when the lease ends. */
  async #release(ticket: Ticket, lease: Lease, failure?: string, final = false): Promise<void> {
    const left = lease.left();
    if (!ticket.guarded || (left <= 0 && !final)) return;
    try {
      const within = final ? this.core.patience : Math.min(left, this.core.patience);
      await release(this.core, ticket.key, ticket.ticket, failure, { final, within });
    } catch (error) {
      this.core.tell("not_released", { key: ticket.key, code: error instanceof OnceError ? error.code : String(error) });
    }
  }
}

/** Another result was recorded by this ticket: nothing is left to release. */
function isOfClaim(error: OnceError): boolean {
  return error.code === "mismatch" && (error.problem["part"] ?? "claim") === "claim";
}

function failed(key: string, failure: unknown): OnceError {
  const text = typeof failure === "string" ? failure : JSON.stringify(failure);
  return new OnceError(`'${key}' failed for good: ${text}`, { code: "failed", failure });
}
