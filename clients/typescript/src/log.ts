/** Logs: events with consecutive indexes from 1. */
import { removed } from "./claims.js";
import { Backoff, Broken, Core, bodyOf, isObject, path, present, query } from "./core.js";
import { eventBody } from "./effects.js";
import { Invalid, OnceError } from "./errors.js";
import { clock, pause } from "./platform.js";
import { Appended, Duration, Event, LogInfo, Page, Time, durationText, parseTime, timeText } from "./values.js";

export interface AppendOptions {
  /** A repeat under the same batch id appends nothing. Without one, each call has one of its own. */
  batch?: string | undefined;
  /** The index that the first event must get; otherwise `PreconditionFailed`. */
  expect?: number | undefined;
  ttl?: Duration | undefined;
  idTtl?: Duration | undefined;
}

export interface ReadOptions {
  /** The first index (1). */
  from?: number | undefined;
  /** How many events at most (100). */
  limit?: number | undefined;
  order?: "asc" | "desc" | undefined;
  /** Begins at the first event that was appended at or after it, in place of `from`. */
  since?: Time | undefined;
}

export interface FollowOptions {
  /** The first index (1). */
  from?: number | undefined;
  /** Begins at the first event that was appended at or after it, in place of `from`. */
  since?: Time | undefined;
  /** Ends after so many events. */
  limit?: number | undefined;
  /** Ends it. */
  signal?: AbortSignal | undefined;
}

export function appended(body: Record<string, any>, replayed: boolean): Appended {
  return { first: body["first"] ?? null, last: body["last"] ?? null, replayed, indexes: body["indexes"] ?? null };
}

export function logInfo(raw: Record<string, any>, stream = ""): LogInfo {
  return {
    stream: String(raw["stream"] ?? stream),
    oldest: raw["oldest"] ?? null,
    next: raw["next"] ?? null,
    closed: Boolean(raw["closed"]),
  };
}

function eventOf(raw: Record<string, any>): Event {
  return { index: Number(raw["index"]), time: parseTime(raw["time"]), data: raw["data"] ?? null };
}

/** Events with consecutive indexes from 1. */
export class Log {
  /** @internal */
  constructor(private readonly core: Core, readonly stream: string) {}

  /** Appends events, all adjacent. Throws `PreconditionFailed` or `Closed`. */
  async append(events: readonly unknown[], options: AppendOptions = {}): Promise<Appended> {
    if (!Array.isArray(events)) throw new Invalid("events is an array");
    const { batch, expect, ttl, idTtl } = options;
    const body = {
      events: events.map(eventBody),
      batch: batch ?? (await this.core.newId()),
      ...present({
        expect,
        ttl: ttl === undefined ? undefined : durationText(ttl),
        id_ttl: idTtl === undefined ? undefined : durationText(idTtl),
      }),
    };
    const answer = await this.core.call(this.core.request("POST", path("logs", this.stream), body));
    return appended(bodyOf(answer), answer.replayed && batch !== undefined);
  }

  /** A page of events; `.next` is where to read on. */
  async read<T = any>(options: ReadOptions | number = {}): Promise<Page<T>> {
    const { from, limit, order, since } = typeof options === "number" ? { from: options } as ReadOptions : options;
    const parameters = { from, limit, order, since: since === undefined ? undefined : timeText(since) };
    const body = await this.core.ask("GET", query(path("logs", this.stream), parameters));
    const page = new Page<T>();
    for (const raw of body["events"] ?? []) page.push(eventOf(raw));
    page.next = Number(body["next"] ?? 1);
    page.closed = Boolean(body["closed"]);
    return page;
  }

  /**
   * Events as they come, without end. Resumes by itself, with no gap and no repeat.
   *
   * Ends when the log is closed, or by `signal`. Throws `Unavailable` if no server is there for too long.
   */
  async *follow<T = any>(options: FollowOptions | number = {}): AsyncGenerator<Event<T>, void, void> {
    const { from, since, limit, signal } = typeof options === "number" ? { from: options } as FollowOptions : options;
    await this.core.tracing.load(); // As every other call does.
    const state = new Following(this.core, this.stream, from ?? 1, limit, since === undefined ? undefined : timeText(since));
    while (!state.ended && !signal?.aborted) {
      try {
        for await (const line of this.core.transport.lines(state.request(), this.core.timeout, signal)) {
          const event = state.feed(line);
          if (event !== null) yield event as Event<T>;
          if (state.ended) return;
        }
      } catch (error) {
        if (signal?.aborted) return;
        if (!(error instanceof Broken)) throw error;
        await pause(state.pause(error.reason), signal);
      }
    }
  }

  /** Makes the events below an index unreadable. */
  async trim(before: number): Promise<LogInfo> {
    return logInfo(await this.core.ask("POST", path("logs", this.stream, "trim"), { before }), this.stream);
  }

  /** No event is appended from now on; after `ttl` the log is gone. */
  async close(options: { ttl?: Duration } = {}): Promise<LogInfo> {
    const body = present({ ttl: options.ttl === undefined ? undefined : durationText(options.ttl) });
    return logInfo(await this.core.ask("POST", path("logs", this.stream, "close"), body), this.stream);
  }

  /** Removes a closed log. False if there was none. Sent once: a repeat might delete another log of that name. */
  delete(): Promise<boolean> {
    const request = this.core.request("DELETE", path("logs", this.stream), undefined, { repeat: false, expect: "nothing" });
    return removed(this.core.call(request));
  }
}

/** A follower of a log: what to ask next, and what the lines of the answer mean. */
class Following {
  ended: boolean;
  #backoff = new Backoff();
  #alive = clock();
  #data: string[] = [];
  #id = "";
  #event = "";

  /** `since` is in place of `next` until the first event came. */
  constructor(
    private readonly core: Core,
    private readonly stream: string,
    private next: number,
    private left: number | undefined,
    private since: string | undefined,
  ) {
    this.ended = left !== undefined && left <= 0;
  }

  /** Everything from the next index on. */
  request(): ReturnType<Core["request"]> {
    this.#data = [];
    this.#id = this.#event = "";
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    this.core.tracing.inject(headers);
    return this.core.request("GET", query(path("logs", this.stream), { ...this.#start(), follow: true }), undefined, { headers });
  }

  #start(): Record<string, string | number> {
    return this.since === undefined ? { from: this.next } : { since: this.since };
  }

  /** One line of the stream, without its end. An event once it is whole. */
  feed(line: string): Event | null {
    this.#alive = clock();
    this.#backoff.reset();
    if (line !== "") {
      const colon = line.indexOf(":");
      const name = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
      if (name === "data") this.#data.push(value);
      else if (name === "id") this.#id = value;
      else if (name === "event") this.#event = value;
      return null;
    }
    const [data, event] = [this.#data, this.#event];
    this.#data = [];
    this.#event = "";
    if (event === "end") this.ended = true;
    if (event !== "" || data.length === 0 || !/^[0-9]+$/.test(this.#id)) return null;
    return this.#take(Number(this.#id), data.join("\n"));
  }

  #take(index: number, text: string): Event | null {
    if (index < this.next) return null; // It was delivered before the connection broke.
    const raw: unknown = JSON.parse(text);
    this.next = index + 1;
    this.since = undefined;
    if (this.left !== undefined) this.ended = --this.left <= 0;
    return isObject(raw) && raw["index"] === index && "data" in raw ? eventOf(raw) : { index, time: null, data: raw };
  }

  /** After a break: how long until the next try. Throws if nothing came for too long. */
  pause(reason: OnceError): number {
    if (clock() - this.#alive > this.core.patience) throw reason;
    return this.#backoff.next();
  }
}
