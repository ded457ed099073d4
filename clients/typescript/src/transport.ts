/** Sends requests with fetch, wherever there is one. */
import { Answer, Broken, MAX_ANSWER, Reply, Request, Transport, judge } from "./core.js";
import { OnceError, Unavailable } from "./errors.js";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

const FOLLOW_TIMEOUT = 45_000; // A server sends a heartbeat every 15 s.
const MAX_LINE = 64 << 20;

// Causes that say that no connection was made, in Node and Bun; Deno has it in the text. A browser does not tell.
const NOT_CONNECTED = new Set([
  "ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT", "ConnectionRefused",
]);

/** Lines out of pieces of text. */
export class Lines {
  #rest: string[] = [];
  #size = 0;

  /** The lines that a piece completes. */
  *take(piece: string): Generator<string, void, void> {
    let from = 0;
    for (let end = piece.indexOf("\n"); end >= 0; end = piece.indexOf("\n", from)) {
      const line = this.#rest.join("") + piece.slice(from, end);
      this.#rest = [];
      this.#size = 0;
      from = end + 1;
      yield line.endsWith("\r") ? line.slice(0, -1) : line;
    }
    this.#rest.push(piece.slice(from));
    this.#size += piece.length - from;
    if (this.#size > MAX_LINE) throw new Error("a line of the stream is too long");
  }
}

/** What an answer to a follower that is no stream means. Always throws. */
export function refuse(request: Request, answer: Answer): never {
  const judged = judge(request, answer);
  if (judged.error === undefined || !judged.final) {
    throw new Broken(judged.error ?? new Unavailable("the answer is no stream of events"));
  }
  throw judged.error;
}

/** What a broken stream is to its reader. */
export function broken(error: unknown): Error {
  if (error instanceof Broken || (error instanceof OnceError && !(error instanceof Unavailable))) return error;
  return new Broken(error instanceof Unavailable ? error : new Unavailable(reason(error)));
}

function isUnsent(error: unknown, text: string): boolean {
  const { code, cause } = (error ?? {}) as { code?: string; cause?: { code?: string } };
  return NOT_CONNECTED.has(cause?.code ?? code ?? "") || text.includes("client error (Connect)");
}

function reason(error: unknown): string {
  const cause = (error as { cause?: unknown } | null)?.cause;
  return cause instanceof Error && cause.message ? cause.message : error instanceof Error ? error.message : String(error);
}

/** A timer and the caller's signal as one. */
class Deadline {
  readonly #controller = new AbortController();
  readonly #abort = (): void => this.#controller.abort(this.caller?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly caller: AbortSignal | undefined) {
    if (caller?.aborted) this.#abort();
    else caller?.addEventListener("abort", this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  set(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#controller.abort(new Error("it took too long")), ms);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.caller?.removeEventListener("abort", this.#abort);
  }
}

export class FetchTransport implements Transport {
  constructor(readonly url: string, private readonly fetch: Fetch) {}

  async send(request: Request, timeout: number, signal?: AbortSignal): Promise<Reply> {
    const deadline = new Deadline(signal);
    deadline.set(timeout);
    try {
      const response = await this.#fetched(request, deadline.signal);
      return await read(response);
    } catch (error) {
      const text = reason(error);
      return isUnsent(error, text) ? { unsent: `cannot reach the server: ${text}` } : { lost: text };
    } finally {
      deadline.end();
    }
  }

  #fetched(request: Request, signal: AbortSignal): Promise<Response> {
    const fetch = this.fetch;
    return fetch(this.url + request.target, {
      method: request.method,
      headers: request.headers,
      body: request.body ?? null,
      redirect: "manual",
      cache: "no-store",
      credentials: "omit",
      signal,
    });
  }

  async *lines(request: Request, timeout: number, signal?: AbortSignal): AsyncGenerator<string, void, void> {
    const deadline = new Deadline(signal);
    deadline.set(timeout);
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
    try {
      const response = await this.#fetched(request, deadline.signal);
      if (response.status !== 200 || !(response.headers.get("content-type") ?? "").includes("text/event-stream")) {
        refuse(request, await read(response));
      }
      reader = response.body?.getReader();
      const decoder = new TextDecoder();
      const lines = new Lines();
      while (reader !== undefined) {
        deadline.set(FOLLOW_TIMEOUT);
        const { done, value } = await reader.read();
        if (done) break;
        yield* lines.take(decoder.decode(value, { stream: true }));
      }
      throw new Error("the stream ended");
    } catch (error) {
      throw broken(error);
    } finally {
      deadline.end();
      await reader?.cancel().catch(() => undefined);
    }
  }

  close(): void {
    // fetch has connections of its own.
  }
}

async function read(response: Response): Promise<Answer> {
  const headers: Record<string, string> = {};
  response.headers.forEach((value, name) => (headers[name.toLowerCase()] = value));
  const body = await bounded(response.body, MAX_ANSWER);
  if (body === null) throw new Error("the answer is too long");
  return new Answer(response.status, headers, body);
}

/** All bytes of a stream; null if there are more than that. */
export async function bounded(stream: ReadableStream<Uint8Array> | null, most: number): Promise<Uint8Array | null> {
  const reader = stream?.getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  while (reader !== undefined) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    size += value.length;
    if (size > most) {
      // Not waited for: of a body that was cloned, it ends when the other one does.
      reader.cancel().catch(() => undefined);
      return null;
    }
  }
  return joined(pieces, size);
}

export function joined(pieces: readonly Uint8Array[], size: number): Uint8Array {
  if (pieces.length === 1) return pieces[0] as Uint8Array;
  const all = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
