/** Tallies: a number or a sketch that many merge into. */
import { orNull, removed } from "./claims.js";
import { Answer, Core, bodyOf, path, present, query, stringify } from "./core.js";
import { Amount, TallyOptions, tallyBody, withDigits } from "./effects.js";
import { Invalid } from "./errors.js";
import { Bucket, Duration, Tallied, Time, TopItem, durationText, parseTime, timeText } from "./values.js";

export interface AddOptions extends TallyOptions {
  /** A repeat under the same id adds nothing. Without one, each call has one of its own. */
  id?: string | undefined;
  idTtl?: Duration | undefined;
}

/** Buckets of a windowed tally: those that start in [from, to), or of the last so long. */
export interface Range {
  from?: Time | undefined;
  to?: Time | undefined;
  last?: Duration | undefined;
}

export function rangeOf(range: Range): Record<string, string | undefined> {
  return {
    from: range.from === undefined ? undefined : timeText(range.from),
    to: range.to === undefined ? undefined : timeText(range.to),
    last: range.last === undefined ? undefined : durationText(range.last),
  };
}

/** The most frequent items as such, anything else as it is. */
export function tallyValue(value: any): any {
  if (!Array.isArray(value)) return value ?? null;
  return value.map((one): TopItem => ({ item: String(one.item), count: Number(one.count), error: Number(one.error ?? 0) }));
}

/** A number or a sketch that many merge into. Its kind is fixed by the first change. */
export class Tally {
  /** @internal */
  constructor(private readonly core: Core, readonly key: string) {}

  /** Merges. A whole number goes to a sum, another number to a real, texts to a top, unless `kind` says. */
  async add(amount: Amount, options: AddOptions = {}): Promise<Tallied> {
    const { id, idTtl } = options;
    const body = {
      ...tallyBody(amount, options),
      id: id ?? (await this.core.newId()),
      ...present({ id_ttl: idTtl === undefined ? undefined : durationText(idTtl) }),
    };
    const content = withDigits(stringify(body));
    const answer = await this.core.call(this.core.request("POST", path("tallies", this.key), undefined, { content }));
    const found = bodyOf(answer);
    return {
      kind: String(found["kind"] ?? body["kind" as keyof typeof body]),
      value: tallyValue(found["value"]),
      replayed: answer.replayed && id !== undefined,
    };
  }

  /** Adds to a count. */
  count(amount = 1, options: Omit<AddOptions, "kind"> = {}): Promise<Tallied> {
    return this.add(amount, { ...options, kind: "count" });
  }

  /** Keeps the larger. */
  max(value: number | bigint, options: Omit<AddOptions, "kind"> = {}): Promise<Tallied> {
    return this.add(value, { ...options, kind: "max" });
  }

  /** Keeps the smaller. */
  min(value: number | bigint, options: Omit<AddOptions, "kind"> = {}): Promise<Tallied> {
    return this.add(value, { ...options, kind: "min" });
  }

  /** Counts different texts, as an estimate. */
  distinct(items: string | readonly string[], options: Omit<AddOptions, "kind"> = {}): Promise<Tallied> {
    return this.add(items, { ...options, kind: "distinct" });
  }

  /** Adds texts to a filter; ask with `contains`. */
  bloom(items: string | readonly string[], options: Omit<AddOptions, "kind"> = {}): Promise<Tallied> {
    return this.add(items, { ...options, kind: "bloom" });
  }

  /** Counts the most frequent texts; read with `top`. */
  hit(items: Amount, options: Omit<AddOptions, "kind"> = {}): Promise<Tallied> {
    return this.add(items, { ...options, kind: "top" });
  }

  /** The value of all buckets, or of those in a range; null if it does not exist. Beyond 2^53 a number is not exact: see `exact`. */
  async value(range: Range = {}): Promise<any> {
    const answer = await this.#read(rangeOf(range));
    return answer === null ? null : tallyValue(bodyOf(answer)["value"]);
  }

  /** The value of a sum, count, max or min with all its digits; null if it does not exist. */
  async exact(range: Range = {}): Promise<bigint | null> {
    const answer = await this.#read(rangeOf(range));
    if (answer === null) return null;
    const found = /"value"\s*:\s*(-?[0-9]+)\s*[,}]/.exec(answer.text());
    if (found === null) throw new Invalid("the value is no whole number");
    return BigInt(found[1] as string);
  }

  /** The most frequent items, with how much each may be overcounted. */
  async top(limit = 10, range: Range = {}): Promise<TopItem[]> {
    const answer = await this.#read({ ...rangeOf(range), limit });
    return answer === null ? [] : ((tallyValue(bodyOf(answer)["value"]) ?? []) as TopItem[]).slice(0, limit);
  }

  /** Whether a filter has the text. False is certain, true is likely. */
  async contains(item: string): Promise<boolean> {
    const answer = await this.#read({ item });
    return answer !== null && Boolean(bodyOf(answer)["value"]);
  }

  /** A row for each bucket that holds something, in order. */
  async series(range: Range = {}): Promise<Bucket[]> {
    const answer = await this.#read({ ...rangeOf(range), series: true });
    const rows: Record<string, any>[] = answer === null ? [] : bodyOf(answer)["series"] ?? [];
    return rows.map((row) => ({ at: parseTime(row["at"]), value: tallyValue(row["value"]) }));
  }

  /** Removes buckets, ids and kind. False if there was none. Sent once: a repeat might delete what was added since. */
  delete(): Promise<boolean> {
    const request = this.core.request("DELETE", path("tallies", this.key), undefined, { repeat: false, expect: "nothing" });
    return removed(this.core.call(request));
  }

  #read(parameters: Record<string, string | number | boolean | undefined>): Promise<Answer | null> {
    return orNull(this.core.call(this.core.request("GET", query(path("tallies", this.key), parameters))));
  }
}
