/** Middleware for web services: the rules of `once proxy` inside the service itself. */
import type { Client } from "./client.js";
import { stringify } from "./core.js";
import { Headers as HeaderList, HttpAnswer, Passage, Rules, enter, maxBody } from "./guard.js";
import { bounded, joined } from "./transport.js";
import { milliseconds } from "./values.js";

/** A service that answers a `Request` with a `Response`: Hono, Deno.serve, Bun.serve, Next.js and others. */
export type FetchService<A extends unknown[]> = (request: Request, ...rest: A) => Response | Promise<Response>;

/** Guards a service: requests with an Idempotency-Key take effect once, and repeats get the same bytes. */
export function fetchHandler<A extends unknown[] = []>(
  client: Client,
  handler: FetchService<A>,
  rules: Rules = {},
): (request: Request, ...rest: A) => Promise<Response> {
  return async (request, ...rest) => {
    const url = new URL(request.url);
    const headers: HeaderList = [];
    request.headers.forEach((value, name) => headers.push([name, value]));
    const entered = await enter(client.core, rules, {
      method: request.method,
      target: url.pathname + url.search,
      headers,
      body: () => bounded(request.clone().body, maxBody(rules)),
    });
    if (entered === null) return handler(request, ...rest);
    if (entered instanceof Passage && request.signal?.aborted) {
      // The caller has gone, and nothing was done.
      await entered.free();
      throw request.signal.reason;
    }
    return entered instanceof Passage ? passed(entered, () => handler(request, ...rest)) : responseOf(entered);
  };
}

async function passed(passage: Passage, work: () => Response | Promise<Response>): Promise<Response> {
  let response: Response;
  try {
    response = await work();
  } catch (error) {
    await passage.fail(error);
    throw error;
  }
  const headers: HeaderList = [];
  response.headers.forEach((value, name) => headers.push([name, value]));
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    const reader = response.body?.getReader();
    while (reader !== undefined) {
      const { done, value } = await reader.read();
      if (done) break;
      pieces.push(value);
      size += value.length;
      if (size <= passage.maxAnswer) continue;
      const rest = streamed(passage, response, headers, pieces, size, reader);
      return new Response(rest, { status: response.status, statusText: response.statusText, headers: response.headers });
    }
  } catch (error) {
    await passage.abandon();
    throw error;
  }
  const body = joined(pieces, size);
  await passage.leave(response.status, headers, body, size);
  const { status, statusText } = response;
  return new Response(response.body === null ? null : body, { status, statusText, headers: response.headers });
}

/** An answer that is too large to be kept is sent as it comes, and noted as done at its end. */
function streamed(
  passage: Passage,
  response: Response,
  headers: HeaderList,
  pieces: Uint8Array[],
  size: number,
  reader: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
    },
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          await passage.leave(response.status, headers, null, size);
          controller.close();
        } else {
          size += value.length;
          controller.enqueue(value);
        }
      } catch (error) {
        await passage.abandon();
        controller.error(error);
      }
    },
    async cancel(reason) {
      await passage.abandon();
      await reader.cancel(reason);
    },
  });
}

function responseOf(answer: HttpAnswer): Response {
  const headers = new Headers();
  for (const [name, value] of answer.headers) headers.append(name, value);
  const bodiless = answer.status === 204 || answer.status === 205 || answer.status === 304;
  return new Response(bodiless ? null : answer.body, { status: answer.status, headers });
}

/** What is used of Node's `IncomingMessage` and of Express's request. */
export interface NodeRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly originalUrl?: string | undefined;
  readonly rawHeaders: readonly string[];
  readonly readableLength: number;
  readonly readableEnded: boolean;
  readonly complete: boolean;
  readonly body?: unknown;
  readonly rawBody?: unknown;
  read(size?: number): any;
  unshift(chunk: any): void;
  on(event: string, listener: (...args: any[]) => void): any;
  removeListener(event: string, listener: (...args: any[]) => void): any;
  resume(): any;
}

/** What is used of Node's `ServerResponse` and of Express's response. */
export interface NodeResponse {
  statusCode: number;
  statusMessage: string;
  readonly headersSent: boolean;
  getHeader(name: string): number | string | string[] | undefined;
  getHeaderNames(): string[];
  setHeader(name: string, value: any): any;
  destroy(error?: any): any;
  on(event: string, listener: (...args: any[]) => void): any;
  write: any;
  end: any;
  writeHead: any;
  flushHeaders: any;
}

/** A middleware of Express or Connect. Best before anything that reads the body, such as `express.json()`: then it compares bytes. */
export type NodeMiddleware = (request: NodeRequest, response: NodeResponse, next: (error?: any) => void) => void;

/** Guards all that comes after it: requests with an Idempotency-Key take effect once, and repeats get the same bytes. */
export function express(client: Client, rules: Rules = {}): NodeMiddleware {
  return (request, response, next) => {
    guarded(client, rules, request, response).then(
      (goes) => goes && next(),
      (error: unknown) => next(error),
    );
  };
}

/** Whether the request goes on to the service. */
async function guarded(client: Client, rules: Rules, request: NodeRequest, response: NodeResponse): Promise<boolean> {
  const headers: HeaderList = [];
  for (let at = 0; at + 1 < request.rawHeaders.length; at += 2) {
    headers.push([request.rawHeaders[at] as string, request.rawHeaders[at + 1] as string]);
  }
  let gone = false;
  response.on("close", () => (gone = true));
  const entered = await enter(client.core, rules, {
    method: request.method ?? "",
    target: request.originalUrl ?? request.url ?? "/",
    headers,
    body: () => readAndPutBack(request, maxBody(rules)),
  });
  if (entered === null) return true;
  if (entered instanceof Passage && gone) {
    // Nothing was done. Nobody would tell `hold` either, and a service that waits for its caller would keep the key for ever.
    await entered.free();
    return false;
  }
  if (entered instanceof Passage) {
    hold(entered, response);
    return true;
  }
  request.resume();
  answered(response, entered);
  return false;
}

function answered(response: NodeResponse, answer: HttpAnswer): void {
  response.statusCode = answer.status;
  const names = new Map<string, string[]>();
  for (const [name, value] of answer.headers) names.set(name, [...(names.get(name) ?? []), value]);
  for (const [name, all] of names) response.setHeader(name, all.length === 1 ? all[0] : all);
  response.end(answer.body);
}

/** The whole body, which the service can read again; null if it is too large. */
function readAndPutBack(request: NodeRequest, most: number): Promise<Uint8Array | null> {
  if (request.readableEnded) return readBefore(request, most);
  return new Promise((resolve, reject) => {
    const pieces: Uint8Array[] = [];
    let size = 0;
    const settle = (body: Uint8Array | null): void => {
      for (const [event, listener] of listeners) request.removeListener(event, listener);
      if (body !== null && body.length > 0) request.unshift(body);
      resolve(body);
    };
    const readable = (): void => {
      // Exactly what is there, and never more: a read at the end would end the stream, and nothing could be put back.
      while (request.readableLength > 0) {
        const piece: Uint8Array = request.read(request.readableLength);
        pieces.push(piece);
        size += piece.length;
      }
      if (size > most) settle(null);
      else if (request.complete) settle(joined(pieces, size));
    };
    const gone = (): void => reject(new Error("the caller has gone"));
    const listeners: [string, (...args: any[]) => void][] = [["readable", readable], ["error", gone], ["aborted", gone]];
    for (const [event, listener] of listeners) request.on(event, listener);
    if (request.complete && request.readableLength === 0) settle(new Uint8Array());
  });
}

/** A body that another middleware has read: its bytes if they were kept, else what was made of them, which says the same for the same body. */
async function readBefore(request: NodeRequest, most: number): Promise<Uint8Array | null> {
  const raw = request.rawBody ?? request.body;
  if (raw === undefined) throw new Error("the body was read before, and is in neither request.rawBody nor request.body");
  const bytes = raw instanceof Uint8Array ? raw : new TextEncoder().encode(typeof raw === "string" ? raw : stringify(raw));
  return bytes.length > most ? null : bytes;
}

/** Holds an answer until it is stored. One that is too large is sent as it comes. */
function hold(passage: Passage, response: NodeResponse): void {
  const real = {
    write: response.write.bind(response),
    end: response.end.bind(response),
    writeHead: response.writeHead.bind(response),
    flushHeaders: response.flushHeaders.bind(response),
  };
  const pieces: Uint8Array[] = [];
  let size = 0;
  let streams = false; // Something was sent to the caller.
  let ended = false;

  /** Keeps a piece, or sends it. False: the caller reads more slowly than that. */
  const take = (piece: unknown, encoding: unknown): boolean => {
    if (piece === null || piece === undefined) return true;
    const bytes = typeof piece === "string" ? encoded(piece, encoding) : (piece as Uint8Array);
    size += bytes.length;
    if (!streams) pieces.push(bytes);
    if (!streams && size <= passage.maxAnswer) return true;
    if (streams) return real.write(bytes);
    streams = true;
    Object.assign(response, { writeHead: real.writeHead, flushHeaders: real.flushHeaders });
    return pieces.splice(0).map((one) => real.write(one)).every(Boolean);
  };

  const called = (...args: unknown[]): void => {
    const callback = args.find((one) => typeof one === "function") as (() => void) | undefined;
    if (callback !== undefined) queueMicrotask(callback);
  };

  response.writeHead = (status: number, ...more: unknown[]): NodeResponse => {
    response.statusCode = status;
    const [message, headers] = typeof more[0] === "string" ? [more[0], more[1]] : [undefined, more[0]];
    if (message !== undefined) response.statusMessage = message;
    for (const [name, value] of headerEntries(headers)) response.setHeader(name, value);
    return response;
  };
  response.flushHeaders = (): void => undefined;
  const write = (piece: unknown, encoding?: unknown, callback?: unknown): boolean => {
    const goesOn = take(piece, encoding);
    called(encoding, callback);
    return goesOn;
  };
  const end = (piece?: unknown, encoding?: unknown, callback?: unknown): NodeResponse => {
    if (ended) return response;
    ended = true;
    if (typeof piece !== "function") take(piece, encoding);
    const done = [piece, encoding, callback].find((one) => typeof one === "function");
    const body = streams ? null : joined(pieces, size);
    passage
      .leave(response.statusCode, sentHeaders(response), body, size)
      .then(() => {
        Object.assign(response, real);
        real.end(...(body === null || body.length === 0 ? [] : [body]), ...(done === undefined ? [] : [done]));
      })
      .catch((error: unknown) => response.destroy(error));
    return response;
  };
  Object.assign(response, { write, end });
  response.on("close", () => {
    if (ended) return;
    // The caller has gone. What the service does is done all the same, and stored if it ends in time.
    passage.stop();
    const timer: any = setTimeout(() => void passage.abandon(), milliseconds(passage.rules.lease ?? "60s"));
    timer.unref?.();
  });
}

function encoded(piece: string, encoding: unknown): Uint8Array {
  const buffer = (globalThis as { Buffer?: { from(text: string, encoding?: string): Uint8Array } }).Buffer;
  return buffer?.from(piece, typeof encoding === "string" ? encoding : "utf8") ?? new TextEncoder().encode(piece);
}

function headerEntries(headers: unknown): [string, unknown][] {
  if (Array.isArray(headers)) {
    if (Array.isArray(headers[0])) return headers as [string, unknown][];
    return headers.flatMap((name, at): [string, unknown][] => (at % 2 === 0 ? [[String(name), headers[at + 1]]] : []));
  }
  return Object.entries((headers ?? {}) as Record<string, unknown>).filter(([, value]) => value !== undefined);
}

function sentHeaders(response: NodeResponse): HeaderList {
  const names = (response as { getRawHeaderNames?(): string[] }).getRawHeaderNames?.() ?? response.getHeaderNames();
  return names.flatMap((name): HeaderList => {
    const value = response.getHeader(name);
    return (Array.isArray(value) ? value : [value]).map((one) => [name, String(one)]);
  });
}
