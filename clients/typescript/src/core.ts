/** What is asked, what the answer means, and what is asked again. */
import { Invalid, OnceError, Unavailable, Unknown, errorOf, isKnownCode } from "./errors.js";
import { clock, nodePart, pause, process, randomId } from "./platform.js";
import { Notice, Tracing } from "./telemetry.js";
import { unquoted } from "./values.js";

/** Bytes of one answer. */
export const MAX_ANSWER = 64 << 20;

const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 2000;
const ON_THE_WAY = 1000; // How much earlier a server gives up than the client that waits for it.
const DECODER = new TextDecoder();
const ENCODER = new TextEncoder();
const OUTCOMES = new Set(["busy", "mismatch", "fenced", "precondition_failed", "not_found", "contended", "closed"]);
const LATER = new Set(["unavailable", "overloaded", "contended"]);

export type Expected = "json" | "document" | "text" | "nothing";

/** One HTTP request. `repeat`: it has the same effect however often it arrives. */
export interface Request {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
  readonly repeat: boolean;
  /** Of a 2xx. */
  readonly expect: Expected;
  /** It changes nothing, although it is a POST. */
  readonly asks?: boolean | undefined;
}

/** A complete answer. Names of headers are in lower case. */
export class Answer {
  #json: { value: any } | undefined;

  constructor(
    readonly status: number,
    readonly headers: Readonly<Record<string, string>>,
    readonly body: Uint8Array,
  ) {}

  /** Without its parameters. */
  get mediaType(): string {
    return (this.headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase();
  }

  /** Whether it had happened before. */
  get replayed(): boolean {
    return (this.headers["idempotent-replayed"] ?? "").toLowerCase() === "true";
  }

  /** The body as UTF-8. */
  text(): string {
    return DECODER.decode(this.body);
  }

  /** The body. Throws a SyntaxError if it is no JSON. */
  json(): any {
    this.#json ??= { value: JSON.parse(this.text()) };
    return this.#json.value;
  }
}

/** What became of one try: an answer; never sent, so that nothing was written; or sent, and no complete answer. */
export type Reply = Answer | { readonly unsent: string } | { readonly lost: string };

/** Sends requests. */
export interface Transport {
  /** The URL of the server, as far as it is known. */
  readonly url: string;
  /** One try. Never rejects but with `Invalid`. */
  send(request: Request, timeout: number, signal?: AbortSignal): Promise<Reply>;
  /** The lines of a stream of events. Throws `Broken` if it breaks, or what it is refused with. */
  lines(request: Request, timeout: number, signal?: AbortSignal): AsyncGenerator<string, void, void>;
  close(): void;
}

/** A stream of events broke off. */
export class Broken extends Error {
  constructor(readonly reason: OnceError) {
    super(reason.message);
  }
}

/** Pauses with full jitter: anywhere between nothing and a bound that doubles. In milliseconds. */
export class Backoff {
  #bound: number;

  constructor(private readonly first = FIRST_PAUSE, private readonly longest = LONGEST_PAUSE) {
    this.#bound = first;
  }

  next(): number {
    const chosen = Math.random() * this.#bound;
    this.#bound = Math.min(this.longest, this.#bound * 2);
    return chosen;
  }

  reset(): void {
    this.#bound = this.first;
  }
}

/** What a reply means: an answer that decides, or an error. `lost`: it may have happened. `final`: asking again is no use. */
interface Judged {
  readonly answer?: Answer;
  readonly error?: OnceError;
  readonly lost: boolean;
  readonly final: boolean;
}

function reads(request: Request): boolean {
  return request.asks === true || request.method === "GET" || request.method === "HEAD";
}

/** The body, if it is a problem of ours. */
function problemOf(answer: Answer): Record<string, unknown> | null {
  if (answer.status < 400 || answer.mediaType !== "application/problem+json") return null;
  try {
    const body = answer.json();
    return isObject(body) && isKnownCode(body["code"]) ? body : null;
  } catch {
    return null;
  }
}

/** Whether a success can be our server's: a login page of a gateway is 200, too. */
function isOurs(request: Request, answer: Answer): boolean {
  if (answer.status === 304) return request.expect === "document" && "etag" in answer.headers;
  if (answer.status === 204 || request.expect === "nothing") {
    return [200, 201, 204].includes(answer.status) && answer.mediaType !== "text/html";
  }
  if (request.expect === "text") return true;
  // A change that was done before has no ETag if the document is gone by now.
  if (request.expect === "document") return "etag" in answer.headers || (answer.replayed && !reads(request));
  if (answer.mediaType !== "application/json") return false;
  try {
    answer.json();
    return true;
  } catch {
    return false;
  }
}

/** Whether a reply decides. Only an answer of our own server does (docs/hazards.md#h39). */
export function judge(request: Request, reply: Reply): Judged {
  if ("unsent" in reply) return { error: new Unavailable(reply.unsent), lost: false, final: false };
  if ("lost" in reply) return lost(request, `the answer was lost: ${reply.lost}`);
  const success = (reply.status >= 200 && reply.status < 300) || reply.status === 304;
  if (success && isOurs(request, reply)) return { answer: reply, lost: false, final: true };
  const problem = problemOf(reply);
  if (problem === null) {
    return lost(request, `the answer ${reply.status} did not come from a server of Once`, reply.status);
  }
  const etag = reply.headers["etag"];
  if (etag !== undefined && problem["current"] === undefined) problem["current"] = unquoted(etag);
  const error = errorOf(problem["code"] as string, problem, reply.status);
  error.retryAfter = retryAfter(reply);
  if (error.code === "unknown") return { error, lost: !reads(request), final: false };
  return { error, lost: false, final: !LATER.has(error.code) };
}

function lost(request: Request, reason: string, status?: number): Judged {
  const error = reads(request) ? new Unavailable(reason, { status }) : new Unknown(reason, { status });
  return { error, lost: !reads(request), final: false };
}

function retryAfter(answer: Answer): number | undefined {
  const given = answer.headers["retry-after"];
  const seconds = given === undefined || given.trim() === "" ? NaN : Number(given);
  return Number.isNaN(seconds) ? undefined : Math.min(5, Math.max(0, seconds));
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** 1 to 512 bytes of UTF-8 without control characters. */
export function checkName(name: unknown): string {
  if (typeof name !== "string") throw new Invalid(`a name is a string, not ${name === null ? "null" : typeof name}`);
  if (/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(name)) {
    throw new Invalid("a name is valid Unicode");
  }
  if (/[\u0000-\u001f\u007f-\u009f]/.test(name)) throw new Invalid("a name has no control characters");
  const size = name.length > 512 ? Infinity : ENCODER.encode(name).length;
  if (size < 1 || size > 512) throw new Invalid("a name has 1 to 512 bytes");
  return name;
}

/** `/v1/NOUN/NAME/ACTION`, with the name as one segment. */
export function path(noun: string, name: string, action = ""): string {
  let quoted = encodeURIComponent(checkName(name));
  // URLs take these for steps in a path.
  if (quoted === "." || quoted === "..") quoted = quoted.replaceAll(".", "%2E");
  return `/v1/${noun}/${quoted}${action && `/${action}`}`;
}

/** With those parameters that are there. */
export function query(target: string, parameters: Record<string, string | number | boolean | null | undefined>): string {
  const given = Object.entries(present(parameters)).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return given.length === 0 ? target : `${target}?${given.join("&")}`;
}

/** Those that are neither undefined nor null. */
export function present<T extends Record<string, unknown>>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}

/** Compact JSON. What is no JSON (NaN, a function, a loop) is `Invalid`, before anything is sent. */
export function stringify(value: unknown): string {
  try {
    const text = JSON.stringify(value, (_, inner: unknown) => {
      if (typeof inner === "number" && !Number.isFinite(inner)) throw new Invalid(`not JSON: ${inner}`);
      return inner;
    });
    if (text === undefined) throw new Invalid(`not JSON: ${typeof value}`);
    return text;
  } catch (error) {
    throw error instanceof Invalid ? error : new Invalid(`not JSON: ${message(error)}`, { cause: error });
  }
}

/** The value as a replay will have it: as it comes back from JSON. Nothing becomes null. */
export function plain(value: unknown): any {
  return value === undefined ? null : JSON.parse(stringify(value));
}

export function message(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}

function checkHeader(name: string, value: unknown): string {
  if (typeof value === "string" && /^[\x20-\x7e]*$/.test(value)) return value;
  throw new Invalid(`what is given for ${name} cannot be a header`);
}

export interface CoreOptions {
  readonly token?: string | undefined;
  readonly namespace?: string | undefined;
  /** Milliseconds, of one call and of one try. */
  readonly patience: number;
  readonly timeout: number;
  readonly owner?: string | undefined;
  readonly onNotice?: ((notice: Notice) => void) | undefined;
}

export interface CallOptions {
  /** How long the server may wait, in milliseconds, besides. */
  readonly wait?: number | undefined;
  /** In place of the client's patience. */
  readonly within?: number | undefined;
  /** Ends it. What was sent may have happened. */
  readonly signal?: AbortSignal | undefined;
}

export interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly content?: string | Uint8Array;
  readonly contentType?: string;
  readonly repeat?: boolean;
  readonly expect?: Expected;
  readonly asks?: boolean | undefined;
}

/** The options of a client, and its way of asking. */
export class Core {
  readonly tracing = new Tracing();
  readonly patience: number;
  readonly timeout: number;
  readonly #headers: Record<string, string>;
  readonly #onNotice: ((notice: Notice) => void) | undefined;
  #owner: string | undefined;

  constructor(readonly transport: Transport, private readonly options: CoreOptions) {
    this.patience = options.patience;
    this.timeout = options.timeout;
    this.#owner = options.owner;
    this.#onNotice = options.onNotice;
    this.#headers = { "User-Agent": "once-client-typescript/0.1", Accept: "application/json" };
    if (options.token) this.#headers["Authorization"] = `Bearer ${options.token}`;
    if (options.namespace) this.#headers["Once-Namespace"] = options.namespace;
    for (const [name, value] of Object.entries(this.#headers)) checkHeader(name, value);
  }

  /** The same, with less patience. */
  impatient(most: number): Core {
    return new Core(this.transport, { ...this.options, patience: Math.min(this.patience, most) });
  }

  /** A label for people. Each process has another. */
  async owner(): Promise<string> {
    this.#owner ??= `${(await nodePart())?.hostname() ?? globalThis.location?.host ?? "somewhere"}:${process?.pid ?? 0}`;
    return this.#owner;
  }

  /** Another one every time. */
  async newId(): Promise<string> {
    return `ts-${await randomId()}`;
  }

  /** To the hook. One that throws harms nothing. */
  tell(name: string, fields: Record<string, unknown>): void {
    try {
      this.#onNotice?.({ name, fields });
    } catch (error) {
      console.error(`once-client: the hook threw on ${name}:`, error);
    }
  }

  /** One of this client's. `body` becomes JSON; `content` is sent as it is. */
  request(method: string, target: string, body?: unknown, options: RequestOptions = {}): Request {
    const headers = { ...this.#headers };
    const data = options.content ?? (body === undefined ? undefined : stringify(body));
    if (data !== undefined) headers["Content-Type"] = options.contentType ?? "application/json";
    const expect = options.expect ?? "json";
    if (expect !== "json") headers["Accept"] = "*/*";
    if (options.contentType !== undefined) checkHeader("Content-Type", options.contentType);
    for (const [name, value] of Object.entries(options.headers ?? {})) headers[name] = checkHeader(name, value);
    return { method, target, headers, body: data, repeat: options.repeat ?? true, expect, asks: options.asks };
  }

  /**
   * Asks until there is an answer that decides, for at most `within` and `wait`.
   *
   * What may be repeated is repeated with the same bytes, so under the same id. What was never sent is repeated in any
   * case. Throws what the server refused with; `Unknown` if it may have happened; `Unavailable` if it did not.
   */
  async call(request: Request, options: CallOptions = {}): Promise<Answer> {
    if (!this.tracing.isLoaded) await this.tracing.load();
    const wait = options.wait ?? 0;
    const patience = options.within ?? this.patience;
    const deadline = clock() + patience + wait;
    const backoff = new Backoff();
    let unknown: OnceError | undefined;
    for (let tries = 1; ; ++tries) {
      // The last try has a fair chance, too: one that ends too early would make it unknown.
      const fair = Math.max(deadline - clock(), Math.min(1000, patience));
      const timeout = Math.max(50, Math.min(fair, this.timeout + wait));
      const judged = await this.#try(request, timeout, tries, options.signal);
      if (judged.answer !== undefined) return judged.answer;
      const error = judged.error as OnceError;
      if (judged.final) {
        // After a lost answer a refusal of a later try says nothing of the first.
        throw unknown === undefined || OUTCOMES.has(error.code) ? error : unknown;
      }
      if (judged.lost) unknown = error;
      if (judged.lost && !request.repeat) throw error;
      options.signal?.throwIfAborted();
      const left = deadline - clock();
      if (left <= 0) throw unknown ?? error;
      const jitter = backoff.next();
      const asked = error.retryAfter === undefined ? jitter : error.retryAfter * (500 + (jitter / LONGEST_PAUSE) * 500);
      await pause(Math.min(asked, left), options.signal);
      options.signal?.throwIfAborted();
    }
  }

  /** One try, with the time of any other. Throws what it was refused with. */
  async callOnce(request: Request): Promise<Answer> {
    if (!this.tracing.isLoaded) await this.tracing.load();
    const judged = await this.#try(request, this.timeout, 1);
    if (judged.answer === undefined) throw judged.error;
    return judged.answer;
  }

  async #try(request: Request, timeout: number, tries: number, signal?: AbortSignal): Promise<Judged> {
    const began = clock();
    const reply = await this.transport.send(this.#dressed(request, timeout), timeout, signal);
    const judged = judge(request, reply);
    this.#tellRequest(request, reply, judged, tries, clock() - began);
    return judged;
  }

  /** With the trace, and with how long the server may try: its answer tells more than none. */
  #dressed(request: Request, timeout: number): Request {
    const mostOfIt = Math.max(1, Math.round(timeout - Math.min(ON_THE_WAY, timeout / 10)));
    const headers: Record<string, string> = { ...request.headers, "Once-Timeout": `${mostOfIt}ms` };
    this.tracing.inject(headers);
    return { ...request, headers };
  }

  #tellRequest(request: Request, reply: Reply, judged: Judged, tries: number, took: number): void {
    if (this.#onNotice === undefined) return;
    this.tell("request", {
      method: request.method,
      path: request.target.split("?")[0],
      status: reply instanceof Answer ? reply.status : null,
      code: judged.error?.code ?? null,
      tries,
      seconds: took / 1000,
    });
  }

  /** The JSON object of an answer. Anything else is not an answer of Once. */
  async ask(method: string, target: string, body?: unknown, options: RequestOptions & CallOptions = {}): Promise<any> {
    const answer = await this.call(this.request(method, target, body, options), options);
    return bodyOf(answer);
  }
}

/** The object in an answer. */
export function bodyOf(answer: Answer): Record<string, any> {
  const body = answer.json();
  if (!isObject(body)) throw new Unknown("the answer is no JSON object", { status: answer.status });
  return body;
}

/** A member that the answer must have. */
export function fieldOf(body: Record<string, any>, name: string): any {
  if (!(name in body)) throw new Unknown(`the answer has no '${name}'`);
  return body[name];
}

/** A listing: `await` gives all of it, `for await` takes it page by page. */
export class Listing<T> implements AsyncIterable<T>, PromiseLike<T[]> {
  constructor(private readonly fetch: (cursor: string | undefined) => Promise<{ page: T[]; cursor: unknown }>) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    let cursor: string | undefined;
    do {
      const { page, cursor: next } = await this.fetch(cursor);
      for (const one of page) yield one;
      cursor = typeof next === "string" && next !== "" ? next : undefined;
    } while (cursor !== undefined);
  }

  /** All of it. */
  async all(): Promise<T[]> {
    const found: T[] = [];
    for await (const one of this) found.push(one);
    return found;
  }

  then<A = T[], B = never>(
    fulfilled?: ((value: T[]) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.all().then(fulfilled, rejected);
  }
}
