// The public HTTP API, as the console calls it. Nothing else here talks to the server.
import { EventParser } from "./stream.js";

/** @typedef {"none" | "read" | "write" | "admin"} Access */
/** @typedef {import("./stream.js").LogEvent} LogEvent */
/**
 * @typedef {object} Claim
 * @property {string} key
 * @property {"busy" | "abandoned" | "done" | "failed" | "free" | "corrupt"} state
 * @property {string} [owner]
 * @property {number} [fence]
 * @property {number} [attempt]
 * @property {string} [claimed_at]
 * @property {string} [lease_until]
 * @property {string} [completed_at]
 * @property {string} [failed_at]
 * @property {string} [kept_until]
 * @property {unknown} [result]
 * @property {unknown} [failure]
 * @property {{ failure: unknown, failed_at: string, attempt: number }} [previous]
 */
/** @typedef {{ stream: string, oldest: number, next: number, closed: boolean }} Log */
/** @typedef {{ key: string, etag: string, bytes: number, content_type: string }} Doc */
/** @typedef {{ key: string, kind: string, window: string | null }} Tally */
/** @typedef {{ type: string, forward: string | null, log: string | null, tally: string | null, processed: number, skipped: number, busy: number, failed: number }} EventRoute */
/**
 * A process beside the server. What the broker does not tell is null.
 * @typedef {object} Worker
 * @property {string} id
 * @property {"work" | "proxy"} kind
 * @property {string} name
 * @property {string} host
 * @property {number} pid
 * @property {string} started_at
 * @property {string} at
 * @property {number} in_flight
 * @property {number} done
 * @property {number} duplicates
 * @property {number} failed
 * @property {number} dead
 * @property {number | null} waiting
 * @property {number | null} lag_seconds
 */
/** @typedef {{ level: "ok" | "warning" | "problem", check: string, detail: string, remedy?: string }} Finding */
/** @typedef {{ id: string, label: string, namespace: string | null, read_only: boolean, created_at: string, expires_at?: string, token?: string }} Token */

/** An answer of the server that is not what was asked for. */
export class Problem extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} detail
   */
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

/** No answer. */
export class Unreachable extends Error {}

const kToken = "once.token";

/** Who we are to the server, and where we look. */
export const session = {
  /** @type {Access} */
  access: "none",
  open: false,
  bound: false,
  store: "",
  namespace: "",
  /** Kept in this tab alone, and gone with it. */
  get token() {
    return sessionStorage.getItem(kToken) ?? "";
  },
  set token(text) {
    if (text) sessionStorage.setItem(kToken, text);
    else sessionStorage.removeItem(kToken);
  },
  get mayWrite() {
    return (this.access === "write" || this.access === "admin") && this.namespace !== "once";
  },
  get isAdmin() {
    return this.access === "admin";
  },
};

/** What the rest of the page is told of each call. */
export const listeners = {
  answered: () => {},
  unreachable: () => {},
  unauthorized: () => {},
};

/**
 * @typedef {object} Options
 * @property {unknown} [json] A body.
 * @property {BodyInit} [body]
 * @property {Record<string, string>} [headers]
 * @property {string} [namespace] In place of the chosen one.
 * @property {AbortSignal} [signal]
 */

/**
 * @param {string} method
 * @param {string} path
 * @param {Options} [options]
 * @returns {Promise<Response>}
 */
export async function call(method, path, options = {}) {
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json", ...options.headers };
  const namespace = options.namespace ?? session.namespace;
  if (session.token) headers.Authorization = `Bearer ${session.token}`;
  if (namespace && !session.bound) headers["Once-Namespace"] = namespace;
  let body = options.body;
  if (options.json !== undefined) {
    headers["Content-Type"] = "application/json";
    body = JSON.stringify(options.json);
  }
  /** @type {Response} */
  let response;
  try {
    response = await fetch(path, { method, headers, body, signal: options.signal, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    listeners.unreachable();
    throw new Unreachable("the server does not answer");
  }
  listeners.answered();
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (response.status === 401) listeners.unauthorized();
  throw problem;
}

/** @param {Response} response */
async function problemOf(response) {
  const text = await response.text();
  try {
    const problem = JSON.parse(text);
    return new Problem(response.status, String(problem.code ?? ""), String(problem.detail ?? problem.title ?? ""));
  } catch {
    return new Problem(response.status, "", text.slice(0, 200) || response.statusText);
  }
}

/**
 * @param {string} path
 * @param {Options} [options]
 * @returns {Promise<any>}
 */
export async function get(path, options) {
  return (await call("GET", path, options)).json();
}

/**
 * @param {string} path
 * @param {unknown} json
 * @param {Options} [options]
 * @returns {Promise<any>}
 */
export async function post(path, json, options) {
  return (await call("POST", path, { ...options, json })).json();
}

/**
 * @param {string} path
 * @param {Record<string, string | number | null | undefined>} query What is empty is left out.
 */
export function withQuery(path, query) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}

/**
 * Browsers take "." and "..", encoded or not, for steps of the path: a request for one would be for something else.
 * @param {string} name
 */
export const isStep = (name) => name === "." || name === "..";

/**
 * A name as a part of a path.
 * @param {string} name
 */
export function encoded(name) {
  if (isStep(name)) throw new Error(`A browser cannot ask for what is named "${name}".`);
  return encodeURIComponent(name);
}

/** Asks what our token allows. Answered to anyone, so that nobody is refused for asking. */
export async function learnAccess() {
  const answer = await get("/v1/whoami", { namespace: "" });
  session.open = answer.open;
  session.access = answer.access;
  session.bound = answer.bound ?? false;
  session.store = answer.store ?? "";
  if (session.bound) session.namespace = answer.namespace;
  return answer;
}

/**
 * A page of a listing. A call looks through a bounded number of items, so an empty page with a cursor is not the end.
 * @template Row
 * @param {string} path
 * @param {string} field
 * @param {Record<string, string | number | undefined>} query
 * @param {{ limit: number, cursor: string | null, signal: AbortSignal, onStep?: (calls: number) => void }} page
 * @returns {Promise<{ rows: Row[], cursor: string | null }>}
 */
export async function listPage(path, field, query, page) {
  /** @type {Row[]} */
  const rows = [];
  let cursor = page.cursor;
  for (let calls = 1; ; calls += 1) {
    const answer = await get(withQuery(path, { ...query, limit: page.limit - rows.length, cursor }), { signal: page.signal });
    rows.push(...answer[field]);
    cursor = answer.cursor ?? null;
    if (cursor === null || rows.length >= page.limit) return { rows, cursor };
    page.onStep?.(calls);
  }
}

/**
 * Something done to many, in the server's bounded steps; how many there were.
 * @param {string} path
 * @param {string} field of the answer that has the number
 * @param {Record<string, unknown>} body
 * @param {AbortSignal} [signal]
 */
export async function inBulk(path, field, body, signal) {
  let count = 0;
  /** @type {string | null} */
  let cursor = null;
  do {
    /** @type {any} */
    const answer = await post(path, cursor ? { ...body, cursor } : body, { signal });
    count += answer[field];
    cursor = answer.cursor ?? null;
  } while (cursor);
  return count;
}

/**
 * Follows a log until it ends or the signal says so. `take` gets each event and its size.
 * @param {string} stream
 * @param {number} from
 * @param {{ signal: AbortSignal, namespace?: string, take: (event: LogEvent, size: number) => void }} options
 * @returns {Promise<"end" | "lost">}
 */
export async function follow(stream, from, options) {
  const path = withQuery(`/v1/logs/${encoded(stream)}`, { follow: "true", from });
  const response = await call("GET", path, {
    signal: options.signal,
    namespace: options.namespace,
    headers: { Accept: "text/event-stream" },
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return "lost";
  const parser = new EventParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return "lost";
      for (const one of parser.push(value)) {
        if (one.event === "end") return "end";
        if (one.event === "message") options.take(JSON.parse(one.data), one.data.length);
      }
    }
  } catch (error) {
    if (options.signal.aborted) throw error;
    return "lost";
  }
}
