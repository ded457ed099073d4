/** What calls give back, and durations and times as the server writes them. */
import { Invalid } from "./errors.js";

/** `"250ms"`, `"30s"`, `"5m"`, `"24h"`, `"7d"`, or a number of seconds. */
export type Duration = string | number;
/** RFC 3339, or a Date. */
export type Time = string | Date;
/** An ETag with or without its quotes, or anything that has one: what `get` and `put` gave back. */
export type ETagLike = string | { readonly etag: string };

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A duration in milliseconds. */
export function milliseconds(duration: Duration): number {
  let value = NaN;
  if (typeof duration === "number") {
    value = duration * 1000;
  } else if (typeof duration === "string") {
    const found = /^([0-9]+)(ms|s|m|h|d)$/.exec(duration);
    if (found) value = Number(found[1]) * (UNITS[found[2] as string] as number);
  }
  if (!(value >= 0 && value < 1e15)) {
    throw new Invalid(`not a duration such as 250ms, 30s, 5m, 24h, 7d or a number of seconds: ${String(duration)}`);
  }
  return value;
}

/** As the server takes it. A text is sent as it was given. */
export function durationText(duration: Duration): string {
  const value = milliseconds(duration);
  if (typeof duration === "string") return duration;
  return Number.isInteger(duration) ? `${duration}s` : `${Math.round(value)}ms`;
}

/** RFC 3339 in UTC. */
export function timeText(time: Time): string {
  if (typeof time === "string") return time;
  if (Number.isNaN(time.getTime())) throw new Invalid("not a time");
  return time.toISOString();
}

/** A time in an answer; null if the answer has none. */
export function parseTime(value: unknown): Date | null {
  if (typeof value !== "string") return null;
  const time = new Date(value);
  return Number.isNaN(time.getTime()) ? null : time;
}

/** An ETag without its quotes. */
export function unquoted(etag: string): string {
  return etag.length >= 2 && etag.startsWith('"') && etag.endsWith('"') ? etag.slice(1, -1) : etag;
}

/** The text of an ETag, without its quotes. */
export function etagText(etag: ETagLike): string {
  const text = typeof etag === "string" ? etag : etag?.etag;
  if (typeof text !== "string" || text === "") throw new Invalid("not an ETag");
  return unquoted(text);
}

/** What came of a key. `replayed`: it had been done before, and nothing ran now. */
export interface Outcome<T> {
  readonly result: T;
  readonly replayed: boolean;
  readonly completedAt: Date | null;
  readonly attempt: number | null;
  readonly fence: number | null;
}

/** What the attempt before left behind. */
export interface Previous {
  readonly failure: unknown;
  readonly failedAt: Date | null;
  readonly attempt: number | null;
}

/** A claim that is the caller's until its lease ends. */
export interface Ticket {
  readonly state: "claimed";
  readonly key: string;
  readonly ticket: string;
  readonly fence: number;
  readonly attempt: number;
  readonly leaseUntil: Date | null;
  /** When it was asked for, by the monotonic clock in milliseconds: the lease began no earlier. */
  readonly asked: number;
  /** False: the store was down, and the server was told to proceed. */
  readonly guarded: boolean;
  readonly previous: Previous | null;
}

/** A claim that has an outcome. For `failed`, `result` is its failure. */
export interface Finished {
  readonly state: "done" | "failed";
  readonly key: string;
  readonly result: unknown;
  readonly completedAt: Date | null;
}

/** A claim as it is stored. */
export interface ClaimRecord {
  readonly key: string;
  /** `busy`, `abandoned`, `done`, `failed`, `free` or `corrupt`. */
  readonly state: string;
  readonly owner: string | null;
  readonly fence: number | null;
  readonly attempt: number | null;
  readonly claimedAt: Date | null;
  readonly leaseUntil: Date | null;
  readonly completedAt: Date | null;
  readonly failedAt: Date | null;
  readonly keptUntil: Date | null;
  readonly result: unknown;
  readonly failure: unknown;
  /** As the server wrote it. */
  readonly raw: Readonly<Record<string, unknown>>;
}

/** When an id was first seen, and until when that is known. */
export interface SeenRecord {
  readonly id: string;
  readonly at: Date | null;
  readonly until: Date | null;
}

/** An event as it was read. */
export interface Event<T = any> {
  readonly index: number;
  readonly time: Date | null;
  readonly data: T;
}

/** An event to append, if it has a time or an id of its own. */
export class LogEvent {
  constructor(readonly data: unknown, readonly options: { time?: Time; id?: string } = {}) {}
}

/** Where events are. `first` and `last` are null if all of them were known by their ids. */
export interface Appended {
  readonly first: number | null;
  readonly last: number | null;
  readonly replayed: boolean;
  readonly indexes: readonly number[] | null;
}

/** Events in order. `next` is where the next page begins. */
export class Page<T = any> extends Array<Event<T>> {
  next = 1;
  closed = false;
  /** What `map` and `filter` make is a plain array. */
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }
  /** Itself, as the server names it. */
  get events(): Event<T>[] {
    return Array.from(this);
  }
}

/** A log in a listing, or both ends of one. */
export interface LogInfo {
  readonly stream: string;
  readonly oldest: number | null;
  readonly next: number | null;
  readonly closed: boolean;
}

/** A document's value and its ETag, without quotes. */
export interface Snapshot<T = any> {
  readonly value: T;
  readonly etag: string;
  readonly contentType: string;
}

/** The ETag of a document after a change, without quotes; also as text. */
export class Written {
  constructor(readonly etag: string, readonly replayed: boolean) {}
  toString(): string {
    return this.etag;
  }
  toJSON(): string {
    return this.etag;
  }
}

/** A document in a listing. */
export interface DocumentInfo {
  readonly key: string;
  readonly etag: string;
  readonly bytes: number;
  readonly contentType: string;
}

export type TallyKind = "sum" | "real" | "count" | "max" | "min" | "distinct" | "top" | "bloom";

/** A tally after a change. `value` may be missing in the answer to a commit. */
export interface Tallied {
  readonly kind: string;
  readonly value: any;
  readonly replayed: boolean;
}

/** One of the most frequent items: counted at most `count` times, at least `count - error`. */
export interface TopItem {
  readonly item: string;
  readonly count: number;
  readonly error: number;
}

/** One bucket of a windowed tally. */
export interface Bucket {
  readonly at: Date | null;
  readonly value: any;
}

/** A tally in a listing. */
export interface TallyInfo {
  readonly key: string;
  readonly kind: string;
  readonly window: string | null;
}

/** All parts of a commit happened; one answer for each. */
export interface Committed {
  readonly replayed: boolean;
  readonly logs: readonly Appended[];
  readonly documents: readonly Written[];
  readonly tallies: readonly Tallied[];
}

/** A key with many conflicts of late. */
export interface HotKey {
  readonly key: string;
  readonly conflicts: number;
}

/** A token. `token` is its secret, and is there only when it was just made. */
export interface Token {
  readonly id: string;
  readonly label: string | null;
  readonly namespace: string | null;
  readonly readOnly: boolean;
  readonly createdAt: Date | null;
  readonly expiresAt: Date | null;
  readonly token: string | null;
}

/** What became of a CloudEvent: `processed`, `skipped`, or in a batch also other things. */
export interface EventStatus {
  readonly status: string;
  readonly eventId: string | null;
  readonly processedAt: Date | null;
  readonly raw: Readonly<Record<string, unknown>>;
}
