/** Effects that are committed together, with the result of a claim or by themselves. */
import { checkName, present } from "./core.js";
import { Invalid } from "./errors.js";
import { Duration, ETagLike, LogEvent, TallyKind, Time, durationText, etagText, timeText } from "./values.js";

/** What can be merged into a tally: a number, or texts, some perhaps with a count. */
export type Amount = number | bigint | string | readonly (string | { readonly item: string; readonly count: number })[];

export interface TallyOptions {
  /** Without it a whole number goes to a sum, another number to a real, and texts to a top. */
  kind?: TallyKind | undefined;
  at?: Time | undefined;
  /** `minute`, `hour`, `day` or a duration: each window is a bucket. */
  window?: string | undefined;
  ttl?: Duration | undefined;
  /** Of the sketches. */
  precision?: number | undefined;
  counters?: number | undefined;
  capacity?: number | undefined;
  rate?: number | undefined;
}

/** A whole number beyond 2^53 is written by its digits. */
class Digits {
  constructor(private readonly value: bigint) {}
  toJSON(): string {
    return `${MARK}${this.value}`;
  }
}
// Differs in each process, so that no text of a caller's is taken for one.
const MARK = `once-${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}:`;

/** JSON in which whole numbers beyond 2^53 have all their digits. */
export function withDigits(text: string): string {
  return text.includes(MARK) ? text.replaceAll(new RegExp(`"${MARK}(-?[0-9]+)"`, "g"), "$1") : text;
}

function number(amount: Amount): number | Digits {
  if (typeof amount === "bigint") {
    return amount >= Number.MIN_SAFE_INTEGER && amount <= Number.MAX_SAFE_INTEGER ? Number(amount) : new Digits(amount);
  }
  if (typeof amount !== "number" || !Number.isFinite(amount)) throw new Invalid(`not an amount: ${String(amount)}`);
  return amount;
}

function kindOf(amount: Amount): TallyKind {
  if (typeof amount === "bigint") return "sum";
  if (typeof amount === "number") return Number.isInteger(amount) ? "sum" : "real";
  if (typeof amount === "string" || Array.isArray(amount)) return "top";
  throw new Invalid(`not an amount: ${String(amount)}`);
}

/** A change of a tally, as the server takes it. */
export function tallyBody(amount: Amount, options: TallyOptions): Record<string, unknown> {
  const { kind: given, at, ttl, window, precision, counters, capacity, rate } = options;
  const kind = given ?? kindOf(amount);
  const body: Record<string, unknown> = { kind };
  if (kind === "sum" || kind === "count" || kind === "max" || kind === "min") {
    if (typeof amount === "number" && !Number.isSafeInteger(amount)) {
      throw new Invalid(`not a whole number that JavaScript can tell: ${amount}; give a bigint`);
    }
    body[kind === "sum" || kind === "count" ? "add" : "value"] = number(amount);
  } else if (kind === "real") {
    body["add"] = number(amount);
  } else {
    if (typeof amount !== "string" && !Array.isArray(amount)) throw new Invalid(`a ${kind} takes texts`);
    body["items"] = typeof amount === "string" ? [amount] : [...amount];
  }
  return {
    ...body,
    ...present({
      at: at === undefined ? undefined : timeText(at),
      window,
      ttl: ttl === undefined ? undefined : durationText(ttl),
      precision,
      counters,
      capacity,
      rate,
    }),
  };
}

/** An event as the server takes it. */
export function eventBody(event: unknown): Record<string, unknown> {
  if (!(event instanceof LogEvent)) return { data: event === undefined ? null : event };
  const { time, id } = event.options;
  return { data: event.data ?? null, ...present({ time: time === undefined ? undefined : timeText(time), id }) };
}

/** Either condition of a document, or none. */
export interface Condition {
  /** There must be none yet. */
  create?: boolean | undefined;
  /** It must have this ETag. */
  ifMatch?: ETagLike | undefined;
}

/** A document of a commit. Without a condition it is created or replaced. */
export class DocumentPart {
  readonly ifMatch: string | undefined;
  readonly create: boolean;

  constructor(readonly key: string, readonly change: Readonly<Record<string, unknown>>, condition: Condition) {
    this.create = condition.create ?? false;
    this.ifMatch = condition.ifMatch === undefined ? undefined : etagText(condition.ifMatch);
    if (this.create && this.ifMatch !== undefined) throw new Invalid("either create or ifMatch");
  }

  /** As the server takes it. */
  body(): Record<string, unknown> {
    return { key: this.key, ...this.#condition(), ...this.change };
  }

  #condition(): Record<string, unknown> {
    if (this.create) return { if_none_match: "*" };
    if (this.ifMatch !== undefined) return { if_match: this.ifMatch };
    return "body" in this.change ? { overwrite: true } : {};
  }
}

/** Appends, documents and tallies that take effect together, or not at all. Every method gives back the effects themselves. */
export class Effects {
  readonly logs: Record<string, unknown>[] = [];
  readonly documents: DocumentPart[] = [];
  readonly tallies: Record<string, unknown>[] = [];

  /** Appends events, adjacent and in this order. */
  append(stream: string, ...events: readonly unknown[]): this {
    if (events.length === 0) throw new Invalid("no event to append");
    this.logs.push({ stream: checkName(stream), events: events.map(eventBody) });
    return this;
  }

  /** Puts a document: creates or replaces it unless a condition is given. */
  put(key: string, value: unknown, condition: Condition = {}): this {
    this.documents.push(new DocumentPart(checkName(key), { body: value === undefined ? null : value }, condition));
    return this;
  }

  /** Changes a JSON document by a merge patch. */
  patch(key: string, patch: unknown, condition: Pick<Condition, "ifMatch"> = {}): this {
    this.documents.push(new DocumentPart(checkName(key), { patch }, condition));
    return this;
  }

  /** Removes a document. */
  delete(key: string, condition: Pick<Condition, "ifMatch"> = {}): this {
    this.documents.push(new DocumentPart(checkName(key), { delete: true }, condition));
    return this;
  }

  /** Merges into a tally. */
  add(tally: string, amount: Amount, options: TallyOptions = {}): this {
    this.tallies.push({ key: checkName(tally), ...tallyBody(amount, options) });
    return this;
  }

  /** Adds to a count. */
  count(tally: string, amount = 1, options: Omit<TallyOptions, "kind"> = {}): this {
    return this.add(tally, amount, { ...options, kind: "count" });
  }

  /** Whether there is nothing to commit. */
  get isEmpty(): boolean {
    return this.logs.length + this.documents.length + this.tallies.length === 0;
  }
}
